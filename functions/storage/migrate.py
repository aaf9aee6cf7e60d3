"""Brings schema `storage` up to date; each migration is one file, applied once and in order."""

import logging
from pathlib import Path

import psycopg

FOLDER = Path(__file__).parent / "migrations"
# Any constant: two services that start together take turns.
LOCK = 7_305_808_869_114_451

PREPARE = """
do $$
begin
    if to_regnamespace('storage') is null then
        create schema storage;
    end if;
end
$$;
create table if not exists storage.migrations (
    name text primary key,
    executed_at timestamptz not null default now()
);
alter table storage.migrations enable row level security;
"""


def migrate(database_url: str) -> list[str]:
    """Apply what is missing, in one transaction, as the owner of the schema; returns the names applied.

    Raises:
        psycopg.Error: when a migration fails; nothing is changed then.
    """
    with psycopg.connect(database_url, application_name="storage-migrate") as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", [LOCK])
        connection.execute("set local client_min_messages = warning")
        connection.execute(PREPARE)
        done = {name for (name,) in connection.execute("select name from storage.migrations")}
        fresh = [path for path in sorted(FOLDER.glob("*.sql")) if path.stem not in done]
        for path in fresh:
            connection.execute(path.read_bytes())
            connection.execute("insert into storage.migrations (name) values (%s)", [path.stem])
    logging.getLogger("storage").info("migrated", extra={"fields": {"applied": [p.stem for p in fresh]}})
    return [path.stem for path in fresh]
