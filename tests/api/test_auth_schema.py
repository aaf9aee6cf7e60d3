"""Schema auth: made by the service, and safe to make twice."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from functions.auth.migrate import SchemaTooOldError, migrate
from tests.support.own_database import empty_database
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("makes its schema by migrations of its own")


def _migrate(database_url: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "DATABASE_URL": database_url,
        "PORT": "1",
        "API_EXTERNAL_URL": "http://127.0.0.1:1",
        "GOTRUE_SITE_URL": "http://127.0.0.1:1",
        "GOTRUE_JWT_KEYS": "[]",
    }
    command = [sys.executable, "-m", "functions.auth", "migrate"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def elsewhere(stack: Stack) -> Iterator[str]:
    """Yield the address of an empty database, dropped afterwards."""
    with empty_database(stack) as url:
        yield url


def _one(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query).fetchone()
    return row[0] if row else None


def test_it_is_made_once(elsewhere: str) -> None:
    assert _migrate(elsewhere).returncode == 0
    assert _migrate(elsewhere).returncode == 0
    with psycopg.connect(elsewhere) as connection:
        assert _one(connection, "select count(*) from auth.schema_migrations") == 70
        tables = "select relname, relrowsecurity, oid from pg_class where relkind = 'r'"
        tables = f"{tables} and relnamespace = 'auth'::regnamespace"
        assert _one(connection, f"select count(*) from ({tables}) as t") == 29
        ours = "'attempts', 'earlier_sign_ups', 'known_addresses', 'mail_counts', 'migrations', 'notices'"
        closed = f"relrowsecurity and relname in ('users', 'identities', 'sessions', {ours})"
        assert _one(connection, f"select count(*) from ({tables} and {closed}) as t") == 9
        for role in ("anon", "authenticated", "service_role"):
            right = f"has_table_privilege('{role}', oid, 'select, insert, update, delete')"
            opened = _one(connection, f"select string_agg(relname, ', ') from ({tables} and {right}) as t")
            assert opened is None, f"{role} has rights on {opened}"


def test_a_start_waits_for_no_request_and_stalls_none(elsewhere: str) -> None:
    migrate(elsewhere)
    with psycopg.connect(elsewhere) as request:
        request.execute("lock table auth.users, auth.attempts, auth.mail_counts in row exclusive mode")
        migrate(f"{elsewhere}?options=-c%20lock_timeout%3D1s")


def test_an_older_schema_is_rejected_with_a_sentence(elsewhere: str) -> None:
    _migrate(elsewhere)
    with psycopg.connect(elsewhere) as connection:
        connection.execute("delete from auth.schema_migrations where version >= '2026'")
    with pytest.raises(SchemaTooOldError, match="let the GoTrue that made it migrate first"):
        migrate(elsewhere)
    rejected = _migrate(elsewhere)
    assert rejected.returncode == 1
    assert "let the GoTrue that made it migrate first" in rejected.stderr
