"""The post office: takes due rows of the outbox, hands them to the mail server, notes what became of them.

At least once: a row is noted as sent after the server has taken it. Retries and giving up are decided in SQL.
A second copy is sent only when this process dies between the server's word and the note, or cannot write the
note for as long as the lease lasts.
"""

import asyncio
import logging
from typing import Any

import aiosmtplib
import psycopg
from psycopg_pool import PoolTimeout

from functions.core.database import Pool, transaction
from functions.worker.letters import Stationery
from functions.worker.settings import WorkerSettings

BATCH = 20
SMTP_TIMEOUT_SECONDS = 10
# What follows the server's word is tried this often, a growing while apart: 75 s of the lease's two minutes.
NOTE_ATTEMPTS = 5
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
                # A letter that was begun is finished and noted, also when the worker is told to stop.
                sent += await asyncio.shield(self.send(row))
        return sent

    async def _claim(self) -> list[dict[str, Any]]:
        async with transaction(self._pool) as connection:
            cursor = await connection.execute("select * from jobs.lease_mail(%s)", [BATCH])
            return await cursor.fetchall()

    async def send(self, row: dict[str, Any]) -> bool:
        """Send one claimed letter and note it, if it is still this worker's to send."""
        settings = self._settings
        if not await self._hand_over(row):
            return False
        try:
            await aiosmtplib.send(
                self._stationery.write(row),
                hostname=settings.smtp_host,
                port=settings.smtp_port,
                username=settings.smtp_user or None,
                password=settings.smtp_pass or None,
                use_tls=settings.smtp_port == 465,
                timeout=SMTP_TIMEOUT_SECONDS,
            )
        except (aiosmtplib.SMTPException, OSError, KeyError, ValueError) as error:
            log.warning(
                "mail not sent", extra={"fields": {"outbox": row["id"], "reason": type(error).__name__}}
            )
            await self._note(
                "select jobs.mark_mail_failed(%s, %s)", row["id"], f"{type(error).__name__}: {error}"[:500]
            )
            return False
        await self._note("select jobs.mark_mail_sent(%s)", row["id"])
        return True

    async def _hand_over(self, row: dict[str, Any]) -> bool:
        """Renew the lease; false when it ended and somebody else has the letter now."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                "select jobs.renew_mail_lease(%s, %s) as mine", [row["id"], row["leased_until"]]
            )
            renewed = await cursor.fetchone()
        return bool(renewed and renewed["mine"])

    async def _note(self, query: str, *arguments: object) -> None:
        """Write down what became of a letter; a database that is away for a moment is waited for."""
        for attempt in range(1, NOTE_ATTEMPTS + 1):
            try:
                async with transaction(self._pool) as connection:
                    await connection.execute(query, arguments)
                return
            except (psycopg.OperationalError, PoolTimeout):
                if attempt == NOTE_ATTEMPTS:
                    raise
                await asyncio.sleep(5 * attempt)
