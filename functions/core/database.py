"""One connection pool per process, and transactions that run as the caller."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]
WAITING_EACH = 4


def make_pool(database_url: str, size: int, application_name: str) -> Pool:
    """A closed pool; open it in the application's lifespan.

    A connection is checked before it is lent, so that a restarted PostgreSQL costs no failed request.
    When four times as many wait as there are connections, one more is refused at once: an OperationalError.
    """
    return AsyncConnectionPool(
        database_url,
        min_size=1,
        max_size=size,
        max_waiting=WAITING_EACH * size,
        timeout=5,
        open=False,
        check=AsyncConnectionPool.check_connection,
        kwargs={"row_factory": dict_row, "application_name": application_name},
    )


@asynccontextmanager
async def transaction(pool: Pool, request: Mapping[str, str] | None = None) -> AsyncIterator[Connection]:
    """A transaction as the service's own database role; it commits before the block is left.

    `request` sets `request.<name>` for it, for example
    `{"method": "POST", "path": "/rpc/x", "headers": "{...}"}`, as PostgREST sets them.
    """
    async with pool.connection() as connection, connection.transaction():
        if request:
            await _set_locally(connection, _named(request))
        yield connection


@asynccontextmanager
async def transaction_as(
    pool: Pool,
    role: str,
    claims: Mapping[str, Any],
    request: Mapping[str, str] | None = None,
    *,
    snapshot: bool = False,
) -> AsyncIterator[Connection]:
    """A transaction as a database role with the caller's verified claims, so that row-level security holds.

    Everything is local to the transaction; `request` as for `transaction`. A snapshot only reads, and all its
    statements read the same moment.
    """
    bearer = orjson.dumps(dict(claims)).decode()
    values = {"role": role, "request.jwt.claims": bearer, **_named(request or {})}
    async with pool.connection() as connection, connection.transaction():
        if snapshot:
            await connection.execute("set transaction isolation level repeatable read, read only")
        await _set_locally(connection, values)
        yield connection


def _named(request: Mapping[str, str]) -> dict[str, str]:
    return {f"request.{name}": value for name, value in request.items()}


async def _set_locally(connection: Connection, values: Mapping[str, str]) -> None:
    """Set several settings for the transaction with one statement."""
    pairs = [item for pair in values.items() for item in pair]
    await connection.execute(f"select {', '.join(['set_config(%s, %s, true)'] * len(values))}", pairs)
