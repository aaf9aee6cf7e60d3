"""Who may act as an administrator: by a token of the live session alone, whatever key or login is at hand."""

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from psycopg.rows import dict_row

from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.people import Administrator, Member, People
from tests.support.stack import Stack, service_env, stack_state

# The logins that may act for administrators, after they have verified a token.
MAY_BECOME = {"authenticator", "edge_functions"}
SERVICES = ("auth", "edge", "postgrest", "storage", "worker")


def _url_of(service: str) -> str:
    values = service_env(service)
    return values.get("DATABASE_URL") or values["PGRST_DB_URI"]


@pytest.fixture(params=SERVICES)
def login(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """Yield a connection with the login of a service."""
    with psycopg.connect(_url_of(request.param), autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture
def withdrawal(people: People, referrer: Member, finance: Administrator) -> str:
    """Return a pending withdrawal."""
    earner = people.earner(referrer.profile_id, finance)
    row = earner.withdrawal_row(100)
    earner.insert("withdrawals", row).raise_for_status()
    return str(row["id"])


def _status(owner: Owner, withdrawal: str) -> str:
    row = owner.execute("select status from public.withdrawals where id = %s", [withdrawal]).fetchone()
    assert row
    return str(row["status"])


def _become(connection: psycopg.Connection[dict[str, Any]], claims: dict[str, Any]) -> None:
    connection.execute(
        "select set_config('request.jwt.claims', %s, false), set_config('role', 'platform_admin', false)",
        [json.dumps(claims)],
    )


@pytest.mark.threat("T74")
def test_no_login_decides_money_with_claims_of_its_own(
    owner: Owner, login: psycopg.Connection[dict[str, Any]], finance: Administrator, withdrawal: str
) -> None:
    found = login.execute("select current_user as name").fetchone()
    assert found
    live = finance.claims
    forged: list[dict[str, Any]] = [
        {"sub": live["sub"]},
        {"sub": live["sub"], "role": "platform_admin", "aud": "authenticated"},
        {name: value for name, value in live.items() if name != "jti"},
        {name: value for name, value in live.items() if name != "sid"},
        {**live, "jti": "x"},
        {**live, "jti": None},
        {**live, "jti": [live["jti"]]},
        {**live, "sid": live["sub"]},
    ]
    for claims in forged:
        if found["name"] not in MAY_BECOME:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                _become(login, claims)
            continue
        _become(login, claims)
        for statement in (
            "select public.decide_withdrawal(%s, 'approve')",
            "select public.propose_correction('void_withdrawal', %s, null, 'x')",
        ):
            with pytest.raises(psycopg.Error) as rejected:
                login.execute(statement, [withdrawal])
            message = rejected.value.diag.message_primary or ""
            assert "session_ended" in message, (claims, statement)
        login.execute("reset role")
    assert _status(owner, withdrawal) == "pending"


@pytest.mark.threat("T74")
def test_only_two_logins_may_become_an_administrator(owner: Owner) -> None:
    rows = owner.execute(
        "select rolname from pg_roles where rolcanlogin and not rolsuper and rolname <> 'postgres'"
        " and pg_has_role(rolname, 'platform_admin', 'member')"
    ).fetchall()
    assert {row["rolname"] for row in rows} == MAY_BECOME


def _signed(name: str, claims: dict[str, Any]) -> str:
    key = json.loads((stack_state() / "keys" / name).read_text())
    kind = RSAKey if key["kty"] == "RSA" else ECKey
    plain = {part: value for part, value in key.items() if part != "former"}
    return jwt.encode({"alg": key["alg"], "kid": key["kid"], "typ": "JWT"}, claims, kind.import_key(plain))


@pytest.mark.threat("T74")
def test_the_members_key_makes_no_administrator_anywhere(
    stack: Stack, owner: Owner, finance: Administrator, withdrawal: str
) -> None:
    live = finance.claims
    # Whoever has the members' key and reads the database knows both ids, and no more.
    known = {name: live[name] for name in ("iss", "aud", "sub", "sid", "role")}
    known |= {"iat": int(time.time()), "exp": int(time.time()) + 3600}
    for claims in (known, {**known, "jti": live["sid"]}, {**known, "jti": ""}):
        for key in ("auth.json", "admin.json"):
            headers = {"apikey": stack.anon_key, "authorization": f"Bearer {_signed(key, claims)}"}
            for path, body in (
                ("/rest/v1/admin_sessions", None),
                ("/rest/v1/rpc/decide_withdrawal", {"p_withdrawal_id": withdrawal, "p_action": "approve"}),
                ("/functions/v1/admin-list-withdrawals", {"page": 1}),
                ("/functions/v1/admin-approve-withdrawal", {"withdrawalId": withdrawal, "action": "approve"}),
            ):
                verb = "POST" if body else "GET"
                response = plain_http.request(
                    verb, f"{stack.url}{path}", json=body, headers=headers, timeout=20
                )
                assert response.status_code == 401, (key, path)
    assert _status(owner, withdrawal) == "pending"


def test_storage_knows_no_administrators(stack: Stack, finance: Administrator) -> None:
    response = finance.http.post("/storage/v1/object/list/receipts", json={"prefix": ""})
    assert (response.status_code, response.json()["code"]) == (400, "AccessDenied")
