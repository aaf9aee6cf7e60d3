"""POST /token: sign in with a password, keep a session alive, exchange a PKCE code."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, pkce, refresh_tokens, sessions
from functions.auth.emails import notify_paused
from functions.auth.errors import invalid, version_header
from functions.auth.passwords import names_of
from functions.auth.request_parsing import Body
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.auth.users import User, find_by_email, find_user, is_banned
from functions.core.database import transaction
from functions.core.errors import ApiError
from functions.core.request import client_address


class PasswordBody(Body):
    """Grant `password`."""

    email: str | None = None
    phone: str | None = None
    password: str | None = None


class RefreshBody(Body):
    """Grant `refresh_token`."""

    refresh_token: str | None = None


class CodeBody(Body):
    """Grant `pkce`."""

    auth_code: str | None = None
    code_verifier: str | None = None


class IdTokenBody(Body):
    """Grant `id_token`."""

    id_token: str | None = None
    provider: str | None = None
    issuer: str | None = None


async def token(request: Request) -> Response:
    """Return a session for one of the grants; the ones that this service does not offer say so."""
    service = service_of(request)
    service.rate_limits.check("token", request)
    grant = request.query_params.get("grant_type", "")
    if grant == "password":
        return await _password(service, request)
    if grant == "refresh_token":
        body = await RefreshBody.read(request)
        return json_response(await refresh_tokens.exchange(service, request, body.refresh_token or ""))
    if grant == "pkce":
        return await _pkce(service, request)
    if grant == "id_token":
        return await _id_token(request)
    if grant == "web3":
        raise ApiError(422, "web3_provider_disabled", "Web3 provider is disabled")
    raise ApiError(400, "invalid_credentials", "unsupported_grant_type")


async def _password(service: Service, request: Request) -> Response:
    body = await PasswordBody.read(request)
    if body.email and body.phone:
        raise invalid("Only an email address or phone number should be provided on login.")
    if body.phone:
        raise ApiError(422, "phone_provider_disabled", "Phone logins are disabled")
    if not body.email:
        raise invalid("missing email or phone")
    password = body.password or ""
    user = await _verified_user(service, request, body.email.lower(), password)
    if user["email_confirmed_at"] is None:
        raise ApiError(400, "email_not_confirmed", "Email not confirmed")
    async with transaction(service.pool) as connection:
        await audit.record(connection, "login", user, {"provider": "email"})
        session = await sessions.start(service, connection, request, user, "password")
    return json_response(session | {"weak_password": _weakness(service, user, password)})


async def _verified_user(service: Service, request: Request, email: str, password: str) -> User:
    """Return the user whom address and password belong to. Raises ApiError 400, or 429 after too many."""
    address = client_address(request)
    async with service.pool.connection() as connection:
        user = await find_by_email(connection, email, service.settings.jwt_aud)
        at_home = await service.password_attempts.is_at_home(connection, user, address)
    if user is not None and is_banned(user):
        raise ApiError(400, "user_banned", "User is banned")
    async with (
        service.passwords.slot(email, at_home=at_home) as matches,
        service.password_attempts.begin_password(email, address, at_home=at_home) as attempt,
    ):
        # An unknown address costs a hash as well.
        is_right = await matches(password, user["encrypted_password"] if user else None)
    if user is None:
        raise _wrong_credentials()
    if not is_right:
        async with service.pool.connection() as connection:
            await audit.record(connection, "login_failed", user, {"provider": "email"}, address)
        notify_paused(service, "sign_in_blocked", attempt.number, user)
        raise _wrong_credentials()
    await service.password_attempts.forgive(attempt)
    return user


def _wrong_credentials() -> ApiError:
    return ApiError(400, "invalid_credentials", "Invalid login credentials")


def _weakness(service: Service, user: User, password: str) -> dict[str, Any] | None:
    """Return what is wrong with a password that was accepted once; the sign-in succeeds all the same."""
    try:
        service.passwords.check_strength(password, *names_of(user))
    except ApiError as error:
        return {"message": error.message, **error.extra["weak_password"]}
    return None


async def _pkce(service: Service, request: Request) -> Response:
    body = await CodeBody.read(request)
    if not body.auth_code or not body.code_verifier:
        raise invalid("invalid request: both auth code and code verifier should be non-empty")
    async with transaction(service.pool) as connection:
        flow = await pkce.redeem(connection, body.auth_code, body.code_verifier)
        user = await find_user(connection, flow["user_id"])
        if user is None:
            raise ApiError(404, "flow_state_not_found", "invalid flow state, no valid flow state found")
        if is_banned(user):
            raise ApiError(400, "user_banned", "User is banned")
        await audit.record(connection, "login", user, {"provider_type": flow["provider_type"]})
        method = flow["authentication_method"]
        return json_response(await sessions.start(service, connection, request, user, method))


async def _id_token(request: Request) -> Response:
    body = await IdTokenBody.read(request)
    if not body.id_token:
        # This one error has OAuth's form in every version.
        content = {"error": "invalid request", "error_description": "id_token required"}
        return json_response(content, 400, version_header(request))
    issuers = {"google": "https://accounts.google.com", "apple": "https://appleid.apple.com"}
    issuer = body.issuer or issuers.get(body.provider or "", body.provider or "")
    raise ApiError(400, "provider_disabled", f'Provider (issuer "{issuer}") is not enabled')
