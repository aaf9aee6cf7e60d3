"""Responses that all functions share: to anonymous clients, invalid bodies and unknown names.

Who may call which function is in authorisation.csv.
"""

import re
import time

import httpx
import pytest

from functions.edge.support.application import DEADLINE_SECONDS, endpoint_modules, endpoint_router
from functions.edge.support.json_body import NOT_JSON
from functions.edge.support.services import STORAGE_TIMEOUT_SECONDS
from launcher.settings import ROOT
from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.endpoints import ANONYMOUS, FUNCTION_BODIES
from tests.support.people import Administrator, ApiClient, Member
from tests.support.service_apps import edge_app


@pytest.mark.threat("T42", "T65")
@pytest.mark.parametrize("name", ["sync-all-mlm-bonuses", "admin-list-deposits", "bot-subscription"])
def test_an_anonymous_client_gets_an_error(anonymous: ApiClient, name: str) -> None:
    error = {"error": "Not authenticated", "code": "not_authenticated"}
    without_a_key = plain_http.post(f"{anonymous.stack.url}/functions/v1/{name}", json={}, timeout=30)
    assert (without_a_key.status_code, without_a_key.json()) == (401, error)
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


@pytest.mark.parametrize("name", [name for name in FUNCTION_BODIES if name.startswith("admin-")])
def test_an_unknown_field_of_an_administrators_request_is_named(finance: Administrator, name: str) -> None:
    response = finance.function(name, {**FUNCTION_BODIES[name], "reasn": "x"})
    error = {"error": "The request has a field that does not exist here: reasn.", "code": "unknown_field"}
    assert (response.status_code, response.json()) == (400, error)


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        # The field is account_status; without it nobody was suspended, and the response said so of nothing.
        ("admin-update-member", {"profileId": ANONYMOUS, "accountStatus": "suspended"}, "accountStatus"),
        # Misspelt, and so missing too.
        ("admin-confirm-correction", {"correctionID": ANONYMOUS}, "correctionID"),
        # One field twice.
        ("admin-list-deposits", {"pageSize": 1, "page_size": 2}, "page_size"),
    ],
)
def test_a_misspelt_field_is_the_error(
    finance: Administrator, name: str, body: dict[str, object], field: str
) -> None:
    response = finance.function(name, body)
    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")
    assert response.json()["error"].endswith(f": {field}.")


def test_an_unknown_filter_of_a_file_is_named(finance: Administrator) -> None:
    response = finance.function("admin-export", {"list": "deposits", "filters": {"state": "pending"}})
    error = {"error": "This list has no filter named state.", "code": "unknown_field"}
    assert (response.status_code, response.json()) == (400, error)


@pytest.mark.parametrize("name", ["close-account", "bot-subscription", "sync-all-mlm-bonuses"])
def test_members_requests_ignore_unknown_fields(member: Member, name: str) -> None:
    response = member.function(name, {**FUNCTION_BODIES.get(name, {}), "confirmed": False, "unknown": 1})
    assert response.json().get("code") != "unknown_field"


def test_an_unknown_function(finance: Administrator) -> None:
    response = finance.function("no-such-function")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_each_module_is_the_endpoint_of_its_name() -> None:
    paths = {name: [route.path for route in endpoint_router(name).routes] for name in endpoint_modules()}  # type: ignore[attr-defined]
    assert paths == {name: [f"/{name.replace('_', '-')}"] for name in paths}
    assert len(paths) == 24


@pytest.mark.threat("T65")
@pytest.mark.parametrize("name", ["admin-list-deposits", "admin-auth"])
def test_members_are_no_administrators(member: Member, name: str) -> None:
    response = member.function(name, {"action": "logout"})
    assert (response.status_code, response.json()["error"]) == (403, "Only administrators can do this.")


def test_administrators_are_no_members(finance: Administrator) -> None:
    response = finance.function("bot-subscription", {"bot_name": "Scout", "action": "unsubscribe"})
    assert (response.status_code, response.json()["error"]) == (403, "Only members can do this.")


async def _ask(
    method: str, path: str, content: bytes = b"", kind: str = "application/json"
) -> httpx.Response:
    """Ask an application that has not been started: what comes before any endpoint."""
    transport = httpx.ASGITransport(edge_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://edge") as client:
        return await client.request(method, path, content=content, headers={"content-type": kind})


@pytest.mark.parametrize(
    ("method", "path", "content", "kind", "status"),
    [
        ("POST", "/no-such-function", b"{}", "application/json", 404),
        ("GET", "/admin-auth", b"", "application/json", 405),
        ("POST", "/admin-auth", b"{", "application/json", 400),
        ("POST", "/admin-auth", b"x", "text/plain", 415),
        ("POST", "/admin-auth", b"x" * 1_048_577, "application/json", 413),
        # Without a database.
        ("POST", "/admin-list-deposits", b"{}", "application/json", 500),
    ],
)
async def test_no_cache_keeps_an_error(
    method: str, path: str, content: bytes, kind: str, status: int
) -> None:
    response = await _ask(method, path, content, kind)
    assert (response.status_code, response.headers["cache-control"]) == (status, "no-store")


def test_no_cache_keeps_what_a_function_says(member: Member, support: Administrator) -> None:
    for response in (
        member.function("sync-all-mlm-bonuses"),
        support.function("admin-list-deposits", {"page": 1, "pageSize": 1}),
        support.export({"list": "audit"}),
        member.function("admin-list-deposits"),
    ):
        assert response.headers["cache-control"] == "no-store", response.url


@pytest.mark.threat("T115")
async def test_a_megabyte_is_read_and_no_more() -> None:
    largest = b'"' + b"x" * (1_048_576 - 2) + b'"'
    assert (await _ask("POST", "/no-such-function", largest)).status_code == 404
    response = await _ask("POST", "/no-such-function", largest + b" ")
    assert (response.status_code, response.headers["connection"]) == (413, "close")


@pytest.mark.threat("T58")
@pytest.mark.parametrize(
    "content", [b"{", b'{"action": NaN}', b'{"action": "\\ud800"}', b'{"action": "\xff"}']
)
async def test_what_only_some_take_for_json_is_none(content: bytes) -> None:
    response = await _ask("POST", "/admin-auth", content)
    assert (response.status_code, response.json()["error"]) == (400, "The request is not valid JSON.")


def test_each_time_limit_ends_before_the_one_around_it(owner: Owner) -> None:
    """So that a client reads what took too long, not that something did."""
    gateway = re.search(r"response_header_timeout (\d+)s", (ROOT / "supabase/gateway/Caddyfile").read_text())
    database = owner.execute(
        r"select substring(array_to_string(rolconfig, ',') from 'statement_timeout=(\d+)s') as seconds"
        " from pg_roles where rolname = 'edge_functions'"
    ).fetchone()
    assert gateway
    assert database
    assert int(database["seconds"]) < DEADLINE_SECONDS < int(gateway[1])
    assert STORAGE_TIMEOUT_SECONDS < DEADLINE_SECONDS


async def test_an_error_that_is_a_constant_keeps_nothing_of_a_request() -> None:
    """Each raise of one exception appends to its traceback, whose frames hold bodies."""
    response = await _ask("POST", "/admin-auth", b"x", "text/plain")
    assert response.status_code == 415
    assert NOT_JSON.__traceback__ is None
