"""Another auth service takes over the rows, as functions/auth/README.md says: people go on as they were.

With AUTH_BIN to a real GoTrue and back; without it to a second embedded service.
"""

import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pyotp
import pytest
from psycopg import sql

from launcher.host.tools import find_postgres
from tests.support.own_auth import OwnAuth, bearer
from tests.support.stack import Stack

PASSWORD = "harbour-lantern-41"
SECRET = secrets.token_hex(32)
LEFT_OUT = (
    "auth.schema_migrations",
    "auth.attempts",
    "auth.earlier_sign_ups",
    "auth.known_addresses",
    "auth.mail_counts",
    "auth.migrations",
    "auth.notices",
)


@contextmanager
def empty_database(stack: Stack) -> Iterator[str]:
    """Yield the address of a database with nothing but an empty schema auth, dropped afterwards."""
    admin_url, name = stack.values["DATABASE_ADMIN_URL"], f"auth_{secrets.token_hex(5)}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            database = urlunsplit(urlsplit(admin_url)._replace(path=f"/{name}"))
            with psycopg.connect(database) as connection:
                connection.execute("create schema auth")
            yield database
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@contextmanager
def serving(stack: Stack, binary: str, database: str) -> Iterator[OwnAuth]:
    """Yield an auth service, embedded or real, that migrates schema auth in a database of its own."""
    service = OwnAuth(stack, binary)
    try:
        service.start(DATABASE_URL=database, GOTRUE_RATE_LIMIT_HEADER="", GOTRUE_JWT_SECRET=SECRET)
        yield service
    finally:
        service.close()


def move(source: str, target: str) -> None:
    """Run the documented command."""
    postgres = find_postgres(())
    assert postgres
    left_out = [f"--exclude-table={table}" for table in LEFT_OUT]
    dump = subprocess.run(
        [postgres / "pg_dump", "--data-only", "--schema=auth", *left_out, source],
        capture_output=True,
        check=True,
    )
    load = [postgres / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", target]
    subprocess.run(load, input=dump.stdout, check=True, stdout=subprocess.DEVNULL)


def step_up(service: OwnAuth, token: str, factor_id: str, code: str) -> dict[str, Any]:
    """Give an authenticator's code; the session at aal2."""
    headers = bearer(token)
    challenge = service.http.post(f"/factors/{factor_id}/challenge", headers=headers, json={})
    body = {"challenge_id": challenge.raise_for_status().json()["id"], "code": code}
    response = service.http.post(f"/factors/{factor_id}/verify", headers=headers, json=body)
    return dict(response.raise_for_status().json())


def refreshed(service: OwnAuth, session: dict[str, Any]) -> dict[str, Any]:
    """Swap a session's refresh token."""
    body = {"refresh_token": session["refresh_token"]}
    response = service.http.post("/token?grant_type=refresh_token", json=body)
    return dict(response.raise_for_status().json())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Both ways with a real GoTrue, else from one embedded service to another."""
    binary = Stack.read().values.get("AUTH_BIN", "")
    ways = {"to the real one": ("", binary), "and back": (binary, "")} if binary else {"embedded": ("", "")}
    metafunc.parametrize(("here", "there"), ways.values(), ids=ways)


@pytest.mark.parametrize(
    "moved",
    [
        pytest.param(True, marks=pytest.mark.long, id="to another database"),
        pytest.param(False, id="on the same database"),
    ],
)
def test_every_account_works_as_before(stack: Stack, here: str, there: str, moved: bool) -> None:
    with empty_database(stack) as source, empty_database(stack) as other:
        with serving(stack, here, source) as old:
            user = old.new_user(PASSWORD, user_metadata={"username": "mover"})
            first = old.sign_in(user["email"], PASSWORD).raise_for_status().json()
            body = {"factor_type": "totp", "friendly_name": "phone"}
            headers = bearer(first["access_token"])
            factor = old.http.post("/factors", headers=headers, json=body).raise_for_status().json()
            totp = pyotp.TOTP(factor["totp"]["secret"])
            stepped_up = step_up(old, first["access_token"], factor["id"], totp.now())
            link = old.http.post(
                "/admin/generate_link",
                headers=bearer(old.service_key),
                json={"type": "recovery", "email": user["email"]},
            ).json()

        if moved:
            with serving(stack, there, other):
                pass
            move(source, other)

        with serving(stack, there, other if moved else source) as new:
            session = refreshed(new, refreshed(new, stepped_up))
            assert session["user"]["user_metadata"]["username"] == "mover"
            seen = new.http.get("/user", headers=bearer(session["access_token"])).raise_for_status().json()
            assert [entry["status"] for entry in seen["factors"]] == ["verified"]
            assert [entry["provider"] for entry in seen["identities"]] == ["email"]

            again = new.sign_in(user["email"], PASSWORD).raise_for_status().json()
            later = totp.at(int(time.time()) + 30)
            assert step_up(new, again["access_token"], factor["id"], later)["refresh_token"]
            assert new.sign_in(user["email"], f"{PASSWORD}!").status_code == 400

            opened = new.http.post("/verify", json={"type": "recovery", "token_hash": link["hashed_token"]})
            # A real GoTrue stores links and codes unkeyed, so neither service knows the other's.
            outlives = not here and not there
            assert opened.status_code == (200 if outlives else 403), opened.text
