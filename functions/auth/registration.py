"""New accounts: unconfirmed until the link of the mail is opened; until then others may sign up as well."""

import uuid
from typing import Any

import psycopg
from psycopg.errors import UniqueViolation
from starlette.requests import Request

from functions.auth import audit, pkce, sign_ups
from functions.auth.emails import send_link
from functions.auth.hooks import before_user_created
from functions.auth.limits.mail import check_decoy, check_frequency
from functions.auth.service import Service
from functions.auth.users import EmailExistsError, User, email_exists, find_by_email, insert_user
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError, is_transient
from functions.core.request import client_address

APP_METADATA = {"provider": "email", "providers": ["email"]}


def check_signup_is_open(service: Service) -> None:
    """Raise ApiError 422 when sign-ups are off."""
    if service.settings.disable_signup:
        raise ApiError(422, "signup_disabled", "Signups not allowed for this instance")


async def register(
    service: Service,
    request: Request,
    email: str,
    password: str,
    data: dict[str, Any],
    body: pkce.PkceBody,
) -> User | None:
    """Make the user, or the newest sign-up of an unconfirmed one, and mail the link; None when confirmed.

    The password is hashed when nothing cheaper rejects the request, known address or not.
    """
    async with service.pool.connection() as connection:
        known = await find_by_email(connection, email, service.settings.jwt_aud)
    user = new_user(service, service.settings.jwt_aud, email, None, data)
    asked = (service.pool, service.settings.hook_function, user, client_address(request))
    await before_user_created(*asked, reserves=False)
    is_repeated = known is not None and await _is_repeated(service, known)
    if known is not None and not is_repeated:
        check_frequency(known["confirmation_sent_at"], service.mailer.frequency)
        user["id"] = known["id"]
    user["encrypted_password"] = await service.passwords.hash(password, is_sign_up=True)
    if is_repeated:
        return None
    await before_user_created(*asked)
    async with transaction(service.pool) as connection:
        saved = await _save_newest(connection, user)
        if saved is None:
            return None
        wants_pkce = pkce.wants_pkce(body)
        if wants_pkce:
            await pkce.begin(connection, saved["id"], "signup", body)
        await audit.record(connection, "user_confirmation_requested", saved, {"provider": "email"})
        await send_link(service, connection, saved, "signup", service.redirects.target(request), wants_pkce)
    return saved


async def _is_repeated(service: Service, known: User) -> bool:
    """Return whether the address is confirmed, which the audit log says then.

    Raises:
        ApiError: 429 when it was signed up less than a minute ago, as of any other address.
    """
    if known["email_confirmed_at"] is None:
        return False
    least = service.mailer.frequency
    await check_decoy(service.pool, "signup", known["email"], least, is_sign_up=True)
    async with service.pool.connection() as connection:
        await audit.record(connection, "user_repeated_signup", known, {"provider": "email"})
    return True


async def _save_newest(connection: Connection, user: User) -> User | None:
    """Store a sign-up as `save_sign_up` does, also of an address that is signed up at the same moment."""
    try:
        async with connection.transaction():
            return await save_sign_up(connection, user)
    except EmailExistsError:
        return await save_sign_up(connection, user)


def new_user(service: Service, aud: str, email: str, password_hash: str | None, data: dict[str, Any]) -> User:
    """Return a user who is not stored yet."""
    return {
        "id": uuid.uuid4(),
        "aud": aud,
        "role": service.settings.jwt_default_group_name,
        "email": email,
        "encrypted_password": password_hash,
        "raw_app_meta_data": APP_METADATA,
        "raw_user_meta_data": data,
    }


def identity_data(user: User) -> dict[str, Any]:
    """Return the data of the e-mail identity of a user who is not stored yet."""
    return {
        "sub": str(user["id"]),
        "email": user["email"],
        "email_verified": False,
        "phone_verified": False,
    }


async def save_sign_up(connection: Connection, user: User, *, by_admin: bool = False) -> User | None:
    """Store a sign-up, the newest of its address; None when the address was confirmed meanwhile.

    As in GoTrue, the metadata of a sign-up that no administrator made tells the identity too.
    """
    known = await find_by_email(connection, user["email"], user["aud"], lock=True)
    if known is not None:
        if known["email_confirmed_at"] is not None:
            return None
        user["id"] = known["id"]
    identity = identity_data(user)
    if not by_admin:
        identity = user["raw_user_meta_data"] = user["raw_user_meta_data"] | identity
    if known is None:
        return await save_user(connection, user, identity)
    return await sign_ups.replace(connection, known, user, identity)


async def save_user(connection: Connection, user: User, identity: dict[str, Any]) -> User:
    """Store a new user.

    Raises:
        ApiError: 422 when the address was taken meanwhile; 500 when a trigger of the product fails.
        psycopg.Error: the database is away or too slow; whoever asks may ask again.
    """
    try:
        return await insert_user(connection, user, identity)
    except UniqueViolation as error:
        raise email_exists() from error
    except psycopg.Error as error:
        if is_transient(error):
            raise
        raise ApiError(500, "unexpected_failure", "Database error saving new user") from error
