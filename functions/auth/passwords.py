"""Passwords: rules, hashing and verification."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import bcrypt
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from functions.auth import codes
from functions.auth.errors import invalid, weak_password
from functions.auth.users import User, update_user
from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.core.passwords import is_common

COST = 10
_LONGEST = 72
# bcrypt releases the interpreter's lock, so two threads use two cores and leave the loop its share.
_THREADS = 2
_PLACES = 16
# The share of one account: its owner, or who has its password, keeps no other account waiting.
_PLACES_OF_ACCOUNT = 4
# How long the last in the queue waits at most, by what hashes took of late: that depends on the load.
_LONGEST_WAIT_SECONDS = 0.75
_USUAL_SECONDS = 0.06
# How much the latest hash counts in what they took of late.
_WEIGHT = 0.25
_DUMMY = bcrypt.hashpw(secrets.token_bytes(16), bcrypt.gensalt(COST, b"2a"))
_Result = TypeVar("_Result")


class _Lane:
    """Requests that wait for the same threads: as many as can be served in time."""

    def __init__(self, threads: int, places: int, longest_wait_seconds: float) -> None:
        self.threads = asyncio.Semaphore(threads)
        self._at_once, self._places, self._waiting = threads, places, 0
        self._of_account = Counter[str]()
        self._longest_wait_seconds = longest_wait_seconds

    @asynccontextmanager
    async def place(self, seconds: float, account: str = "") -> AsyncIterator[None]:
        """Take a place, while a hash takes so many seconds. Raises ApiError 503 when there is none."""
        wait = max(0, self._waiting + 1 - self._at_once) * seconds / self._at_once
        is_full = self._waiting >= self._places or wait > self._longest_wait_seconds
        if is_full or (account and self._of_account[account] >= _PLACES_OF_ACCOUNT):
            raise ApiError(503, "unexpected_failure", "The service is busy. Try again.")
        self._waiting += 1
        self._of_account[account] += 1
        try:
            yield
        finally:
            self._waiting -= 1
            self._of_account[account] -= 1
            # Only what is there is kept.
            self._of_account += Counter()


class Passwords:
    """Hashes and verifies passwords outside the event loop, so that a sign-in never blocks other requests."""

    def __init__(self, min_length: int, reject_common: bool, product: str = "") -> None:
        """Take this installation's rules: the least number of bytes, and whether common ones are rejected.

        The product's name counts as common.
        """
        self._min_length, self._reject_common, self._product = min_length, reject_common, product
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="bcrypt")
        # Persons at home: where they are signed in, or signed in of late.
        self._usual = _Lane(_THREADS, _PLACES, _LONGEST_WAIT_SECONDS)
        # Sign-ins from anywhere else, right ones or not, to an account or none.
        self._elsewhere = _Lane(_THREADS, _PLACES, _LONGEST_WAIT_SECONDS)
        # Sign-ups and what else takes no account: half of everything, and it may take longer.
        self._sign_ups = _Lane(_THREADS // 2, _PLACES // 2, 2 * _LONGEST_WAIT_SECONDS)
        self._seconds = _USUAL_SECONDS

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def check_strength(self, password: str, *own: object) -> None:
        """Reject a password that is too short, among the most used ones or one of the person's own names.

        Raises:
            ApiError: 422 weak_password, or 400 over 72 bytes.
        """
        check_length(password)
        if len(password.encode()) < self._min_length:
            raise weak_password(f"Password should be at least {self._min_length} characters.", "length")
        if self._reject_common and is_common(password, *own, self._product):
            message = "Password is known to be weak and easy to guess, please choose a different one."
            raise weak_password(message, "pwned")

    @asynccontextmanager
    async def slot(
        self, email: str, *, at_home: bool = False
    ) -> AsyncIterator[Callable[[str, str | None], Awaitable[bool]]]:
        """Limit how many passwords are hashed or waiting to be: one more would be answered too late.

        Taken before a login attempt is counted, so that who is rejected here has used none. It lends the
        verification of one password: whether it belongs to a hash, and without one False after as much time.
        However many sign-ins come from elsewhere, one from home waits for two of them at most.

        Raises:
            ApiError: 503; elsewhere known and unknown accounts alike.
        """
        lane = self._usual if at_home else self._elsewhere
        async with lane.place(self._seconds, email):
            yield partial(self._in_thread, lane, _matches)

    async def hash(self, password: str, email: str = "", *, is_sign_up: bool = False) -> str:
        """Return a bcrypt hash of cost 10.

        Sign-ups wait for each other: however many there are, a sign-in waits for one of them at most.

        Raises:
            ApiError: 503 as `slot` does.
        """
        lane = self._sign_ups if is_sign_up else self._usual
        async with lane.place(self._seconds, email):
            salt = bcrypt.gensalt(COST, b"2a")
            return (await self._in_thread(lane, bcrypt.hashpw, password.encode(), salt)).decode()

    async def _in_thread(self, lane: _Lane, work: Callable[..., _Result], *arguments: Any) -> _Result:
        loop = asyncio.get_running_loop()
        async with lane.threads:
            result, seconds = await loop.run_in_executor(self._threads, _timed, work, *arguments)
        self._seconds += _WEIGHT * (seconds - self._seconds)
        return result


def check_length(password: str) -> None:
    """Reject more than bcrypt reads: 72 bytes. Raises ApiError 400."""
    if len(password.encode()) > _LONGEST:
        raise invalid("Password cannot be longer than 72 characters")


def names_of(user: User) -> tuple[object, ...]:
    """Return the names of a person that are no password of theirs."""
    return user["email"], (user["raw_user_meta_data"] or {}).get("username")


def random_password() -> str:
    """Return a password that nobody knows, for accounts made without one."""
    return secrets.token_urlsafe(32)


async def store_hash(connection: Connection, user: User, hashed: str) -> None:
    """Change the user's password; codes and links that were mailed before become void."""
    await update_user(connection, user, encrypted_password=hashed, **codes.NO_SECRETS)
    await codes.delete(connection, user["id"])


def _timed(work: Callable[..., _Result], *arguments: Any) -> tuple[_Result, float]:
    started = time.perf_counter()
    return work(*arguments), time.perf_counter() - started


def _matches(password: str, hashed: str | None) -> bool:
    secret = password.encode()
    if not hashed or len(secret) > _LONGEST:
        # bcrypt would not see what follows the 72nd byte: such a password is never right.
        bcrypt.checkpw(secret[:_LONGEST], _DUMMY)
        return False
    if hashed.startswith("$argon2"):
        try:
            return PasswordHasher().verify(hashed, password)
        except (Argon2Error, InvalidHashError):
            return False
    try:
        return bcrypt.checkpw(secret, hashed.encode())
    except ValueError:
        return False
