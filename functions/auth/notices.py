"""Notifications of owners about their accounts: queued with the change, sent when the mail budget allows."""

import asyncio
import logging
import uuid
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from functions.auth.limits.mail import MailBudget
from functions.auth.mailer import Mailer
from functions.core.database import Connection, Pool
from functions.core.errors import ApiError

_PAUSE_SECONDS = 1
_PAUSE_WITHOUT_DATABASE_SECONDS = 5
# The time of the next attempt is also the lease: in the first minute of the instance that queued it.
_LEASE = """
update auth.notices set
    attempts = attempts + 1,
    next_attempt_at = now() + least(interval '1 hour', interval '1 minute' * power(2, least(attempts, 6)))
where id = (
    select id from auth.notices where next_attempt_at <= now()
        and (instance = %s or created_at < now() - interval '1 minute')
    order by next_attempt_at limit 1
    for update skip locked)
returning id, notice, recipient, data
"""

log = logging.getLogger("auth.notices")


class Notices:
    """The queue, in auth.notices: a change and its notification are committed together.

    At least once: a process that dies after the mail server has taken an e-mail sends it again.
    """

    def __init__(self, pool: Pool, budget: MailBudget, mailer: Mailer) -> None:
        """Take what it sends with."""
        self._pool, self._budget, self._mailer = pool, budget, mailer
        self._instance, self._stopping = uuid.uuid4(), asyncio.Event()

    async def add(self, connection: Connection, notice: str, recipient: str, data: dict[str, Any]) -> None:
        """Queue a notification, unless the same one waits already."""
        await connection.execute(
            "insert into auth.notices (notice, recipient, data, instance) values (%s, %s, %s, %s) "
            "on conflict do nothing",
            [notice, recipient, Jsonb(data), self._instance],
        )

    async def run(self) -> None:
        """Send what is due until told to stop."""
        while not self._stopping.is_set():
            pause = _PAUSE_SECONDS
            try:
                while not self._stopping.is_set() and await self._send_next():
                    pass
            except psycopg.Error:
                log.warning("no notification could be sent", exc_info=True)
                pause = _PAUSE_WITHOUT_DATABASE_SECONDS
            try:
                await asyncio.wait_for(self._stopping.wait(), pause)
            except TimeoutError:
                continue

    def stop(self) -> None:
        """Let `run` end after the e-mail that it is sending."""
        self._stopping.set()

    async def _send_next(self) -> bool:
        """Try one that is due; return whether there was one."""
        async with self._pool.connection() as connection:
            due = await (await connection.execute(_LEASE, [self._instance])).fetchone()
        if due is None:
            return False
        try:
            await self._budget.take_for_notice(due["recipient"])
            await self._mailer.send(due["notice"], due["recipient"], due["data"])
        except ApiError as error:
            fields = {"notice": due["notice"], "error": error.code}
            log.warning("a notification waits", extra={"fields": fields})
            return True
        async with self._pool.connection() as connection:
            await connection.execute("delete from auth.notices where id = %s", [due["id"]])
        return True

    async def purge_old(self) -> None:
        """Give up what no mail server took for a week."""
        async with self._pool.connection() as connection:
            deleted = await connection.execute(
                "delete from auth.notices where created_at < now() - interval '7 days' returning notice"
            )
            for row in await deleted.fetchall():
                log.error("a notification was never taken", extra={"fields": {"notice": row["notice"]}})
