"""Sends the e-mails of the outbox: leases due rows, hands them to the mail server, records the result.

At least once: a row is recorded as sent after the server has taken it. Retries and giving up are decided in
SQL. A second copy is sent only when this process dies between the server's response and the record of it, or
cannot write the record for as long as the lease lasts.
"""

import asyncio
import logging
import time
from typing import Any

import psycopg

from functions.core.database import Pool, transaction
from functions.core.email import DELIVERY_ERRORS, SmtpServer, log_fields
from functions.worker.emails import EmailTemplate
from functions.worker.settings import WorkerSettings

BATCH_SIZE = 20
SMTP_TIMEOUT_SECONDS = 10
# Within the lease's two minutes.
RECORD_SECONDS = 75
RECORD_PAUSE_SECONDS = 1
log = logging.getLogger("worker")


class Mailer:
    """Delivers what is due, one e-mail at a time."""

    def __init__(self, pool: Pool, settings: WorkerSettings) -> None:
        self._pool = pool
        self._template = EmailTemplate(settings.mail_from, settings.site_url)
        self._server = SmtpServer(
            settings.smtp_host,
            settings.smtp_port,
            settings.smtp_user,
            settings.smtp_pass,
            SMTP_TIMEOUT_SECONDS,
            settings.smtp_tls,
        )

    async def deliver(self) -> int:
        """Send everything that is due now; return how many e-mails the server took."""
        sent = 0
        while rows := await self._lease():
            for row in rows:
                # An e-mail that was begun is finished and recorded, also when the worker is told to stop.
                sent += await asyncio.shield(self.send(row))
        return sent

    async def send(self, row: dict[str, Any]) -> bool:
        """Send one leased e-mail and record the result, if the lease is still this worker's."""
        if not await self._renew_lease(row):
            return False
        try:
            await self._server.send(self._template.render(row))
        except (*DELIVERY_ERRORS, KeyError) as error:
            reason = type(error).__name__
            log.warning("e-mail not sent", extra={"fields": {"outbox": row["id"], **log_fields(error)}})
            await self._record("select jobs.mark_mail_failed(%s, %s)", row["id"], f"{reason}: {error}"[:500])
            return False
        await self._record("select jobs.mark_mail_sent(%s)", row["id"])
        return True

    async def _lease(self) -> list[dict[str, Any]]:
        async with transaction(self._pool) as connection:
            cursor = await connection.execute("select * from jobs.lease_mail(%s)", [BATCH_SIZE])
            return await cursor.fetchall()

    async def _renew_lease(self, row: dict[str, Any]) -> bool:
        """Renew the lease; return false when it ended and another worker has the e-mail now."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                "select jobs.renew_mail_lease(%s, %s) as renewed", [row["id"], row["leased_until"]]
            )
            result = await cursor.fetchone()
        return bool(result and result["renewed"])

    async def _record(self, query: str, *arguments: object) -> None:
        """Record the result of an e-mail; wait for a database that is away for a moment."""
        give_up_at = time.monotonic() + RECORD_SECONDS
        while True:
            try:
                async with transaction(self._pool) as connection:
                    await connection.execute(query, arguments)
                return
            except psycopg.OperationalError:
                if time.monotonic() > give_up_at:
                    raise
                await asyncio.sleep(RECORD_PAUSE_SECONDS)
