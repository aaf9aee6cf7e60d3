"""Who stands at the door: verifies the token and opens transactions as the caller.

A door reads: take the caller, call one SQL function as the caller, answer. The transaction is committed
before the answer leaves, inside the handler.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response

from functions.core.database import Connection, Pool, transaction_as
from functions.core.errors import Refusal
from functions.core.failpoints import reached
from functions.core.logging import request_id
from functions.core.tokens import Claims, TokenRefused
from functions.edge.admin_tokens import ROLE as ADMINISTRATOR
from functions.edge.services import Services, services_of

MEMBER = "authenticated"

NOT_SIGNED_IN = Refusal(401, "not_authenticated", "Not authenticated")
EXPIRED = Refusal(401, "token_expired", "Your session has expired. Sign in again.")
FORGED = Refusal(401, "invalid_token", "Invalid JWT signature")
ADMINISTRATORS_ONLY = Refusal(403, "forbidden", "Only administrators can do this.")
MEMBERS_ONLY = Refusal(403, "forbidden", "Only members can do this.")


@dataclass(frozen=True)
class Visit:
    """Where a request comes from, before anybody has been recognised."""

    address: str
    user_agent: str
    path: str

    def settings(self) -> dict[str, str]:
        """The `request.*` settings that SQL functions read, as PostgREST sets them."""
        headers = {
            "x-real-ip": self.address,
            "user-agent": self.user_agent,
            "x-request-id": request_id.get(),
        }
        return {"method": "POST", "path": self.path, "headers": orjson.dumps(headers).decode()}


@dataclass(frozen=True)
class Caller:
    """A recognised person: verified claims, and transactions under them."""

    claims: Claims
    visit: Visit
    pool: Pool

    @property
    def id(self) -> str:
        """The member's auth.users id or the administrator's id."""
        return str(self.claims.subject)

    @asynccontextmanager
    async def transaction(self, *, snapshot: bool = False) -> AsyncIterator[Connection]:
        """A transaction as the caller's database role, refused when the caller may not act at all."""
        async with transaction_as(
            self.pool, self.claims.role, self.claims.values, self.visit.settings(), snapshot=snapshot
        ) as connection:
            await connection.execute("select pre_request.check_request()")
            yield connection

    @asynccontextmanager
    async def service_transaction(self) -> AsyncIterator[Connection]:
        """The same check, then the service's own role: for schema edge, which no caller may use."""
        async with self.transaction() as connection:
            await connection.execute("set local role none")
            yield connection

    async def call(self, function: str, *arguments: Any) -> Response:
        """Call one SQL function that returns JSON, commit, and answer with its text unchanged."""
        async with self.transaction() as connection:
            text = await json_of(connection, function, *arguments)
        reached(f"{function}.after_commit")
        return Response(text, media_type="application/json")


async def json_of(connection: Connection, function: str, *arguments: Any) -> str:
    """The JSON text that a SQL function returns; `function` is a name of this code, never of a request."""
    places = ", ".join(["%s"] * len(arguments))
    cursor = await connection.execute(f"select {function}({places})::text as answer", arguments)
    row = await cursor.fetchone()
    return str(row["answer"]) if row else "null"


def visit_of(request: Request) -> Visit:
    """The visitor's address is the header that the gateway overwrites, never one that a client sends."""
    address = request.headers.get("x-real-ip") or (request.client.host if request.client else "unknown")
    return Visit(address, request.headers.get("user-agent", "")[:400], request.url.path)


def caller_of(request: Request) -> Caller:
    """Recognise the bearer of the token, member or administrator.

    Raises:
        Refusal: 401 without a token, with the public key, or with one that does not verify.
    """
    services = services_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise NOT_SIGNED_IN
    try:
        claims = services.keys.verify(token.strip())
    except TokenRefused as refused:
        raise (EXPIRED if refused.reason == "expired" else FORGED) from refused
    if (claims.role == ADMINISTRATOR) != (claims.key_id in services.admin_key.trusted):
        raise FORGED
    if claims.role not in (MEMBER, ADMINISTRATOR) or claims.subject is None:
        raise NOT_SIGNED_IN
    return Caller(claims, visit_of(request), services.pool)


def administrator_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """The caller, who must hold an administrator's token; which of them may do what, SQL decides."""
    if caller.claims.role != ADMINISTRATOR:
        raise ADMINISTRATORS_ONLY
    return caller


def member_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """The caller, who must hold a member's token."""
    if caller.claims.role != MEMBER:
        raise MEMBERS_ONLY
    return caller


Person = Annotated[Caller, Depends(caller_of)]
Administrator = Annotated[Caller, Depends(administrator_of)]
Member = Annotated[Caller, Depends(member_of)]
Visitor = Annotated[Visit, Depends(visit_of)]
Shared = Annotated[Services, Depends(services_of)]
