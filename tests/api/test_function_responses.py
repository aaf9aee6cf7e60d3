"""Responses that all functions share: to anonymous clients, invalid bodies and unknown names.

Who may call which function is in authorisation.csv.
"""

import httpx
import pytest

from tests.support.endpoints import ANONYMOUS
from tests.support.people import Administrator, ApiClient


@pytest.mark.threat("T42", "T65")
@pytest.mark.parametrize("name", ["sync-all-mlm-bonuses", "admin-list-deposits", "bot-subscription"])
def test_an_anonymous_client_gets_an_error(anonymous: ApiClient, name: str) -> None:
    error = {"error": "Not authenticated", "code": "not_authenticated"}
    without_a_key = httpx.post(f"{anonymous.stack.url}/functions/v1/{name}", json={}, timeout=30)
    assert without_a_key.status_code == 401
    with_public_key = anonymous.function(name)
    assert (with_public_key.status_code, with_public_key.json()) == (401, error)


@pytest.mark.parametrize("name", ["admin-list-deposits", "admin-list-withdrawals"])
def test_lists_contain_their_total_and_their_counts(support: Administrator, name: str) -> None:
    response = support.function(name, {"page": 1, "pageSize": 5})
    assert response.status_code == 200, response.text
    assert {"items", "total", "counts"} <= set(response.json())


@pytest.mark.threat("T58", "T115")
@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 5000, "application/json", 400),
        (b'{"depositId": "x", "action": "approve"}', "application/json", 400),
        (b'{"depositId": 1, "action": "approve"}', "application/json", 400),
        (b'{"action": "approve"}', "application/json", 400),
        (b'{"depositId": "%s", "action": "delete"}' % ANONYMOUS.encode(), "application/json", 400),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "\\u0000"}' % ANONYMOUS.encode(),
            "application/json",
            400,
        ),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "\\ud800"}' % ANONYMOUS.encode(),
            "application/json",
            400,
        ),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "%s"}' % (ANONYMOUS.encode(), b"x" * 2000),
            "application/json",
            400,
        ),
        (b"depositId=1", "application/x-www-form-urlencoded", 415),
        (b"{}", "text/plain", 415),
        (b'{"reason": "' + b"x" * 1_100_000 + b'"}', "application/json", 413),
    ],
)
def test_bodies_of_the_wrong_schema(finance: Administrator, content: bytes, kind: str, status: int) -> None:
    response = finance.http.post(
        "/functions/v1/admin-approve-deposit", content=content, headers={"content-type": kind}
    )
    assert response.status_code == status, response.text
    if status != 413:
        assert response.json()["code"] == "invalid_input"


def test_an_unknown_function(finance: Administrator) -> None:
    response = finance.function("no-such-function")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
