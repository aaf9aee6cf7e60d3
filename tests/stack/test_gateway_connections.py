"""Connections through the gateway: what ends one, what it outlives, and how long it waits for either side."""

import contextlib
import http.client
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest

from tests.support.own_gateway import ANON, MIB, PERSON, PLACES, POST, WHO, Gateway, running, until

NEXT = "GET /config.js HTTP/1.1\r\nHost: x\r\n\r\n"
# Of the gateway whose seconds are short.
SECOND = 0.01


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/rest/v1/deposits"),
        ("POST", "/rest/v1/rpc/get_sponsor?select=id"),
        ("OPTIONS", "/rest/v1/deposits"),
        ("POST", "/storage/v1/object/receipts/down"),
        ("POST", "/functions/v1/docs"),
        ("POST", "/metrics"),
        ("POST", "/config.js"),
        ("GET", "/assets/app-1a2b.js"),
        ("GET", "/"),
    ],
)
@pytest.mark.parametrize("key", [ANON, "guess"], ids=["key", "guess"])
def test_a_response_before_the_body_was_read_ends_the_connection(
    gateway: Gateway, method: str, path: str, key: str
) -> None:
    """What is left of the body would break the next request of that connection."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=5)) as connection:
        for _ in range(3):
            connection.request(method, path, body=b"{}", headers={"apikey": key})
            response = connection.getresponse()
            response.read()
            assert response.getheader("connection") == "close"


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    "path", ["/rest/v1/deposits", "/rest/v1/rpc/get_platform", "/storage/v1/x", "/functions/v1/x", "/metrics"]
)
def test_a_connection_of_http_1_0_ends_with_its_response(gateway: Gateway, path: str) -> None:
    """There chunks are no body: what is in them would be read as requests."""
    start = f"POST {path} HTTP/1.0\r\nHost: x\r\napikey: {ANON}\r\nConnection: keep-alive\r\n"
    chunked = f"{len(NEXT):x}\r\n{NEXT}\r\n0\r\n\r\n"
    for body in (
        f"Transfer-Encoding: chunked\r\n\r\n{NEXT}",
        f"Transfer-Encoding: chunked\r\n\r\n{chunked}",
        f"Content-Length: {len(NEXT)}\r\n\r\n{NEXT}{NEXT}",
        f"\r\n{NEXT}",
    ):
        _, received = gateway.raw(start + body)
        assert received.count(b"HTTP/1.") == 1, received
        assert b"\r\nConnection: close\r\n" in received


@pytest.mark.parametrize("path", ["/rest/v1/x", "/auth/v1/x", "/storage/v1/x", "/functions/v1/x"])
def test_a_connection_outlives_its_request(gateway: Gateway, path: str) -> None:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=5)) as connection:
        for _ in range(3):
            connection.request("POST", path, body=b"{}", headers=PERSON)
            response = connection.getresponse()
            response.read()
            assert (response.status, response.getheader("connection")) == (200, None)


# What the gateway says itself, before it reads the body.
EARLY = {
    "closed to anonymous": ("/rest/v1/deposits", f"apikey: {ANON}\r\n", 401),
    "form": ("/rest/v1/rpc/x", f"{WHO}Content-Type: text/csv\r\n", 415),
    "repeated": ("/rest/v1/x", f"apikey: {ANON}\r\napikey: {ANON}\r\n", 400),
    "too much": (f"/rest/v1/{'x' * 101}", WHO, 400),
    "pattern": ("/rest/v1/x?a=match.b", WHO, 400),
    "no text": ("/rest/v1/x?a=%FF", WHO, 400),
    "announced": ("/rest/v1/rpc/x", f"{WHO}Content-Length: 200000\r\n", 413),
    "without a key": ("/rest/v1/x", "", 401),
    "unknown key": ("/auth/v1/user", "apikey: other\r\n", 401),
    "not plain": ("/rest/v1/rpc/get_sponsor?x=1", f"apikey: {ANON}\r\n", 400),
    "closed": ("/metrics", "", 404),
    "closed page": ("/auth/v1/metrics", "", 404),
}


@pytest.mark.threat("T126")
@pytest.mark.parametrize("name", EARLY)
def test_a_response_before_the_body_comes_at_once_and_the_body_is_no_request(
    gateway: Gateway, name: str
) -> None:
    path, headers, status = EARLY[name]
    bodies = {
        "Content-Length: 1000\r\n": "some",
        f"Content-Length: {len(NEXT)}\r\n": NEXT,
        "Transfer-Encoding: chunked\r\n": "5\r\nso",
    }
    for length, body in ({"": "some"} if "Content-Length" in headers else bodies).items():
        start = f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}{length}\r\n"
        found, received = gateway.raw(start + body)
        assert (found, received.count(b"HTTP/1.1 ")) == (status, 1), received


@pytest.mark.threat("T126")
@pytest.mark.parametrize("path", ["rest/v1/rpc/x", "functions/v1/x", "metrics", "config.js"])
def test_a_broken_body_is_followed_by_no_request(gateway: Gateway, path: str) -> None:
    start = f"POST /{path} HTTP/1.1\r\nHost: x\r\n{WHO}Transfer-Encoding: chunked\r\n\r\n"
    for broken in ("zz\r\n\r\n", "2\r\n{}\r\nzz\r\n", "2\r\n{}XX"):
        _, received = gateway.raw(f"{start}{broken}{NEXT}")
        assert received.count(b"HTTP/1.1 ") == 1, received


@pytest.mark.threat("T126")
@pytest.mark.parametrize("service", PLACES)
@pytest.mark.parametrize(
    "broken",
    ["zz\r\n\r\n", "2\r\n{}XX", f"{'f' * 20}\r\n", f"2{';x' * 5000}\r\n"],
    ids=["length", "end", "huge", "line"],
)
def test_a_broken_body_is_the_clients_error(gateway: Gateway, service: str, broken: str) -> None:
    gateway.upstream.released.clear()
    start = f"POST /{service}/v1/held HTTP/1.1\r\nHost: x\r\n{WHO}Transfer-Encoding: chunked\r\n\r\n"
    status, received = gateway.raw(start + broken)
    gateway.upstream.released.set()
    assert (status, b'{"code":"invalid_request"' in received) == (400, True), received


def test_a_whole_body_is_followed_by_the_next_request(gateway: Gateway) -> None:
    _, received = gateway.raw(f"{NEXT}{POST}Content-Length: 2\r\n\r\n{{}}{NEXT}", 3)
    assert received.count(b"HTTP/1.1 200 OK") == 3, received


def test_a_connection_of_http_2_outlives_it_too(encrypted: Gateway) -> None:
    asked = [encrypted.http.post("/metrics", content=b"{}") for _ in range(2)]
    assert {response.http_version for response in asked} == {"HTTP/2"}
    assert (
        len({response.extensions["network_stream"].get_extra_info("client_addr") for response in asked}) == 1
    )


def test_storage_may_reject_a_body_that_has_not_come(gateway: Gateway) -> None:
    start = f"POST /storage/v1/denied HTTP/1.1\r\nHost: x\r\n{WHO}Content-Length: {len(NEXT)}\r\n\r\n"
    status, received = gateway.raw(start + NEXT)
    assert (status, received.count(b"HTTP/1.1 ")) == (403, 1), received
    assert b"\r\nConnection: close\r\n" in received


@pytest.mark.parametrize(
    "name", ["closed to anonymous", "form", "repeated", "too much", "pattern", "no text"]
)
def test_a_response_before_the_body_has_its_headers(gateway: Gateway, name: str) -> None:
    path, headers, _ = EARLY[name]
    own = "Content-Length: 2\r\nX-Request-Id: own.1\r\n"
    _, received = gateway.raw(f"POST {path} HTTP/1.1\r\nHost: x\r\n{own}{headers}\r\n{{}}")
    head = received.partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")
    # Edge says what is closed to anonymous clients.
    kind = "application/json" if name == "closed to anonymous" else "application/json; charset=utf-8"
    for line in (f"content-type: {kind}", "connection: close", "x-request-id: own.1"):
        assert head.count(line) == 1, received


def test_an_error_of_the_gateway_ends_the_connection(gateway: Gateway) -> None:
    assert gateway.http.get("/assets/none.js").headers["connection"] == "close"


@pytest.mark.parametrize("service", ["rest", "auth", "functions"])
def test_a_connection_outlives_a_service_that_is_down(gateway: Gateway, service: str) -> None:
    """Under overload, clients that connect again for each response would keep the others from connecting."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=5)) as connection:
        for _ in range(3):
            connection.request("POST", f"/{service}/v1/down", body=b"{}", headers=PERSON)
            response = connection.getresponse()
            response.read()
            assert (response.status, response.getheader("connection")) == (502, None)


def test_a_file_that_storage_did_not_take_ends_the_connection(gateway: Gateway) -> None:
    start = f"POST /storage/v1/down HTTP/1.1\r\nHost: x\r\n{WHO}Content-Length: {len(NEXT)}\r\n\r\n"
    status, received = gateway.raw(start + NEXT)
    assert (status, received.count(b"HTTP/1.1 ")) == (502, 1), received
    assert b"\r\nConnection: close\r\n" in received


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Start a gateway with the product's file whose seconds are a hundred times as short."""

    def shorten(text: str) -> str:
        return re.sub(r"\b(\d+)s\b", lambda found: f"{round(int(found[1]) * SECOND * 1000)}ms", text)

    with running(tmp_path_factory.mktemp("hasty"), shorten) as started:
        yield started


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    ("sent", "most"),
    [
        # Sooner than a body, which has 120 s.
        ("GET / HTTP/1.1\r\nHost: x\r\n", 110),
        (f"{POST}Content-Length: 1000\r\n\r\nsome", 1000),
        ("GET /theme.js HTTP/1.1\r\nHost: x\r\n\r\n", 1000),
    ],
    ids=["headers", "body", "next request"],
)
def test_a_client_that_says_no_more_is_not_waited_for(hasty: Gateway, sent: str, most: int) -> None:
    with hasty.connected() as connection:
        started = time.monotonic()
        connection.sendall(sent.encode())
        while connection.recv(65536):
            pass
    assert time.monotonic() - started < most * SECOND


@pytest.mark.threat("T126")
def test_a_body_that_comes_too_late_is_no_request(hasty: Gateway) -> None:
    with hasty.connected() as connection:
        connection.sendall(f"{POST}Content-Length: {len(NEXT)}\r\n\r\n".encode())
        received = connection.recv(65536)
        with contextlib.suppress(ConnectionError):
            connection.sendall(NEXT.encode())
            while part := connection.recv(65536):
                received += part
    assert received.startswith(b"HTTP/1.1 499 ")
    assert received.count(b"HTTP/1.1 ") == 1, received


@pytest.mark.threat("T126")
@pytest.mark.parametrize(("name", "at_once", "most"), [("stopped", 0, 150), ("slow", MIB, 400)])
def test_a_client_that_does_not_read_is_not_waited_for(
    hasty: Gateway, name: str, at_once: int, most: float
) -> None:
    """It has a minute without reading, and 180 s in all."""
    size, received = 256 * MIB, 0
    with (hasty.web / f"{name}.bin").open("wb") as file:
        file.truncate(size)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096 + 2 * at_once)
        connection.connect(("127.0.0.1", hasty.port))
        connection.sendall(f"GET /{name}.bin HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        started = time.monotonic()
        # A request is in the log when the gateway is through with it.
        while f"/{name}.bin" not in hasty.log.read_text():
            assert time.monotonic() - started < most * SECOND
            if at_once:
                received += len(connection.recv(at_once))
            time.sleep(0.01)
        connection.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(MIB):
                received += len(part)
    assert received < size


def test_a_service_that_says_nothing_is_not_waited_for(hasty: Gateway) -> None:
    hasty.upstream.released.clear()
    response = hasty.http.get("/functions/v1/held")
    assert (response.status_code, response.json()["code"]) == (504, "try_again")
    assert response.elapsed.total_seconds() < 5


def test_an_idle_connection_to_a_service_ends_before_the_service_ends_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def shorten(text: str) -> str:
        return re.sub(r"(import upstream \d+) 20s", r"\1 1s", text)

    with running(tmp_path_factory.mktemp("idle"), shorten) as gateway:
        assert gateway.http.get("/functions/v1/idle").status_code == 200
        assert "/idle" not in gateway.upstream.ended
        assert until(lambda: "/idle" in gateway.upstream.ended)


# What PostgREST reads to its end, whether or not it rejects the token: 8 kB at most.
LENGTHS = [
    ("POST", b"{}", True),
    ("POST", b"x" * 7999, True),
    ("POST", b"x" * 8000, False),
    ("PATCH", b"x" * 70_000, False),
    ("POST", [b"{}"], False),
    ("GET", b"", True),
    ("GET", [b"x"], False),
]


@pytest.mark.threat("T126")
@pytest.mark.parametrize("site", ["gateway", "encrypted"])
@pytest.mark.parametrize(("method", "body", "reused"), LENGTHS)
def test_a_connection_that_postgrest_may_end_is_not_reused(
    request: pytest.FixtureRequest, site: str, method: str, body: bytes | list[bytes], reused: bool
) -> None:
    gateway: Gateway = request.getfixturevalue(site)
    path = f"/{uuid4()}-idle"
    content = body if isinstance(body, bytes) else iter(body)
    assert gateway.http.request(method, f"/rest/v1{path}", headers=PERSON, content=content).is_success
    if reused:
        time.sleep(0.2)
    assert until(lambda: reused or path in gateway.upstream.ended)
    assert (path in gateway.upstream.ended) is not reused


def test_a_stop_does_not_wait_for_the_slowest(tmp_path_factory: pytest.TempPathFactory) -> None:
    def shorten(text: str) -> str:
        return text.replace("grace_period 5s", "grace_period 50ms")

    with running(tmp_path_factory.mktemp("stopped"), shorten) as gateway, ThreadPoolExecutor(1) as client:
        held = client.submit(gateway.http.get, "/functions/v1/held")
        assert until(lambda: "/held" in gateway.upstream.arrived)
        gateway.process.terminate()
        ended = until(lambda: gateway.process.poll() is not None)
        gateway.upstream.released.set()
        assert ended
        with contextlib.suppress(httpx.TransportError):
            held.result()
