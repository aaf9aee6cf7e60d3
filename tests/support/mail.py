"""The mail catcher of the stack: what was sent to whom."""

import re
import time
from typing import Any
from urllib.parse import urlsplit

from tests.support import plain_http

LINK = re.compile(r'href="([^"]+)"')


class Mailbox:
    """The emails that maildev lists at {MAIL_URL}/email."""

    def __init__(self, mail_url: str) -> None:
        self._http = plain_http.client(base_url=mail_url, timeout=10)

    def to(self, address: str) -> list[dict[str, Any]]:
        """Return all emails to an address, oldest first."""
        found = self._http.get("/email", params={"to.address": address.lower()})
        return list(found.raise_for_status().json())

    def wait_for(
        self, address: str, subject: str = "", seconds: float = 40, count: int = 1
    ) -> dict[str, Any]:
        """Return the newest email to an address whose subject contains the text, once there are `count`."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = [message for message in self.to(address) if subject.lower() in message["subject"].lower()]
            if len(found) >= count:
                return found[-1]
            time.sleep(0.05)
        raise AssertionError(f"no mail to {address} with {subject!r} in its subject after {seconds} s")

    def link_in(self, message: dict[str, Any]) -> str:
        """Return the page of the site that the link of an email leads to."""
        links: list[str] = [link.replace("&amp;", "&") for link in LINK.findall(message["html"])]
        return next(link for link in links if "/auth/confirm?" in link)

    def opened_by(self, message: dict[str, Any]) -> str:
        """Return the address of the auth service that opens the link of an email, as its page does."""
        page = urlsplit(self.link_in(message))
        query = page.query.replace("token_hash=", "token=", 1)
        return page._replace(path="/auth/v1/verify", query=query).geturl()

    def close(self) -> None:
        """Close the connection to the catcher."""
        self._http.close()
