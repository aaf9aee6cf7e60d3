"""Second factors: authenticator apps (TOTP), enrolled, challenged and verified."""

import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pyotp
import segno
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, sessions
from functions.auth.answers import json_response
from functions.auth.bearer import Caller, authenticate, authenticate_locked
from functions.auth.bodies import read_bytes, read_fields
from functions.auth.database import transaction
from functions.auth.errors import AuthError, invalid
from functions.auth.letters import notify, tell_paused
from functions.auth.service import Service, address_of
from functions.auth.users import NO_INSTANCE, User, find_user, has_verified_factor
from functions.core.database import Connection

_UNUSED_FOR = timedelta(seconds=300)
_PERIOD = 30


async def enroll(service: Service, request: Request) -> Response:
    """A new factor, unverified until its first code is given."""
    await authenticate(service, request)
    body = await read_fields(request, {"factor_type": "text", "friendly_name": "text", "issuer": "text"})
    _check_type(service, body["factor_type"])
    name = body["friendly_name"] or ""
    async with transaction(service.pool) as connection:
        caller = await authenticate_locked(service, connection, request)
        await _check_room(service, connection, caller, name)
        factor_id, secret = uuid.uuid4(), pyotp.random_base32(32)
        await connection.execute(
            "insert into auth.mfa_factors "
            "(id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret) "
            "values (%s, %s, %s, 'totp', 'unverified', now(), now(), %s)",
            [factor_id, caller.user["id"], name, secret],
        )
        traits = {"factor_id": str(factor_id)}
        await audit.record(connection, "factor_in_progress", caller.user, traits, address_of(request))
    issuer = body["issuer"] or service.settings.site_host
    uri = (
        f"otpauth://totp/{quote(issuer, safe='')}:{quote(caller.user['email'] or '', safe='@')}"
        f"?algorithm=SHA1&digits=6&issuer={quote(issuer, safe='')}&period={_PERIOD}&secret={secret}"
    )
    picture = segno.make(uri, error="m").svg_inline(scale=4, border=4, light="#fff")
    answer: dict[str, Any] = {"id": factor_id, "type": "totp"}
    if name:
        answer["friendly_name"] = name
    return json_response(answer | {"totp": {"qr_code": picture, "secret": secret, "uri": uri}})


def _check_type(service: Service, kind: str | None) -> None:
    if kind == "phone":
        raise AuthError(422, "mfa_phone_enroll_not_enabled", "MFA enroll is disabled for Phone")
    if kind == "webauthn":
        raise AuthError(422, "mfa_webauthn_enroll_not_enabled", "MFA enroll is disabled for WebAuthn")
    if kind != "totp":
        raise invalid("factor_type needs to be totp, phone, or webauthn")
    if not service.settings.totp_enroll_enabled:
        raise AuthError(422, "mfa_totp_enroll_not_enabled", "MFA enroll is disabled for TOTP")


async def _check_room(service: Service, connection: Connection, caller: Caller, name: str) -> None:
    """Drop what was begun and left; refuse a taken name, an eleventh factor, aal1 beside a verified one."""
    user = caller.user
    gone = await connection.execute(
        """
        delete from auth.mfa_factors f where f.user_id = %(user)s and f.status = 'unverified'
            and f.created_at < now() - %(unused)s
            and not exists (select from auth.mfa_challenges c
                            where c.factor_id = f.id and c.created_at > now() - %(unused)s)
        returning id
        """,
        {"user": user["id"], "unused": _UNUSED_FOR},
    )
    dropped = {str(row["id"]) for row in await gone.fetchall()}
    factors = [factor for factor in user["factors"] or [] if factor["id"] not in dropped]
    if any((factor["friendly_name"] or "") == name for factor in factors):
        raise name_taken(name)
    if len(factors) >= service.settings.mfa_max_enrolled_factors:
        message = "Maximum number of verified factors reached, unenroll to continue"
        raise AuthError(422, "too_many_enrolled_mfa_factors", message)
    if has_verified_factor(user) and not caller.is_aal2:
        raise AuthError(403, "insufficient_aal", "AAL2 required to enroll a new factor")


def name_taken(name: str) -> AuthError:
    """Another factor of the user has this name."""
    message = f'A factor with the friendly name "{name}" for this user already exists'
    return AuthError(422, "mfa_factor_name_conflict", message)


async def own_factor(connection: Connection, request: Request, user: User) -> dict[str, Any]:
    """The factor that the path names, locked. Raises AuthError 404 when it is not the user's."""
    try:
        factor_id = uuid.UUID(request.path_params["factor_id"])
    except ValueError as error:
        raise invalid("factor_id must be an UUID", 404) from error
    factor = await (
        await connection.execute(
            "select * from auth.mfa_factors where id = %s and user_id = %s for update",
            [factor_id, user["id"]],
        )
    ).fetchone()
    if factor is None:
        raise AuthError(404, "mfa_factor_not_found", "Factor not found")
    return factor


async def challenge(service: Service, request: Request) -> Response:
    """Begin to verify a factor: what follows must come from the same address within five minutes."""
    caller = await authenticate(service, request)
    # Before a connection is taken: a body may come slowly.
    await read_bytes(request)
    async with transaction(service.pool) as connection:
        factor = await own_factor(connection, request, caller.user)
        service.limits.check("challenge", request)
        challenge_id, address = uuid.uuid4(), address_of(request)
        await connection.execute(
            "insert into auth.mfa_challenges (id, factor_id, created_at, ip_address) "
            "values (%s, %s, now(), %s)",
            [challenge_id, factor["id"], address],
        )
        await connection.execute(
            "update auth.mfa_factors set last_challenged_at = clock_timestamp() where id = %s", [factor["id"]]
        )
        traits = {"factor_id": str(factor["id"]), "factor_status": factor["status"]}
        await audit.record(connection, "challenge_created", caller.user, traits, address)
    expires = int(time.time()) + service.settings.mfa_challenge_expiry
    return json_response({"id": challenge_id, "type": factor["factor_type"], "expires_at": expires})


async def verify(service: Service, request: Request) -> Response:
    """Give the code: the factor is verified, this session reaches aal2, sessions below it end."""
    caller = await authenticate(service, request)
    async with service.pool.connection() as connection:
        factor = await own_factor(connection, request, caller.user)
    service.limits.check("factor", request)
    body = await read_fields(request, {"challenge_id": "uuid", "code": "text"})
    code = body["code"] or ""
    if not code:
        raise invalid("Code needs to be non-empty")
    if not service.settings.totp_verify_enabled:
        raise AuthError(422, "mfa_totp_verify_not_enabled", "MFA verification is disabled for TOTP")
    async with service.pool.connection() as connection:
        await _challenge_of(service, connection, request, factor, body["challenge_id"])
    subject = str(caller.user["id"])
    async with service.attempts.guess("totp", subject) as attempt, transaction(service.pool) as connection:
        caller = await authenticate_locked(service, connection, request)
        factor = await own_factor(connection, request, caller.user)
        begun = await _challenge_of(service, connection, request, factor, body["challenge_id"])
        step = await _step_of(service, connection, factor, code)
        if step is not None:
            answer = await _step_up(service, connection, request, caller, factor, begun, step)
    if step is None:
        async with service.pool.connection() as connection:
            traits = {"factor_id": str(factor["id"])}
            await audit.record(connection, "verification_failed", caller.user, traits, address_of(request))
        tell_paused(service, "mfa_blocked", attempt, caller.user)
        raise AuthError(422, "mfa_verification_failed", "Invalid TOTP code entered")
    if attempt:
        await service.attempts.clear("totp", subject)
    if factor["status"] != "verified" and service.settings.notify_factor_enrolled and caller.user["email"]:
        await notify(service, "mfa_factor_enrolled", caller.user["email"], caller.user, FactorType="totp")
    return json_response(answer)


async def _challenge_of(
    service: Service,
    connection: Connection,
    request: Request,
    factor: dict[str, Any],
    given: uuid.UUID | None,
) -> dict[str, Any]:
    """The open challenge of this factor. AuthError 422 when unknown, used, from elsewhere or too old."""
    query = "select * from auth.mfa_challenges where id = %s and factor_id = %s"
    found = await (await connection.execute(query, [given, factor["id"]])).fetchone()
    if found is None:
        message = "MFA factor with the provided challenge ID not found"
        raise AuthError(422, "mfa_factor_not_found", message)
    if found["verified_at"] is not None or str(found["ip_address"]) != address_of(request):
        message = "Challenge and verify IP addresses mismatch."
        raise AuthError(422, "mfa_ip_address_mismatch", message)
    if datetime.now(UTC) > found["created_at"] + timedelta(seconds=service.settings.mfa_challenge_expiry):
        message = "MFA challenge has expired, verify against another challenge or create a new challenge."
        raise AuthError(422, "mfa_challenge_expired", message)
    return found


async def _step_of(service: Service, connection: Connection, factor: dict[str, Any], code: str) -> int | None:
    """The time step whose code was given, one either way allowed; None when none fits or it was used before.

    The step of a success is kept in the challenge's `otp_code`, which GoTrue leaves empty for TOTP.
    """
    if not re.fullmatch(r"[0-9]{6}", code):
        return None
    totp, now = pyotp.TOTP(factor["secret"]), int(time.time())
    for moment in (now, now - _PERIOD, now + _PERIOD):
        if pyotp.utils.strings_equal(totp.at(moment), code):
            step = moment // _PERIOD
            break
    else:
        return None
    if not service.settings.refuse_used_totp:
        return step
    query = "select 1 from auth.mfa_challenges where factor_id = %s and otp_code = %s"
    used = await (await connection.execute(query, [factor["id"], str(step)])).fetchone()
    return None if used else step


async def _step_up(
    service: Service,
    connection: Connection,
    request: Request,
    caller: Caller,
    factor: dict[str, Any],
    begun: dict[str, Any],
    step: int,
) -> dict[str, Any]:
    user, session, address = caller.user, caller.session, address_of(request)
    if session is None:
        raise AuthError(403, "session_not_found", "Session from session_id claim in JWT does not exist")
    traits = {
        "factor_id": str(factor["id"]),
        "challenge_id": str(begun["id"]),
        "factor_type": factor["factor_type"],
    }
    await audit.record(connection, "verification_attempted", user, traits, address)
    await audit.record(connection, "token_revoked", user)
    token = sessions.new_refresh_token()
    # The refresh tokens from before the step-up go: GoTrue lets the last of them fetch the aal2 session.
    await connection.execute("delete from auth.refresh_tokens where session_id = %s", [session["id"]])
    await connection.execute(
        """
        with challenge as (
            update auth.mfa_challenges set verified_at = now(), otp_code = %(step)s where id = %(challenge)s),
        factor as (
            update auth.mfa_factors set status = 'verified', updated_at = now()
            where id = %(factor)s and status = 'unverified'),
        amr as (
            insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
            values (gen_random_uuid(), %(session)s, now(), now(), 'totp')
            on conflict (session_id, authentication_method) do update set updated_at = now()),
        token as (
            insert into auth.refresh_tokens
                (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
            values (%(instance)s, %(token)s, %(user)s::text, false, now(), now(), %(session)s)),
        others as (
            delete from auth.sessions where user_id = %(user)s and aal < 'aal2' and id <> %(session)s),
        unverified as (
            delete from auth.mfa_factors
            where user_id = %(user)s and factor_type = 'totp' and status = 'unverified' and id <> %(factor)s)
        update auth.sessions set aal = 'aal2', factor_id = %(factor)s, updated_at = now()
        where id = %(session)s
        """,
        {
            "step": str(step),
            "challenge": begun["id"],
            "factor": factor["id"],
            "session": session["id"],
            "instance": NO_INSTANCE,
            "token": token,
            "user": user["id"],
        },
    )
    fresh = await find_user(connection, user["id"])
    assert fresh is not None
    amr = [entry for entry in caller.amr if entry["method"] != "totp"]
    amr.insert(0, {"method": "totp", "updated_at": time.time()})
    return sessions.answer(service, fresh, {**session, "aal": "aal2"}, amr, token)


async def unenroll(service: Service, request: Request) -> Response:
    """Remove a factor; sessions that were stepped up with it fall back to aal1."""
    async with transaction(service.pool) as connection:
        caller = await authenticate_locked(service, connection, request)
        factor = await own_factor(connection, request, caller.user)
        if factor["status"] == "verified" and not caller.is_aal2:
            raise AuthError(422, "insufficient_aal", "AAL2 required to unenroll verified factor")
        traits = {
            "factor_id": str(factor["id"]),
            "factor_status": factor["status"],
            "session_id": str(caller.session["id"]) if caller.session else "",
        }
        await audit.record(connection, "factor_unenrolled", caller.user, traits, address_of(request))
        await remove(connection, factor["id"])
    if service.settings.notify_factor_unenrolled and caller.user["email"]:
        await notify(service, "mfa_factor_unenrolled", caller.user["email"], caller.user, FactorType="totp")
    return json_response({"id": factor["id"]})


async def remove(connection: Connection, factor_id: uuid.UUID) -> None:
    """Delete a factor and take aal2 from the sessions that it gave it to."""
    await connection.execute(
        """
        with bound as (
            update auth.sessions set aal = 'aal1', factor_id = null, updated_at = now()
            where factor_id = %(factor)s),
        amr as (
            delete from auth.mfa_amr_claims a using auth.sessions s
            where s.factor_id = %(factor)s and a.session_id = s.id and a.authentication_method = 'totp')
        delete from auth.mfa_factors where id = %(factor)s
        """,
        {"factor": factor_id},
    )
