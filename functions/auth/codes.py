"""One-time secrets of a mail: six digits for a person, and a random token, independent of them, for its link.

Only keyed hashes are stored: the code's in the user's row, the link's in one_time_tokens, where it is sought.
"""

import hmac
import secrets
import uuid
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from psycopg import sql

from functions.auth.users import User, update_user
from functions.core.database import Connection

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


class Hasher:
    """Keyed hashes: neither a copy of the database nor an address is enough to try six digits."""

    def __init__(self, key: str) -> None:
        """Take the installation's secret. Raises ValueError when there is none."""
        if not key:
            raise ValueError("GOTRUE_JWT_SECRET must be set: the hashes of mailed links and codes need it")
        self._key = key.encode()

    def of_link(self, token: str) -> str:
        """Return what is stored of a link's token."""
        return self._hash("link", token)

    def of_code(self, user_id: uuid.UUID, kind: str, address: str, code: str) -> str:
        """Return what is stored of a code, which is good for one account, purpose and address."""
        return self._hash("code", str(user_id), kind, address.lower(), code)

    def _hash(self, *parts: str) -> str:
        return hmac.new(self._key, "\0".join(parts).encode(), "sha256").hexdigest()


class Secret(NamedTuple):
    """The link token and the code of one mail."""

    link_token: str
    code: str


def _new_secret(pkce: bool) -> Secret:
    # GoTrue's form: 56 hexadecimal digits.
    token = (PKCE if pkce else "") + secrets.token_hex(28)
    return Secret(token, f"{secrets.randbelow(1_000_000):06d}")


async def issue(
    hasher: Hasher, connection: Connection, user: User, kind: str, address: str, pkce: bool = False
) -> Secret:
    """Return a new secret, the user's only valid one of its kind."""
    secret = _new_secret(pkce)
    now = datetime.now(user["created_at"].tzinfo)
    code_hash = hasher.of_code(user["id"], kind, address, secret.code)
    await update_user(connection, user, **{kind: code_hash, SENT_AT[kind]: now})
    await connection.execute(
        """
        insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
        values (%s, %s, %s, %s, %s)
        on conflict (user_id, token_type) do update
            set id = excluded.id, token_hash = excluded.token_hash, relates_to = excluded.relates_to,
                created_at = now(), updated_at = now()
        """,
        [uuid.uuid4(), user["id"], kind, hasher.of_link(secret.link_token), address.lower()],
    )
    return secret


async def delete(connection: Connection, user_id: uuid.UUID, kind: str | None = None) -> None:
    """Delete the user's links of one kind, or all, those of earlier sign-ups too."""
    await connection.execute(
        "delete from auth.one_time_tokens where user_id = %s and (%s::text is null or token_type::text = %s)",
        [user_id, kind, kind],
    )
    if kind is None:
        await connection.execute("delete from auth.earlier_sign_ups where user_id = %s", [user_id])


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


def has_code(user: User, kind: str, lifetime_seconds: int) -> bool:
    """Return whether there is a code of this kind that can still be right."""
    return bool(user[kind]) and not is_expired(user, kind, lifetime_seconds)


def code_fits(user: User, kind: str, code_hash: str, lifetime_seconds: int) -> bool:
    """Return whether this is the hash of a code that is still good."""
    return has_code(user, kind, lifetime_seconds) and hmac.compare_digest(user[kind], code_hash)


async def void_code(connection: Connection, user: User, kind: str) -> None:
    """Make this code worthless, if it was not replaced meanwhile; the link of its mail goes on."""
    await connection.execute(
        sql.SQL("update auth.users set {0} = '' where id = %s and {0} = %s").format(sql.Identifier(kind)),
        [user["id"], user[kind]],
    )
