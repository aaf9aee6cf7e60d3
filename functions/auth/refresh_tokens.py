"""Refresh tokens: each is exchanged once; a reuse outside the rules ends the session."""

import re
from datetime import datetime, timedelta
from typing import Any

from psycopg.errors import DeadlockDetected
from starlette.requests import Request

from functions.auth import audit, sessions
from functions.auth.errors import invalid
from functions.auth.service import Service
from functions.auth.users import NO_INSTANCE, SELECT, User, is_banned
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError
from functions.core.request import client_address

_FORM = re.compile(r"[a-z0-9]{12}")

_AMR = """(select coalesce(json_agg(json_build_object(
        'method', a.authentication_method, 'updated_at', extract(epoch from a.updated_at))), '[]')
     from auth.mfa_amr_claims a where a.session_id = s.id)"""

# The usual case in one statement: an unused token of a living session of a user who is not banned.
# Anything else changes nothing and finds no row.
_SWAP = f"""
    with old as (
        select t.id, s.id as session_id, u.id as user_id, u.email, u.role
        from auth.sessions s
        join auth.refresh_tokens t on t.session_id = s.id
        join auth.users u on u.id = s.user_id
        where t.token = %(token)s and t.revoked = false and s.not_after is null
            and (%(timebox)s::interval is null or s.created_at >= now() - %(timebox)s)
            and (%(idle)s::interval is null
                or coalesce(s.refreshed_at at time zone 'utc', s.created_at) >= now() - %(idle)s)
            and (u.banned_until is null or u.banned_until <= now())
        for update of s, t),
    revoked as (
        update auth.refresh_tokens t set revoked = true, updated_at = now() from old where t.id = old.id),
    child as (
        insert into auth.refresh_tokens
            (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
        select %(instance)s, %(child)s, user_id::text, false, now(), now(), %(token)s, session_id from old),
    touched as (
        update auth.sessions s set refreshed_at = now() at time zone 'utc', updated_at = now(),
            user_agent = %(agent)s, ip = %(address)s
        from old where s.id = old.session_id),
    logged as (
        insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
        select %(instance)s, gen_random_uuid(), json_build_object('action', action, 'actor_id', user_id,
            'actor_username', coalesce(email, role, ''), 'actor_via_sso', false, 'log_type', 'token'),
            now(), ''
        from old, unnest(array['token_revoked', 'token_refreshed']) as action)
    {SELECT}, s.id as session_id, s.aal as session_aal, {_AMR} as session_amr
    from old join auth.users u on u.id = old.user_id join auth.sessions s on s.id = old.session_id
"""
_LOCKED = f"""
    {SELECT}, t.id as token_id, t.revoked, t.updated_at as token_updated_at, s.id as session_id,
        s.aal as session_aal, s.created_at as session_created_at, s.refreshed_at as session_refreshed_at,
        s.not_after as session_not_after, {_AMR} as session_amr, now() as now
    from auth.sessions s
    join auth.refresh_tokens t on t.session_id = s.id
    join auth.users u on u.id = s.user_id
    where t.token = %s
    for update of s, t
"""


async def exchange(service: Service, request: Request, token: str) -> dict[str, Any]:
    """Return the session object of a refresh token, with a new one and a fresh access token.

    Raises:
        ApiError: 400 when the token is malformed, unknown, used or its session may not go on.
    """
    if not _FORM.fullmatch(token):
        raise invalid("Refresh token is not valid")
    try:
        return await _exchange(service, request, token)
    except DeadlockDetected:
        # Signing out takes the same locks in the other order; the second try meets its outcome.
        return await _exchange(service, request, token)


async def _exchange(service: Service, request: Request, token: str) -> dict[str, Any]:
    settings = service.settings
    child = sessions.new_refresh_token()
    parameters = {
        "token": token,
        "child": child,
        "instance": NO_INSTANCE,
        "agent": request.headers.get("user-agent"),
        "address": client_address(request),
        "timebox": settings.sessions_timebox or None,
        "idle": settings.sessions_inactivity_timeout or None,
    }
    async with transaction(service.pool) as connection:
        await connection.execute("set local lock_timeout = '5s'")
        user = await (await connection.execute(_SWAP, parameters)).fetchone()
        if user is not None:
            return _session_json(service, user, child)
        user = await (await connection.execute(_LOCKED, [token])).fetchone()
        if user is None:
            raise ApiError(400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
        _check_may_go_on(service, user)
        issued = await _issue(service, connection, request, user, token, child)
    if issued is None:
        raise ApiError(400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
    return _session_json(service, user, issued)


def _session_json(service: Service, user: User, refresh_token: str) -> dict[str, Any]:
    session = {"id": user["session_id"], "aal": user["session_aal"]}
    return sessions.session_json(service, user, session, user["session_amr"], refresh_token)


def _check_may_go_on(service: Service, user: User) -> None:
    """Raise ApiError 400 when the user or the session may not go on, whatever the token."""
    if is_banned(user):
        raise ApiError(400, "user_banned", "Invalid Refresh Token: User Banned")
    latest, unused = sessions.expiry_of(service, user)
    if user["now"] > latest:
        raise ApiError(400, "session_expired", "Invalid Refresh Token: Session Expired")
    if user["now"] > unused:
        raise ApiError(400, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)")


async def _issue(
    service: Service, connection: Connection, request: Request, user: User, token: str, child: str
) -> str | None:
    """Return the refresh token to hand out, under the session's lock; None when a reuse ended the session.

    A used token is forgiven when it is the parent of the newest one (the response was lost), or was used
    less than the reuse interval ago (two tabs at once). GoTrue keeps the session after any other reuse; here
    it ends.
    """
    if user["revoked"]:
        query = (
            "select token, parent from auth.refresh_tokens where session_id = %s and not revoked "
            "order by id desc limit 1"
        )
        newest = await (await connection.execute(query, [user["session_id"]])).fetchone()
        if newest is not None and newest["parent"] == token:
            await audit.record(connection, "token_refreshed", user)
            return str(newest["token"])
        used: datetime = user["token_updated_at"]
        if user["now"] > used + timedelta(seconds=service.settings.reuse_interval):
            await sessions.end_one(connection, user["session_id"])
            return None
    await connection.execute(
        """
        with revoked as (
            update auth.refresh_tokens set revoked = true, updated_at = now()
            where id = %(id)s and not revoked),
        child as (
            insert into auth.refresh_tokens
                (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
            values (%(instance)s, %(child)s, %(user)s::text, false, now(), now(), %(token)s, %(session)s))
        update auth.sessions set refreshed_at = now() at time zone 'utc', updated_at = now(),
            user_agent = %(agent)s, ip = %(address)s
        where id = %(session)s
        """,
        {
            "id": user["token_id"],
            "instance": NO_INSTANCE,
            "child": child,
            "user": user["id"],
            "token": token,
            "session": user["session_id"],
            "agent": request.headers.get("user-agent"),
            "address": client_address(request),
        },
    )
    await audit.record(connection, "token_revoked", user)
    await audit.record(connection, "token_refreshed", user)
    return child
