"""GET and PUT /user, sign-out, and the code that confirms a sensitive change."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, pkce, sessions
from functions.auth.authentication import Principal, authenticate, authenticate_locked
from functions.auth.emails import notify, send_email_change, send_reauthentication
from functions.auth.errors import invalid
from functions.auth.passwords import names_of, store_hash
from functions.auth.reauthentication import check_proof, check_proof_for_password
from functions.auth.request_parsing import Metadata, check_metadata, normalized_email
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.auth.users import check_email_is_free, has_verified_factor, merged, update_user, user_json
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError
from functions.core.request import client_address


class ChangeBody(pkce.PkceBody):
    """The changes, and the proof that a new password or address needs."""

    email: str | None = None
    phone: str | None = None
    password: str | None = None
    current_password: str | None = None
    nonce: str | None = None
    data: Metadata = None
    app_metadata: dict[str, Any] | None = None


async def get_user(request: Request) -> Response:
    """Return the principal."""
    principal = await authenticate(service_of(request), request)
    return json_response(user_json(principal.user))


async def logout(request: Request) -> Response:
    """End this session, the others, or all: their rows are deleted, and with them every refresh token."""
    service = service_of(request)
    scope = request.query_params.get("scope") or "global"
    async with transaction(service.pool) as connection:
        principal = await authenticate_locked(service, connection, request)
        if scope not in {"global", "local", "others"}:
            raise invalid(f'Unsupported logout scope "{scope}"')
        user, session = principal.user, principal.session
        may_end_others = principal.is_aal2 or not has_verified_factor(user)
        if scope == "others" and not may_end_others:
            raise ApiError(403, "insufficient_aal", "AAL2 session is required to end other sessions.")
        await audit.record(connection, "logout", user)
        if session is not None and (scope == "local" or not may_end_others):
            await sessions.end_one(connection, session["id"])
        elif session is not None and scope == "others":
            await sessions.end_others(connection, user["id"], session["id"])
        elif may_end_others:
            await sessions.end_all(connection, user["id"])
    return Response(status_code=204)


async def reauthenticate(request: Request) -> Response:
    """Mail the principal a code that PUT /user takes as `nonce`."""
    service = service_of(request)
    email = (await authenticate(service, request)).user["email"]
    async with (
        service.mail_budget.reserve(request, "reauthentication", email) as mail,
        transaction(service.pool) as connection,
    ):
        principal = await authenticate_locked(service, connection, request)
        await audit.record(connection, "user_reauthenticate_requested", principal.user)
        await send_reauthentication(service, connection, principal.user)
        mail.is_sent = True
    return json_response({})


async def put_user(request: Request) -> Response:
    """Change the principal's metadata, password or (after both addresses confirm) e-mail address."""
    service = service_of(request)
    service.rate_limits.check("user", request)
    principal = await authenticate(service, request)
    body = await ChangeBody.read(request)
    new_email, new_password = await _check(service, principal, body, client_address(request))
    recipients = [new_email, principal.user["email"]] if new_email else []
    async with (
        service.mail_budget.reserve(request, "email_change", *recipients) as mail,
        transaction(service.pool) as connection,
    ):
        principal = await authenticate_locked(service, connection, request)
        user = principal.user
        if new_email:
            await check_email_is_free(connection, new_email, user["aud"], user["id"], or_unconfirmed=True)
        if new_password:
            await _set_password(service, connection, principal, new_password)
        if body.data is not None:
            data = check_metadata(merged(user["raw_user_meta_data"], body.data))
            await update_user(connection, user, raw_user_meta_data=data)
        if new_email:
            wants_pkce = pkce.wants_pkce(body)
            if wants_pkce:
                await pkce.begin(connection, user["id"], "email_change", body)
            target = service.redirects.target(request)
            await send_email_change(service, connection, user, new_email, target, wants_pkce)
            mail.is_sent = True
        await audit.record(connection, "user_modified", user)
    if new_password:
        await service.password_attempts.clear_account(user["email"])
    return json_response(user_json(user))


async def _check(
    service: Service, principal: Principal, body: ChangeBody, address: str
) -> tuple[str | None, str | None]:
    """Return the new address and the hash of the new password, where they change; raise in GoTrue's order."""
    user = principal.user
    email = normalized_email(body.email) if body.email else None
    pkce.wants_pkce(body)
    password = body.password
    if password is not None:
        service.passwords.check_strength(password, *names_of(user), email)
    if body.phone:
        raise ApiError(400, "phone_provider_disabled", "Phone numbers are not supported")
    if body.app_metadata is not None:
        raise ApiError(403, "not_admin", "Updating app_metadata requires admin privileges")
    new_email = email if email != user["email"] else None
    if (password or new_email) and has_verified_factor(user) and not principal.is_aal2:
        message = "AAL2 session is required to update email or password when MFA is enabled."
        raise ApiError(401, "insufficient_aal", message)
    if new_email:
        await check_proof(service, principal, "setting new email address", body.current_password, address)
        async with service.pool.connection() as connection:
            await check_email_is_free(connection, new_email, user["aud"], user["id"], or_unconfirmed=True)
    if password is None:
        return new_email, None
    await check_proof_for_password(service, principal, body.current_password, body.nonce, address)
    if user["encrypted_password"]:
        async with service.passwords.slot(user["email"] or "", at_home=True) as matches:
            is_same = await matches(password, user["encrypted_password"])
        if is_same:
            message = "New password should be different from the old password."
            raise ApiError(422, "same_password", message)
    return new_email, await service.passwords.hash(password, user["email"] or "")


async def _set_password(service: Service, connection: Connection, principal: Principal, hashed: str) -> None:
    """Store the new password: every mailed link becomes void and every other session ends."""
    user = principal.user
    await store_hash(connection, user, hashed)
    if principal.session is None:
        await sessions.end_all(connection, user["id"])
    else:
        await sessions.end_others(connection, user["id"], principal.session["id"])
    await audit.record(connection, "user_updated_password", user)
    if service.settings.notify_password_changed and user["email"]:
        await notify(service, connection, "password_changed", user["email"], user)
