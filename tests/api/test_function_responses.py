"""Responses that all functions share: to anonymous clients, invalid bodies and unknown names.

Who may call which function is in authorisation.csv.
"""

import time

import httpx
import pytest

from functions.edge.support.application import endpoint_modules, endpoint_router
from functions.edge.support.json_body import NOT_JSON
from tests.api.conftest import Owner
from tests.support.endpoints import ANONYMOUS, edge_app
from tests.support.people import Administrator, ApiClient, Member


@pytest.mark.threat("T42", "T65")
@pytest.mark.parametrize("name", ["sync-all-mlm-bonuses", "admin-list-deposits", "bot-subscription"])
def test_an_anonymous_client_gets_an_error(anonymous: ApiClient, name: str) -> None:
    error = {"error": "Not authenticated", "code": "not_authenticated"}
    without_a_key = httpx.post(f"{anonymous.stack.url}/functions/v1/{name}", json={}, timeout=30)
    assert without_a_key.status_code == 401
    with_public_key = anonymous.function(name)
    assert (with_public_key.status_code, with_public_key.json()) == (401, error)


@pytest.mark.threat("T42")
def test_a_hundred_calls_run_once_in_ten_seconds(referrer: Member, owner: Owner) -> None:
    runs, started = set(), time.monotonic()
    for _ in range(100):
        # There is always something new, so that only the time since the last run holds one back.
        owner.execute("select nextval('private.bonus_revision_seq')")
        response = referrer.function("sync-all-mlm-bonuses")
        assert (response.status_code, response.json()["success"]) == (200, True)
        row = owner.execute("select ran_at from private.reconcile_state").fetchone()
        runs.add(row and row["ran_at"])
    assert len(runs) <= 2 + (time.monotonic() - started) / 10


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


def test_each_module_is_the_endpoint_of_its_name() -> None:
    paths = {name: [route.path for route in endpoint_router(name).routes] for name in endpoint_modules()}  # type: ignore[attr-defined]
    assert paths == {name: [f"/{name.replace('_', '-')}"] for name in paths}
    assert len(paths) == 20


async def test_an_error_that_is_a_constant_keeps_nothing_of_a_request() -> None:
    """Each raise of one exception appends to its traceback, whose frames hold bodies."""
    transport = httpx.ASGITransport(edge_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://edge") as client:
        response = await client.post("/admin-auth", content=b"x", headers={"content-type": "text/plain"})
    assert response.status_code == 415
    assert NOT_JSON.__traceback__ is None
