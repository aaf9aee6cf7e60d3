"""Limits of wrong passwords: they slow the client that guesses, not the owner of the account."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from functions.auth.login_attempts import subject_of_email, too_many_attempts
from functions.auth.users import User
from functions.core.database import Connection, Pool
from functions.core.request import WIDE_ALLOWANCE, network_of, networks_of

KNOWN_FOR = timedelta(days=90)

_KNOWN = """select from auth.known_addresses
    where user_id = %(user)s and address = %(known)s and seen_at > now() - %(known_for)s"""
# The networks first, by their hashes, then the account: whoever counts or takes back locks in this order.
_COUNT = f"""
with known as materialized ({_KNOWN}),
address as (
    insert into auth.attempts as a (kind, subject, failures, started_at)
    select 'address', subject, 1, now() from unnest(%(networks)s::text[]) as t (subject) order by subject
    on conflict (kind, subject) do update set
        failures = case when a.started_at > now() - %(window)s then a.failures + 1 else 1 end,
        started_at = case when a.started_at > now() - %(window)s then a.started_at else now() end
        where a.failures < case when a.subject = %(network)s then %(network_limit)s else %(wide_limit)s end
            or a.started_at <= now() - %(window)s or exists (select from known)
    returning subject),
account as (
    insert into auth.attempts as a (kind, subject, failures, started_at)
    select 'password', case when exists (select from known) then %(here)s else %(account)s end, 1, now()
    where (select count(*) from address) = cardinality(%(networks)s::text[])
    on conflict (kind, subject) do update set
        failures = case when a.started_at > now() - %(window)s then a.failures + 1 else 1 end,
        started_at = case when a.started_at > now() - %(window)s then a.started_at else now() end
        where a.failures < %(limit)s or a.started_at <= now() - %(window)s
    returning subject, failures)
select account.subject, account.failures, array(select subject from address) as counted
from (values (1)) as one left join account on true
"""
_UNCOUNT_NETWORKS = """
update auth.attempts as a set failures = a.failures - 1
from (
    select subject from auth.attempts
    where kind = 'address' and subject = any(%(networks)s) and failures > 0 order by subject for no key update
) as counted
where a.kind = 'address' and a.subject = counted.subject
"""
_UNCOUNT = f"""
with address as ({_UNCOUNT_NETWORKS} returning 1)
update auth.attempts set failures = failures - 1
from (select count(*) from address) as first
where kind = 'password' and subject = %(subject)s and failures > 0
"""
_FORGIVE = f"""
with address as ({_UNCOUNT_NETWORKS} returning 1)
delete from auth.attempts using (select count(*) from address) as first
where kind = 'password' and subject = %(subject)s
"""


def known_address(user: User, address: str) -> str:
    """Return the hash that stands for an account's sign-ins from a network."""
    return hashlib.sha256(f"{user['id']} {network_of(address)}".encode()).hexdigest()


@dataclass(frozen=True)
class PasswordAttempt:
    """An attempt that is being verified: its number since the window began, and where it is counted."""

    number: int
    networks: list[str] = field(default_factory=list)
    subject: str = ""


class PasswordAttempts:
    """Wrong passwords, counted before each is verified, so that parallel ones are counted too.

    Each counts against the network that it comes from, and against the account: all addresses share
    one count of it, but one that signed in to it in the last 90 days has its own. So nobody can use up the
    attempts of the owner at home, and who is at home there cannot guess for ever.
    Kept in auth.attempts, in its own committed statement: neither an error nor a restart takes it back.
    """

    def __init__(self, pool: Pool, limit: int, address_limit: int, window: timedelta) -> None:
        """Allow so many failures of an account, and from an address, in each window; 0 for any number."""
        self._pool, self._limit, self._address_limit, self._window = pool, limit, address_limit, window

    async def is_at_home(self, connection: Connection, user: User | None, address: str) -> bool:
        """Return whether the account was signed in to from this network in the last 90 days."""
        values = (
            {"user": user["id"], "known": known_address(user, address)}
            if user
            else {"user": None, "known": ""}
        )
        cursor = await connection.execute(_KNOWN, {**values, "known_for": KNOWN_FOR})
        return await cursor.fetchone() is not None

    @asynccontextmanager
    async def begin(self, email: str, user: User | None, address: str) -> AsyncIterator[PasswordAttempt]:
        """Count an attempt and lend it while it is verified; uncounted when the verification fails.

        Raises:
            ApiError: 429 when it is one too many: of a right password, a wrong one and no account alike.
        """
        if not self._limit:
            yield PasswordAttempt(0)
            return
        attempt = await self._count(email, user, address)
        try:
            yield attempt
        except BaseException:
            # Out of time, or without a database: nothing was learnt, so the same attempt may come again.
            await self._execute(_UNCOUNT, attempt)
            raise

    async def _count(self, email: str, user: User | None, address: str) -> PasswordAttempt:
        account = subject_of_email(email)
        networks = [hashlib.sha256(network.encode()).hexdigest() for network in networks_of(address)]
        values: dict[str, Any] = {
            "user": user["id"] if user else None,
            "known": known_address(user, address) if user else None,
            "known_for": KNOWN_FOR,
            "account": account,
            "networks": networks,
            "network": networks[0],
            "here": f"{account}:{networks[0]}",
            "limit": self._limit,
            "network_limit": self._address_limit,
            "wide_limit": self._address_limit * WIDE_ALLOWANCE,
            "window": self._window,
        }
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_COUNT, values)).fetchone()
            if row and row["failures"] is not None:
                return PasswordAttempt(row["failures"], networks, row["subject"])
            if row and row["counted"]:
                # Rejected without being verified: what has room for it has not failed.
                await connection.execute(_UNCOUNT_NETWORKS, {"networks": row["counted"]})
        raise too_many_attempts(self._window)

    async def forgive(self, attempt: PasswordAttempt) -> None:
        """Purge the failures of an account, where this attempt counted, because it was the right one."""
        if attempt.number:
            await self._execute(_FORGIVE, attempt)

    async def clear(self, email: str) -> None:
        """Purge all failures of an account: its password was changed."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where kind = 'password' and starts_with(subject, %s)",
                [subject_of_email(email)],
            )

    async def purge_old(self) -> None:
        """Delete the addresses that are known no more."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.known_addresses where seen_at < now() - %s", [KNOWN_FOR]
            )

    async def _execute(self, statement: str, attempt: PasswordAttempt) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(statement, {"networks": attempt.networks, "subject": attempt.subject})
