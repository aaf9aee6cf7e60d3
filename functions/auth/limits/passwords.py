"""Limits of wrong passwords: they slow the client that guesses, not the owner of the account."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from functions.auth.limits.attempts import Attempts, Key, subject_of_email
from functions.auth.users import User
from functions.core.database import Connection, Pool
from functions.core.request import WIDE_ALLOWANCE, network_of, networks_of

KNOWN_FOR = timedelta(days=90)


def known_address(user: User, address: str) -> str:
    """Return the hash that stands for an account's sign-ins from a network."""
    return hashlib.sha256(f"{user['id']} {network_of(address)}".encode()).hexdigest()


@dataclass(frozen=True)
class PasswordAttempt:
    """An attempt that is being verified: its number since the window began, and where it is counted."""

    number: int
    account: Key
    networks: tuple[Key, ...]


class PasswordAttempts(Attempts):
    """Wrong passwords, each counted against the network that it comes from and against the account.

    All addresses share one count of the account, but one that signed in to it in the last 90 days is at home:
    it has its own, and passes beyond the failures of its network. So nobody can use up the attempts of the
    owner at home, and whoever is at home there cannot guess for ever. Administrators have the same rule in
    SQL (edge.admin_sign_in_way), and tests/support/known_addresses.csv holds for both.
    """

    def __init__(self, pool: Pool, limit: int, address_limit: int, window: timedelta) -> None:
        """Allow so many failures of an account, and from an address, in each window; 0 for any number."""
        super().__init__(pool, limit, window)
        self._network_limits = (address_limit, address_limit * WIDE_ALLOWANCE)

    async def is_at_home(self, connection: Connection, user: User | None, address: str) -> bool:
        """Return whether the account was signed in to from this network in the last 90 days."""
        # Without an account too: the time of the response would tell.
        known = [user["id"], known_address(user, address)] if user else [None, ""]
        cursor = await connection.execute(
            "select from auth.known_addresses where user_id = %s and address = %s and seen_at > now() - %s",
            [*known, KNOWN_FOR],
        )
        return await cursor.fetchone() is not None

    @asynccontextmanager
    async def begin_password(
        self, email: str, address: str, *, at_home: bool
    ) -> AsyncIterator[PasswordAttempt]:
        """Count an attempt and lend it, as `begin`: a right password, a wrong one and no account alike."""
        networks = [
            ("address", hashlib.sha256(network.encode()).hexdigest()) for network in networks_of(address)
        ]
        limits = (None, None) if at_home else self._network_limits
        account = subject_of_email(email)
        key = ("password", f"{account}:{networks[0][1]}" if at_home else account)
        async with self.begin(key, dict(zip(networks, limits, strict=False))) as number:
            yield PasswordAttempt(number, key, tuple(networks))

    async def forgive(self, attempt: PasswordAttempt) -> None:
        """Purge the failures of an account, where this attempt counted, because it was the right one."""
        if attempt.number:
            await self.uncount(attempt.networks)
            await self.clear(attempt.account)

    async def clear_account(self, email: str) -> None:
        """Purge all failures of an account: its password was changed."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.attempts where kind = 'password' and starts_with(subject, %s)",
                [subject_of_email(email)],
            )

    async def purge_known(self) -> None:
        """Delete the addresses that are known no more."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.known_addresses where seen_at < now() - %s", [KNOWN_FOR]
            )
