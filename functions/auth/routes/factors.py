"""/factors: the principal's second factors, enrolled, challenged, verified and removed."""

import time
import uuid
from typing import Any

import pyotp
import segno
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, factors
from functions.auth.authentication import authenticate, authenticate_locked
from functions.auth.emails import notify, notify_paused
from functions.auth.errors import invalid
from functions.auth.reauthentication import check_code, check_proof
from functions.auth.request_parsing import Body, OptionalUuid, read_body
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.core.database import transaction
from functions.core.errors import ApiError
from functions.core.request import client_address


class EnrollBody(Body):
    """A new factor."""

    factor_type: str | None = None
    friendly_name: str | None = None
    issuer: str | None = None
    current_password: str | None = None


class CodeBody(Body):
    """The code that an authenticator app shows."""

    challenge_id: OptionalUuid = None
    code: str | None = None


async def enroll(request: Request) -> Response:
    """Make a factor, unverified until its first code is given."""
    service = service_of(request)
    principal = await authenticate(service, request)
    body = await EnrollBody.read(request)
    _check_type(service, body.factor_type)
    name = body.friendly_name or ""
    async with transaction(service.pool) as connection:
        await factors.check_room(service, connection, principal, name)
    address = client_address(request)
    await check_proof(service, principal, "adding an authenticator", body.current_password, address)
    # Again under the lock, which no password is compared in.
    async with transaction(service.pool) as connection:
        principal = await authenticate_locked(service, connection, request)
        await factors.check_room(service, connection, principal, name)
        factor_id, secret = uuid.uuid4(), pyotp.random_base32(32)
        await connection.execute(
            "insert into auth.mfa_factors "
            "(id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret) "
            "values (%s, %s, %s, 'totp', 'unverified', now(), now(), %s)",
            [factor_id, principal.user["id"], name, secret],
        )
        traits = {"factor_id": str(factor_id)}
        await audit.record(connection, "factor_in_progress", principal.user, traits, address)
    issuer = body.issuer or service.settings.site_host
    uri = factors.otpauth_uri(issuer, principal.user["email"] or "", secret)
    picture = segno.make(uri, error="m").svg_inline(scale=4, border=4, light="#fff")
    response: dict[str, Any] = {"id": factor_id, "type": "totp"}
    if name:
        response["friendly_name"] = name
    return json_response(response | {"totp": {"qr_code": picture, "secret": secret, "uri": uri}})


def _check_type(service: Service, kind: str | None) -> None:
    if kind == "phone":
        raise ApiError(422, "mfa_phone_enroll_not_enabled", "MFA enroll is disabled for Phone")
    if kind == "webauthn":
        raise ApiError(422, "mfa_webauthn_enroll_not_enabled", "MFA enroll is disabled for WebAuthn")
    if kind != "totp":
        raise invalid("factor_type needs to be totp, phone, or webauthn")
    if not service.settings.totp_enroll_enabled:
        raise ApiError(422, "mfa_totp_enroll_not_enabled", "MFA enroll is disabled for TOTP")


async def challenge(request: Request) -> Response:
    """Begin to verify a factor: what follows must come from the same address within five minutes."""
    service = service_of(request)
    principal = await authenticate(service, request)
    # Before a connection is taken: a body may come slowly.
    await read_body(request)
    async with transaction(service.pool) as connection:
        factor = await factors.lock_factor(connection, request, principal.user)
        factors.check_begun_recently(factor)
        service.rate_limits.check("challenge", request)
        challenge_id, address = uuid.uuid4(), client_address(request)
        await connection.execute(
            "insert into auth.mfa_challenges (id, factor_id, created_at, ip_address) "
            "values (%s, %s, now(), %s)",
            [challenge_id, factor["id"], address],
        )
        await connection.execute(
            "update auth.mfa_factors set last_challenged_at = clock_timestamp() where id = %s", [factor["id"]]
        )
        traits = {"factor_id": str(factor["id"]), "factor_status": factor["status"]}
        await audit.record(connection, "challenge_created", principal.user, traits, address)
    expires = int(time.time()) + service.settings.mfa_challenge_expiry
    return json_response({"id": challenge_id, "type": factor["factor_type"], "expires_at": expires})


async def verify(request: Request) -> Response:
    """Take the code: the factor is verified, this session reaches aal2, sessions below it end."""
    service = service_of(request)
    principal = await authenticate(service, request)
    async with service.pool.connection() as connection:
        factor = await factors.lock_factor(connection, request, principal.user)
    service.rate_limits.check("factor", request)
    body = await CodeBody.read(request)
    code = body.code or ""
    if not code:
        raise invalid("Code needs to be non-empty")
    if not service.settings.totp_verify_enabled:
        raise ApiError(422, "mfa_totp_verify_not_enabled", "MFA verification is disabled for TOTP")
    async with service.pool.connection() as connection:
        await factors.open_challenge(service, connection, request, factor, body.challenge_id)
    key = ("totp", str(principal.user["id"]))
    async with service.attempts.begin(key) as attempt, transaction(service.pool) as connection:
        principal = await authenticate_locked(service, connection, request)
        factor = await factors.lock_factor(connection, request, principal.user)
        factors.check_begun_recently(factor)
        begun = await factors.open_challenge(service, connection, request, factor, body.challenge_id)
        step = await factors.step_of(service, connection, factor, code)
        if step is not None:
            session = await factors.step_up(service, connection, request, principal, factor, begun, step)
    user = principal.user
    if step is None:
        async with service.pool.connection() as connection:
            traits = {"factor_id": str(factor["id"])}
            await audit.record(connection, "verification_failed", user, traits, client_address(request))
        notify_paused(service, "mfa_blocked", attempt, user)
        raise ApiError(422, "mfa_verification_failed", "Invalid TOTP code entered")
    if attempt:
        await service.attempts.clear(key)
    if factor["status"] != "verified" and service.settings.notify_factor_enrolled and user["email"]:
        async with service.pool.connection() as connection:
            await notify(service, connection, "mfa_factor_enrolled", user["email"], user, FactorType="totp")
    return json_response(session)


async def unenroll(request: Request) -> Response:
    """Remove a factor; sessions that were stepped up with it fall back to aal1."""
    service = service_of(request)
    async with transaction(service.pool) as connection:
        principal = await authenticate_locked(service, connection, request)
        factor = await factors.lock_factor(connection, request, principal.user)
        if factor["status"] == "verified":
            if not principal.is_aal2:
                raise ApiError(422, "insufficient_aal", "AAL2 required to unenroll verified factor")
            check_code(service, principal, "removing an authenticator")
        traits = {
            "factor_id": str(factor["id"]),
            "factor_status": factor["status"],
            "session_id": str(principal.session["id"]) if principal.session else "",
        }
        await audit.record(connection, "factor_unenrolled", principal.user, traits, client_address(request))
        await factors.remove(connection, factor["id"])
        user = principal.user
        if service.settings.notify_factor_unenrolled and user["email"]:
            await notify(service, connection, "mfa_factor_unenrolled", user["email"], user, FactorType="totp")
    return json_response({"id": factor["id"]})
