"""The principal of a request: the bearer token, the user behind it and the session it belongs to."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.requests import Request

from functions.auth import sessions
from functions.auth.keys import subject_of
from functions.auth.principal_reader import SESSION
from functions.auth.service import Service
from functions.auth.users import NO_INSTANCE, SELECT, User, is_banned
from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.core.request import bearer_token

# A statement that waits for a lock reads rows as they were before the wait, so locks come first.
_LOCKS = (
    "select from auth.users where instance_id = %(instance)s and id = %(user)s for update",
    "select from auth.sessions where id = %(session)s and user_id = %(user)s for update",
)
_LOCKED = f"""{SELECT}, {SESSION}
    from auth.users u left join auth.sessions s on s.id = %(session)s and s.user_id = u.id
    where u.instance_id = %(instance)s and u.id = %(user)s"""


_TWO_FACTORS = {"aal2", "aal3"}


@dataclass
class Principal:
    """A signed-in user; `session` is None for tokens without session_id.

    What the session showed is what its token says, as far as the rows still do: a session that its owner
    proves now says nothing of who holds an older token of it.
    """

    user: User
    session: dict[str, Any] | None
    amr: list[dict[str, Any]]
    claims: dict[str, Any]

    @property
    def is_aal2(self) -> bool:
        """Return whether the second factor was given in this session."""
        by_row = self.session is not None and self.session["aal"] in _TWO_FACTORS
        return by_row and self.claims.get("aal") in _TWO_FACTORS

    def entered_within(self, window: timedelta, methods: set[str]) -> bool:
        """Return whether one of these methods was used so short a time ago, by the database's clock."""
        if self.session is None:
            return False
        now = self.session["now"].timestamp()
        begin = now - window.total_seconds()
        rows = {row["method"]: float(row["updated_at"]) for row in self.amr if row["method"] in methods}
        entries = [entry for entry in self.claims.get("amr") or [] if isinstance(entry, dict)]
        return any(
            begin < float(entry.get("timestamp", 0)) <= rows[entry["method"]] <= now
            for entry in entries
            if entry.get("method") in rows
        )


async def authenticate(service: Service, request: Request) -> Principal:
    """Return the principal, who must exist, be signed in and not be banned.

    Raises:
        ApiError: 401, 403 or 400, in GoTrue's order.
    """
    claims = _claims_of(service, request)
    user_id, session_id = subject_of(claims), _session_id(claims)
    return _checked(service, await service.principals.read(user_id, session_id), session_id, claims)


async def authenticate_locked(service: Service, connection: Connection, request: Request) -> Principal:
    """Do the same in a transaction that is about to change the user.

    Its row and its session's are locked until the transaction ends, against a refresh too.
    """
    claims = _claims_of(service, request)
    user_id, session_id = subject_of(claims), _session_id(claims)
    named = {"user": user_id, "session": session_id, "instance": NO_INSTANCE}
    for lock in _LOCKS:
        await connection.execute(lock, named)
    cursor = await connection.execute(_LOCKED, named)
    return _checked(service, await cursor.fetchone(), session_id, claims)


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


def _session_id(claims: dict[str, Any]) -> uuid.UUID | None:
    given = claims.get("session_id")
    if not given:
        return None
    try:
        return uuid.UUID(str(given))
    except ValueError as error:
        raise ApiError(403, "bad_jwt", "invalid claim: session_id claim must be a UUID") from error


def _checked(
    service: Service, user: User | None, session_id: uuid.UUID | None, claims: dict[str, Any]
) -> Principal:
    if user is None:
        raise ApiError(403, "user_not_found", "User from sub claim in JWT does not exist")
    # An ended one is deleted later.
    if session_id is not None and (
        user["session_id"] is None or user["session_now"] > min(sessions.expiry_of(service, user))
    ):
        raise ApiError(403, "session_not_found", "Session from session_id claim in JWT does not exist")
    if is_banned(user):
        raise ApiError(403, "user_banned", "User is banned")
    session = None
    if session_id is not None:
        columns = ("id", "aal", "created_at", "factor_id", "now")
        session = {column: user[f"session_{column}"] for column in columns}
    return Principal(user, session, user["session_amr"], claims)
