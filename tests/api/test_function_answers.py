"""What every function answers in the same way: to nobody, to bodies of the wrong shape, under unknown names.

Who may call which function is in authorisation.csv.
"""

import httpx
import pytest

from functions.edge.support.application import endpoint_modules, endpoint_router
from functions.edge.support.json_body import NOT_JSON
from tests.support.endpoints import NOBODY, edge_app
from tests.support.people import Administrator, Caller


@pytest.mark.threat("T42", "T65")
@pytest.mark.parametrize("name", ["sync-all-mlm-bonuses", "admin-list-deposits", "bot-subscription"])
def test_nobody_is_told_so(visitor: Caller, name: str) -> None:
    told = {"error": "Not authenticated", "code": "not_authenticated"}
    without_a_key = httpx.post(f"{visitor.stack.url}/functions/v1/{name}", json={}, timeout=30)
    assert without_a_key.status_code == 401
    with_public_key = visitor.function(name)
    assert (with_public_key.status_code, with_public_key.json()) == (401, told)


@pytest.mark.parametrize("name", ["admin-list-deposits", "admin-list-withdrawals"])
def test_lists_carry_their_total_and_their_counts(support: Administrator, name: str) -> None:
    answer = support.function(name, {"page": 1, "pageSize": 5})
    assert answer.status_code == 200, answer.text
    assert {"items", "total", "counts"} <= set(answer.json())


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
        (b'{"depositId": "%s", "action": "delete"}' % NOBODY.encode(), "application/json", 400),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "\\u0000"}' % NOBODY.encode(),
            "application/json",
            400,
        ),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "\\ud800"}' % NOBODY.encode(),
            "application/json",
            400,
        ),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "%s"}' % (NOBODY.encode(), b"x" * 2000),
            "application/json",
            400,
        ),
        (b"depositId=1", "application/x-www-form-urlencoded", 415),
        (b"{}", "text/plain", 415),
        (b'{"reason": "' + b"x" * 1_100_000 + b'"}', "application/json", 413),
    ],
)
def test_bodies_of_the_wrong_shape(finance: Administrator, content: bytes, kind: str, status: int) -> None:
    answer = finance.http.post(
        "/functions/v1/admin-approve-deposit", content=content, headers={"content-type": kind}
    )
    assert answer.status_code == status, answer.text
    if status != 413:
        assert answer.json()["code"] == "invalid_input"


def test_an_unknown_function(finance: Administrator) -> None:
    answer = finance.function("no-such-function")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


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
