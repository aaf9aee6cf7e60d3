"""Second factors: authenticator apps (TOTP) as rows of schema auth."""

import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pyotp
from starlette.requests import Request

from functions.auth import audit, sessions
from functions.auth.authentication import Principal
from functions.auth.errors import invalid
from functions.auth.service import Service
from functions.auth.users import NO_INSTANCE, User, find_user, has_verified_factor
from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.core.request import client_address, network_of

_UNUSED_FOR = timedelta(seconds=300)
_FIRST_CODE_WITHIN = timedelta(minutes=10)
_PERIOD = 30

Row = dict[str, Any]


def otpauth_uri(issuer: str, email: str, secret: str) -> str:
    """Return the address that an authenticator app reads from a QR code."""
    return (
        f"otpauth://totp/{quote(issuer, safe='')}:{quote(email, safe='@')}"
        f"?algorithm=SHA1&digits=6&issuer={quote(issuer, safe='')}&period={_PERIOD}&secret={secret}"
    )


async def check_room(service: Service, connection: Connection, principal: Principal, name: str) -> None:
    """Delete factors that were begun and left, and check that there is room for one of this name.

    Raises:
        ApiError: 422 for a taken name or an eleventh factor, 403 for aal1 in spite of a verified one.
    """
    user = principal.user
    deleted = await connection.execute(
        """
        delete from auth.mfa_factors f where f.user_id = %(user)s and f.status = 'unverified'
            and f.created_at < now() - %(unused)s
            and not exists (select from auth.mfa_challenges c
                            where c.factor_id = f.id and c.created_at > now() - %(unused)s)
        returning id
        """,
        {"user": user["id"], "unused": _UNUSED_FOR},
    )
    unused = {str(row["id"]) for row in await deleted.fetchall()}
    factors = [factor for factor in user["factors"] or [] if factor["id"] not in unused]
    if any((factor["friendly_name"] or "") == name for factor in factors):
        raise name_conflict(name)
    if len(factors) >= service.settings.mfa_max_enrolled_factors:
        message = "Maximum number of verified factors reached, unenroll to continue"
        raise ApiError(422, "too_many_enrolled_mfa_factors", message)
    if has_verified_factor(user) and not principal.is_aal2:
        raise ApiError(403, "insufficient_aal", "AAL2 required to enroll a new factor")


def name_conflict(name: str) -> ApiError:
    """Return the error of a name that another factor of the user has."""
    message = f'A factor with the friendly name "{name}" for this user already exists'
    return ApiError(422, "mfa_factor_name_conflict", message)


def check_begun_recently(factor: Row) -> None:
    """Check that a factor without its first code was begun a short time ago, with the proof that this took.

    Raises:
        ApiError: 404, as if it had been deleted.
    """
    is_left = datetime.now(UTC) - factor["created_at"] > _FIRST_CODE_WITHIN
    if factor["status"] != "verified" and is_left:
        raise ApiError(404, "mfa_factor_not_found", "Factor not found")


async def lock_factor(connection: Connection, request: Request, user: User) -> Row:
    """Return the factor that the path names, locked. Raises ApiError 404 when it is not the user's."""
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
        raise ApiError(404, "mfa_factor_not_found", "Factor not found")
    return factor


async def open_challenge(
    service: Service, connection: Connection, request: Request, factor: Row, challenge_id: uuid.UUID | None
) -> Row:
    """Return the open challenge of a factor. ApiError 422 when unknown, used, from elsewhere or too old."""
    query = "select * from auth.mfa_challenges where id = %s and factor_id = %s"
    found = await (await connection.execute(query, [challenge_id, factor["id"]])).fetchone()
    if found is None:
        message = "MFA factor with the provided challenge ID not found"
        raise ApiError(422, "mfa_factor_not_found", message)
    here, there = client_address(request), str(found["ip_address"])
    if found["verified_at"] is not None or network_of(here) != network_of(there):
        message = "Challenge and verify IP addresses mismatch."
        raise ApiError(422, "mfa_ip_address_mismatch", message)
    if datetime.now(UTC) > found["created_at"] + timedelta(seconds=service.settings.mfa_challenge_expiry):
        message = "MFA challenge has expired, verify against another challenge or create a new challenge."
        raise ApiError(422, "mfa_challenge_expired", message)
    return found


async def step_of(service: Service, connection: Connection, factor: Row, code: str) -> int | None:
    """Return the time step of a code, one either way allowed; None when none fits or it was used before.

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
    if not service.settings.reject_used_totp:
        return step
    query = "select 1 from auth.mfa_challenges where factor_id = %s and otp_code = %s"
    used = await (await connection.execute(query, [factor["id"], str(step)])).fetchone()
    return None if used else step


async def step_up(
    service: Service,
    connection: Connection,
    request: Request,
    principal: Principal,
    factor: Row,
    challenge: Row,
    step: int,
) -> Row:
    """Verify the factor, lift this session to aal2 and end those below; return the session object."""
    user, session, address = principal.user, principal.session, client_address(request)
    if session is None:
        raise ApiError(403, "session_not_found", "Session from session_id claim in JWT does not exist")
    traits = {
        "factor_id": str(factor["id"]),
        "challenge_id": str(challenge["id"]),
        "factor_type": factor["factor_type"],
    }
    await audit.record(connection, "verification_attempted", user, traits, address)
    await audit.record(connection, "token_revoked", user)
    token = sessions.new_refresh_token()
    # The refresh tokens from before the step-up go: GoTrue lets the last of them fetch the aal2 session.
    await connection.execute("delete from auth.refresh_tokens where session_id = %s", [session["id"]])
    cursor = await connection.execute(
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
        returning updated_at
        """,
        {
            "step": str(step),
            "challenge": challenge["id"],
            "factor": factor["id"],
            "session": session["id"],
            "instance": NO_INSTANCE,
            "token": token,
            "user": user["id"],
        },
    )
    fresh = await find_user(connection, user["id"])
    assert fresh is not None
    ((verified_at,),) = [row.values() for row in await cursor.fetchall()]
    amr = [entry for entry in principal.amr if entry["method"] != "totp"]
    amr.append({"method": "totp", "updated_at": verified_at})
    return sessions.session_json(service, fresh, {**session, "aal": "aal2"}, amr, token)


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
