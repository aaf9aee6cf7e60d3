"""Brings a schema up to date, in one transaction and one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

_TABLE = """
create table {table} (
    name text primary key,
    executed_at timestamptz not null default now()
);
alter table {table} enable row level security
"""


@contextmanager
def migrating(database_url: str, schema: str) -> Iterator[psycopg.Connection]:
    """Lend a connection in a transaction; who migrates the same schema meanwhile waits until it has ended."""
    with psycopg.connect(database_url, application_name=f"{schema}-migrate") as connection:
        connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [f"{schema}.migrate"])
        connection.execute("set local client_min_messages = warning")
        # "create schema if not exists" asks for the right to create one even when it exists.
        if connection.execute("select to_regnamespace(%s)", [schema]).fetchone() == (None,):
            connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
        yield connection


def apply(database_url: str, folder: Path, schema: str) -> list[str]:
    """Run the SQL files of a folder that `<schema>.migrations` does not name yet, and return their names.

    They run in the order of their names, as the role that is to own the schema.

    Raises:
        psycopg.Error: a file fails; nothing is changed then.
    """
    with migrating(database_url, schema) as connection:
        return apply_missing(connection, folder, schema)


def apply_missing(connection: psycopg.Connection, folder: Path, schema: str) -> list[str]:
    """As `apply`, within a transaction of `migrating`.

    With nothing to do it takes no lock that a service at work would wait for.
    """
    table = sql.Identifier(schema, "migrations")
    if connection.execute("select to_regclass(%s)", [f"{schema}.migrations"]).fetchone() == (None,):
        connection.execute(sql.SQL(_TABLE).format(table=table))
    applied = {
        name for (name,) in connection.execute(sql.SQL("select name from {}").format(table)).fetchall()
    }
    fresh = [path for path in sorted(folder.glob("*.sql")) if path.stem not in applied]
    for path in fresh:
        connection.execute(path.read_bytes())
        connection.execute(sql.SQL("insert into {} (name) values (%s)").format(table), [path.stem])
    return [path.stem for path in fresh]
