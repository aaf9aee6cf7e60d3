"""/admin/users: what the service key may do with accounts."""

import hashlib
import uuid
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, sessions
from functions.auth.addresses import checked_email
from functions.auth.answers import json_response
from functions.auth.bearer import require_admin
from functions.auth.bodies import Fields, read_bytes, read_fields
from functions.auth.confirmations import confirm, update_identity
from functions.auth.database import transaction
from functions.auth.durations import parse_duration
from functions.auth.errors import AuthError, invalid
from functions.auth.limits import subject_of_address
from functions.auth.paging import page_headers, page_of
from functions.auth.passwords import check_length, hash_password, random_password
from functions.auth.service import Service, audience_of
from functions.auth.signup import APP_METADATA, check_password, new_user, save_user
from functions.auth.user import change_password
from functions.auth.users import (
    NO_INSTANCE,
    SELECT_PLAIN,
    User,
    email_taken,
    find_user,
    merged,
    update_user,
    user_json,
)
from functions.core.database import Connection

TAKEN = "A user with this email address has already been registered"
_FIELDS: Fields = {
    "id": "text",
    "aud": "text",
    "role": "text",
    "email": "text",
    "phone": "text",
    "password": "text",
    "password_hash": "text",
    "email_confirm": "flag",
    "user_metadata": "object",
    "app_metadata": "object",
    "ban_duration": "text",
}
_HASHES = ("$2a$", "$2b$", "$2y$", "$argon2")


async def path_user(connection: Connection, request: Request, lock: bool = False) -> User:
    """The user that the path names. Raises AuthError 404."""
    try:
        user_id = uuid.UUID(request.path_params["user_id"])
    except ValueError as error:
        raise invalid("user_id must be an UUID", 404) from error
    user = await find_user(connection, user_id, lock)
    if user is None:
        raise AuthError(404, "user_not_found", "User not found")
    return user


async def list_users(service: Service, request: Request) -> Response:
    """A page of users, newest first unless sorted otherwise; `filter` looks in address and full name."""
    await require_admin(service, request)
    direction = _direction(request.query_params.get("sort", ""))
    page, size = page_of(request)
    aud = audience_of(service, request)
    wanted = (
        request.query_params.get("filter", "").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    )
    condition = (
        "u.instance_id = %(instance)s and u.aud = %(aud)s and (%(filter)s = '%%' or u.email like %(filter)s "
        "or u.raw_user_meta_data ->> 'full_name' ilike %(filter)s)"
    )
    parameters = {
        "instance": NO_INSTANCE,
        "aud": aud,
        "filter": f"%{wanted}%" if wanted else "%",
        "size": size,
        "skip": (page - 1) * size,
    }
    async with service.pool.connection() as connection:
        counted = await connection.execute(
            f"select count(*) as n from auth.users u where {condition}", parameters
        )
        total = (await counted.fetchone() or {"n": 0})["n"]
        rows = await connection.execute(
            f"{SELECT_PLAIN} from auth.users u where {condition} "
            f"order by u.created_at {direction}, u.id limit %(size)s offset %(skip)s",
            parameters,
        )
        users = [user_json(user) for user in await rows.fetchall()]
    headers = page_headers(request, "/admin/users", page, size, total)
    return json_response({"users": users, "aud": aud}, headers=headers)


def _direction(given: str) -> str:
    name, _, direction = given.strip().partition(" ")
    if name not in {"", "created_at"}:
        raise invalid(f"Bad Sort Parameters: bad field for sort '{name}'")
    if direction.lower() not in {"", "asc", "desc"}:
        raise invalid(
            f"Bad Sort Parameters: bad direction for sort '{direction}', only 'asc' and 'desc' allowed"
        )
    return "asc" if direction.lower() == "asc" else "desc"


async def get(service: Service, request: Request) -> Response:
    """One user."""
    await require_admin(service, request)
    async with service.pool.connection() as connection:
        return json_response(user_json(await path_user(connection, request)))


async def create(service: Service, request: Request) -> Response:
    """Make a user without a mail and without the hook; a random password when none is given."""
    await require_admin(service, request)
    body = await read_fields(request, _FIELDS)
    if not body["email"] and not body["phone"]:
        raise invalid("Cannot create a user without either an email or phone")
    email = checked_email(body["email"])
    aud = body["aud"] or audience_of(service, request)
    async with service.pool.connection() as connection:
        if await email_taken(connection, email, aud):
            raise AuthError(422, "email_exists", TAKEN)
    hashed = await _given_hash(body)
    banned_until = _banned_until(body["ban_duration"])
    data: dict[str, Any] = body["user_metadata"] or {}
    user = new_user(service, aud, email, hashed, data)
    user["id"] = _given_id(body["id"]) or user["id"]
    user["role"] = body["role"] or user["role"]
    user["raw_app_meta_data"] = (body["app_metadata"] or {}) | APP_METADATA
    user["banned_until"] = banned_until
    if body["email_confirm"]:
        user["email_confirmed_at"] = datetime.now(UTC)
        user["raw_user_meta_data"] = data | {"email_verified": True}
    claims = {"sub": str(user["id"]), "email": email, "email_verified": False, "phone_verified": False}
    async with transaction(service.pool) as connection:
        made = await save_user(connection, user, claims)
        traits = {"user_id": str(made["id"]), "user_email": email, "user_phone": ""}
        await audit.record(connection, "user_signedup", audit.ADMIN, traits | {"provider": "email"})
    # GoTrue answers from before the row was read back.
    return json_response(user_json(made | {"confirmed_at": None}))


async def _given_hash(body: dict[str, Any]) -> str:
    if body["password"] and body["password_hash"]:
        raise invalid("Only a password or a password hash should be provided")
    if body["password_hash"]:
        if not body["password_hash"].startswith(_HASHES):
            raise invalid("invalid password hash: bcrypt or argon2 is expected")
        return str(body["password_hash"])
    if body["password"]:
        check_length(body["password"])
    return await hash_password(body["password"] or random_password())


def _given_id(given: str | None) -> uuid.UUID | None:
    if not given:
        return None
    try:
        value = uuid.UUID(given)
    except ValueError as error:
        raise invalid("ID must conform to the uuid v4 format") from error
    if value.int == 0:
        raise invalid("ID cannot be a nil uuid")
    return value


def _banned_until(duration: str | None) -> datetime | None:
    if not duration or duration == "none":
        return None
    try:
        return datetime.now(UTC) + parse_duration(duration)
    except ValueError as error:
        raise invalid(f"invalid format for ban duration: {error}") from error


async def update(service: Service, request: Request) -> Response:
    """Change an account at once: no mail is sent. A new password ends every session of the user."""
    await require_admin(service, request)
    async with service.pool.connection() as connection:
        await path_user(connection, request)
    body = await read_fields(request, _FIELDS)
    email = checked_email(body["email"]) if body["email"] else None
    banned_until = _banned_until(body["ban_duration"])
    hashed = None
    if body["password"] is not None:
        check_password(service, body["password"])
        hashed = await hash_password(body["password"])
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        before = {"identities": user["identities"], "confirmed_at": user["confirmed_at"]}
        if email and await email_taken(connection, email, user["aud"], user["id"]):
            raise AuthError(422, "email_exists", TAKEN)
        await _apply(connection, user, body, email, hashed, banned_until)
        traits = {"user_id": str(user["id"]), "user_email": user["email"], "user_phone": user["phone"] or ""}
        await audit.record(connection, "user_modified", audit.ADMIN, traits)
    if hashed:
        await service.attempts.clear("password", subject_of_address(user["email"] or ""))
    return json_response(user_json(user | before))


async def _apply(
    connection: Connection,
    user: User,
    body: dict[str, Any],
    email: str | None,
    hashed: str | None,
    banned_until: datetime | None,
) -> None:
    values: dict[str, Any] = {}
    if body["role"]:
        values["role"] = body["role"]
    if body["app_metadata"] is not None:
        values["raw_app_meta_data"] = merged(user["raw_app_meta_data"], body["app_metadata"])
    if body["ban_duration"]:
        values["banned_until"] = banned_until
    if body["email_confirm"]:
        await confirm(connection, user)
    if body["user_metadata"] is not None:
        values["raw_user_meta_data"] = merged(user["raw_user_meta_data"], body["user_metadata"])
    if email:
        values["email"] = email
        changes: dict[str, object] = {"email": email, "email_verified": bool(body["email_confirm"])}
        await update_identity(connection, user, changes)
    if values:
        await update_user(connection, user, **values)
    if hashed:
        await change_password(connection, user, hashed)
        await sessions.end_all(connection, user["id"])


async def delete(service: Service, request: Request) -> Response:
    """Delete an account; `should_soft_delete` keeps an emptied row and frees the address."""
    await require_admin(service, request)
    should_soft_delete = await _wants_soft(request)
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        traits = {"user_id": str(user["id"]), "user_email": user["email"], "user_phone": user["phone"] or ""}
        await audit.record(connection, "user_deleted", audit.ADMIN, traits)
        if should_soft_delete:
            await _empty(connection, user)
        else:
            await connection.execute("delete from auth.users where id = %s", [user["id"]])
    return json_response({})


async def _wants_soft(request: Request) -> bool:
    """The body is optional here."""
    raw = await read_bytes(request)
    if not raw.strip():
        return False

    async def again() -> dict[str, Any]:
        return {"type": "http.request", "body": raw, "more_body": False}

    body = await read_fields(Request(request.scope, again), {"should_soft_delete": "flag"})
    return bool(body["should_soft_delete"])


async def _empty(connection: Connection, user: User) -> None:
    """What stays of a user who was deleted softly: hashes in place of addresses, no metadata, no way in."""
    if user["deleted_at"] is not None:
        return
    await sessions.end_all(connection, user["id"])
    await connection.execute("delete from auth.mfa_factors where user_id = %s", [user["id"]])
    await connection.execute("delete from auth.one_time_tokens where user_id = %s", [user["id"]])
    await update_user(
        connection,
        user,
        email=_hashed(user, user["email"])[:43],
        phone=_hashed(user, user["phone"])[:15] if user["phone"] else None,
        email_change=_hashed(user, user["email_change"])[:43] if user["email_change"] else "",
        encrypted_password="",
        confirmation_token="",
        recovery_token="",
        email_change_token_new="",
        email_change_token_current="",
        reauthentication_token="",
        raw_user_meta_data={},
        raw_app_meta_data={},
        deleted_at=datetime.now(UTC),
    )
    await connection.execute(
        "update auth.identities set provider_id = %s, identity_data = %s, updated_at = now() "
        "where user_id = %s",
        [_hashed(user, str(user["id"])), Jsonb({}), user["id"]],
    )


def _hashed(user: User, value: str | None) -> str:
    digest = hashlib.sha256((str(user["id"]) + (value or "")).encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
