"""One connection pool per process, and transactions that run as the principal."""

import select
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]
WAITING_PER_CONNECTION = 4
# Attempts to reconnect back off 1, 2, 4 s ...: after this long they begin anew, so that no pause exceeds 1 s.
RECONNECT_SECONDS = 0.5


def make_pool(
    database_url: str,
    size: int,
    application_name: str,
    *,
    min_size: int = 1,
    max_waiting: int | None = None,
    reconnect_seconds: float = RECONNECT_SECONDS,
    **connection: Any,
) -> Pool:
    """Return a closed pool; open it in the application's lifespan.

    A connection that the server has closed is replaced before it is lent, so that a restarted PostgreSQL
    costs no failed request, and a pool that has lost its server looks for it until it is back.

    Args:
        max_waiting: how many requests may wait for a connection before one more fails at once with
            TooManyRequests; four times the size unless given, 0 for any number.
        connection: further arguments of each connection, for example `autocommit`, `options`.
    """
    return AsyncConnectionPool(
        database_url,
        min_size=min(min_size, size),
        max_size=size,
        max_waiting=WAITING_PER_CONNECTION * size if max_waiting is None else max_waiting,
        timeout=5,
        open=False,
        check=_require_open,
        reconnect_timeout=reconnect_seconds,
        reconnect_failed=_reconnect,
        kwargs={"row_factory": dict_row, "application_name": application_name, **connection},
    )


async def _require_open(connection: Connection) -> None:
    """Raise when the server has hung up: an idle connection with something to read. Costs no round trip."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if poll.poll(0):
        # Closed, so that the pool replaces it; an open one would be lent again.
        await connection.close()
        raise OperationalError("the server closed the connection")


async def _reconnect(pool: AsyncConnectionPool[Any]) -> None:
    """Start new attempts when a pool has given up: by itself an empty one would never try again."""
    await pool.check()


async def require_database(pool: Pool) -> None:
    """Raise a psycopg error unless the database answers within 2 s: what `/health` asks."""
    async with pool.connection(timeout=2) as connection:
        await connection.execute("select 1")


@asynccontextmanager
async def transaction(
    pool: Pool, request: Mapping[str, str] | None = None, *, rolled_back: bool = False
) -> AsyncIterator[Connection]:
    """Open a transaction as the service's own database role; it commits before the block is left.

    With `rolled_back` nothing stays of it, also when the server is lost meanwhile. `request` sets
    `request.<name>` for it, for example
    `{"method": "POST", "path": "/rpc/x", "headers": "{...}"}`, as PostgREST sets them.
    """
    async with pool.connection() as connection, connection.transaction(force_rollback=rolled_back):
        if request:
            await _set_locally(connection, _prefixed(request))
        yield connection


@asynccontextmanager
async def transaction_as(
    pool: Pool,
    role: str,
    claims: Mapping[str, Any],
    request: Mapping[str, str] | None = None,
    *,
    snapshot: bool = False,
    rolled_back: bool = False,
) -> AsyncIterator[Connection]:
    """Open a transaction as a database role with verified claims, so that row-level security holds.

    Everything is local to the transaction; `request` and `rolled_back` as for `transaction`. A snapshot only
    reads, and all its statements read the same moment.
    """
    bearer = orjson.dumps(dict(claims)).decode()
    values = {"role": role, "request.jwt.claims": bearer, **_prefixed(request or {})}
    async with pool.connection() as connection, connection.transaction(force_rollback=rolled_back):
        if snapshot:
            await connection.execute("set transaction isolation level repeatable read, read only")
        await _set_locally(connection, values)
        yield connection


def _prefixed(request: Mapping[str, str]) -> dict[str, str]:
    return {f"request.{name}": value for name, value in request.items()}


async def _set_locally(connection: Connection, values: Mapping[str, str]) -> None:
    """Set several settings for the transaction with one statement."""
    pairs = [item for pair in values.items() for item in pair]
    await connection.execute(f"select {', '.join(['set_config(%s, %s, true)'] * len(values))}", pairs)
