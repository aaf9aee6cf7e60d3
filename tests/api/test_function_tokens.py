"""Tokens that are signed rightly and still do not count at the functions: other key, role, person or session.

functions/edge of the test's own stands in, because only it lends its keys.
"""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.endpoints import ANONYMOUS
from tests.support.own_edge import OwnEdge
from tests.support.people import PASSWORD, Member, People
from tests.support.stack import Stack

NOW = int(time.time())
Owner = psycopg.Connection[dict[str, Any]]


@pytest.fixture(scope="module")
def edge(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEdge]:
    """Functions with keys that the test knows."""
    own = OwnEdge(stack, tmp_path_factory.mktemp("edge"))
    with own.serving():
        yield own
    own.http.close()


@pytest.fixture(scope="module")
def claims(edge: OwnEdge, people: People) -> dict[str, Any]:
    """Return the claims of a token of a live administrator session."""
    email = people.account("super_admin")
    body = {"action": "login", "email": email, "password": PASSWORD}
    response = edge.call("admin-auth", body).raise_for_status().json()
    payload = response["access_token"].split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return claims


def status(edge: OwnEdge, token: str, name: str = "admin-list-deposits") -> int:
    return edge.call(name, {"page": 1} if name.startswith("admin") else {}, token).status_code


def test_the_right_token(edge: OwnEdge, claims: dict[str, Any]) -> None:
    assert status(edge, edge.sign(claims)) == 200


@pytest.mark.threat("T73")
@pytest.mark.parametrize(
    "change",
    [
        {"sub": ANONYMOUS},
        {"sub": "' or 1=1"},
        {"sid": ANONYMOUS},
        {"sid": None},
        {"jti": "x"},
        {"jti": None},
        {"role": "authenticated"},
        {"role": "service_role"},
        {"role": "postgres"},
        {"role": "supabase_admin"},
        {"role": "anon"},
        {"role": None},
    ],
    ids=lambda change: "-".join(map(str, next(iter(change.items())))),
)
def test_a_claim_that_is_not_right(edge: OwnEdge, claims: dict[str, Any], change: dict[str, Any]) -> None:
    changed = {name: value for name, value in {**claims, **change}.items() if value is not None}
    assert status(edge, edge.sign(changed)) == 401


@pytest.mark.threat("T73")
@pytest.mark.parametrize("by", ["admin", "members"])
def test_a_token_without_a_subject(edge: OwnEdge, claims: dict[str, Any], by: str) -> None:
    role = claims["role"] if by == "admin" else "authenticated"
    without = {name: value for name, value in {**claims, "role": role}.items() if name != "sub"}
    response = edge.call("admin-list-deposits", {}, edge.sign(without, by=by))
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


@pytest.mark.threat("T73")
@pytest.mark.parametrize("role", ["anon", "service_role", "postgres", "authenticator"])
def test_a_role_that_calls_no_function(edge: OwnEdge, role: str) -> None:
    claims = {"sub": ANONYMOUS, "role": role, "aud": "authenticated", "exp": NOW + 3600}
    response = edge.call("sync-all-mlm-bonuses", {}, edge.sign(claims, by="members"))
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


@pytest.mark.threat("T74")
def test_the_members_key_makes_no_administrator(edge: OwnEdge, claims: dict[str, Any]) -> None:
    assert status(edge, edge.sign(claims, by="members")) == 401


@pytest.mark.threat("T74")
def test_the_administrators_key_makes_no_member(edge: OwnEdge, member: Member, owner: Owner) -> None:
    session = owner.execute("select id from auth.sessions where user_id = %s", [member.user_id]).fetchone()
    assert session
    as_member = {
        "sub": member.user_id,
        "session_id": str(session["id"]),
        "role": "authenticated",
        "aud": "authenticated",
        "aal": "aal1",
        "exp": NOW + 3600,
    }
    assert status(edge, edge.sign(as_member, by="members"), "sync-all-mlm-bonuses") == 200
    assert status(edge, edge.sign(as_member, by="admin"), "sync-all-mlm-bonuses") == 401


@pytest.mark.threat("T70")
@pytest.mark.parametrize("token", ["x", "é.é.é", "a" * 9000], ids=["short", "no ASCII", "long"])
def test_what_is_no_token(edge: OwnEdge, token: str) -> None:
    headers = {"authorization": f"Bearer {token}".encode()}
    response = edge.http.post("/admin-list-deposits", json={}, headers=headers)
    assert (response.status_code, response.json()) == (
        401,
        {"error": "Invalid JWT signature", "code": "invalid_token"},
    )
