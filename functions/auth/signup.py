"""POST /signup: a new member, unconfirmed until the link of the mail is opened."""

import uuid
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.errors import UniqueViolation
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, pkce
from functions.auth.addresses import checked_email
from functions.auth.answers import json_response
from functions.auth.bodies import read_fields
from functions.auth.database import transaction
from functions.auth.errors import AuthError, invalid
from functions.auth.hooks import before_user_created
from functions.auth.letters import send_link
from functions.auth.passwords import check_strength, hash_password
from functions.auth.service import Service, address_of, audience_of
from functions.auth.users import User, find_by_email, insert_user, user_json

APP_METADATA = {"provider": "email", "providers": ["email"]}


async def signup(service: Service, request: Request) -> Response:
    """Register an address, or mail a new link to one that is not confirmed yet.

    An address that is confirmed gets an answer that looks alike, with no identities and no mail.
    """
    body = await read_fields(
        request, {"email": "text", "phone": "text", "password": "text", "data": "object"}, pkce.FIELDS
    )
    if not body["email"] and not body["phone"]:
        raise AuthError(422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
    service.limits.check("signup", request)
    refuse_when_closed(service)
    if not body["password"]:
        raise invalid("Signup requires a valid password")
    check_password(service, body["password"])
    if body["email"] and body["phone"]:
        raise invalid("Only an email address or phone number should be provided on signup.")
    pkce.wants_pkce(body)
    if body["phone"]:
        raise AuthError(400, "phone_provider_disabled", "Phone signups are disabled")
    email = checked_email(body["email"])
    # Hashed in every case: an existing account must not answer faster.
    password = await hash_password(body["password"])
    user = await register(service, request, email, password, body)
    if user is None:
        return json_response(_look_alike(service, request, email, body["data"] or {}))
    return json_response(user_json(user))


def refuse_when_closed(service: Service) -> None:
    """Raise AuthError 422 when nobody may sign up."""
    if service.settings.disable_signup:
        raise AuthError(422, "signup_disabled", "Signups not allowed for this instance")


def check_password(service: Service, password: str) -> None:
    """Raise AuthError when the password breaks this installation's rules."""
    check_strength(password, service.settings.password_min_length, service.settings.refuse_common_passwords)


async def register(
    service: Service, request: Request, email: str, password_hash: str, body: dict[str, Any]
) -> User | None:
    """Make the user, or take the unconfirmed one as it is, and mail the link; None when confirmed."""
    aud = audience_of(service, request)
    async with service.pool.connection() as connection:
        known = await find_by_email(connection, email, aud)
        if known is not None and known["email_confirmed_at"] is not None:
            await audit.record(connection, "user_repeated_signup", known, {"provider": "email"})
            return None
    if known is None:
        user = new_user(service, aud, email, password_hash, body["data"] or {})
        await before_user_created(service.pool, service.settings.hook_function, user, address_of(request))
        claims = {"sub": str(user["id"]), "email": email, "email_verified": False, "phone_verified": False}
        user["raw_user_meta_data"] = user["raw_user_meta_data"] | claims
    async with transaction(service.pool) as connection:
        if known is None:
            known = await save_user(connection, user, user["raw_user_meta_data"])
        else:
            known = await find_by_email(connection, email, aud, lock=True) or known
        wants_pkce = pkce.wants_pkce(body)
        if wants_pkce:
            await pkce.begin(connection, known["id"], "signup", body)
        await audit.record(connection, "user_confirmation_requested", known, {"provider": "email"})
        await send_link(service, connection, known, "signup", service.redirects.target(request), wants_pkce)
    return known


async def save_user(connection: psycopg.AsyncConnection[Any], user: User, identity: dict[str, Any]) -> User:
    """Store a new user.

    Raises:
        AuthError: 422 when somebody took the address meanwhile; 500 when a trigger of the product fails.
    """
    try:
        return await insert_user(connection, user, identity)
    except UniqueViolation as error:
        message = "A user with this email address has already been registered"
        raise AuthError(422, "email_exists", message) from error
    except psycopg.Error as error:
        raise AuthError(500, "unexpected_failure", "Database error saving new user") from error


def new_user(service: Service, aud: str, email: str, password_hash: str | None, data: dict[str, Any]) -> User:
    """A user who is not stored yet."""
    return {
        "id": uuid.uuid4(),
        "aud": aud,
        "role": service.settings.jwt_default_group_name,
        "email": email,
        "encrypted_password": password_hash,
        "raw_app_meta_data": APP_METADATA,
        "raw_user_meta_data": data,
    }


def _look_alike(service: Service, request: Request, email: str, data: dict[str, Any]) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "id": uuid.uuid4(),
        "aud": audience_of(service, request),
        "role": "",
        "email": email,
        "phone": "",
        "confirmation_sent_at": now,
        "app_metadata": APP_METADATA,
        "user_metadata": data,
        "identities": [],
        "created_at": now,
        "updated_at": now,
        "is_anonymous": False,
    }
