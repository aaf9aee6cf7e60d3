"""Schema auth: made by the service, safe to make twice, and its rows move elsewhere as they are."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from tests.support.own_auth import OwnAuth
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only

PASSWORD = "harbour-lantern-41"
MOVED = ["users", "identities", "sessions", "refresh_tokens", "mfa_amr_claims"]


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
    """The address of an empty database, dropped afterwards."""
    admin_url = stack.values["DATABASE_ADMIN_URL"]
    name = f"auth_{secrets.token_hex(5)}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield urlunsplit(urlsplit(admin_url)._replace(path=f"/{name}"))
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


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
        assert _one(connection, f"select count(*) from ({tables}) as t") == 24
        closed = "relrowsecurity and relname in ('users', 'identities', 'sessions', 'attempts')"
        assert _one(connection, f"select count(*) from ({tables} and {closed}) as t") == 4
        for role in ("anon", "authenticated", "service_role"):
            right = f"has_table_privilege('{role}', oid, 'select, insert, update, delete')"
            opened = _one(connection, f"select string_agg(relname, ', ') from ({tables} and {right}) as t")
            assert opened is None, f"{role} has rights on {opened}"


def test_an_older_schema_is_refused_with_a_sentence(elsewhere: str) -> None:
    _migrate(elsewhere)
    with psycopg.connect(elsewhere) as connection:
        connection.execute("delete from auth.schema_migrations where version >= '2026'")
    refused = _migrate(elsewhere)
    assert refused.returncode == 1
    assert "let the GoTrue that made it migrate first" in refused.stderr


def test_rows_move_with_password_and_session(stack: Stack, elsewhere: str) -> None:
    here = OwnAuth(stack)
    there = OwnAuth(stack)
    here.start()
    user = here.new_user(PASSWORD, user_metadata={"username": "mover"})
    session = here.sign_in(user["email"], PASSWORD).raise_for_status().json()
    _migrate(elsewhere)
    _move(stack.values["DATABASE_ADMIN_URL"], elsewhere, user["id"])
    there.start(DATABASE_URL=elsewhere)
    try:
        assert there.sign_in(user["email"], PASSWORD).status_code == 200
        body = {"refresh_token": session["refresh_token"]}
        moved = there.http.post("/token?grant_type=refresh_token", json=body).raise_for_status().json()
        assert moved["user"]["user_metadata"]["username"] == "mover"
    finally:
        here.delete_user(user["id"])
        here.close()
        there.close()


def _move(source: str, target: str, user_id: str) -> None:
    """Copy one user's rows, every column but the generated ones."""
    columns = (
        "select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute "
        "where attgenerated = '' and attnum > 0 and not attisdropped and attrelid = 'auth.{}'::regclass"
    )
    with psycopg.connect(source) as old, psycopg.connect(target) as new:
        for table in MOVED:
            names = _one(old, columns.format(table))
            owner = {
                "users": "id = '{}'",
                "mfa_amr_claims": "session_id in (select id from auth.sessions where user_id = '{}')",
            }.get(table, "user_id::text = '{}'")
            rows = f"select {names} from auth.{table} where {owner.format(user_id)}"
            with (
                old.cursor().copy(f"copy ({rows}) to stdout") as reading,
                new.cursor().copy(f"copy auth.{table} ({names}) from stdin") as writing,
            ):
                for chunk in reading:
                    writing.write(chunk)
        new.execute("select setval('auth.refresh_tokens_id_seq', max(id)) from auth.refresh_tokens")
