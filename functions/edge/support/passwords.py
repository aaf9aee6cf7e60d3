"""Passwords: Argon2id for administrators' own, and generated ones; nothing has a default one."""

import asyncio
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from functions.core.errors import ApiError
from functions.core.passwords import is_common

# specification S11.8
MIN_LENGTH = 8
MAX_BYTES = 1024
TOO_SHORT = ApiError(400, "password_too_short", "New password must be at least 8 characters long")
TOO_LONG = ApiError(400, "password_too_long", "New password must be at most 1,024 bytes long")
TOO_COMMON = ApiError(400, "password_too_common", "This password is too easy to guess. Choose another one.")
# Without letters and digits that look alike.
GENERATED_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"

# 64 MiB each: two at a time keep the process small and the machine responsive.
_AT_ONCE = 2
_hasher = PasswordHasher()
_dummy_hash = _hasher.hash(secrets.token_urlsafe())


class Passwords:
    """Argon2id in threads, a few at a time.

    Attributes:
        limiter: held while a password is hashed or matched.
    """

    def __init__(self) -> None:
        self.limiter = asyncio.Semaphore(_AT_ONCE)

    async def hash(self, password: str) -> str:
        """Return the Argon2id hash to store."""
        async with self.limiter:
            return await asyncio.to_thread(_hasher.hash, password)

    async def matches(self, stored_hash: str | None, password: str) -> bool:
        """Return whether the password is the stored one; without a stored one it takes as long, and is not.

        The caller holds the limiter.
        """
        verified = await asyncio.to_thread(_verify, stored_hash or _dummy_hash, password)
        return verified and stored_hash is not None


def require_acceptable(password: str, *own: object) -> None:
    """Check a new password.

    Raises:
        ApiError: it is too short, too long, among the most frequent ones or one of the person's own names.
    """
    if len(password) < MIN_LENGTH:
        raise TOO_SHORT
    if len(password.encode()) > MAX_BYTES:
        raise TOO_LONG
    if is_common(password, *own):
        raise TOO_COMMON


def generate_password() -> str:
    """Return four groups of five characters, about 99 bits, easy to read out."""
    return "-".join("".join(secrets.choice(GENERATED_CHARACTERS) for _ in range(5)) for _ in range(4))


def _verify(stored_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(stored_hash, password)
    except (VerificationError, InvalidHashError):
        return False
