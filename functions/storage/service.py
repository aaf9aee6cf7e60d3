"""The running service, and a request to it: who sent it, and transactions with their rights."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import Depends, Request
from psycopg import sql

from functions.core.database import Connection, Pool, transaction_as
from functions.core.request import bearer_token, client_address, network_of
from functions.core.tokens import PERSONAL_ROLES, KeySet, TokenError
from functions.storage.errors import access_denied
from functions.storage.settings import Settings
from functions.storage.signing import Signer
from functions.storage.store import ByteStore
from functions.storage.transfers import ARRIVALS, DEPARTURES, Transfer, Transfers

SERVICE_ROLE = "service_role"
# Policies may read request headers, but never credentials.
_SECRET_HEADERS = frozenset({"authorization", "apikey", "cookie"})
_TOKEN_TEXTS = {
    "malformed": "Invalid Compact JWS",
    "signature": "signature verification failed",
    "expired": '"exp" claim timestamp check failed',
    "audience": 'unexpected "aud" claim value',
}


@dataclass(frozen=True)
class Principal:
    """A verified token: the database role, its claims and the token itself."""

    role: str
    claims: dict[str, Any]
    token: str

    @property
    def owner_id(self) -> str | None:
        """The owner of this principal's uploads; the service key has no person."""
        subject = self.claims.get("sub")
        return str(subject) if subject else None

    @property
    def is_service(self) -> bool:
        """True for the service key."""
        return self.role == SERVICE_ROLE


SERVICE = Principal(SERVICE_ROLE, {"role": SERVICE_ROLE}, "")


@dataclass
class Service:
    """The parts of the running service."""

    settings: Settings
    pool: Pool
    keys: KeySet
    signer: Signer
    store: ByteStore
    _seen: set[str] = field(default_factory=set)
    arrivals: Transfers = field(default_factory=lambda: Transfers(ARRIVALS))
    departures: Transfers = field(default_factory=lambda: Transfers(DEPARTURES))

    async def check(self, db: Connection, function: str, *arguments: str) -> None:
        """Call a function of the product that raises for who has no access.

        It is skipped while the database does not have it; once seen it is always called.
        """
        if not function:
            return
        if function not in self._seen:
            found = await db.execute(
                "select from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
                " where n.nspname || '.' || p.proname = %s and p.pronargs = %s",
                [function, len(arguments)],
            )
            if await found.fetchone() is None:
                return
            self._seen.add(function)
        places = sql.SQL(", ").join([sql.Placeholder()] * len(arguments))
        call = sql.SQL("select {}({})").format(sql.Identifier(*function.split(".")), places)
        await db.execute(call, arguments)


class RequestContext:
    """One request and the service that it came to."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.service: Service = request.app.state.service
        self._principal: Principal | None = None

    @classmethod
    def of(cls, request: Request) -> "RequestContext":
        """Return the context that the request has been given, or give it one."""
        if not hasattr(request.state, "context"):
            request.state.context = cls(request)
        context: RequestContext = request.state.context
        return context

    def identify(self) -> Principal:
        """Return who sent the request, by `Authorization: Bearer` or by a bare token.

        Raises:
            ApiError: AccessDenied with the reason.
        """
        if self._principal is None:
            token = bearer_token(self.request) or self.request.headers.get("authorization", "").strip()
            try:
                claims = self.service.keys.verify(token)
            except TokenError as error:
                raise access_denied(_TOKEN_TEXTS[error.reason]) from error
            self._principal = Principal(claims.role, claims.values, token)
        return self._principal

    def receiving(
        self, principal: Principal | None, owner_id: str | None
    ) -> AbstractAsyncContextManager[Transfer]:
        """Hold a place while a file arrives.

        Raises:
            ApiError: SlowDown, when there is none left.
        """
        return self.service.arrivals.place(self._person(principal, owner_id))

    def sending(
        self, principal: Principal | None, owner_id: str | None
    ) -> AbstractAsyncContextManager[Transfer]:
        """Hold a place while a file is found and sent.

        Raises:
            ApiError: SlowDown, when there is none left.
        """
        return self.service.departures.place(self._person(principal, owner_id))

    def _person(self, principal: Principal | None, owner_id: str | None) -> str | None:
        """Return whose place it is: the owner's, else the client network's; the service key has no person."""
        if principal and principal.is_service:
            return None
        return owner_id or network_of(client_address(self.request))

    @asynccontextmanager
    async def transaction_as(
        self, principal: Principal, operation: str, *, rolled_back: bool = False
    ) -> AsyncIterator[Connection]:
        """Open a transaction with the principal's rights; policies may read `storage.operation`.

        With `rolled_back` it only asks whether something may be done: nothing stays of it.
        The pre-request function raises for persons who have no access at present.
        """
        request, service = self.request, self.service
        headers = {k: v for k, v in request.headers.items() if k not in _SECRET_HEADERS}
        values = {
            "jwt": principal.token,
            "jwt.claim.sub": principal.owner_id or "",
            "jwt.claim.role": principal.role,
            "headers": orjson.dumps(headers).decode(),
            "method": request.method,
            "path": request.url.path,
        }
        async with transaction_as(
            service.pool, principal.role, principal.claims, values, rolled_back=rolled_back
        ) as db:
            await db.execute("select set_config('storage.operation', %s, true)", [operation])
            if principal.role in PERSONAL_ROLES:
                await service.check(db, service.settings.pre_request_function)
            yield db

    def transaction_as_service(self, operation: str) -> AbstractAsyncContextManager[Connection]:
        """Open a transaction that sees every row, for look-ups and for writes already permitted."""
        return self.transaction_as(SERVICE, operation)

    async def check_account(self, claims: dict[str, Any]) -> None:
        """Let a person's signed URL be good only while the account may be used.

        Raises:
            psycopg.Error: as the account check raises it.
        """
        if claims.get("owner"):
            async with self.transaction_as_service("storage.object.sign") as db:
                function = self.service.settings.account_check_function
                await self.service.check(db, function, str(claims["owner"]))


async def _context(request: Request) -> RequestContext:
    return RequestContext.of(request)


Context = Annotated[RequestContext, Depends(_context)]


async def _principal(context: Context) -> Principal:
    return context.identify()


SignedIn = Annotated[Principal, Depends(_principal)]


def uuid_or_none(text: str | None) -> UUID | None:
    """Return the uuid for the deprecated column `owner`, which holds nothing else."""
    try:
        return UUID(text) if text else None
    except ValueError:
        return None
