"""Administrators' passwords: Argon2id, the same work for an address that nobody has."""

import asyncio
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from functions.core.errors import Refusal
from functions.core.passwords import is_common

MIN_LENGTH = 8
MAX_BYTES = 1024
TOO_SHORT = Refusal(400, "password_too_short", "New password must be at least 8 characters long")
TOO_LONG = Refusal(400, "password_too_long", "New password must be at most 1,024 bytes long")
TOO_COMMON = Refusal(400, "password_too_common", "This password is too easy to guess. Choose another one.")

# 64 MiB each: two at a time keep the process small and the machine answering.
turns = asyncio.Semaphore(2)
_hasher = PasswordHasher()
_nobodys_hash = _hasher.hash(secrets.token_urlsafe())


async def hash_password(password: str) -> str:
    """The Argon2id hash to store."""
    async with turns:
        return await asyncio.to_thread(_hasher.hash, password)


async def matches(stored_hash: str | None, password: str) -> bool:
    """Whether the password is the stored one; without a stored one the same time passes, and it is not.

    The caller has one of the turns.
    """
    verified = await asyncio.to_thread(_verify, stored_hash or _nobodys_hash, password)
    return verified and stored_hash is not None


def require_acceptable(password: str) -> None:
    """Refuse a new password that is too short, too long or among the most frequent ones.

    Raises:
        Refusal: with the exact text.
    """
    if len(password) < MIN_LENGTH:
        raise TOO_SHORT
    if len(password.encode()) > MAX_BYTES:
        raise TOO_LONG
    if is_common(password):
        raise TOO_COMMON


def _verify(stored_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(stored_hash, password)
    except (VerificationError, InvalidHashError):
        return False
