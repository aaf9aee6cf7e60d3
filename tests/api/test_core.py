"""What functions/core does for every service: who asks, what is logged and cached, how a request ends."""

import asyncio
import csv
import logging
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from html import escape
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn
from prometheus_client import generate_latest
from psycopg_pool import TooManyRequests
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.core import metrics
from functions.core.application import ErrorBoundary, ErrorResponses, make_app, make_documented_app
from functions.core.caching import NoStore
from functions.core.cors import Cors, CorsPolicy
from functions.core.database import Pool, make_pool, transaction, transaction_as
from functions.core.email_layout import Block
from functions.core.errors import ApiError, Meaning, is_transient, meaning_of
from functions.core.logging import RequestLog, configure
from functions.core.migrations import apply
from functions.core.passwords import is_common
from functions.core.request import (
    UNKNOWN_ADDRESS,
    BodyTooLargeError,
    bearer_token,
    client_address,
    network_of,
    networks_of,
    read_within,
)
from functions.core.server import serve
from functions.core.settings import ServiceSettings
from tests.support.own_database import empty_database
from tests.support.ports import free_port
from tests.support.stack import Stack

SECRET = "what-only-the-inside-knows"
FAULT = ApiError(500, "fault", "Something went wrong.")
ERRORS = ErrorResponses(
    render=lambda _, error: JSONResponse({"code": error.code, "message": error.message}, error.status),
    of_database={Meaning.FORBIDDEN: ApiError(403, "forbidden", "This is not allowed.")},
    fault=FAULT,
    too_slow=ApiError(504, "too_slow", "It took too long."),
    of_route=lambda _, error: ApiError(error.status_code, "route", str(error.detail)),
)


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    yield


async def get(app: ASGIApp, path: str = "/", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://core") as client:
        return await client.get(path, headers=named)


def request_of(**headers: str) -> Request:
    """Return a request from 10.0.0.9 with these headers."""
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": named, "client": ("10.0.0.9", 1)})


@pytest.mark.parametrize(
    ("sent", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", ""), ("abc", ""), ("Bearer", "")],
)
def test_only_a_bearer_token_is_a_token(sent: str, token: str) -> None:
    assert bearer_token(request_of(authorization=sent)) == token


@pytest.mark.threat("T78", "T124")
@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ({"x_real_ip": "203.0.113.7", "x_forwarded_for": "203.0.113.8"}, "203.0.113.7"),
        ({"x_real_ip": "2001:DB8::0:1"}, "2001:db8::1"),
        ({"x_forwarded_for": "203.0.113.8", "x_client_ip": "203.0.113.8"}, "10.0.0.9"),
        ({"x_real_ip": "' or 1=1"}, UNKNOWN_ADDRESS),
        ({"x_real_ip": "fe80::1%eth0"}, "fe80::1"),
        ({"x_real_ip": "::ffff:203.0.113.7"}, "203.0.113.7"),
    ],
    ids=["the gateway's", "another spelling", "forged", "none", "of an interface", "mapped"],
)
def test_a_clients_address_is_what_the_gateway_says(headers: dict[str, str], address: str) -> None:
    assert client_address(request_of(**headers)) == address


NETWORKS = Path(__file__).parents[1] / "support" / "client_networks.csv"


@pytest.mark.threat("T64", "T78")
@pytest.mark.parametrize(
    "row", list(csv.DictReader(NETWORKS.open())), ids=lambda row: row["address"] or "empty"
)
def test_a_client_counts_with_all_addresses_that_it_can_have(row: dict[str, str]) -> None:
    """SQL's private.networks_of() says the same of each: tests/db/rate_limits.sql."""
    networks = [row[name] for name in ("network", "wide_network") if row[name]]
    assert (network_of(row["address"]), networks_of(row["address"])) == (networks[0], networks)


async def test_a_body_is_read_up_to_its_limit_and_no_further() -> None:
    async def endless() -> AsyncIterator[bytes]:
        for piece in (b"ab", b"c", b"d"):
            yield piece
        raise AssertionError("read on")

    async def short() -> AsyncIterator[bytes]:
        yield b"ab"
        yield b"c"

    assert await read_within(short(), 3) == b"abc"
    with pytest.raises(BodyTooLargeError):
        await read_within(endless(), 3)


async def _waits(_: Request) -> Response:
    await asyncio.sleep(20)
    return PlainTextResponse("late")


async def _fails(_: Request) -> Response:
    raise ValueError(SECRET)


async def _fails_in_the_database(_: Request) -> Response:
    raise psycopg.errors.UniqueViolation(SECRET)


@pytest.mark.threat("T118")
@pytest.mark.parametrize(
    ("endpoint", "status", "message"),
    [
        (_waits, 504, "It took too long."),
        (_fails, 500, "Something went wrong."),
        (_fails_in_the_database, 500, "Something went wrong."),
    ],
    ids=["deadline", "failure", "database"],
)
async def test_what_goes_wrong_is_said_in_words_that_show_nothing(
    endpoint: Any, status: int, message: str
) -> None:
    # What fails at once has time to fail, also on a busy machine.
    deadline = 0.05 if endpoint is _waits else 10
    app = make_app([Route("/", endpoint)], lifespan, ERRORS, deadline_seconds=deadline)
    response = await asyncio.wait_for(get(app), 10)
    assert (response.status_code, response.json()["message"]) == (status, message)


async def test_a_response_that_has_begun_is_followed_by_no_other() -> None:
    sent: list[str] = []

    async def breaks_off(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError(SECRET)

    async def send(message: Message) -> None:
        sent.append(message["type"])

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(ValueError, match=SECRET):
        await ErrorBoundary(breaks_off, ERRORS, None)({"type": "http", "headers": []}, receive, send)
    assert sent == ["http.response.start"]


@pytest.mark.threat("T119")
def test_no_service_has_pages_of_documentation() -> None:
    app = make_documented_app("Own", [], lifespan, ERRORS)
    assert [getattr(route, "path", "") for route in app.routes] == ["/openapi.json"]


@pytest.mark.parametrize(
    ("path", "own", "rule"),
    [("/", {}, "no-store"), ("/", {"cache-control": "max-age=9"}, "max-age=9"), ("/public", {}, None)],
)
async def test_what_is_personal_is_stored_nowhere(path: str, own: dict[str, str], rule: str | None) -> None:
    app = NoStore(PlainTextResponse("x", headers=own), frozenset({"/public"}))
    assert (await get(app, path)).headers.get("cache-control") == rule


@pytest.mark.threat("T114")
@pytest.mark.parametrize(
    ("method", "names", "is_granted"),
    [("POST", "Known", True), ("POST", "known, other", False), ("TRACE", "known", False)],
)
async def test_a_preflight_grants_what_is_known(method: str, names: str, is_granted: bool) -> None:
    app = Cors(PlainTextResponse("x"), CorsPolicy(frozenset({"known"}), "etag"))
    asked = {
        "origin": "https://elsewhere.example",
        "access-control-request-method": method,
        "access-control-request-headers": names,
    }
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://core") as client:
        response = await client.options("/", headers=asked)
    assert response.status_code == 204
    assert ("access-control-allow-methods" in response.headers) is is_granted


async def test_a_few_requests_wait_for_a_connection_and_the_next_fails_at_once(stack: Stack) -> None:
    async with make_pool(stack.database_url, 1, "own") as pool:

        async def borrow() -> None:
            async with pool.connection():
                pass

        async with asyncio.TaskGroup() as waiting, pool.connection():
            for _ in range(4):
                waiting.create_task(borrow())
            for _ in range(20):
                await asyncio.sleep(0)
            assert pool.get_stats()["requests_waiting"] == 4
            with pytest.raises(TooManyRequests):
                await borrow()


def test_a_pool_without_its_server_looks_for_it_every_second() -> None:
    assert make_pool("", 2, "own").reconnect_timeout <= 1


async def test_a_connection_that_the_server_closed_is_replaced(
    stack: Stack, admin_db: psycopg.Connection[Any]
) -> None:
    async with make_pool(stack.database_url, 1, "own") as pool:
        async with pool.connection() as connection:
            process = connection.info.backend_pid
        admin_db.execute("select pg_terminate_backend(%s, 5000)", [process])
        async with pool.connection() as connection:
            assert connection.info.backend_pid != process
            await connection.execute("select 1")


@pytest.mark.parametrize(
    ("limit", "statement"),
    [("idle_in_transaction_session_timeout", "select 1"), ("statement_timeout", "select pg_sleep(2)")],
)
async def test_a_transaction_that_took_too_long_may_be_asked_for_again(
    stack: Stack, limit: str, statement: str
) -> None:
    async def take_long(pool: Pool) -> None:
        async with transaction(pool) as connection:
            await connection.execute(f"set local {limit} = '50ms'".encode())
            await asyncio.sleep(0.5)
            await connection.execute(statement.encode())

    async with make_pool(stack.values["DATABASE_ADMIN_URL"], 1, "own") as pool:
        with pytest.raises(psycopg.Error) as ended:
            await take_long(pool)
    assert meaning_of(ended.value) is Meaning.TIMED_OUT
    assert is_transient(ended.value)


@pytest.mark.threat("T73")
async def test_a_transaction_has_a_role_claims_and_a_request_of_its_own(stack: Stack) -> None:
    query = (
        "select current_user as role, current_setting('request.jwt.claims', true) as claims,"
        " current_setting('request.method', true) as method"
    )
    async with make_pool(stack.values["DATABASE_ADMIN_URL"], 1, "own") as pool:
        async with transaction_as(pool, "anon", {"sub": "ada"}, {"method": "POST"}) as connection:
            inside = await (await connection.execute(query)).fetchone()
        async with transaction(pool) as connection:
            afterwards = await (await connection.execute(query)).fetchone()
    assert inside == {"role": "anon", "claims": '{"sub":"ada"}', "method": "POST"}
    assert afterwards
    assert afterwards["role"] != "anon"
    assert not afterwards["claims"]
    assert not afterwards["method"]


async def test_of_a_transaction_that_is_rolled_back_nothing_stays(
    stack: Stack, admin_db: psycopg.Connection[Any]
) -> None:
    async with make_pool(stack.database_url, 1, "own") as pool:
        async with transaction(pool, rolled_back=True) as connection:
            await connection.execute("create table storage.nothing_stays ()")
        async with transaction_as(pool, "service_role", {}, rolled_back=True) as connection:
            # A server that is lost meanwhile has stored nothing either: no error.
            admin_db.execute("select pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
    assert admin_db.execute("select to_regclass('storage.nothing_stays')").fetchone() == (None,)


async def test_a_snapshot_reads_one_moment_and_writes_nothing(stack: Stack) -> None:
    async with (
        make_pool(stack.values["DATABASE_ADMIN_URL"], 1, "own") as pool,
        transaction_as(pool, "anon", {}, snapshot=True) as connection,
    ):
        for setting, value in (("transaction_isolation", "repeatable read"), ("transaction_read_only", "on")):
            found = await connection.execute("select current_setting(%s) as value", [setting])
            assert await found.fetchone() == {"value": value}


@pytest.mark.threat("T111")
@pytest.mark.parametrize("place", ["text", "label", "href"])
def test_what_a_person_typed_is_text_in_an_email(place: str) -> None:
    typed = "<script>alert('&')</script>"
    kinds: dict[str, Any] = {"text": "paragraph", "label": "detail", "href": "button"}
    html = Block(kinds[place], **{place: typed}).html()
    assert escape(typed) in html
    assert typed not in html


class Lines(logging.Handler):
    """Keeps the records of a logger."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def lines_of(name: str) -> Iterator[list[Any]]:
    """Yield what a logger says while the block runs."""
    logger, lines = logging.getLogger(name), Lines()
    level = logger.level
    logger.setLevel("INFO")
    logger.addHandler(lines)
    try:
        yield lines.records
    finally:
        logger.removeHandler(lines)
        logger.setLevel(level)


@pytest.mark.threat("T128")
async def test_the_log_holds_no_query_string() -> None:
    with lines_of("request") as lines:
        await get(RequestLog(PlainTextResponse("x")), f"/object/sign/a?token={SECRET}")
    assert [line.fields["path"] for line in lines] == ["/object/sign/a"]


@pytest.mark.threat("T129")
@pytest.mark.parametrize(
    ("number", "is_taken"),
    [("own.1", True), ("x" * 64, True), ("x" * 65, False), ("two\nlines", False), ("", False)],
)
async def test_a_clients_number_of_a_request(number: str, is_taken: bool) -> None:
    response = await get(RequestLog(PlainTextResponse("x")), x_request_id=number)
    assert (response.headers["x-request-id"] == number) is is_taken


@pytest.mark.threat("T128")
def test_libraries_log_no_addresses_and_the_last_line_is_discreet(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("httpx", "uvicorn", "uvicorn.access", "uvicorn.error")
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    for name in names:
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    configure("INFO")
    assert [name for name in names if logging.getLogger(name).propagate] == ["uvicorn.error"]
    with lines_of("process") as lines:
        sys.excepthook(ValueError, ValueError(SECRET), None)
    assert [line.levelname for line in lines] == ["CRITICAL"]


@pytest.mark.threat("T119")
def test_figures_name_routes_and_no_paths() -> None:
    metrics.observe({"method": "PROPFIND", "path": f"/{SECRET}"}, 404, 0.1)
    figures = generate_latest().decode()
    assert SECRET not in figures
    assert 'method="other",route="none",status="404"' in figures


@pytest.mark.threat("T119", "T125")
def test_figures_are_shown_where_the_service_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    start = metrics.start_http_server

    def starting(*place: Any) -> Any:
        started.append(start(*place))
        return started[0]

    class Pool:
        def get_stats(self) -> dict[str, int]:
            return {}

    monkeypatch.setattr(metrics, "start_http_server", starting)
    settings = ServiceSettings(port=1, database_url="", metrics_port=free_port())
    with metrics.published(settings, Pool()):  # type: ignore[arg-type]
        assert started[0][0].server_address[0] == "127.0.0.1"


def test_a_migration_runs_once_and_alone(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "1_rows.sql").write_text("create table own.rows ()")
    with empty_database(stack) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(hashtext('own.migrate'))")
        applied: list[list[str]] = []
        migrating = threading.Thread(target=lambda: applied.append(apply(url, tmp_path, "own")))
        migrating.start()
        waiting = "select from pg_locks where not granted and locktype = 'advisory' and database = %s"
        here = connection.execute("select oid from pg_database where datname = current_database()").fetchone()
        while migrating.is_alive() and not connection.execute(waiting, here).rowcount:
            pass
        assert migrating.is_alive()
        connection.execute("select pg_advisory_unlock(hashtext('own.migrate'))")
        migrating.join(10)
        assert applied == [["1_rows"]]
        assert apply(url, tmp_path, "own") == []
        closed = "select relrowsecurity from pg_class where oid = 'own.migrations'::regclass"
        assert connection.execute(closed).fetchone() == (True,)


def test_a_common_password_is_common_in_capitals_too() -> None:
    assert is_common("password1")
    assert is_common("PassWord1")
    assert not is_common("harbour-lantern-41")


@pytest.mark.parametrize(
    "password",
    [
        "      ",
        "\t \t \u00a0\u2003",
        "aaaaaa",
        "AaAaAa",
        "  1111  ",
        "June_Novak",
        "june@Example.org",
        "JUNE.N",
        " Blue Port ",
    ],
)
def test_a_password_is_common_that_says_nothing_or_names_the_person(password: str) -> None:
    assert is_common(password, "june_novak", "June@example.org", "june.n@example.com", None, 7, "blue port")
    assert not is_common(f"{password}-lantern-41", "june_novak", "June@example.org")


@pytest.mark.threat("T124", "T119")
def test_a_service_believes_no_forwarded_header_and_names_no_software(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers: list[uvicorn.Server] = []
    original = uvicorn.Server

    def noted(config: uvicorn.Config) -> uvicorn.Server:
        servers.append(original(config))
        return servers[0]

    monkeypatch.setattr(uvicorn, "Server", noted)

    async def shows_its_client(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(scope["client"][0])(scope, receive, send)

    settings = ServiceSettings(port=free_port(), database_url="")
    thread = threading.Thread(target=serve, args=[RequestLog(shows_its_client), settings])
    thread.start()
    try:
        while not servers or not servers[0].started:
            pass
        forged = {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https"}
        # A request to speak another protocol is answered like any other.
        forged |= {"connection": "upgrade", "upgrade": "websocket"}
        response = httpx.post(f"http://127.0.0.1:{settings.port}/", headers=forged, timeout=5)
    finally:
        servers[0].should_exit = True
        thread.join(10)
    assert response.text == "127.0.0.1"
    assert "server" not in response.headers


@pytest.mark.threat("T108")
def test_a_wrong_setting_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", SECRET)
    with pytest.raises(ValueError, match="port") as rejected:
        ServiceSettings(database_url="")
    assert SECRET not in str(rejected.value)


@pytest.mark.threat("T125")
def test_a_service_listens_on_loopback_unless_it_is_given_another_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HOST", raising=False)
    assert ServiceSettings(port=1, database_url="").host == "127.0.0.1"
