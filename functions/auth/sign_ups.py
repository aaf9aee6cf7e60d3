"""Sign-ups of an address that is not confirmed yet: each stands by itself, with its password and its data.

auth.users holds the newest, as in GoTrue, and auth.earlier_sign_ups what it replaced.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from functions.auth.users import NO_INSTANCE, User, find_user, update_user
from functions.core.database import Connection

# With the newest there are three; one more, and the oldest is void.
_MOST_EARLIER = 2
_COLUMNS = (
    *("role", "encrypted_password", "raw_app_meta_data", "raw_user_meta_data"),
    *("invited_at", "created_at", "confirmation_sent_at", "recovery_sent_at"),
)
# The codes of a sign-up that is the newest no more.
_VOID: dict[str, Any] = {
    "confirmation_token": "",
    "recovery_token": "",
    "email_change": "",
    "email_change_token_new": "",
    "email_change_token_current": "",
    "email_change_sent_at": None,
}


async def replace(connection: Connection, known: User, user: User, identity_data: dict[str, Any]) -> User:
    """Make a sign-up the newest of its address, whose row is locked; the one before waits for its link.

    When the last mails were sent stays: the pause between two mails is the address's.
    """
    await _set_aside(connection, known["id"])
    await connection.execute("delete from auth.one_time_tokens where user_id = %s", [known["id"]])
    await update_user(
        connection,
        known,
        role=user["role"],
        encrypted_password=user["encrypted_password"],
        raw_app_meta_data=user["raw_app_meta_data"],
        raw_user_meta_data=user["raw_user_meta_data"],
        invited_at=None,
        created_at=datetime.now(UTC),
        **_VOID,
    )
    await _set_identity(connection, known, identity_data)
    replaced = await find_user(connection, known["id"])
    assert replaced is not None
    return replaced


async def restore(connection: Connection, user: User, sign_up_id: uuid.UUID) -> None:
    """Put an earlier sign-up back in the place of the newest, which is void."""
    query = "delete from auth.earlier_sign_ups where id = %s returning *"
    earlier = await (await connection.execute(query, [sign_up_id])).fetchone()
    assert earlier is not None
    await update_user(connection, user, **{name: earlier[name] for name in _COLUMNS}, **_VOID)
    await _set_identity(connection, user, earlier["identity_data"])
    await connection.execute("delete from auth.flow_state where user_id = %s", [user["id"]])
    await connection.execute(
        "update auth.flow_state set user_id = %s where user_id = %s", [user["id"], sign_up_id]
    )


async def restore_unmailed(connection: Connection, user: User) -> None:
    """Put back what an administrator made without a mail, if later sign-ups replaced it.

    No link can confirm it, and who confirms it by hand does not mean what strangers added.
    """
    query = "select id from auth.earlier_sign_ups where user_id = %s and confirmation_sent_at is null"
    if row := await (await connection.execute(query, [user["id"]])).fetchone():
        await restore(connection, user, row["id"])


async def delete_unconfirmed(connection: Connection, email: str, aud: str, user_id: uuid.UUID) -> None:
    """Delete the sign-ups of an address that this user has proved: nobody opened a link of theirs.

    One that is confirmed at this moment stays.
    """
    await connection.execute(
        "delete from auth.users where instance_id = %s and lower(email) = %s and aud = %s and id <> %s "
        "and email_confirmed_at is null",
        [NO_INSTANCE, email, aud, user_id],
    )


async def purge_expired(connection: Connection, lifetime_seconds: int) -> None:
    """Delete earlier sign-ups that no link can confirm any more."""
    await connection.execute(
        """
        delete from auth.earlier_sign_ups
        where confirmation_sent_at is not null
            and greatest(confirmation_sent_at, recovery_sent_at) < now() - %s
        """,
        [timedelta(seconds=lifetime_seconds)],
    )


async def _set_aside(connection: Connection, user_id: uuid.UUID) -> None:
    """Store the newest as an earlier one, unless its links are deleted, and delete the oldest of too many."""
    query = """
        insert into auth.earlier_sign_ups (user_id, role, encrypted_password, raw_app_meta_data,
            raw_user_meta_data, identity_data, invited_at, created_at, confirmation_hash,
            confirmation_sent_at, recovery_hash, recovery_sent_at)
        select u.id, u.role, u.encrypted_password, u.raw_app_meta_data,
            u.raw_user_meta_data, i.identity_data, u.invited_at, u.created_at, c.token_hash,
            u.confirmation_sent_at, r.token_hash, u.recovery_sent_at
        from auth.users u
        join auth.identities i on i.user_id = u.id and i.provider = 'email'
        left join auth.one_time_tokens c on c.user_id = u.id and c.token_type = 'confirmation_token'
        left join auth.one_time_tokens r on r.user_id = u.id and r.token_type = 'recovery_token'
        where u.id = %s
            and (c.token_hash is not null or r.token_hash is not null or u.confirmation_sent_at is null)
        returning id
        """
    if made := await (await connection.execute(query, [user_id])).fetchone():
        await connection.execute(
            "update auth.flow_state set user_id = %s where user_id = %s", [made["id"], user_id]
        )
    # Without a link a sign-up is an administrator's: it stays.
    await connection.execute(
        """
        delete from auth.earlier_sign_ups where id in (
            select id from auth.earlier_sign_ups
            where user_id = %s and confirmation_sent_at is not null order by number desc offset %s)
        """,
        [user_id, _MOST_EARLIER],
    )


async def _set_identity(connection: Connection, user: User, identity_data: dict[str, Any]) -> None:
    await connection.execute(
        """
        update auth.identities
        set identity_data = %s, last_sign_in_at = %s, created_at = %s, updated_at = now()
        where user_id = %s and provider = 'email'
        """,
        [Jsonb(identity_data), user["created_at"], user["created_at"], user["id"]],
    )
