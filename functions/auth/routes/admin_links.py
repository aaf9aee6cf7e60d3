"""POST /invite and /admin/generate_link: the links of mails, on an administrator's behalf."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, codes
from functions.auth.authentication import require_admin
from functions.auth.emails import send_link
from functions.auth.errors import invalid
from functions.auth.hooks import before_user_created
from functions.auth.passwords import random_password
from functions.auth.registration import new_user, save_sign_up
from functions.auth.request_parsing import Body, Metadata, check_metadata, normalized_email
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.auth.users import (
    User,
    check_email_is_free,
    email_exists,
    find_by_email,
    find_user,
    merged,
    update_user,
    user_json,
)
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError
from functions.core.request import client_address


class InviteBody(Body):
    """The person to invite."""

    email: str | None = None
    data: Metadata = None


class LinkBody(Body):
    """The type of link, and the values of the account that it makes or changes."""

    type: str | None = None
    email: str | None = None
    new_email: str | None = None
    password: str | None = None
    data: Metadata = None
    redirect_to: str | None = None


_TYPES = {"signup", "invite", "magiclink", "recovery", "email_change_current", "email_change_new"}


async def invite(request: Request) -> Response:
    """Mail an invitation; who is invited again gets a new link."""
    service = service_of(request)
    await require_admin(service, request)
    body = await InviteBody.read(request)
    email = normalized_email(body.email)
    async with service.pool.connection() as connection:
        user = await find_by_email(connection, email, service.settings.jwt_aud)
    if _is_sign_up(user, "invite", None):
        user = await _new(service, request, user, email, None, body.data or {})
    assert user is not None
    async with (
        service.mail_budget.reserve(request, "invite", email) as mail,
        transaction(service.pool) as connection,
    ):
        user = await _saved(connection, user)
        await _mark_invited(connection, user)
        await send_link(service, connection, user, "invite", service.redirects.target(request))
        await update_user(connection, user, invited_at=user["confirmation_sent_at"])
        mail.is_sent = True
    return json_response(user_json(user))


async def generate_link(request: Request) -> Response:
    """Return a link and its code, as a mail of that type would hold them, without the mail."""
    service = service_of(request)
    await require_admin(service, request)
    body = await LinkBody.read(request)
    email, kind = normalized_email(body.email), body.type or ""
    if kind not in _TYPES:
        raise invalid(f"Invalid email action link type requested: {kind}")
    target = body.redirect_to or ""
    if not service.redirects.is_valid(target):
        target = service.redirects.target(request)
    async with service.pool.connection() as connection:
        known = await find_by_email(connection, email, service.settings.jwt_aud)
    if known is None and kind not in {"signup", "invite", "magiclink"}:
        raise ApiError(404, "user_not_found", "User with this email not found")
    if known is None and kind == "magiclink":
        kind = "signup"
    user = known
    if _is_sign_up(known, kind, body.password):
        user = await _new(service, request, known, email, await _hash(service, kind, body), body.data or {})
    assert user is not None
    async with transaction(service.pool) as connection:
        user = await _saved(connection, user)
        issued = await _issue(service, connection, user, kind, body)
    response = user_json(user) | {
        "action_link": service.mailer.action_link(_link_type(kind), issued.link_token, target),
        "email_otp": issued.code,
        "hashed_token": issued.link_token,
        "verification_type": kind,
        "redirect_to": target,
    }
    return json_response(response)


def _link_type(kind: str) -> str:
    return "email_change" if kind.startswith("email_change") else kind


async def _hash(service: Service, kind: str, body: LinkBody) -> str | None:
    """Return the hash for a user whom a sign-up link creates; an invited one sets it later."""
    if kind == "invite":
        return None
    if body.type == "magiclink":
        return await service.passwords.hash(random_password())
    if not body.password:
        raise invalid("Signup requires a valid password")
    service.passwords.check_strength(body.password, body.email)
    return await service.passwords.hash(body.password)


def _is_sign_up(known: User | None, kind: str, password: str | None) -> bool:
    """Return whether a link of this kind is a sign-up of its own, or one more link for the newest.

    Whose password an unconfirmed account has is not known: a link with a password, or an invitation, is not
    for it. Only who was invited already is just sent the link again.

    Raises:
        ApiError: 422 when it would be one for an address that is confirmed.
    """
    if kind not in {"signup", "invite"}:
        return False
    if known is None:
        return True
    if known["email_confirmed_at"] is not None:
        raise email_exists()
    if kind == "signup":
        return bool(password)
    return known["invited_at"] is None or bool(known["encrypted_password"])


async def _new(
    service: Service,
    request: Request,
    known: User | None,
    email: str,
    password_hash: str | None,
    data: dict[str, Any],
) -> User:
    """Return a sign-up that is not stored yet and that the hook lets pass."""
    user = new_user(service, service.settings.jwt_aud, email, password_hash, data)
    if known is not None:
        user["id"] = known["id"]
    await before_user_created(service.pool, service.settings.hook_function, user, client_address(request))
    return user


async def _saved(connection: Connection, user: User) -> User:
    """Return the user under a lock, stored now if new."""
    if "created_at" in user:
        locked = await find_user(connection, user["id"], lock=True)
        if locked is None:
            raise ApiError(404, "user_not_found", "User with this email not found")
        return locked
    saved = await save_sign_up(connection, user, by_admin=True)
    if saved is None:
        raise email_exists()
    return saved


async def _mark_invited(connection: Connection, user: User) -> None:
    traits = {"user_id": str(user["id"]), "user_email": user["email"]}
    await audit.record(connection, "user_invited", audit.ADMIN, traits)


async def _issue(
    service: Service, connection: Connection, user: User, kind: str, body: LinkBody
) -> codes.Secret:
    """Do what comes with a link of this kind, and return its secret."""
    if kind in {"email_change_current", "email_change_new"}:
        return await _issue_change(service, connection, user, kind, body)
    if kind in {"magiclink", "recovery"}:
        await audit.record(connection, "user_recovery_requested", user)
        return await codes.issue(service.hasher, connection, user, codes.RECOVERY, user["email"])
    if kind == "signup" and body.data:
        data = check_metadata(merged(user["raw_user_meta_data"], body.data))
        await update_user(connection, user, raw_user_meta_data=data)
    issued = await codes.issue(service.hasher, connection, user, codes.CONFIRMATION, user["email"])
    if kind == "invite":
        await _mark_invited(connection, user)
        await update_user(connection, user, invited_at=user["confirmation_sent_at"])
    return issued


async def _issue_change(
    service: Service, connection: Connection, user: User, kind: str, body: LinkBody
) -> codes.Secret:
    is_current = kind == "email_change_current"
    if is_current and not service.settings.mailer_secure_email_change_enabled:
        raise invalid("Enable secure email change to generate link for current email")
    new_email = normalized_email(body.new_email)
    await check_email_is_free(connection, new_email, user["aud"], user["id"], or_unconfirmed=True)
    await update_user(connection, user, email_change=new_email, email_change_confirm_status=0)
    secret = codes.CHANGE_CURRENT if is_current else codes.CHANGE_NEW
    address = user["email"] if is_current else new_email
    return await codes.issue(service.hasher, connection, user, secret, address)
