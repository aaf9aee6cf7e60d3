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
async def transaction(pool: Pool) -> AsyncIterator[Connection]:
    """A transaction as the service's own database role; it commits before the block is left."""
    async with pool.connection() as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def transaction_as(
    pool: Pool, role: str, claims: Mapping[str, Any], request: Mapping[str, str] | None = None
) -> AsyncIterator[Connection]:
    """A transaction as a database role with the caller's verified claims, so that row-level security holds.

    Everything is local to the transaction. `request` adds `request.<name>` settings, for example
    `{"method": "POST", "path": "/rpc/x", "headers": "{...}"}`, as PostgREST sets them.
    """
    values = {"request.jwt.claims": orjson.dumps(dict(claims)).decode()}
    values.update({f"request.{name}": value for name, value in (request or {}).items()})
    pairs = [item for pair in values.items() for item in pair]
    select = ", ".join(["set_config('role', %s, true)"] + ["set_config(%s, %s, true)"] * len(values))
    async with pool.connection() as connection, connection.transaction():
        await connection.execute(f"select {select}", [role, *pairs])
        yield connection
