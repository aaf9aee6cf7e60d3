"""A private database on the stack's cluster, for tests that would disturb others."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.support.pgtap import copies
from tests.support.stack import Stack

ATTEMPTS = 20


@contextmanager
def own_database(stack: Stack) -> Iterator[str]:
    """Yield the superuser URL of a copy of the migrated database without the demo."""
    with ExitStack() as held:
        for left in reversed(range(ATTEMPTS)):
            try:
                (address,) = held.enter_context(copies(stack.values["DATABASE_ADMIN_URL"], 1))
                break
            except psycopg.errors.ObjectInUse:
                # The database's own tests are connected to the original, longer than PostgreSQL waits for it.
                if not left:
                    raise
        yield address


@contextmanager
def empty_database(stack: Stack) -> Iterator[str]:
    """Yield the superuser URL of a database in which there is nothing."""
    admin_url = stack.values["DATABASE_ADMIN_URL"]
    name = f"own_{secrets.token_hex(5)}"
    database = sql.Identifier(name)
    with psycopg.connect(admin_url, autocommit=True) as admin:
        # Of the other template, which others use too, PostgreSQL makes a copy only while it is idle.
        admin.execute(sql.SQL("create database {} template template0").format(database))
        try:
            yield urlunsplit(urlsplit(admin_url)._replace(path=f"/{name}"))
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(database))
