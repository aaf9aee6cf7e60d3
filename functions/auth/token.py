"""POST /token: sign in with a password, keep a session alive, exchange a PKCE code."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, pkce, sessions
from functions.auth.answers import json_response
from functions.auth.bodies import read_fields
from functions.auth.database import transaction
from functions.auth.errors import AuthError, invalid, version_header
from functions.auth.letters import tell_paused
from functions.auth.limits import subject_of_address
from functions.auth.passwords import check_strength, in_turn, matches
from functions.auth.refresh import refresh
from functions.auth.service import Service, address_of, audience_of
from functions.auth.users import find_by_email, find_user, is_banned


async def token(service: Service, request: Request) -> Response:
    """One of the grants; the ones that this service does not offer say so."""
    service.limits.check("token", request)
    grant = request.query_params.get("grant_type", "")
    if grant == "password":
        return await _password(service, request)
    if grant == "refresh_token":
        return await refresh(service, request)
    if grant == "pkce":
        return await _pkce(service, request)
    if grant == "id_token":
        return await _id_token(request)
    if grant == "web3":
        raise AuthError(422, "web3_provider_disabled", "Web3 provider is disabled")
    raise AuthError(400, "invalid_credentials", "unsupported_grant_type")


async def _password(service: Service, request: Request) -> Response:
    body = await read_fields(request, {"email": "text", "phone": "text", "password": "text"})
    if body["email"] and body["phone"]:
        raise invalid("Only an email address or phone number should be provided on login.")
    if body["phone"]:
        raise AuthError(422, "phone_provider_disabled", "Phone logins are disabled")
    if not body["email"]:
        raise invalid("missing email or phone")
    email, password = body["email"].lower(), body["password"] or ""
    subject = subject_of_address(email)
    async with service.pool.connection() as connection:
        user = await find_by_email(connection, email, audience_of(service, request))
    if user is not None and is_banned(user):
        raise AuthError(400, "user_banned", "User is banned")
    async with in_turn(), service.attempts.guess("password", subject) as attempt:
        # An unknown address costs a hash as well.
        is_right = await matches(password, user["encrypted_password"] if user else None)
    if not is_right or user is None:
        if user is not None:
            async with service.pool.connection() as connection:
                await audit.record(
                    connection, "login_failed", user, {"provider": "email"}, address_of(request)
                )
            tell_paused(service, "sign_in_blocked", attempt, user)
        raise AuthError(400, "invalid_credentials", "Invalid login credentials")
    if attempt:
        await service.attempts.clear("password", subject)
    if user["email_confirmed_at"] is None:
        raise AuthError(400, "email_not_confirmed", "Email not confirmed")
    async with transaction(service.pool) as connection:
        await audit.record(connection, "login", user, {"provider": "email"})
        session = await sessions.start(service, connection, request, user, "password")
    return json_response(session | {"weak_password": _weakness(service, password)})


def _weakness(service: Service, password: str) -> dict[str, Any] | None:
    """What is wrong with a password that was accepted once; the sign-in succeeds all the same."""
    try:
        check_strength(
            password, service.settings.password_min_length, service.settings.refuse_common_passwords
        )
    except AuthError as error:
        return {"message": error.message, "reasons": error.reasons}
    return None


async def _pkce(service: Service, request: Request) -> Response:
    body = await read_fields(request, {"auth_code": "text", "code_verifier": "text"})
    if not body["auth_code"] or not body["code_verifier"]:
        raise invalid("invalid request: both auth code and code verifier should be non-empty")
    async with transaction(service.pool) as connection:
        flow = await pkce.redeem(connection, body["auth_code"], body["code_verifier"])
        user = await find_user(connection, flow["user_id"])
        if user is None:
            raise AuthError(404, "flow_state_not_found", "invalid flow state, no valid flow state found")
        if is_banned(user):
            raise AuthError(400, "user_banned", "User is banned")
        await audit.record(connection, "login", user, {"provider_type": flow["provider_type"]})
        method = flow["authentication_method"]
        return json_response(await sessions.start(service, connection, request, user, method))


async def _id_token(request: Request) -> Response:
    body = await read_fields(request, {"id_token": "text", "provider": "text", "issuer": "text"})
    if not body["id_token"]:
        # This one refusal has OAuth's form in every version.
        body = {"error": "invalid request", "error_description": "id_token required"}
        return json_response(body, 400, version_header(request))
    issuers = {"google": "https://accounts.google.com", "apple": "https://appleid.apple.com"}
    issuer = body["issuer"] or issuers.get(body["provider"] or "", body["provider"] or "")
    raise AuthError(400, "provider_disabled", f'Provider (issuer "{issuer}") is not enabled')
