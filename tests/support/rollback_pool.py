"""A pool with one connection whose transaction is rolled back: no other client sees what it writes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.support.stack import Stack

Connection = psycopg.AsyncConnection[dict[str, Any]]


class RollbackPool:
    """Lends the connection as a pool does; a transaction on it is a savepoint of the one rolled back."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend it."""
        yield self._connection


@asynccontextmanager
async def rolled_back(stack: Stack) -> AsyncIterator[Connection]:
    """Yield a transaction of the superuser that is rolled back at the end."""
    address = stack.values["DATABASE_ADMIN_URL"]
    async with await psycopg.AsyncConnection.connect(address, row_factory=dict_row) as connection:
        yield connection
        await connection.rollback()
