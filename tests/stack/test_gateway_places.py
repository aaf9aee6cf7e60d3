"""The places of the services: so many requests at once, none that waits for its client, none that is held."""

import contextlib
import http.client
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from tests.support import plain_http
from tests.support.own_gateway import (
    ANON,
    ANYONE,
    FILE,
    KEY,
    PERSON,
    PLACES,
    SIGN,
    WHO,
    Gateway,
    running,
    until,
)

FOLDERS = [f"/{name}/v1" for name in PLACES]
# Files have no places at the gateway: as many as one client may well open.
MANY_FILES = 260


@pytest.mark.parametrize(
    ("path", "places"), [pytest.param(f"/{name}/v1/held", places, id=name) for name, places in PLACES.items()]
)
def test_overload_is_rejected_soon(gateway: Gateway, path: str, places: int) -> None:
    """As many as there are places are served, and who comes later waits half a second for one."""
    gateway.upstream.released.clear()
    before = len(gateway.upstream.arrived)
    with ThreadPoolExecutor(places + 5) as crowd:
        held = [crowd.submit(_asked, gateway, "GET", path, PERSON) for _ in range(places)]
        # Caddy counts a request after it chose the service: who comes at one moment may pass together.
        assert until(lambda: len(gateway.upstream.arrived) == before + places)
        late = [crowd.submit(_asked, gateway, "GET", path, PERSON) for _ in range(5)]
        assert [request.result() for request in late] == [(503, "1")] * 5
        gateway.upstream.released.set()
        assert {request.result() for request in held} == {(200, "")}


def test_a_place_that_becomes_free_soon_is_taken(gateway: Gateway) -> None:
    gateway.upstream.released.clear()
    places = PLACES["functions"]
    with ThreadPoolExecutor(places + 1) as crowd:
        before = len(gateway.upstream.arrived)
        held = [crowd.submit(gateway.http.get, "/functions/v1/held") for _ in range(places)]
        until(lambda: len(gateway.upstream.arrived) == before + places)
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
    with gateway.connected() as connection:
        connection.sendall(f"{head}Content-Length: {length}\r\n\r\nsome".encode())
        arrived = until(lambda: bool(gateway.upstream.arrived), 5 if asked else 0.3)
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
        (("PUT", f"{FILE}/held"), MANY_FILES, others),
        (("GET", f"{FILE}/held"), MANY_FILES, others),
        (("POST", "/storage/v1/object/list/held"), PLACES["storage"], files),
    ):
        gateway.upstream.arrived.clear()
        gateway.upstream.released.clear()
        with ThreadPoolExecutor(places) as crowd:
            held = [crowd.submit(_asked, gateway, *many, PERSON) for _ in range(places)]
            assert until(lambda places=places: len(gateway.upstream.arrived) == places)
            found = [gateway.http.request(*one, headers=PERSON).status_code for one in few]
            gateway.upstream.released.set()
            assert {request.result()[0] for request in held} == {200}
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
    slow = [gateway.connected() for _ in range(80)]
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
@pytest.mark.parametrize(
    ("path", "places"), [(f"/{name}/v1/x", places) for name, places in PLACES.items()], ids=list(PLACES)
)
@pytest.mark.parametrize("who", [PERSON, KEY], ids=["person", "anyone"])
def test_a_response_that_is_never_read_keeps_no_place(
    encrypted: Gateway, path: str, places: int, who: dict[str, str]
) -> None:
    """Over HTTP/2 a client says how much it takes at present: nothing of each response."""
    encrypted.upstream.arrived.clear()
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    trust.set_alpn_protocols(["h2"])
    client = H2Connection(H2Configuration())
    client.initiate_connection()
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    address = {":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": f"{path}?text"}
    for number in range(places):
        asked = {**address, **{key.lower(): said for key, said in who.items()}}
        client.send_headers(2 * number + 1, list(asked.items()), end_stream=True)
    with (
        encrypted.connected() as connection,
        trust.wrap_socket(connection, server_hostname="localhost") as wire,
    ):
        wire.sendall(client.data_to_send())
        assert until(lambda: len(encrypted.upstream.arrived) == places)
        time.sleep(0.3)
        assert encrypted.http.get(path, headers=PERSON).status_code == 200


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    ("path", "places"),
    [
        *((f"/{name}/v1/x", places) for name, places in PLACES.items()),
        ("/config.js", PLACES["functions"]),
        (f"{FILE}/x", MANY_FILES),
    ],
    ids=[*PLACES, "config", "file sent"],
)
def test_who_asks_again_and_again_and_reads_nothing_keeps_no_place(
    gateway: Gateway, path: str, places: int
) -> None:
    """Over HTTP/1.1 the responses to earlier requests leave no room for those to later ones."""
    asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Much: {'x' * 20_000}\r\n{WHO}\r\n".encode()
    with contextlib.ExitStack() as held:
        for _ in range(places + 5):
            client = held.enter_context(contextlib.closing(socket.socket()))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
            client.connect(("127.0.0.1", gateway.port))
            client.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                client.sendall(asked * 20)
        arrived = -1
        while arrived != (arrived := len(gateway.upstream.arrived)):
            time.sleep(0.5)
        served = len(gateway.upstream.arrived)
        assert gateway.http.get(path, headers=PERSON).status_code == 200
        # Without a place for it the gateway has a configuration of its own.
        assert len(gateway.upstream.arrived) == served + 1


@pytest.mark.parametrize("folder", FOLDERS, ids=list(PLACES))
@pytest.mark.parametrize(("site", "path"), [("gateway", "x"), ("gateway", "down"), ("encrypted", "x")])
def test_the_detour_changes_nothing(
    request: pytest.FixtureRequest, folder: str, site: str, path: str
) -> None:
    """Files make none."""
    gateway: Gateway = request.getfixturevalue(site)
    seen = []
    for place in (folder, FILE):
        # A write is sent once, also where it fails.
        method, who = "GET" if site == "encrypted" else "POST", PERSON | {"x-request-id": "one"}
        asked = gateway.http.build_request(method, f"{place}/{path}", headers=who)
        gateway.upstream.arrived.clear()
        del asked.headers["accept-encoding"]
        response = gateway.http.send(asked)
        apart = ("date", "content-length", "cache-control", "connection")
        headers = [said for said in response.headers.items() if said[0] not in apart]
        assert len(gateway.upstream.arrived) == 1
        said = response.json() | {"path": ""}
        # The version that each hop spoke.
        said.get("headers", {}).pop("via", None)
        seen.append((response.status_code, headers, said))
    assert seen[0] == seen[1]
    if path == "x":
        scheme = seen[0][2]["headers"]["x-forwarded-proto"]
        assert scheme == ("https" if site == "encrypted" else "http")


@pytest.mark.threat("T126")
def test_all_but_files_makes_a_detour(tmp_path_factory: pytest.TempPathFactory) -> None:
    def block(text: str) -> str:
        return text.replace("reverse_proxy 127.0.0.1:{$INTERNAL_PORT}", "reverse_proxy 127.0.0.1:9")

    with running(tmp_path_factory.mktemp("blocked"), block) as gateway:
        paths = (*FOLDERS, "/storage/v1/object/info/receipts", FILE)
        asked = {path: gateway.http.get(f"{path}/x", headers=PERSON).status_code for path in paths}
    assert asked == {**dict.fromkeys(paths, 502), FILE: 200}


@pytest.mark.threat("T126")
def test_only_the_gateway_makes_the_detour(gateway: Gateway) -> None:
    """Not even who names it to the public side; and there is none for what the gateway does not ask."""
    inside = {"host": "places", "x-service": "auth"}
    assert gateway.http.get("/x", headers=inside).status_code == 404
    url = f"http://127.0.0.1:{gateway.internal}/x"
    assert plain_http.get(url, headers=inside | {"x-service": "none"}).content == b""
    with plain_http.client("127.0.0.2") as elsewhere, pytest.raises(httpx.RemoteProtocolError):
        elsewhere.get(url, headers=inside)


def _asked(gateway: Gateway, method: str, path: str, who: dict[str, str]) -> tuple[int, str]:
    """Ask by a connection of its own, for hundreds in a pool wait for each other: status and Retry-After."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=20)) as connection:
        connection.request(method, path, headers=who)
        response = connection.getresponse()
        response.read()
        return response.status, response.headers.get("retry-after", "")
