"""One-time secrets: six digits for a person, their hash for a link.

The hash lies in the user's row (compared with address and code) and in one_time_tokens (looked up by links).
"""

import hashlib
import math
import secrets
import uuid
from datetime import datetime, timedelta
from typing import Any

from functions.auth.users import User, update_user
from functions.core.database import Connection
from functions.core.errors import ApiError

PKCE = "pkce_"
CONFIRMATION = "confirmation_token"
RECOVERY = "recovery_token"
REAUTHENTICATION = "reauthentication_token"
CHANGE_NEW = "email_change_token_new"
CHANGE_CURRENT = "email_change_token_current"
SENT_AT = {
    CONFIRMATION: "confirmation_sent_at",
    RECOVERY: "recovery_sent_at",
    REAUTHENTICATION: "reauthentication_sent_at",
    CHANGE_NEW: "email_change_sent_at",
    CHANGE_CURRENT: "email_change_sent_at",
}

# A user for whom every secret is void, as after a change of password.
NO_SECRETS: dict[str, Any] = {
    "confirmation_token": "",
    "confirmation_sent_at": None,
    "recovery_token": "",
    "recovery_sent_at": None,
    "email_change_token_new": "",
    "email_change_token_current": "",
    "email_change_sent_at": None,
    "reauthentication_token": "",
    "reauthentication_sent_at": None,
}


def new_code() -> str:
    """Return six random digits."""
    return f"{secrets.randbelow(1_000_000):06d}"


def hash_of(address: str, code: str) -> str:
    """Return the hash that is stored and linked instead of the code."""
    return hashlib.sha224((address.lower() + code).encode()).hexdigest()


def check_frequency(sent_at: datetime | None, least: timedelta) -> None:
    """Raise ApiError 429 when the last mail of this kind to this user is too recent."""
    if sent_at is None:
        return
    left = (sent_at + least - datetime.now(sent_at.tzinfo)).total_seconds()
    if left > 0:
        message = f"For security purposes, you can only request this after {math.ceil(left)} seconds."
        raise ApiError(429, "over_email_send_rate_limit", message)


async def store(connection: Connection, user: User, kind: str, address: str, token_hash: str) -> None:
    """Make the hash the user's only valid one of its kind."""
    now = datetime.now(user["created_at"].tzinfo)
    await update_user(connection, user, **{kind: token_hash, SENT_AT[kind]: now})
    await connection.execute(
        """
        insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
        values (%s, %s, %s, %s, %s)
        on conflict (user_id, token_type) do update
            set id = excluded.id, token_hash = excluded.token_hash, relates_to = excluded.relates_to,
                created_at = now(), updated_at = now()
        """,
        [uuid.uuid4(), user["id"], kind, token_hash, address.lower()],
    )


async def delete(connection: Connection, user_id: uuid.UUID, kind: str | None = None) -> None:
    """Delete the user's links of one kind, or all."""
    await connection.execute(
        "delete from auth.one_time_tokens where user_id = %s and (%s::text is null or token_type::text = %s)",
        [user_id, kind, kind],
    )


async def purge_expired(connection: Connection, lifetime_seconds: int) -> None:
    """Delete links that have expired; who opens one is told so all the same."""
    await connection.execute(
        "delete from auth.one_time_tokens where created_at < now() at time zone 'utc' - %s",
        [timedelta(seconds=lifetime_seconds)],
    )


def is_expired(user: User, kind: str, lifetime_seconds: int) -> bool:
    """Return whether a secret of this kind is too old, or was never sent."""
    sent_at: datetime | None = user[SENT_AT[kind]]
    return sent_at is None or datetime.now(sent_at.tzinfo) > sent_at + timedelta(seconds=lifetime_seconds)


def code_fits(user: User, kind: str, token_hash: str, lifetime_seconds: int) -> bool:
    """Return whether the hash of address and code is the stored one, with or without the PKCE prefix."""
    stored: str = user[kind] or ""
    return stored.removeprefix(PKCE) == token_hash and not is_expired(user, kind, lifetime_seconds)
