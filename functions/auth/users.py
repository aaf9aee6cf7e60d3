"""Users as rows of schema auth and as the objects that clients see."""

import uuid
from datetime import datetime
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from functions.core.database import Connection
from functions.core.errors import ApiError

User = dict[str, Any]
NO_INSTANCE = uuid.UUID(int=0)

_TIME = """'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'"""
_COLUMNS = """
    u.id, u.aud, u.role, u.email, u.encrypted_password, u.email_confirmed_at, u.invited_at, u.phone,
    u.phone_confirmed_at, u.confirmation_token, u.confirmation_sent_at, u.confirmed_at, u.recovery_token,
    u.recovery_sent_at, u.email_change, u.email_change_token_new, u.email_change_token_current,
    u.email_change_confirm_status, u.email_change_sent_at, u.phone_change, u.phone_change_sent_at,
    u.reauthentication_token, u.reauthentication_sent_at, u.last_sign_in_at, u.raw_app_meta_data,
    u.raw_user_meta_data, u.created_at, u.updated_at, u.banned_until, u.deleted_at, u.is_anonymous"""
_LISTS = f"""
    (select coalesce(json_agg(json_build_object(
        'identity_id', i.id, 'id', i.provider_id, 'user_id', i.user_id, 'identity_data', i.identity_data,
        'provider', i.provider, 'last_sign_in_at', to_char(i.last_sign_in_at, {_TIME}),
        'created_at', to_char(i.created_at, {_TIME}), 'updated_at', to_char(i.updated_at, {_TIME}),
        'email', i.email) order by i.created_at), '[]')
     from auth.identities i where i.user_id = u.id) as identities,
    (select json_agg(json_build_object(
        'id', f.id, 'created_at', to_char(f.created_at, {_TIME}),
        'updated_at', to_char(f.updated_at, {_TIME}),
        'status', f.status, 'friendly_name', nullif(f.friendly_name, ''), 'factor_type', f.factor_type,
        'phone', coalesce(f.phone, ''), 'last_challenged_at', to_char(f.last_challenged_at, {_TIME}))
        order by f.created_at)
     from auth.mfa_factors f where f.user_id = u.id) as factors"""
# Every query of a user starts so. Times in the lists rely on the time zone that service.py sets: UTC.
SELECT = f"select {_COLUMNS},{_LISTS}"
SELECT_PLAIN = f"select {_COLUMNS}, null::json as identities, null::json as factors"


def user_json(user: User) -> dict[str, Any]:
    """Return the user object in GoTrue's order; what it leaves out when empty is left out."""
    shown = {
        "id": user["id"],
        "aud": user["aud"] or "",
        "role": user["role"] or "",
        "email": user["email"] or "",
        "email_confirmed_at": user["email_confirmed_at"],
        "invited_at": user["invited_at"],
        "phone": user["phone"] or "",
        "phone_confirmed_at": user["phone_confirmed_at"],
        "confirmation_sent_at": user["confirmation_sent_at"],
        "confirmed_at": user["confirmed_at"],
        "recovery_sent_at": user["recovery_sent_at"],
        "new_email": user["email_change"] or None,
        "email_change_sent_at": user["email_change_sent_at"],
        "new_phone": user["phone_change"] or None,
        "phone_change_sent_at": user["phone_change_sent_at"],
        "reauthentication_sent_at": user["reauthentication_sent_at"],
        "last_sign_in_at": user["last_sign_in_at"],
        "app_metadata": user["raw_app_meta_data"] or {},
        "user_metadata": user["raw_user_meta_data"] or {},
        "factors": [factor_json(factor) for factor in user["factors"] or []] or None,
    }
    response = {name: value for name, value in shown.items() if value is not None}
    response["identities"] = user["identities"] and [_identity_json(entry) for entry in user["identities"]]
    response["created_at"] = user["created_at"]
    response["updated_at"] = user["updated_at"]
    for name in ("banned_until", "deleted_at"):
        if user[name] is not None:
            response[name] = user[name]
    response["is_anonymous"] = user["is_anonymous"]
    return response


def _identity_json(identity: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in identity.items() if value is not None}


def factor_json(factor: dict[str, Any]) -> dict[str, Any]:
    """Return a factor without its secret; only the friendly name is left out when empty."""
    return {name: value for name, value in factor.items() if value is not None or name != "friendly_name"}


def is_banned(user: User) -> bool:
    """Return whether an administrator's ban still runs."""
    until: datetime | None = user["banned_until"]
    return until is not None and until > datetime.now(until.tzinfo)


def has_verified_factor(user: User) -> bool:
    """Return whether the user must reach aal2 for what matters."""
    return any(factor["status"] == "verified" for factor in user["factors"] or [])


async def find_user(connection: Connection, user_id: uuid.UUID, lock: bool = False) -> User | None:
    """Return the user with this id; `lock` keeps others from changing the row until the transaction ends."""
    query = f"{SELECT} from auth.users u where u.instance_id = %s and u.id = %s" + (
        " for update of u" if lock else ""
    )
    return await (await connection.execute(query, [NO_INSTANCE, user_id])).fetchone()


async def find_by_email(connection: Connection, email: str, aud: str, lock: bool = False) -> User | None:
    """Return the user with this lower-case address."""
    query = (
        f"{SELECT} from auth.users u where u.instance_id = %s and lower(u.email) = %s and u.aud = %s "
        "and not u.is_sso_user" + (" for update of u" if lock else "")
    )
    return await (await connection.execute(query, [NO_INSTANCE, email, aud])).fetchone()


class EmailExistsError(ApiError):
    """Another account has the address."""


def email_exists() -> EmailExistsError:
    """Return the error of an address that another account has."""
    return EmailExistsError(422, "email_exists", "A user with this email address has already been registered")


async def check_email_is_free(
    connection: Connection,
    email: str,
    aud: str,
    except_user: uuid.UUID | None = None,
    *,
    or_unconfirmed: bool = False,
) -> None:
    """Raise ApiError 422 when another account has this address, or has confirmed it if that is asked."""
    row = await (
        await connection.execute(
            "select 1 from auth.users where instance_id = %s and lower(email) = %s and aud = %s "
            "and id is distinct from %s and (email_confirmed_at is not null or not %s)",
            [NO_INSTANCE, email, aud, except_user, or_unconfirmed],
        )
    ).fetchone()
    if row is not None:
        raise email_exists()


async def insert_user(connection: Connection, user: User, identity_data: dict[str, Any]) -> User:
    """Store a new user with its e-mail identity, and read both back.

    `user` holds id, aud, role, email, encrypted_password, raw_app_meta_data, raw_user_meta_data and, when an
    administrator says so, email_confirmed_at and banned_until.
    """
    await connection.execute(
        """
        with made as (
            insert into auth.users (
                instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, banned_until,
                confirmation_token, recovery_token, email_change_token_new, email_change, phone,
                raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
            values (%(instance)s, %(id)s, %(aud)s, %(role)s, %(email)s, %(encrypted_password)s,
                %(email_confirmed_at)s, %(banned_until)s, '', '', '', '', null,
                %(app)s, %(data)s, now(), now())
            returning id)
        insert into auth.identities (
            provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
        select id::text, id, %(identity)s, 'email', now(), now(), now() from made
        """,
        {
            "email_confirmed_at": None,
            "banned_until": None,
            **user,
            "instance": NO_INSTANCE,
            "app": Jsonb(user["raw_app_meta_data"]),
            "data": Jsonb(user["raw_user_meta_data"]),
            "identity": Jsonb(identity_data),
        },
    )
    made = await find_user(connection, user["id"])
    assert made is not None
    return made


async def update_user(connection: Connection, user: User, **values: Any) -> None:
    """Write columns of the user's row, and the same into `user`, so that it need not be read again."""
    now = datetime.now(user["created_at"].tzinfo)
    user.update(values, updated_at=now)
    assignments = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name))
        for name in [*values, "updated_at"]
    )
    parameters = {name: Jsonb(value) if isinstance(value, dict) else value for name, value in values.items()}
    await connection.execute(
        sql.SQL("update auth.users set {} where id = %(id)s").format(assignments),
        {**parameters, "updated_at": now, "id": user["id"]},
    )


def merged(old: dict[str, Any] | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with changes on its top level; null deletes a key."""
    return {name: value for name, value in {**(old or {}), **changes}.items() if value is not None}
