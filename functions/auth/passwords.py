"""Passwords: rules, and hashing off the event loop so that a sign-in never holds up other requests."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import bcrypt
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from functions.auth.errors import AuthError, invalid

COST = 10
_LONGEST = 72
# bcrypt releases the interpreter's lock, so two threads use two cores and leave the loop its share.
_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="bcrypt")
# A hash takes about 60 ms: who came last is answered within a second or two even on a busy machine.
_MOST_WAITING = 16
_waiting = 0
_Result = TypeVar("_Result")
_DUMMY = bcrypt.hashpw(secrets.token_bytes(16), bcrypt.gensalt(COST, b"2a"))


def check_length(password: str) -> None:
    """Refuse more than bcrypt reads: 72 bytes. Raises AuthError 400."""
    if len(password.encode()) > _LONGEST:
        raise invalid("Password cannot be longer than 72 characters")


def check_strength(password: str, minimum: int, refuse_common: bool) -> None:
    """Refuse a password that is too short (bytes) or among the most used ones.

    Raises:
        AuthError: 422 weak_password, or 400 over 72 bytes.
    """
    check_length(password)
    if len(password.encode()) < minimum:
        raise AuthError(
            422, "weak_password", f"Password should be at least {minimum} characters.", reasons=["length"]
        )
    if refuse_common and password.lower() in _common():
        message = "Password is known to be weak and easy to guess, please choose a different one."
        raise AuthError(422, "weak_password", message, reasons=["pwned"])


@cache
def _common() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "common_passwords.txt").read_text().split())


@asynccontextmanager
async def in_turn() -> AsyncIterator[None]:
    """A place among those whose password is looked at, unless so many wait that the answer comes too late.

    Taken before a guess is counted: who is turned away here has guessed nothing.

    Raises:
        AuthError: 503; known and unknown accounts alike.
    """
    global _waiting
    if _waiting >= _MOST_WAITING:
        raise AuthError(503, "unexpected_failure", "The service is busy. Try again.")
    _waiting += 1
    try:
        yield
    finally:
        _waiting -= 1


async def _in_thread(work: Callable[..., _Result], *arguments: Any) -> _Result:
    return await asyncio.get_running_loop().run_in_executor(_POOL, work, *arguments)


async def hash_password(password: str) -> str:
    """A bcrypt hash of cost 10. Raises AuthError 503 as in_turn does."""
    async with in_turn():
        return (await _in_thread(bcrypt.hashpw, password.encode(), bcrypt.gensalt(COST, b"2a"))).decode()


async def matches(password: str, hashed: str | None) -> bool:
    """Whether the password belongs to the hash; without a hash as much time passes, and the answer is no.

    The caller has a turn.
    """
    return await _in_thread(_matches, password, hashed)


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


def random_password() -> str:
    """A password that nobody knows, for accounts made without one."""
    return secrets.token_urlsafe(32)
