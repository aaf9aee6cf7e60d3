"""The principal of a request: the bearer token, the user behind it and the session it belongs to."""

import uuid
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from functions.auth.keys import subject_of
from functions.auth.principal_reader import SESSION
from functions.auth.service import Service
from functions.auth.users import NO_INSTANCE, SELECT, User, is_banned
from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.core.request import bearer_token

_LOCKED = f"""{SELECT}, {SESSION}
    from auth.users u left join auth.sessions s on s.id = %s and s.user_id = u.id
    where u.instance_id = %s and u.id = %s for update of u"""


@dataclass
class Principal:
    """A signed-in user; `session` is None for tokens without session_id."""

    user: User
    session: dict[str, Any] | None
    amr: list[dict[str, Any]]

    @property
    def is_aal2(self) -> bool:
        """Return whether the second factor was given in this session."""
        return self.session is not None and self.session["aal"] in {"aal2", "aal3"}


async def authenticate(service: Service, request: Request) -> Principal:
    """Return the principal, who must exist, be signed in and not be banned.

    Raises:
        ApiError: 401, 403 or 400, in GoTrue's order.
    """
    user_id, session_id = _ids(service, request)
    return _checked(await service.principals.read(user_id, session_id), session_id)


async def authenticate_locked(service: Service, connection: Connection, request: Request) -> Principal:
    """Do the same in a transaction that is about to change the user: the row is locked until it ends."""
    user_id, session_id = _ids(service, request)
    cursor = await connection.execute(_LOCKED, [session_id, NO_INSTANCE, user_id])
    return _checked(await cursor.fetchone(), session_id)


async def require_admin(service: Service, request: Request) -> None:
    """Let only the service key pass: the role claim decides, metadata counts for nothing.

    Other principals are first told when their own sign-in has ended, as by GoTrue.
    """
    claims = _claims_of(service, request)
    if claims.get("role") in service.settings.jwt_admin_roles:
        return
    if claims.get("sub"):
        await authenticate(service, request)
    raise ApiError(403, "not_admin", "User not allowed")


def _claims_of(service: Service, request: Request) -> dict[str, Any]:
    token = bearer_token(request)
    if not token:
        raise ApiError(401, "no_authorization", "This endpoint requires a valid Bearer token")
    return service.keys.verify(token)


def _ids(service: Service, request: Request) -> tuple[uuid.UUID, uuid.UUID | None]:
    claims = _claims_of(service, request)
    return subject_of(claims), _session_id(claims)


def _session_id(claims: dict[str, Any]) -> uuid.UUID | None:
    given = claims.get("session_id")
    if not given:
        return None
    try:
        return uuid.UUID(str(given))
    except ValueError as error:
        raise ApiError(403, "bad_jwt", "invalid claim: session_id claim must be a UUID") from error


def _checked(user: User | None, session_id: uuid.UUID | None) -> Principal:
    if user is None:
        raise ApiError(403, "user_not_found", "User from sub claim in JWT does not exist")
    if session_id is not None and user["session_id"] is None:
        raise ApiError(403, "session_not_found", "Session from session_id claim in JWT does not exist")
    if is_banned(user):
        raise ApiError(403, "user_banned", "User is banned")
    session = None
    if session_id is not None:
        session = {"id": session_id, "aal": user["session_aal"], "created_at": user["session_created_at"]}
    return Principal(user, session, user["session_amr"])
