"""The principal of a request: verifies the token, and opens transactions as the principal.

An endpoint reads: take the principal, call one SQL function as the principal, respond. The transaction is
committed before the response leaves, inside the handler.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response

from functions.core.database import Connection, Pool, transaction_as
from functions.core.errors import ApiError
from functions.core.failpoints import crash_here
from functions.core.logging import request_id
from functions.core.request import bearer_token, client_address
from functions.core.tokens import Claims, TokenError
from functions.edge.support.admin_tokens import ROLE as ADMINISTRATOR
from functions.edge.support.services import services_of
from functions.edge.support.sql_functions import SqlFunction

MEMBER = "authenticated"
log = logging.getLogger("audit")

NOT_AUTHENTICATED = ApiError(401, "not_authenticated", "Not authenticated")
TOKEN_EXPIRED = ApiError(401, "token_expired", "Your session has expired. Sign in again.")
INVALID_TOKEN = ApiError(401, "invalid_token", "Invalid JWT signature")
ADMINISTRATORS_ONLY = ApiError(403, "forbidden", "Only administrators can do this.")
MEMBERS_ONLY = ApiError(403, "forbidden", "Only members can do this.")


@dataclass(frozen=True)
class RequestContext:
    """Where a request comes from, known before anybody is authenticated."""

    address: str
    user_agent: str
    path: str

    def settings(self) -> dict[str, str]:
        """Return the `request.*` settings that SQL functions read, as PostgREST sets them."""
        headers = {
            "x-real-ip": self.address,
            "user-agent": self.user_agent,
            "x-request-id": request_id.get(),
        }
        return {"method": "POST", "path": self.path, "headers": orjson.dumps(headers).decode()}


@dataclass(frozen=True)
class Principal:
    """An authenticated member or administrator: verified claims, and transactions under them."""

    claims: Claims
    context: RequestContext
    pool: Pool

    @property
    def id(self) -> str:
        """The member's auth.users id or the administrator's id."""
        return str(self.claims.subject)

    @asynccontextmanager
    async def transaction(self, *, snapshot: bool = False) -> AsyncIterator[Connection]:
        """Open a transaction as the principal's role; the database raises when the principal may not act."""
        async with transaction_as(
            self.pool, self.claims.role, self.claims.values, self.context.settings(), snapshot=snapshot
        ) as connection:
            await connection.execute("select pre_request.check_request()")
            yield connection

    @asynccontextmanager
    async def service_transaction(self) -> AsyncIterator[Connection]:
        """Make the same check, then act as the service's own role: schema edge is closed to all others."""
        async with self.transaction() as connection:
            await connection.execute("set local role none")
            yield connection

    async def call(self, function: SqlFunction, *arguments: Any) -> Response:
        """Call one SQL function that returns JSON, commit, and respond with its text unchanged."""
        async with self.transaction() as connection:
            text = await json_result(connection, function, *arguments)
        log_audit_entries(text)
        crash_here(f"{function}.after_commit")
        return Response(text, media_type="application/json")


async def json_result(connection: Connection, function: SqlFunction, *arguments: Any) -> str:
    """Return the JSON text of a SQL function's result."""
    placeholders = ", ".join(["%s"] * len(arguments))
    cursor = await connection.execute(f"select {function}({placeholders})::text as result", arguments)
    row = await cursor.fetchone()
    return str(row["result"]) if row else "null"


def log_audit_entries(text: str) -> None:
    """Log the audit entries that a committed result names, outside the database: a missing one shows."""
    if '"audit_entries"' in text and (entries := orjson.loads(text).get("audit_entries")):
        log.info("audited", extra={"fields": {"audit_entries": entries}})


def request_context(request: Request) -> RequestContext:
    """Return where the request comes from."""
    return RequestContext(client_address(request), request.headers.get("user-agent", ""), request.url.path)


def authenticate(request: Request) -> Principal:
    """Return the bearer of the token, member or administrator.

    Raises:
        ApiError: 401 without a token, with the public key, or with one that does not verify.
    """
    services = services_of(request)
    token = bearer_token(request)
    if not token:
        raise NOT_AUTHENTICATED
    try:
        claims = services.keys.verify(token)
    except TokenError as error:
        raise (TOKEN_EXPIRED if error.reason == "expired" else INVALID_TOKEN) from error
    if (claims.role == ADMINISTRATOR) != (claims.key_id in services.admin_key.trusted):
        raise INVALID_TOKEN
    if claims.role not in (MEMBER, ADMINISTRATOR) or claims.subject is None:
        raise NOT_AUTHENTICATED
    return Principal(claims, request_context(request), services.pool)


def require_administrator(principal: Annotated[Principal, Depends(authenticate)]) -> Principal:
    """Return an administrator; which of them may do what is decided in SQL."""
    if principal.claims.role != ADMINISTRATOR:
        raise ADMINISTRATORS_ONLY
    return principal


def require_member(principal: Annotated[Principal, Depends(authenticate)]) -> Principal:
    """Return a member."""
    if principal.claims.role != MEMBER:
        raise MEMBERS_ONLY
    return principal


AnyPrincipal = Annotated[Principal, Depends(authenticate)]
Administrator = Annotated[Principal, Depends(require_administrator)]
Member = Annotated[Principal, Depends(require_member)]
Context = Annotated[RequestContext, Depends(request_context)]
