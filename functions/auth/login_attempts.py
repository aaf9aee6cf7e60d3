"""Limits of failed attempts per account, counted in the database."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from functions.auth.codes import check_frequency
from functions.core.database import Pool
from functions.core.errors import ApiError


def subject_of_email(email: str) -> str:
    """Return the hash that stands for an address in auth.attempts, known or not."""
    return hashlib.sha256(email.encode()).hexdigest()


def too_many_attempts(window: timedelta) -> ApiError:
    """Return the error of an attempt that is not verified any more."""
    minutes = max(1, round(window.total_seconds() / 60))
    return ApiError(
        429, "over_request_rate_limit", f"Too many failed attempts. Try again in {minutes} minutes."
    )


class LoginAttempts:
    """Wrong codes: counted before each is verified, so that parallel ones are counted too.

    Authenticator codes count per account for a window; mailed ones per code, with its life as the window.
    Kept in auth.attempts, in its own committed statement: neither an error nor a restart takes it back.
    """

    def __init__(self, pool: Pool, limit: int, window: timedelta) -> None:
        """Allow `limit` failures of an account and kind in each window; 0 for any number."""
        self._pool, self._limit, self._window = pool, limit, window

    async def count(self, kind: str, subject: str) -> int:
        """Return how many attempts there were since the window began, with this one; 0 without a limit.

        An attempt beyond the limit is rejected without being verified, so it is not counted.
        """
        if not self._limit:
            return 0
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    """
                    insert into auth.attempts as a (kind, subject, failures, started_at)
                    values (%(kind)s, %(subject)s, 1, now())
                    on conflict (kind, subject) do update set
                        failures = case when a.started_at > now() - %(window)s
                            then a.failures + 1 else 1 end,
                        started_at = case when a.started_at > now() - %(window)s
                            then a.started_at else now() end
                        where a.failures < %(limit)s or a.started_at <= now() - %(window)s
                    returning failures
                    """,
                    {"kind": kind, "subject": subject, "window": self._window, "limit": self._limit},
                )
            ).fetchone()
        return int(row["failures"]) if row else self._limit + 1

    @asynccontextmanager
    async def begin(self, kind: str, subject: str) -> AsyncIterator[int]:
        """Count an attempt and lend its number while it is verified; uncounted when the verification fails.

        Raises:
            ApiError: 429 when it is one too many.
        """
        number = await self.count(kind, subject)
        if number > self._limit:
            raise too_many_attempts(self._window)
        try:
            yield number
        except BaseException:
            # Out of time, or without a database: nothing was learnt, so the same attempt may come again.
            if number:
                await self.uncount(kind, subject)
            raise

    async def uncount(self, kind: str, subject: str) -> None:
        """Take one attempt back."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "update auth.attempts set failures = failures - 1 "
                "where kind = %s and subject = %s and failures > 0",
                [kind, subject],
            )

    def is_last(self, number: int) -> bool:
        """Return whether the attempt with this number was the last one allowed."""
        return number == self._limit > 0

    async def clear(self, kind: str, subject: str) -> None:
        """Purge an account's attempts: the right one came."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where kind = %s and subject = %s", [kind, subject]
            )

    async def check_decoy_mail(
        self, kind: str, email: str, least: timedelta, *, is_sign_up: bool = False
    ) -> None:
        """Limit requests for mail that is never sent like those that are: no account is told apart.

        The first sign-up waits for nothing, as of an unknown address; `failures` is 1 since then.

        Raises:
            ApiError: 429 when the same was asked for less than `least` ago.
        """
        subject = subject_of_email(f"{kind} {email}")
        async with self._pool.connection() as connection:
            taken = await connection.execute(
                """
                insert into auth.attempts as a (kind, subject, failures, started_at)
                values ('mail', %(subject)s, %(signed_up)s, now())
                on conflict (kind, subject) do update set
                    started_at = now(), failures = greatest(a.failures, excluded.failures)
                    where a.started_at <= now() - %(least)s or a.failures < excluded.failures
                """,
                {"subject": subject, "signed_up": int(is_sign_up), "least": least},
            )
            if taken.rowcount:
                return
            query = "select started_at from auth.attempts where kind = 'mail' and subject = %s"
            last = await (await connection.execute(query, [subject])).fetchone()
        check_frequency(last["started_at"] if last else datetime.now(UTC), least)

    async def purge_old(self, *kinds: str) -> None:
        """Delete what of these kinds lies in no window any more."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where kind = any(%s) and started_at < now() - %s",
                [list(kinds), self._window],
            )
