"""The post office: takes due rows of the outbox, hands them to the mail server, notes what became of them.

At least once: a row is noted as sent after the server has taken it. Retries and giving up are decided in SQL.
"""

import logging
from typing import Any

import aiosmtplib

from functions.core.database import Pool, transaction
from functions.worker.letters import Stationery
from functions.worker.settings import WorkerSettings

BATCH = 20
SMTP_TIMEOUT_SECONDS = 10
log = logging.getLogger("worker")


class Post:
    """Mail and the functions of schema jobs, over one pool."""

    def __init__(self, pool: Pool, settings: WorkerSettings) -> None:
        self._pool = pool
        self._settings = settings
        self._stationery = Stationery(settings.mail_from, settings.site_url)

    async def call(self, function: str, *arguments: object) -> Any:
        """Run one function of schema jobs in a transaction of its own."""
        places = ", ".join(["%s"] * len(arguments))
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(f"select jobs.{function}({places}) as answer", arguments)
            row = await cursor.fetchone()
        return row["answer"] if row else None

    async def check_deposit_address(self) -> Any:
        """Compare the address that members are shown with the one the operator wrote down."""
        return await self.call("check_deposit_address", self._settings.deposit_address or None)

    async def deliver(self) -> int:
        """Send everything that is due now; returns how many letters the server took."""
        sent = 0
        while rows := await self._claim():
            for row in rows:
                sent += await self._send(row)
        return sent

    async def _claim(self) -> list[dict[str, Any]]:
        async with transaction(self._pool) as connection:
            cursor = await connection.execute("select * from jobs.claim_mail(%s)", [BATCH])
            return await cursor.fetchall()

    async def _send(self, row: dict[str, Any]) -> bool:
        settings = self._settings
        try:
            await aiosmtplib.send(
                self._stationery.write(row),
                hostname=settings.smtp_host,
                port=settings.smtp_port,
                username=settings.smtp_user or None,
                password=settings.smtp_pass or None,
                timeout=SMTP_TIMEOUT_SECONDS,
            )
        except (aiosmtplib.SMTPException, OSError, KeyError, ValueError) as error:
            log.warning(
                "mail not sent", extra={"fields": {"outbox": row["id"], "reason": type(error).__name__}}
            )
            await self._note(
                "select jobs.mail_failed(%s, %s)", row["id"], f"{type(error).__name__}: {error}"[:500]
            )
            return False
        await self._note("select jobs.mail_sent(%s)", row["id"])
        return True

    async def _note(self, query: str, *arguments: object) -> None:
        async with transaction(self._pool) as connection:
            await connection.execute(query, arguments)
