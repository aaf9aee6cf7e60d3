"""Limits: requests per address (in memory, GoTrue's buckets) and failures per account (in the database)."""

import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from starlette.requests import Request

from functions.auth.codes import check_frequency
from functions.auth.durations import parse_duration
from functions.auth.errors import AuthError
from functions.auth.settings import AuthSettings
from functions.core.database import Pool

BURST = 30
_MOST_ADDRESSES = 20_000


class Bucket:
    """A token bucket per key: `burst` at once, refilled by `rate` a second."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> bool:
        """Whether one more is allowed now."""
        now = time.monotonic()
        left, since = self._left.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._left[key] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _MOST_ADDRESSES:
            # The least recently seen address has refilled most.
            del self._left[next(iter(self._left))]
        return left >= 1


class Limits:
    """GoTrue's limits: one bucket per kind of request and address, one for all mail.

    Addresses are limited only when the configured header is there: the gateway sets it.
    """

    def __init__(self, settings: AuthSettings) -> None:
        self._header = settings.rate_limit_header
        five_minutes = 300
        self._buckets = {
            kind: Bucket(settings.rate_limit_otp / five_minutes, BURST)
            for kind in ("signup", "recover", "resend", "magiclink", "otp", "user")
        }
        self._buckets["verify"] = Bucket(settings.rate_limit_verify / five_minutes, BURST)
        self._buckets["token"] = Bucket(settings.rate_limit_token / five_minutes, BURST)
        self._buckets["challenge"] = Bucket(settings.mfa_rate / 60, BURST)
        self._buckets["factor"] = Bucket(settings.mfa_rate / 60, BURST)
        count, seconds = _mail_rate(settings.rate_limit_email_sent)
        self._mail = Bucket(count / seconds, count)

    def check(self, kind: str, request: Request) -> None:
        """Count one request. Raises AuthError 429 when its address has none left."""
        given = request.headers.get(self._header, "") if self._header else ""
        address = given.split(",")[0].strip()
        if address and not self._buckets[kind].take(address):
            raise AuthError(429, "over_request_rate_limit", "Request rate limit reached")

    def check_mail(self) -> None:
        """Count one mail. Raises AuthError 429 when the whole server has sent too many."""
        if not self._mail.take(""):
            raise AuthError(429, "over_email_send_rate_limit", "email rate limit exceeded")


def _mail_rate(text: str) -> tuple[float, float]:
    """`30` is per hour, `30/10m` per ten minutes."""
    count, _, period = text.partition("/")
    return float(count), parse_duration(period).total_seconds() if period else 3600.0


def subject_of_address(email: str) -> str:
    """What stands for an address in auth.attempts, known or not."""
    return hashlib.sha256(email.encode()).hexdigest()


class Attempts:
    """Guesses per account: counted before each is judged, so that parallel ones are counted too.

    Kept in auth.attempts, in its own committed statement: neither a refusal nor a restart takes it back.
    """

    def __init__(self, pool: Pool, limit: int, window: timedelta) -> None:
        self._pool, self._limit, self._window = pool, limit, window

    async def count(self, kind: str, subject: str, limit: int | None = None) -> int:
        """How many guesses since the window began, this one included; 0 when there is no limit.

        A guess beyond the limit is refused without being judged, so it is not counted.
        """
        limit = self._limit if limit is None else limit
        if not limit:
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
                    {"kind": kind, "subject": subject, "window": self._window, "limit": limit},
                )
            ).fetchone()
        return int(row["failures"]) if row else limit + 1

    @asynccontextmanager
    async def guess(self, kind: str, subject: str) -> AsyncIterator[int]:
        """Count a guess and lend its number while it is judged; it is given back when the judging fails.

        Raises:
            AuthError: 429 when it is one too many.
        """
        number = await self.count(kind, subject)
        if number > self._limit:
            minutes = max(1, round(self._window.total_seconds() / 60))
            raise AuthError(
                429, "over_request_rate_limit", f"Too many failed attempts. Try again in {minutes} minutes."
            )
        try:
            yield number
        except BaseException:
            # Out of time, or without a database: nobody learnt anything, so the same guess may come again.
            if number:
                await self._give_back(kind, subject)
            raise

    async def _give_back(self, kind: str, subject: str) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(
                "update auth.attempts set failures = failures - 1 "
                "where kind = %s and subject = %s and failures > 0",
                [kind, subject],
            )

    def is_last(self, number: int) -> bool:
        """Whether the guess with this number was the last one allowed."""
        return number == self._limit > 0

    async def clear(self, kind: str, subject: str) -> None:
        """Forget an account's guesses: the right one came, or its password was changed."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where kind = %s and subject = %s", [kind, subject]
            )

    async def pretend_mail(self, what: str, email: str, least: timedelta) -> None:
        """Limit requests for mail that nobody gets like those that are sent: no account is told apart.

        Raises:
            AuthError: 429 when the same was asked for less than `least` ago.
        """
        async with self._pool.connection() as connection:
            taken = await connection.execute(
                """
                insert into auth.attempts as a (kind, subject, failures, started_at)
                values ('mail', %(subject)s, 0, now())
                on conflict (kind, subject) do update set started_at = now()
                    where a.started_at <= now() - %(least)s
                """,
                {"subject": subject_of_address(f"{what} {email}"), "least": least},
            )
        if not taken.rowcount:
            check_frequency(datetime.now(UTC), least)

    async def forget_old(self) -> None:
        """Delete what no window holds any more."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where started_at < now() - %s", [self._window]
            )
