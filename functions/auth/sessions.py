"""Sessions: started at sign-in, ended by deleting the row; the object that clients keep."""

import secrets
import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request

from functions.auth.keys import amr_of
from functions.auth.limits.passwords import known_address
from functions.auth.service import Service
from functions.auth.users import NO_INSTANCE, User, user_json
from functions.core.database import Connection
from functions.core.request import client_address

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_NEVER = datetime.max.replace(tzinfo=UTC)


def new_refresh_token() -> str:
    """Return twelve characters, 60 random bits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(12))


async def start(
    service: Service, connection: Connection, request: Request, user: User, method: str
) -> dict[str, Any]:
    """Sign a user in with a session, its method and its first refresh token; return the session object."""
    session = {"id": uuid.uuid4(), "aal": "aal1"}
    address = client_address(request)
    token = new_refresh_token()
    # The database's time alone: it is what proofs and ends of sessions are compared with.
    cursor = await connection.execute(
        """
        with session as (
            insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, ip)
            values (%(session)s, %(user)s, now(), now(), 'aal1', %(agent)s, %(address)s)),
        amr as (
            insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
            values (gen_random_uuid(), %(session)s, now(), now(), %(method)s)),
        token as (
            insert into auth.refresh_tokens
                (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
            values (%(instance)s, %(token)s, %(user)s::text, false, now(), now(), %(session)s)),
        known as (
            insert into auth.known_addresses as k (user_id, address, seen_at)
            values (%(user)s, %(known)s, now())
            on conflict (user_id, address) do update set seen_at = excluded.seen_at
                where k.seen_at < excluded.seen_at - interval '1 hour')
        update auth.users set last_sign_in_at = now(), updated_at = now() where id = %(user)s
        returning last_sign_in_at
        """,
        {
            "session": session["id"],
            "user": user["id"],
            "agent": request.headers.get("user-agent"),
            "address": address,
            "known": known_address(user, address),
            "method": method,
            "instance": NO_INSTANCE,
            "token": token,
        },
    )
    ((now,),) = [row.values() for row in await cursor.fetchall()]
    user.update(last_sign_in_at=now, updated_at=now)
    return session_json(service, user, session, [{"method": method, "updated_at": now}], token)


def session_json(
    service: Service, user: User, session: dict[str, Any], amr: list[dict[str, Any]], refresh_token: str
) -> dict[str, Any]:
    """Return the session object: a fresh access token, the refresh token and the user."""
    access_token, expires_at = service.keys.sign(user, session, amr_of(amr))
    return {
        "access_token": access_token,
        "token_type": "bearer",
        "expires_in": service.keys.lifetime,
        "expires_at": expires_at,
        "refresh_token": refresh_token,
        "user": user_json(user),
    }


def expiry_of(service: Service, row: dict[str, Any]) -> tuple[datetime, datetime]:
    """Return when a session ends at the latest, and when if it is not used again."""
    created: datetime = row["session_created_at"]
    refreshed: datetime | None = row["session_refreshed_at"]
    timebox, idle = service.settings.sessions_timebox, service.settings.sessions_inactivity_timeout
    latest = [row["session_not_after"] or _NEVER, created + timebox if timebox else _NEVER]
    last = refreshed.replace(tzinfo=created.tzinfo) if refreshed else created
    return min(latest), last + idle if idle else _NEVER


async def end_all(connection: Connection, user_id: uuid.UUID) -> None:
    """Sign a user out everywhere."""
    await connection.execute("delete from auth.sessions where user_id = %s", [user_id])


async def end_one(connection: Connection, session_id: uuid.UUID) -> None:
    """Sign one session out."""
    await connection.execute("delete from auth.sessions where id = %s", [session_id])


async def end_others(connection: Connection, user_id: uuid.UUID, session_id: uuid.UUID) -> None:
    """Sign a user out everywhere but here."""
    await connection.execute(
        "delete from auth.sessions where user_id = %s and id <> %s", [user_id, session_id]
    )
