"""What a request needs of the running service: its database, keys, bytes and settings, and who calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from fastapi import Request
from fastapi.responses import JSONResponse
from psycopg import sql

from functions.core.database import Connection, Pool, transaction_as
from functions.core.tokens import PERSONAL_ROLES, KeySet, TokenRefused
from functions.storage.errors import access_denied
from functions.storage.settings import Settings
from functions.storage.signing import Signer
from functions.storage.store import ByteStore

SERVICE_ROLE = "service_role"
# Settings that policies may read must not hold what opens doors.
_SECRET_HEADERS = frozenset({"authorization", "apikey", "cookie"})
_TOKEN_TEXTS = {
    "malformed": "Invalid Compact JWS",
    "signature": "signature verification failed",
    "expired": '"exp" claim timestamp check failed',
    "audience": 'unexpected "aud" claim value',
}


@dataclass(frozen=True)
class Caller:
    """A verified token: the database role, its claims and the token itself."""

    role: str
    claims: dict[str, Any]
    token: str

    @property
    def owner_id(self) -> str | None:
        """Whose the uploads of this caller are; the service key has no person."""
        subject = self.claims.get("sub")
        return str(subject) if subject else None

    @property
    def is_service(self) -> bool:
        """Does the caller hold the service key?"""
        return self.role == SERVICE_ROLE


SERVICE = Caller(SERVICE_ROLE, {"role": SERVICE_ROLE}, "")


@dataclass
class Service:
    """The parts of the running service."""

    settings: Settings
    pool: Pool
    keys: KeySet
    signer: Signer
    store: ByteStore
    _pre_request_seen: bool = field(default=False)

    def identify(self, request: Request) -> Caller:
        """The caller of a request that needs one.

        Raises:
            StorageError: AccessDenied with the reason.
        """
        header = request.headers.get("authorization", "")
        token = header[7:] if header[:7].lower() == "bearer " else header
        try:
            claims = self.keys.verify(token.strip())
        except TokenRefused as error:
            raise access_denied(_TOKEN_TEXTS[error.reason]) from error
        return Caller(claims.role, claims.values, token.strip())

    @asynccontextmanager
    async def as_caller(self, request: Request, caller: Caller, operation: str) -> AsyncIterator[Connection]:
        """A transaction with the caller's rights; policies may read `storage.operation`.

        The pre-request function refuses persons who may not come in, by raising.
        """
        headers = {k: v for k, v in request.headers.items() if k not in _SECRET_HEADERS}
        values = {
            "jwt": caller.token,
            "jwt.claim.sub": caller.owner_id or "",
            "jwt.claim.role": caller.role,
            "headers": orjson.dumps(headers).decode(),
            "method": request.method,
            "path": request.url.path,
        }
        async with transaction_as(self.pool, caller.role, caller.claims, values) as db:
            await db.execute("select set_config('storage.operation', %s, true)", [operation])
            if caller.role in PERSONAL_ROLES and await self._has_pre_request(db):
                names = self.settings.pre_request_function.split(".")
                await db.execute(sql.SQL("select {}()").format(sql.Identifier(*names)))
            yield db

    def as_service(self, request: Request, operation: str) -> Any:
        """A transaction that sees every row, for look-ups and for writes already permitted."""
        return self.as_caller(request, SERVICE, operation)

    async def _has_pre_request(self, db: Connection) -> bool:
        """Does the database have it yet? Once seen it is always called."""
        if self.settings.pre_request_function and not self._pre_request_seen:
            found = await db.execute(
                "select from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
                " where n.nspname || '.' || p.proname = %s and p.pronargs = 0",
                [self.settings.pre_request_function],
            )
            self._pre_request_seen = await found.fetchone() is not None
        return self._pre_request_seen


def service_of(request: Request) -> Service:
    """The service that the application was started with."""
    service: Service = request.app.state.service
    return service


def uuid_or_none(text: str | None) -> UUID | None:
    """The deprecated column `owner` holds only uuids."""
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


class Answer(JSONResponse):
    """A JSON answer; times are milliseconds in UTC, as JavaScript writes them."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return orjson.dumps(content)
