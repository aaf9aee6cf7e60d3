"""Brings a schema up to date, in one transaction and one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

_TABLE = """
create table if not exists {table} (
    name text primary key,
    executed_at timestamptz not null default now()
)
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
    table = sql.Identifier(schema, "migrations")
    with migrating(database_url, schema) as connection:
        connection.execute(sql.SQL(_TABLE).format(table=table))
        connection.execute(sql.SQL("alter table {} enable row level security").format(table))
        applied = {
            name for (name,) in connection.execute(sql.SQL("select name from {}").format(table)).fetchall()
        }
        fresh = [path for path in sorted(folder.glob("*.sql")) if path.stem not in applied]
        for path in fresh:
            connection.execute(path.read_bytes())
            connection.execute(sql.SQL("insert into {} (name) values (%s)").format(table), [path.stem])
    return [path.stem for path in fresh]
