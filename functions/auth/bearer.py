"""Who is calling: the bearer token, the user behind it and the session it belongs to."""

import uuid
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from functions.auth.callers import SESSION
from functions.auth.errors import AuthError
from functions.auth.keys import subject_of
from functions.auth.service import Service
from functions.auth.users import NO_INSTANCE, SELECT, User, is_banned
from functions.core.database import Connection

_LOCKED = f"""{SELECT}, {SESSION}
    from auth.users u left join auth.sessions s on s.id = %s and s.user_id = u.id
    where u.instance_id = %s and u.id = %s for update of u"""


@dataclass
class Caller:
    """A signed-in user; `session` is None for tokens without session_id."""

    user: User
    session: dict[str, Any] | None
    amr: list[dict[str, Any]]

    @property
    def is_aal2(self) -> bool:
        """Whether the second factor was given in this session."""
        return self.session is not None and self.session["aal"] in {"aal2", "aal3"}


def claims_of(service: Service, request: Request) -> dict[str, Any]:
    """The verified claims of the bearer token. Raises AuthError 401 without one, 403 when it is bad."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise AuthError(401, "no_authorization", "This endpoint requires a valid Bearer token")
    return service.keys.verify(token.strip())


async def authenticate(service: Service, request: Request) -> Caller:
    """The caller, who must exist, be signed in and not be banned.

    Raises:
        AuthError: 401, 403 or 400, in GoTrue's order.
    """
    user_id, session_id = _named(service, request)
    return _checked(await service.callers.read(user_id, session_id), session_id)


async def authenticate_locked(service: Service, connection: Connection, request: Request) -> Caller:
    """As above, inside a transaction that is about to change the caller: the row is held until it ends."""
    user_id, session_id = _named(service, request)
    cursor = await connection.execute(_LOCKED, [session_id, NO_INSTANCE, user_id])
    return _checked(await cursor.fetchone(), session_id)


def _named(service: Service, request: Request) -> tuple[uuid.UUID, uuid.UUID | None]:
    claims = claims_of(service, request)
    return subject_of(claims), _session_id(claims)


def _checked(user: User | None, session_id: uuid.UUID | None) -> Caller:
    if user is None:
        raise AuthError(403, "user_not_found", "User from sub claim in JWT does not exist")
    if session_id is not None and user["session_id"] is None:
        raise AuthError(403, "session_not_found", "Session from session_id claim in JWT does not exist")
    if is_banned(user):
        raise AuthError(403, "user_banned", "User is banned")
    session = None
    if session_id is not None:
        session = {"id": session_id, "aal": user["session_aal"], "created_at": user["session_created_at"]}
    return Caller(user, session, user["session_amr"])


def _session_id(claims: dict[str, Any]) -> uuid.UUID | None:
    given = claims.get("session_id")
    if not given:
        return None
    try:
        return uuid.UUID(str(given))
    except ValueError as error:
        raise AuthError(403, "bad_jwt", "invalid claim: session_id claim must be a UUID") from error


async def require_admin(service: Service, request: Request) -> None:
    """Let only the service key pass: the role claim decides, metadata counts for nothing.

    Somebody else is first told when the own sign-in has ended, as GoTrue does.
    """
    claims = claims_of(service, request)
    if claims.get("role") in service.settings.jwt_admin_roles:
        return
    if claims.get("sub"):
        await authenticate(service, request)
    raise AuthError(403, "not_admin", "User not allowed")
