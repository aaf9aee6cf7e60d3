"""The limits of the gateway: bodies, headers, places, how long it waits, what is not plainly one request."""

import contextlib
import http.client
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from tests.support import plain_http
from tests.support.own_gateway import ANON, KEY, PERSON, TOKEN, Gateway, running

NEXT = "GET /config.js HTTP/1.1\r\nHost: x\r\n\r\n"
POST = "POST /functions/v1/x HTTP/1.1\r\nHost: x\r\n"
WHO = f"apikey: {ANON}\r\nAuthorization: {TOKEN}\r\n"
ANYONE = f"apikey: {ANON}\r\nAuthorization: Bearer {ANON}\r\n"
# How many requests each service is asked at once; storage for files on their way apart from the rest.
PLACES = {"rest": 56, "auth": 32, "storage": 24, "functions": 24}
FILE_PLACES = 160
FILE, SIGN = "/storage/v1/object/receipts", "/storage/v1/object/upload/sign/receipts"
# Of the gateway whose seconds are short.
SECOND = 0.01
MIB = 2**20
OF_STORAGE = "51 MiB of a file, and 2 MiB of anything else"


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    ("path", "most", "said"),
    [
        ("/rest/v1/x", MIB, "1 MiB"),
        ("/auth/v1/x", 2 * MIB, "2 MiB"),
        ("/functions/v1/x", MIB, "1 MiB"),
        ("/storage/v1/object/list/receipts", 2 * MIB, OF_STORAGE),
        (f"{FILE}/x", 51 * MIB, OF_STORAGE),
    ],
    ids=["rest", "auth", "functions", "list", "file"],
)
def test_bodies_are_limited_with_one_error_format(gateway: Gateway, path: str, most: int, said: str) -> None:
    response = gateway.http.post(path, headers=PERSON, content=b"x" * (most + 1))
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/json"
    sentence = f"This is larger than the server accepts. The most is {said}."
    assert response.json() == {"code": "payload_too_large", "message": sentence, "error": sentence}
    assert response.headers["access-control-allow-origin"] == "*"
    if path != f"{FILE}/x":
        assert gateway.http.post(path, headers=PERSON, content=b"x" * most).json()["bytes"] == most


@pytest.mark.threat("T126")
def test_a_body_of_unknown_length_that_becomes_too_large(gateway: Gateway) -> None:
    """A matcher reads it and fails, without a status."""
    parts = (b'"' + b"x" * 65536 for _ in range(40))
    response = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=parts)
    assert (response.status_code, response.json()["code"]) == (413, "payload_too_large")


@pytest.mark.threat("T126")
def test_a_filter_of_1300_ids_fits_however_it_is_written(gateway: Gateway) -> None:
    for comma in (",", "%2C"):
        ids = comma.join(["8047ea26-4e1c-47e1-8082-44bdc998e7b7"] * 1300)
        seen = gateway.http.get(f"/rest/v1/x?id=in.({ids})", headers=PERSON)
        assert seen.status_code == 200
        assert len(seen.json()["path"]) < 49_000, "PostgREST takes 50 kB of address and headers"


@pytest.mark.threat("T126")
@pytest.mark.parametrize("path", [f"x?id=eq.{'x' * 50_000}", "x?too-long"], ids=["here", "there"])
def test_an_address_that_postgrest_does_not_take_is_too_long_in_words(gateway: Gateway, path: str) -> None:
    """It says so itself where other headers fill the rest: the only response of its that is no JSON."""
    for method, body in (("GET", b""), ("POST", b"x" * 9000)):
        response = gateway.http.request(method, f"/rest/v1/{path}", headers=PERSON, content=body)
        assert (response.status_code, response.json()["code"]) == (414, "uri_too_long")
        assert "at most 50,000 characters" in response.json()["message"]
        assert response.headers["access-control-allow-origin"] == "*"


def test_other_responses_of_postgrest_are_passed_on(gateway: Gateway) -> None:
    for query, status in (("wrong", 400), ("text", 200)):
        response = gateway.http.get(f"/rest/v1/x?{query}", headers=PERSON)
        assert (response.status_code, response.text) == (status, '"said"')


@pytest.mark.threat("T126")
def test_200_kb_of_headers_do_not_fit(gateway: Gateway) -> None:
    assert gateway.http.get("/rest/v1/x", headers={**PERSON, "x-junk": "j" * 200_000}).status_code == 431


@pytest.mark.parametrize(
    ("method", "path", "places", "who"),
    [
        *(
            pytest.param("GET", f"/{name}/v1/held", places, PERSON, id=name)
            for name, places in PLACES.items()
        ),
        pytest.param("GET", f"{FILE}/held", FILE_PLACES, PERSON, id="file sent"),
        pytest.param("PUT", f"{FILE}/held", FILE_PLACES, PERSON, id="file"),
        pytest.param("POST", f"{FILE}/held", FILE_PLACES, KEY, id="file of anyone"),
    ],
)
def test_overload_is_rejected_soon(
    gateway: Gateway, method: str, path: str, places: int, who: dict[str, str]
) -> None:
    """Exactly as many as there are places are served; the others wait half a second for one."""
    gateway.upstream.released.clear()

    def ask(_: int) -> tuple[int, str]:
        response = gateway.http.request(method, path, headers=who, timeout=20)
        return response.status_code, response.headers.get("retry-after", "")

    with ThreadPoolExecutor(places + 5) as crowd:
        asked = [crowd.submit(ask, number) for number in range(places + 5)]
        # Held requests go on by themselves after fourteen seconds.
        until = time.monotonic() + 12
        while sum(request.done() for request in asked) < 5 and time.monotonic() < until:
            time.sleep(0.02)
        gateway.upstream.released.set()
        found = [request.result() for request in asked]
    assert sorted(found) == [(200, "")] * places + [(503, "1")] * 5


def test_a_place_that_becomes_free_soon_is_taken(gateway: Gateway) -> None:
    gateway.upstream.released.clear()
    places = PLACES["functions"]
    with ThreadPoolExecutor(places + 1) as crowd:
        before = len(gateway.upstream.arrived)
        held = [crowd.submit(gateway.http.get, "/functions/v1/held") for _ in range(places)]
        _until(lambda: len(gateway.upstream.arrived) == before + places)
        last = crowd.submit(gateway.http.get, "/functions/v1/held")
        time.sleep(0.1)
        gateway.upstream.released.set()
        assert {request.result().status_code for request in (*held, last)} == {200}


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    ("asked", "method", "path", "who", "length"),
    [
        *(pytest.param(False, "POST", f"/{name}/v1/unfinished", WHO, 1000, id=name) for name in PLACES),
        pytest.param(False, "POST", "/rest/v1/unfinished", WHO, 10_000, id="rest-long"),
        pytest.param(False, "POST", "/storage/v1/object/list/unfinished", WHO, 1000, id="list"),
        pytest.param(False, "POST", "/storage/v1/object/list-v2/unfinished", WHO, 1000, id="list-v2"),
        pytest.param(False, "POST", "/storage/v1/object/sign/a/unfinished", WHO, 1000, id="sign"),
        pytest.param(False, "POST", f"{SIGN}/unfinished", WHO, 1000, id="sign an upload"),
        pytest.param(False, "DELETE", f"{FILE}/unfinished", WHO, 1000, id="delete"),
        pytest.param(False, "GET", f"{FILE}/unfinished", WHO, 1000, id="file sent"),
        pytest.param(False, "POST", f"{FILE}/unfinished", ANYONE, 1000, id="file of anyone"),
        pytest.param(True, "POST", f"{FILE}/unfinished", WHO, 1000, id="file"),
        pytest.param(True, "PUT", f"{FILE}/unfinished", WHO, 1000, id="replacement"),
        pytest.param(True, "PUT", f"{SIGN}/unfinished", ANYONE, 1000, id="signed upload"),
        pytest.param(True, "POST", "/storage/v1/object/list/a/unfinished", WHO, 1000, id="bucket named list"),
        pytest.param(True, "PUT", "/storage/v1/object/sign/unfinished", WHO, 1000, id="bucket named sign"),
    ],
)
def test_a_service_is_asked_when_the_body_is_here(
    gateway: Gateway, asked: bool, method: str, path: str, who: str, length: int
) -> None:
    """Slow bodies take no place. Of a file storage asks first who sends it."""
    gateway.upstream.arrived.clear()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{who}"
    with _connected(gateway) as connection:
        connection.sendall(f"{head}Content-Length: {length}\r\n\r\nsome".encode())
        arrived = _until(lambda: bool(gateway.upstream.arrived), 5 if asked else 0.3)
    assert arrived == asked


@pytest.mark.threat("T126")
def test_files_on_their_way_and_all_else_of_storage_never_wait_for_each_other(gateway: Gateway) -> None:
    """Lists and signed URLs are asked for by POST too."""
    others = (
        ("GET", "/storage/v1/object/info/receipts/a.png"),
        ("POST", "/storage/v1/object/list/receipts"),
        ("POST", f"{SIGN}/a.png"),
    )
    files = (("GET", f"{FILE}/a.png"), ("POST", f"{FILE}/a.png"), ("PUT", f"{SIGN}/a.png"))
    for many, places, few in (
        (("PUT", f"{FILE}/held"), FILE_PLACES, others),
        (("GET", f"{FILE}/held"), FILE_PLACES, others),
        (("POST", "/storage/v1/object/list/held"), PLACES["storage"], files),
    ):
        gateway.upstream.arrived.clear()
        gateway.upstream.released.clear()
        with ThreadPoolExecutor(places) as crowd:
            held = [crowd.submit(gateway.http.request, *many, headers=PERSON) for _ in range(places)]
            assert _until(lambda places=places: len(gateway.upstream.arrived) == places)
            found = [gateway.http.request(*one, headers=PERSON).status_code for one in few]
            gateway.upstream.released.set()
            assert {request.result().status_code for request in held} == {200}
        assert set(found) == {200}


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/rest/v1/x", WHO),
        ("/auth/v1/x", ANYONE),
        ("/functions/v1/x", ANYONE),
        ("/storage/v1/object/list/receipts", ANYONE),
        ("/storage/v1/object/list/receipts", WHO),
        ("/storage/v1/object/receipts/a.png", f"apikey: {ANON}\r\n"),
        ("/storage/v1/object/receipts/a.png", ""),
        ("/storage/v1/object/receipts/a.png", "Authorization: Basic a.persons.token\r\n"),
    ],
)
def test_slow_bodies_block_no_other_client(gateway: Gateway, path: str, who: str) -> None:
    start = f"POST {path} HTTP/1.1\r\nHost: x\r\n{who}Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n"
    slow = [_connected(gateway) for _ in range(80)]
    try:
        for connection in slow:
            connection.sendall(start.encode())
        # The gateway says so when it begins to read a body: it reads all of them at once.
        for connection in slow:
            assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
            connection.sendall(b"some")
        assert gateway.http.get(path, headers=PERSON).status_code == 200
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.threat("T126")
@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK"])
def test_odd_methods_are_rejected(gateway: Gateway, method: str) -> None:
    for path in ("/", "/functions/v1/x"):
        _, received = _raw(gateway, f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert received.startswith(b"HTTP/1.1 405 "), path
        assert received.endswith(b"Method not allowed"), path


@pytest.mark.threat("T126")
def test_ambiguous_requests_are_never_two(gateway: Gateway) -> None:
    for text in (
        f"{POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
        f"{POST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET  / HTTP/9.9\r\nHost: x\r\n\r\n",
    ):
        status, rest = _raw(gateway, text)
        assert status == 400 or (status == 200 and rest.count(b"HTTP/1.1 2") == 1), text


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
        _, received = _raw(gateway, start + body)
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
        found, received = _raw(gateway, start + body)
        assert (found, received.count(b"HTTP/1.1 ")) == (status, 1), received


@pytest.mark.threat("T126")
@pytest.mark.parametrize("path", ["rest/v1/rpc/x", "functions/v1/x", "metrics", "config.js"])
def test_a_broken_body_is_followed_by_no_request(gateway: Gateway, path: str) -> None:
    start = f"POST /{path} HTTP/1.1\r\nHost: x\r\n{WHO}Transfer-Encoding: chunked\r\n\r\n"
    for broken in ("zz\r\n\r\n", "2\r\n{}\r\nzz\r\n", "2\r\n{}XX"):
        _, received = _raw(gateway, f"{start}{broken}{NEXT}")
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
    status, received = _raw(gateway, start + broken)
    gateway.upstream.released.set()
    assert (status, b'{"code":"invalid_request"' in received) == (400, True), received


def test_a_whole_body_is_followed_by_the_next_request(gateway: Gateway) -> None:
    _, received = _raw(gateway, f"{NEXT}{POST}Content-Length: 2\r\n\r\n{{}}{NEXT}", 3)
    assert received.count(b"HTTP/1.1 200 OK") == 3, received


def test_a_connection_of_http_2_outlives_it_too(encrypted: Gateway) -> None:
    asked = [encrypted.http.post("/metrics", content=b"{}") for _ in range(2)]
    assert {response.http_version for response in asked} == {"HTTP/2"}
    assert (
        len({response.extensions["network_stream"].get_extra_info("client_addr") for response in asked}) == 1
    )


def test_storage_may_reject_a_body_that_has_not_come(gateway: Gateway) -> None:
    start = f"POST /storage/v1/denied HTTP/1.1\r\nHost: x\r\n{WHO}Content-Length: {len(NEXT)}\r\n\r\n"
    status, received = _raw(gateway, start + NEXT)
    assert (status, received.count(b"HTTP/1.1 ")) == (403, 1), received
    assert b"\r\nConnection: close\r\n" in received


@pytest.mark.parametrize(
    "name", ["closed to anonymous", "form", "repeated", "too much", "pattern", "no text"]
)
def test_a_response_before_the_body_has_its_headers(gateway: Gateway, name: str) -> None:
    path, headers, _ = EARLY[name]
    own = "Content-Length: 2\r\nX-Request-Id: own.1\r\n"
    _, received = _raw(gateway, f"POST {path} HTTP/1.1\r\nHost: x\r\n{own}{headers}\r\n{{}}")
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
    status, received = _raw(gateway, start + NEXT)
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
    with _connected(hasty) as connection:
        started = time.monotonic()
        connection.sendall(sent.encode())
        while connection.recv(65536):
            pass
    assert time.monotonic() - started < most * SECOND


@pytest.mark.threat("T126")
def test_a_body_that_comes_too_late_is_no_request(hasty: Gateway) -> None:
    with _connected(hasty) as connection:
        connection.sendall(f"{POST}Content-Length: {len(NEXT)}\r\n\r\n".encode())
        received = connection.recv(65536)
        with contextlib.suppress(ConnectionError):
            connection.sendall(NEXT.encode())
            while part := connection.recv(65536):
                received += part
    assert received.startswith(b"HTTP/1.1 499 ")
    assert received.count(b"HTTP/1.1 ") == 1, received


@pytest.mark.threat("T126")
@pytest.mark.parametrize("name", PLACES)
def test_a_response_that_is_never_read_keeps_no_place(encrypted: Gateway, name: str) -> None:
    """Over HTTP/2 a client says how much it takes at present: nothing of each response."""
    encrypted.upstream.arrived.clear()
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    trust.set_alpn_protocols(["h2"])
    client = H2Connection(H2Configuration())
    client.initiate_connection()
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    address = {":method": "GET", ":scheme": "https", ":authority": "localhost"}
    for number in range(PLACES[name]):
        asked = {
            **address,
            ":path": f"/{name}/v1/x?text",
            **{key.lower(): said for key, said in PERSON.items()},
        }
        client.send_headers(2 * number + 1, list(asked.items()), end_stream=True)
    with (
        _connected(encrypted) as connection,
        trust.wrap_socket(connection, server_hostname="localhost") as wire,
    ):
        wire.sendall(client.data_to_send())
        assert _until(lambda: len(encrypted.upstream.arrived) == PLACES[name])
        time.sleep(0.3)
        assert encrypted.http.get(f"/{name}/v1/x", headers=PERSON).status_code == 200


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(("site", "path"), [("gateway", "x"), ("gateway", "down"), ("encrypted", "x")])
def test_the_detour_of_a_long_question_changes_nothing(
    request: pytest.FixtureRequest, name: str, site: str, path: str
) -> None:
    gateway: Gateway = request.getfixturevalue(site)
    seen = []
    for length in (500, 501):
        # A write is sent once, also where it fails.
        method = "POST" if path == "down" else "GET"
        url, who = f"/{name}/v1/{path}?{'a' * length}", PERSON | {"x-request-id": "one"}
        asked = gateway.http.build_request(method, url, headers=who)
        gateway.upstream.arrived.clear()
        del asked.headers["accept-encoding"]
        response = gateway.http.send(asked)
        headers = [said for said in response.headers.items() if said[0] not in ("date", "content-length")]
        assert len(gateway.upstream.arrived) == 1
        seen.append((response.status_code, headers, response.json() | {"path": ""}))
    assert seen[0] == seen[1]
    if path == "x":
        scheme = seen[0][2]["headers"]["x-forwarded-proto"]
        assert scheme == ("https" if site == "encrypted" else "http")


@pytest.mark.threat("T126")
def test_a_long_question_makes_a_detour(tmp_path_factory: pytest.TempPathFactory) -> None:
    def block(text: str) -> str:
        return text.replace("@slow 127.0.0.1:{$INTERNAL_PORT}", "@slow 127.0.0.1:9")

    with running(tmp_path_factory.mktemp("blocked"), block) as gateway:
        asked = [gateway.http.get(f"/rest/v1/x?{'a' * length}", headers=PERSON) for length in (500, 501)]
    assert [response.status_code for response in asked] == [200, 502]


@pytest.mark.threat("T126")
def test_only_the_gateway_makes_the_detour(gateway: Gateway) -> None:
    """Not even who names it to the public side; and there is none for what the gateway does not ask."""
    inside = {"host": "places", "x-service": "auth"}
    assert gateway.http.get("/x", headers=inside).status_code == 404
    url = f"http://127.0.0.1:{gateway.internal}/x"
    assert plain_http.get(url, headers=inside | {"x-service": "none"}).content == b""
    with plain_http.client("127.0.0.2") as elsewhere, pytest.raises(httpx.RemoteProtocolError):
        elsewhere.get(url, headers=inside)


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
        assert _until(lambda: "/idle" in gateway.upstream.ended)


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
    assert _until(lambda: reused or path in gateway.upstream.ended)
    assert (path in gateway.upstream.ended) is not reused


def test_a_stop_does_not_wait_for_the_slowest(tmp_path_factory: pytest.TempPathFactory) -> None:
    def shorten(text: str) -> str:
        return text.replace("grace_period 5s", "grace_period 50ms")

    with running(tmp_path_factory.mktemp("stopped"), shorten) as gateway, ThreadPoolExecutor(1) as client:
        held = client.submit(gateway.http.get, "/functions/v1/held")
        assert _until(lambda: "/held" in gateway.upstream.arrived)
        gateway.process.terminate()
        ended = _until(lambda: gateway.process.poll() is not None)
        gateway.upstream.released.set()
        assert ended
        with contextlib.suppress(httpx.TransportError):
            held.result()


def _connected(gateway: Gateway) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.port), timeout=10)


def _until(happened: Callable[[], bool], seconds: float = 6) -> bool:
    """Wait for something; whether it happened."""
    until = time.monotonic() + seconds
    while not (done := happened()) and time.monotonic() < until:
        time.sleep(0.01)
    return done


def _raw(gateway: Gateway, text: str, responses: int = 1) -> tuple[int, bytes]:
    """Send raw bytes; return the status of the first response and everything received."""
    with _connected(gateway) as connection:
        connection.sendall(text.encode())
        received = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while part := connection.recv(65536):
                received += part
                # One more response would follow at once.
                if received.count(b"HTTP/1.") >= responses:
                    connection.settimeout(0.2)
    assert received, "nothing came back"
    return int(received.split(b" ", 2)[1]), received
