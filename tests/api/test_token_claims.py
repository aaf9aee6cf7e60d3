"""Tokens with a valid signature and invalid claims.

What PostgREST rejects by itself is tested on PostgREST alone: the other services share the verifier of
test_token_verifier.py. Each of the four looks up session, role and key on its own.
"""

import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.people import Administrator, ApiClient, Member
from tests.support.principals import claims_of, signed

NOW = int(time.time())
REJECTED = (400, 401, 403)
Ask = Callable[[ApiClient], httpx.Response]
SERVICES: dict[str, Ask] = {
    "rest": lambda client: client.rows("profiles", "select=id"),
    "auth": lambda client: client.http.get("/auth/v1/user"),
    "storage": lambda client: client.http.post("/storage/v1/object/list/receipts", json={"prefix": ""}),
    "functions": lambda client: client.function("sync-all-mlm-bonuses"),
}


@pytest.fixture(scope="module")
def subject(referrer: Member) -> Member:
    """Whose claims are changed."""
    return referrer


@pytest.mark.parametrize("service", SERVICES)
def test_the_claims_as_they_are(subject: Member, service: str) -> None:
    response = SERVICES[service](ApiClient(subject.stack, signed("auth", claims_of(subject.token))))
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"exp": NOW - 40}, marks=pytest.mark.threat("T71"), id="expired"),
        pytest.param({"nbf": NOW + 3600}, marks=pytest.mark.threat("T71"), id="not yet"),
        pytest.param({"aud": None}, marks=pytest.mark.threat("T72"), id="no audience"),
        pytest.param({"aud": "somebody-else"}, marks=pytest.mark.threat("T72"), id="another audience"),
    ],
)
def test_claims_that_do_not_hold_at_postgrest(subject: Member, change: dict[str, Any]) -> None:
    _rejects("rest", subject, change)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"session_id": str(uuid.uuid4())}, marks=pytest.mark.threat("T75"), id="no session"),
        pytest.param({"sub": str(uuid.uuid4())}, marks=pytest.mark.threat("T75"), id="other person"),
    ],
)
def test_a_session_that_is_not_there(subject: Member, service: str, change: dict[str, Any]) -> None:
    _rejects(service, subject, change)


def _rejects(service: str, subject: Member, change: dict[str, Any]) -> None:
    response = SERVICES[service](
        ApiClient(subject.stack, signed("auth", {**claims_of(subject.token), **change}))
    )
    assert response.status_code in REJECTED, response.text


@pytest.mark.threat("T73", "T74")
@pytest.mark.parametrize("service", ["rest", "storage", "functions"])
@pytest.mark.parametrize("role", ["postgres", "authenticator", "supabase_admin", "platform_admin"])
def test_a_role_that_members_do_not_have(subject: Member, service: str, role: str) -> None:
    """The auth service is left out: it gives no right by role, but to the service key."""
    response = SERVICES[service](
        ApiClient(subject.stack, signed("auth", {**claims_of(subject.token), "role": role}))
    )
    assert response.status_code in REJECTED, response.text


@pytest.mark.threat("T74")
@pytest.mark.parametrize("service", SERVICES)
def test_an_administrators_token_is_no_members(finance: Administrator, subject: Member, service: str) -> None:
    """The administrators' key signs nothing but administrators: not even right claims of a member."""
    if service in ("rest", "storage"):
        claims = {**claims_of(finance.token), "role": "authenticated"}
    else:
        claims = claims_of(subject.token)
    response = SERVICES[service](ApiClient(subject.stack, signed("admin", claims)))
    assert response.status_code in REJECTED, response.text
