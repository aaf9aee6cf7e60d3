"""Failed attempts, counted in auth.attempts: neither an error nor a restart takes one back."""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from functions.core.database import Connection, Pool, transaction
from functions.core.errors import ApiError

# A kind of attempt and the subject that it counts against.
Key = tuple[str, str]

# Each statement locks its rows by kind and subject, so that none waits in a circle.
_COUNT = """
with asked (kind, subject, most) as materialized (
    select * from unnest(%(kinds)s::text[], %(subjects)s::text[], %(limits)s::integer[]))
insert into auth.attempts as a (kind, subject, failures, started_at)
select kind, subject, 1, now() from asked order by kind, subject
on conflict (kind, subject) do update set
    failures = case when a.started_at > now() - %(window)s then a.failures + 1 else 1 end,
    started_at = case when a.started_at > now() - %(window)s then a.started_at else now() end
    where a.started_at <= now() - %(window)s or (
        select q.most is null or a.failures < q.most
        from asked as q where (q.kind, q.subject) = (a.kind, a.subject))
returning kind, subject, failures
"""
_UNCOUNT = """
update auth.attempts as a set failures = a.failures - 1
from (
    select kind, subject from auth.attempts
    inner join unnest(%s::text[], %s::text[]) as asked (kind, subject) using (kind, subject)
    where failures > 0 order by kind, subject for no key update of attempts) as counted
where (a.kind, a.subject) = (counted.kind, counted.subject)
"""


def subject_of_email(email: str) -> str:
    """Return the hash that stands for an address in auth.attempts, known or not."""
    return hashlib.sha256(email.encode()).hexdigest()


class Attempts:
    """Counts of attempts, each from its first one until a window has passed.

    An attempt counts before it is verified, so that parallel ones count too. One beyond a limit is rejected
    without being verified, so it does not count.
    """

    def __init__(self, pool: Pool, limit: int, window: timedelta) -> None:
        """Allow so many failures of a key in each window; 0 for any number."""
        self._pool, self._limit, self._window = pool, limit, window

    @asynccontextmanager
    async def begin(self, key: Key, others: Mapping[Key, int | None] | None = None) -> AsyncIterator[int]:
        """Count an attempt and lend its number while it is verified; uncounted when the verification fails.

        `others` count it as well, each with a limit of its own (None: any number), or none of them does.

        Raises:
            ApiError: 429 when it is one too many.
        """
        if not self._limit:
            yield 0
            return
        limits = {**(others or {}), key: self._limit}
        async with transaction(self._pool) as connection:
            numbers = await self._count(connection, limits)
            if len(numbers) < len(limits):
                minutes = max(1, round(self._window.total_seconds() / 60))
                message = f"Too many failed attempts. Try again in {minutes} minutes."
                raise ApiError(429, "over_request_rate_limit", message)
        try:
            yield numbers[key]
        except BaseException:
            # Out of time, or without a database: nothing was learnt, so the same attempt may come again.
            await self.uncount(limits)
            raise

    async def count(self, keys: Sequence[Key]) -> list[int]:
        """Count an attempt of each key; return how many each has: at most one beyond the limit, 0 without."""
        if not self._limit or not keys:
            return [0] * len(keys)
        async with self._pool.connection() as connection:
            numbers = await self._count(connection, dict.fromkeys(keys, self._limit))
        return [numbers.get(key, self._limit + 1) for key in keys]

    async def _count(self, connection: Connection, limits: Mapping[Key, int | None]) -> dict[Key, int]:
        kinds, subjects = zip(*limits, strict=True)
        values = {
            "kinds": list(kinds),
            "subjects": list(subjects),
            "limits": list(limits.values()),
            "window": self._window,
        }
        rows = await (await connection.execute(_COUNT, values)).fetchall()
        return {(row["kind"], row["subject"]): row["failures"] for row in rows}

    async def uncount(self, keys: Iterable[Key]) -> None:
        """Take one attempt of each key back."""
        kinds, subjects = zip(*keys, strict=True)
        async with self._pool.connection() as connection:
            await connection.execute(_UNCOUNT, [list(kinds), list(subjects)])

    def is_last(self, number: int) -> bool:
        """Return whether the attempt with this number was the last one allowed."""
        return number == self._limit > 0

    async def clear(self, key: Key) -> None:
        """Purge the attempts of a key: the right one came."""
        async with self._pool.connection() as connection:
            await connection.execute("delete from auth.attempts where kind = %s and subject = %s", key)

    async def purge_old(self, *kinds: str) -> None:
        """Delete what of these kinds lies in no window any more."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where kind = any(%s) and started_at < now() - %s",
                [list(kinds), self._window],
            )
