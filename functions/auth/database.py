"""The service's connections: a statement outside a transaction commits by itself, saving two round trips."""

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from functions.core.database import Connection, Pool


async def _alive(connection: AsyncConnection[DictRow]) -> None:
    """Raise when the server has hung up: an idle connection with something to read. Costs no round trip."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if poll.poll(0):
        # Closed, so that the pool replaces it; an open one would be lent again.
        await connection.close()
        raise OperationalError("the server closed the connection")


def make_pool(database_url: str, size: int) -> Pool:
    """A closed pool in autocommit mode; open it in the application's lifespan."""
    set_json_loads(orjson.loads)
    return AsyncConnectionPool(
        database_url,
        min_size=min(2, size),
        max_size=size,
        timeout=5,
        open=False,
        check=_alive,
        kwargs={
            "row_factory": dict_row,
            "application_name": "auth",
            "autocommit": True,
            # No timeouts here: the product's triggers on a confirmation wait for locks. Requests have one.
            # Every query looks a few rows up by key: planning it anew costs more than running it.
            "options": "-c timezone=UTC -c plan_cache_mode=force_generic_plan",
        },
    )


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[Connection]:
    """One transaction; it commits before the block is left, and rolls back when the block raises."""
    async with pool.connection() as connection, connection.transaction():
        yield connection
