"""Sends messages about alarms to the operator's webhook: JSON, signed, at least once.

The address comes from a setting of the panel, so it may not become a way into the operator's network: only
https, only addresses of the internet, no redirects, five seconds. The name is looked up once, and the
connection goes to the address that was checked. `ALARM_WEBHOOK_PRIVATE` opens it to private addresses; in
demo mode http on this machine is taken.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import socket
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx

from functions.core.database import Pool, transaction
from functions.worker.settings import WorkerSettings
from functions.worker.sql_functions import call

SECONDS = 5
SIGNATURE = "X-Harborline-Signature"
PORTS = {"https": 443, "http": 80}
log = logging.getLogger("worker")


class WebhookError(Exception):
    """A message was not taken: why, without the address, which may hold a secret."""


class Webhooks:
    """The messages that wait, oldest first."""

    def __init__(self, pool: Pool, settings: WorkerSettings) -> None:
        self._pool = pool
        self._site = settings.site_url
        self._key = settings.alarm_webhook_key
        self._may_be_private = settings.alarm_webhook_private

    async def send_due(self, *, is_last_attempt: bool) -> int:
        """Send everything that waits; return how many messages were taken.

        Raises:
            WebhookError: one was not; it is recorded, and given up when this is the last attempt.
        """
        sent = 0
        while message := await self._next():
            try:
                await self.send(message)
            except WebhookError as error:
                log.warning("webhook message not sent", extra={"fields": {"reason": str(error)}})
                await call(self._pool, "mark_webhook", message["id"], str(error), is_last_attempt)
                raise
            await call(self._pool, "mark_webhook", message["id"], None, False)
            sent += 1
        return sent

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message.

        Raises:
            WebhookError: its address is not allowed, or it was not taken within five seconds.
        """
        if not self._key:
            raise WebhookError("There is no key to sign it with.")
        body = body_of(message["body"], self._site)
        headers = {"content-type": "application/json", SIGNATURE: signature_of(self._key, body)}
        try:
            async with asyncio.timeout(SECONDS):
                url = urlsplit(message["url"])
                address = await self._address_of(url, is_demo=message["is_demo"])
                status = await post(url, address, headers, body)
        except TimeoutError:
            raise WebhookError("No response within five seconds.") from None
        except (httpx.HTTPError, OSError, ValueError) as error:
            raise WebhookError(type(error).__name__) from None
        if not 200 <= status < 300:
            raise WebhookError(f"The response was {status}.")

    async def _address_of(self, url: SplitResult, *, is_demo: bool) -> str:
        """Return the network address of the host; every address that it has must be allowed."""
        port = url.port or PORTS.get(url.scheme, 0)
        found = await asyncio.get_running_loop().getaddrinfo(url.hostname, port, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(entry[4][0]) for entry in found]
        on_this_machine = all(address.is_loopback for address in addresses)
        if url.scheme != "https" and not (is_demo and url.scheme == "http" and on_this_machine):
            raise WebhookError("The address is not https.")
        if not (self._may_be_private or (is_demo and on_this_machine) or all(map(is_public, addresses))):
            raise WebhookError("The address is not one of the internet.")
        return str(addresses[0])

    async def _next(self) -> dict[str, Any] | None:
        async with transaction(self._pool) as connection:
            return await (await connection.execute("select * from jobs.next_webhook()")).fetchone()


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an address is one of the internet, also when it is written as another one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        translated = address in ipaddress.ip_network("64:ff9b::/96")
        if inner or translated:
            return is_public(inner or ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        return address in ipaddress.ip_network("2000::/3") and address.is_global
    return address.is_global and not address.is_multicast


def body_of(body: dict[str, Any], site: str) -> bytes:
    """Return a message as it is sent: with whole links, and the text that chat programs show."""
    alarms = [alarm | {"runbook": f"docs/runbooks/{alarm['kind']}.md"} for alarm in body["alarms"]]
    lines = [f"{alarm['problem']} {alarm['advice']}" for alarm in alarms]
    link = f"{site}{body['link']}"
    whole = {"link": link, "site": site, "text": "\n".join([body["title"], *lines, link]), "alarms": alarms}
    return json.dumps(body | whole, sort_keys=True).encode()


def signature_of(key: str, body: bytes) -> str:
    """Return the header by which the receiver knows the sender: HMAC-SHA256 of the body."""
    return "sha256=" + hmac.new(key.encode(), body, hashlib.sha256).hexdigest()


async def post(url: SplitResult, address: str, headers: dict[str, str], body: bytes) -> int:
    """Send a body to this network address, whatever the name says by now; return the status."""
    host = f"[{address}]" if ":" in address else address
    target = url._replace(netloc=f"{host}:{url.port or PORTS[url.scheme]}").geturl()
    # The certificate must be that of the name. Redirects are followed nowhere: that is httpx's own rule.
    named, trusted = {"sni_hostname": url.hostname}, httpx.create_ssl_context()
    async with (
        httpx.AsyncClient(timeout=SECONDS, verify=trusted, trust_env=False) as client,
        client.stream(
            "POST", target, headers=headers | {"host": url.netloc}, content=body, extensions=named
        ) as response,
    ):
        return response.status_code
