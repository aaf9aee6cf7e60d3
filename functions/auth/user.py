"""GET and PUT /user, sign-out, and the code that confirms a sensitive change."""

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, codes, pkce, sessions
from functions.auth.addresses import checked_email
from functions.auth.answers import json_response
from functions.auth.bearer import Caller, authenticate, authenticate_locked
from functions.auth.bodies import read_fields
from functions.auth.database import transaction
from functions.auth.errors import AuthError, invalid
from functions.auth.letters import notify, send_email_change, send_reauthentication, tell_paused
from functions.auth.limits import subject_of_address
from functions.auth.passwords import hash_password, in_turn, matches
from functions.auth.service import Service
from functions.auth.signup import check_password
from functions.auth.users import email_taken, has_verified_factor, merged, update_user, user_json
from functions.core.database import Connection

# How long a session that began with a mailed link may set a password without the current one.
_LINK_WINDOW = timedelta(hours=1)
_LINK_METHODS = {"otp", "magiclink", "recovery", "invite", "email/signup"}


async def get_user(service: Service, request: Request) -> Response:
    """The caller."""
    caller = await authenticate(service, request)
    return json_response(user_json(caller.user))


async def logout(service: Service, request: Request) -> Response:
    """End this session, the others, or all of them: their rows go, and with them every refresh token."""
    scope = request.query_params.get("scope") or "global"
    async with transaction(service.pool) as connection:
        caller = await authenticate_locked(service, connection, request)
        if scope not in {"global", "local", "others"}:
            raise invalid(f'Unsupported logout scope "{scope}"')
        await audit.record(connection, "logout", caller.user)
        if scope == "global" or caller.session is None:
            await sessions.end_all(connection, caller.user["id"])
        elif scope == "local":
            await sessions.end_one(connection, caller.session["id"])
        else:
            await sessions.end_others(connection, caller.user["id"], caller.session["id"])
    return Response(status_code=204)


async def reauthenticate(service: Service, request: Request) -> Response:
    """Mail the caller a code that PUT /user takes as `nonce`."""
    async with transaction(service.pool) as connection:
        caller = await authenticate_locked(service, connection, request)
        await audit.record(connection, "user_reauthenticate_requested", caller.user)
        await send_reauthentication(service, connection, caller.user)
    return json_response({})


async def put_user(service: Service, request: Request) -> Response:
    """Change the caller's metadata, password or (after both addresses confirm) e-mail address."""
    service.limits.check("user", request)
    caller = await authenticate(service, request)
    body = await read_fields(
        request,
        {
            "email": "text",
            "phone": "text",
            "password": "text",
            "current_password": "text",
            "nonce": "text",
            "data": "object",
            "app_metadata": "object",
        },
        pkce.FIELDS,
    )
    new_email, new_password = await _check(service, caller, body)
    async with transaction(service.pool) as connection:
        caller = await authenticate_locked(service, connection, request)
        user = caller.user
        if new_email and await email_taken(connection, new_email, user["aud"], user["id"]):
            message = "A user with this email address has already been registered"
            raise AuthError(422, "email_exists", message)
        if new_password:
            await _set_password(service, connection, caller, new_password)
        if body["data"] is not None:
            await update_user(
                connection, user, raw_user_meta_data=merged(user["raw_user_meta_data"], body["data"])
            )
        if new_email:
            wants_pkce = pkce.wants_pkce(body)
            if wants_pkce:
                await pkce.begin(connection, user["id"], "email_change", body)
            target = service.redirects.target(request)
            await send_email_change(service, connection, user, new_email, target, wants_pkce)
        await audit.record(connection, "user_modified", user)
    if new_password:
        await service.attempts.clear("password", subject_of_address(user["email"]))
    return json_response(user_json(user))


async def _check(service: Service, caller: Caller, body: dict[str, Any]) -> tuple[str | None, str | None]:
    """The new address and the hash of the new password, where they change; refuses in GoTrue's order."""
    user = caller.user
    email = checked_email(body["email"]) if body["email"] else None
    pkce.wants_pkce(body)
    password = body["password"]
    if password is not None:
        check_password(service, password)
    if body["phone"]:
        raise AuthError(400, "phone_provider_disabled", "Phone numbers are not supported")
    if body["app_metadata"] is not None:
        raise AuthError(403, "not_admin", "Updating app_metadata requires admin privileges")
    new_email = email if email != user["email"] else None
    if (password or new_email) and has_verified_factor(user) and not caller.is_aal2:
        message = "AAL2 session is required to update email or password when MFA is enabled."
        raise AuthError(401, "insufficient_aal", message)
    if new_email:
        async with service.pool.connection() as connection:
            if await email_taken(connection, new_email, user["aud"], user["id"]):
                message = "A user with this email address has already been registered"
                raise AuthError(422, "email_exists", message)
    if password is None:
        return new_email, None
    if user["encrypted_password"]:
        await _check_proof(service, caller, body["current_password"], body["nonce"])
        async with in_turn():
            is_same = await matches(password, user["encrypted_password"])
        if is_same:
            message = "New password should be different from the old password."
            raise AuthError(422, "same_password", message)
    return new_email, await hash_password(password)


async def _check_proof(service: Service, caller: Caller, current: str | None, nonce: str | None) -> None:
    """A stolen session must not be enough to take the account.

    Proof is the current password, the code from /reauthenticate where the settings ask for it, a mailed link
    or a password sign-in a short while ago. Raises AuthError 400 or 422 without any.
    """
    settings = service.settings
    wants_password = settings.require_current_password or bool(settings.password_change_window)
    if current and wants_password:
        subject = subject_of_address(caller.user["email"])
        async with in_turn(), service.attempts.guess("password", subject) as attempt:
            is_right = await matches(current, caller.user["encrypted_password"])
        if not is_right:
            tell_paused(service, "sign_in_blocked", attempt, caller.user)
            raise AuthError(400, "current_password_invalid", "The current password is not right.")
        if attempt:
            await service.attempts.clear("password", subject)
        return
    if settings.require_reauthentication and (nonce or _is_old(caller)):
        await _check_nonce(service, caller, nonce)
        return
    if not wants_password or _came_by_link(caller):
        return
    if settings.require_current_password or not _signed_in_within(caller, settings.password_change_window):
        message = "Current password required when setting new password."
        raise AuthError(400, "current_password_required", message)


async def _check_nonce(service: Service, caller: Caller, nonce: str | None) -> None:
    if not nonce:
        raise AuthError(400, "reauthentication_needed", "Password update requires reauthentication")
    limit = service.settings.code_attempts
    tries = await service.attempts.count("code", str(caller.user["id"]), limit)
    token_hash = codes.hash_of(caller.user["email"], nonce)
    lifetime = service.settings.mailer_otp_exp
    if tries > limit or not codes.code_fits(caller.user, codes.REAUTHENTICATION, token_hash, lifetime):
        raise AuthError(422, "reauthentication_not_valid", "Nonce has expired or is invalid")
    await service.attempts.clear("code", str(caller.user["id"]))


def _is_old(caller: Caller) -> bool:
    session = caller.session
    return session is None or datetime.now(UTC) - session["created_at"] > timedelta(hours=24)


def _came_by_link(caller: Caller) -> bool:
    return any(
        entry["method"] in _LINK_METHODS and _since(entry["updated_at"]) < _LINK_WINDOW
        for entry in caller.amr
    )


def _signed_in_within(caller: Caller, window: timedelta) -> bool:
    return any(entry["method"] == "password" and _since(entry["updated_at"]) < window for entry in caller.amr)


def _since(unix: float) -> timedelta:
    return timedelta(seconds=datetime.now(UTC).timestamp() - float(unix))


async def _set_password(service: Service, connection: Connection, caller: Caller, hashed: str) -> None:
    """Store the new password: every mailed link dies and every other session ends."""
    user = caller.user
    await change_password(connection, user, hashed)
    if caller.session is None:
        await sessions.end_all(connection, user["id"])
    else:
        await sessions.end_others(connection, user["id"], caller.session["id"])
    await audit.record(connection, "user_updated_password", user)
    if service.settings.notify_password_changed and user["email"]:
        await notify(service, "password_changed", user["email"], user)


async def change_password(connection: Connection, user: dict[str, Any], hashed: str) -> None:
    """Write the hash; codes and links that were mailed before are worth nothing any more."""
    await update_user(connection, user, encrypted_password=hashed, **codes.NO_SECRETS)
    await codes.forget(connection, user["id"])
