"""/admin/users: what the service key may do with accounts."""

import hashlib
import uuid
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, codes, sessions, sign_ups
from functions.auth.authentication import require_admin
from functions.auth.confirmations import confirm, update_identity
from functions.auth.durations import parse_duration
from functions.auth.errors import invalid
from functions.auth.pagination import read_page
from functions.auth.passwords import check_length, random_password, store_hash
from functions.auth.registration import APP_METADATA, identity_data, new_user, save_user
from functions.auth.request_parsing import Body, Metadata, check_metadata, normalized_email, read_body
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.auth.users import (
    NO_INSTANCE,
    SELECT_PLAIN,
    User,
    check_email_is_free,
    find_user,
    merged,
    update_user,
    user_json,
)
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError

_HASHES = ("$2a$", "$2b$", "$2y$", "$argon2")


class AccountBody(Body):
    """An account as an administrator makes or changes it."""

    id: str | None = None
    aud: str | None = None
    role: str | None = None
    email: str | None = None
    phone: str | None = None
    password: str | None = None
    password_hash: str | None = None
    email_confirm: bool | None = None
    user_metadata: Metadata = None
    app_metadata: dict[str, Any] | None = None
    ban_duration: str | None = None


class DeleteBody(Body):
    """How an account is deleted."""

    should_soft_delete: bool | None = None


async def path_user(connection: Connection, request: Request, lock: bool = False) -> User:
    """Return the user that the path names. Raises ApiError 404."""
    try:
        user_id = uuid.UUID(request.path_params["user_id"])
    except ValueError as error:
        raise invalid("user_id must be an UUID", 404) from error
    user = await find_user(connection, user_id, lock)
    if user is None:
        raise ApiError(404, "user_not_found", "User not found")
    return user


async def list_users(request: Request) -> Response:
    """Return a page of users, newest first unless sorted; `filter` looks in address and full name."""
    service = service_of(request)
    await require_admin(service, request)
    direction = _direction(request.query_params.get("sort", ""))
    aud = service.settings.jwt_aud
    wanted = (
        request.query_params.get("filter", "").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    )
    source = (
        "from auth.users u where u.instance_id = %(instance)s and u.aud = %(aud)s "
        "and (%(filter)s = '%%' or u.email like %(filter)s "
        "or u.raw_user_meta_data ->> 'full_name' ilike %(filter)s)"
    )
    parameters = {"instance": NO_INSTANCE, "aud": aud, "filter": f"%{wanted}%" if wanted else "%"}
    users, headers = await read_page(
        service.pool, request, SELECT_PLAIN, source, f"u.created_at {direction}, u.id", parameters
    )
    return json_response({"users": [user_json(user) for user in users], "aud": aud}, headers=headers)


def _direction(given: str) -> str:
    name, _, direction = given.strip().partition(" ")
    if name not in {"", "created_at"}:
        raise invalid(f"Bad Sort Parameters: bad field for sort '{name}'")
    if direction.lower() not in {"", "asc", "desc"}:
        raise invalid(
            f"Bad Sort Parameters: bad direction for sort '{direction}', only 'asc' and 'desc' allowed"
        )
    return "asc" if direction.lower() == "asc" else "desc"


async def get(request: Request) -> Response:
    """Return one user."""
    service = service_of(request)
    await require_admin(service, request)
    async with service.pool.connection() as connection:
        return json_response(user_json(await path_user(connection, request)))


async def create(request: Request) -> Response:
    """Make a user without a mail and without the hook; a random password when none is given."""
    service = service_of(request)
    await require_admin(service, request)
    body = await AccountBody.read(request)
    if not body.email and not body.phone:
        raise invalid("Cannot create a user without either an email or phone")
    email = normalized_email(body.email)
    aud = body.aud or service.settings.jwt_aud
    async with service.pool.connection() as connection:
        await check_email_is_free(connection, email, aud)
    hashed = await _given_hash(service, body)
    banned_until = _banned_until(body.ban_duration)
    data = body.user_metadata or {}
    user = new_user(service, aud, email, hashed, data)
    user["id"] = _given_id(body.id) or user["id"]
    user["role"] = body.role or user["role"]
    user["raw_app_meta_data"] = (body.app_metadata or {}) | APP_METADATA
    user["banned_until"] = banned_until
    if body.email_confirm:
        user["email_confirmed_at"] = datetime.now(UTC)
        user["raw_user_meta_data"] = data | {"email_verified": True}
    async with transaction(service.pool) as connection:
        made = await save_user(connection, user, identity_data(user))
        traits = {"user_id": str(made["id"]), "user_email": email, "user_phone": ""}
        await audit.record(connection, "user_signedup", audit.ADMIN, traits | {"provider": "email"})
    # GoTrue responds from before the row was read back.
    return json_response(user_json(made | {"confirmed_at": None}))


async def _given_hash(service: Service, body: AccountBody) -> str:
    if body.password and body.password_hash:
        raise invalid("Only a password or a password hash should be provided")
    if body.password_hash:
        if not body.password_hash.startswith(_HASHES):
            raise invalid("invalid password hash: bcrypt or argon2 is expected")
        return body.password_hash
    if body.password:
        check_length(body.password)
    return await service.passwords.hash(body.password or random_password())


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


async def update(request: Request) -> Response:
    """Change an account at once: no mail is sent. A new password ends every session of the user."""
    service = service_of(request)
    await require_admin(service, request)
    async with service.pool.connection() as connection:
        await path_user(connection, request)
    body = await AccountBody.read(request)
    email = normalized_email(body.email) if body.email else None
    banned_until = _banned_until(body.ban_duration)
    hashed = None
    if body.password is not None:
        service.passwords.check_strength(body.password, email)
        hashed = await service.passwords.hash(body.password)
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        before = {"identities": user["identities"], "confirmed_at": user["confirmed_at"]}
        if email:
            await check_email_is_free(connection, email, user["aud"], user["id"])
        await _apply(connection, user, body, email, hashed, banned_until)
        traits = {"user_id": str(user["id"]), "user_email": user["email"], "user_phone": user["phone"] or ""}
        await audit.record(connection, "user_modified", audit.ADMIN, traits)
    if hashed:
        await service.password_attempts.clear_account(user["email"] or "")
    return json_response(user_json(user | before))


async def _apply(
    connection: Connection,
    user: User,
    body: AccountBody,
    email: str | None,
    hashed: str | None,
    banned_until: datetime | None,
) -> None:
    values: dict[str, Any] = {}
    if body.role:
        values["role"] = body.role
    if body.app_metadata is not None:
        values["raw_app_meta_data"] = merged(user["raw_app_meta_data"], body.app_metadata)
    if body.ban_duration:
        values["banned_until"] = banned_until
    if body.email_confirm:
        if user["email_confirmed_at"] is None:
            await sign_ups.restore_unmailed(connection, user)
        await confirm(connection, user)
    if body.user_metadata is not None:
        values["raw_user_meta_data"] = check_metadata(merged(user["raw_user_meta_data"], body.user_metadata))
    if email:
        values["email"] = email
        # A code mailed to the old address proves nothing about the new one.
        await codes.delete(connection, user["id"])
        changes: dict[str, object] = {"email": email, "email_verified": bool(body.email_confirm)}
        await update_identity(connection, user, changes)
    if values:
        await update_user(connection, user, **values)
    if hashed:
        await store_hash(connection, user, hashed)
        await sessions.end_all(connection, user["id"])


async def delete(request: Request) -> Response:
    """Delete an account; `should_soft_delete` keeps an emptied row and frees the address."""
    service = service_of(request)
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
    """Return whether the body, which is optional here, asks for it."""
    raw = await read_body(request)
    return bool(raw.strip() and DeleteBody.parse(raw).should_soft_delete)


async def _empty(connection: Connection, user: User) -> None:
    """Leave hashes in place of addresses, no metadata and no way to sign in."""
    if user["deleted_at"] is not None:
        return
    await sessions.end_all(connection, user["id"])
    await connection.execute("delete from auth.mfa_factors where user_id = %s", [user["id"]])
    await codes.delete(connection, user["id"])
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
