"""Several instances of a service behind the gateway: one that is about to be replaced gets nothing new."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from launcher.host.environment import files_address
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.own_gateway import Gateway, Upstream, running
from tests.support.own_stack import until
from tests.support.ports import free_port

# The gateway looks twice a second, and believes what it saw twice: soon, unless the machine is busy.
NOTICED_SECONDS = 8
ASKED = 20


@dataclass(frozen=True)
class Instances:
    """A gateway in front of two instances of each service, and the folder that names those to spare."""

    gateway: Gateway
    upstreams: tuple[Upstream, Upstream]
    spared: Path

    def ask(self, path: str = "/functions/v1/x") -> list[int]:
        """Send requests; return how many of them each instance got."""
        before = [len(upstream.arrived) for upstream in self.upstreams]
        for _ in range(ASKED):
            assert self.gateway.http.post(path, json={}).status_code == 200
        return [len(one.arrived) - count for one, count in zip(self.upstreams, before, strict=True)]

    def await_both(self) -> None:
        """Wait until requests go to both again."""
        # The first of them may be back before the other.
        until(lambda: self.gateway.http.post("/functions/v1/x", json={}).status_code == 200, NOTICED_SECONDS)
        until(lambda: min(self.ask()) > 0, NOTICED_SECONDS)

    def mark(self, number: int) -> Path:
        """Return the file that names an instance."""
        host, port = self.upstreams[number].server_address[:2]
        return self.spared / f"{host!s}:{port}"


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[Instances]:
    """Run two instances of each service and a gateway."""
    spared = folder / "replaced"
    spared.mkdir()
    upstreams = Upstream(), Upstream()
    for upstream in upstreams:
        threading.Thread(target=upstream.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    addresses = " ".join(f"127.0.0.1:{upstream.server_address[1]}" for upstream in upstreams)
    given = {
        "EDGE_ADDRESS": addresses,
        "STORAGE_FILES_ADDRESS": files_address(addresses),
        "BALANCING": "balanced",
        "REPLACED_ROOT": str(spared),
    }
    with running(folder, **given, **settings) as gateway:
        yield Instances(gateway, upstreams, spared)
    for upstream in upstreams:
        upstream.shutdown()
        upstream.server_close()


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instances]:
    """Start them."""
    with serving(tmp_path_factory.mktemp("gateway")) as started:
        yield started


def test_both_are_asked(instances: Instances) -> None:
    assert min(instances.ask()) > 0


def test_one_that_is_named_gets_nothing_new_and_is_asked_again_afterwards(instances: Instances) -> None:
    mark = instances.mark(0)
    mark.touch()
    until(lambda: instances.ask() == [0, ASKED], NOTICED_SECONDS)
    until(lambda: instances.ask("/storage/v1/object/receipts/a.png") == [0, ASKED], NOTICED_SECONDS)
    mark.unlink()
    instances.await_both()


def test_that_one_is_named_changes_no_other_page(instances: Instances) -> None:
    mark = instances.mark(0)
    mark.touch()
    site, who = f"http://127.0.0.1:{instances.gateway.internal}", {"Instance": mark.name}
    said = [plain_http.get(f"{site}{path}", headers=who).status_code for path in ("/replaced", "/metrics")]
    mark.unlink()
    instances.await_both()
    assert said == [503, 200]


def test_what_a_named_one_is_at_comes_to_its_end(instances: Instances) -> None:
    marks = [instances.mark(number) for number in (0, 1)]
    got: list[int] = []

    def ask() -> None:
        got.append(instances.gateway.http.post("/functions/v1/held", json={}).status_code)

    waiting = threading.Thread(target=ask)
    waiting.start()
    until(lambda: any("/held" in upstream.arrived for upstream in instances.upstreams), NOTICED_SECONDS)
    for mark in marks:
        mark.touch()
    http = instances.gateway.http
    until(lambda: http.post("/functions/v1/x", json={}).status_code == 503, NOTICED_SECONDS)
    for upstream in instances.upstreams:
        upstream.released.set()
    waiting.join(10)
    assert got == [200]
    for mark in marks:
        mark.unlink()
    instances.await_both()


def test_the_one_with_fewer_requests_is_asked(instances: Instances) -> None:
    for upstream in instances.upstreams:
        upstream.released.clear()
    before = [len(upstream.arrived) for upstream in instances.upstreams]
    waiting = threading.Thread(target=instances.gateway.http.post, args=("/functions/v1/held",))
    waiting.start()
    until(lambda: [len(upstream.arrived) for upstream in instances.upstreams] != before, NOTICED_SECONDS)
    busy = [len(one.arrived) - count for one, count in zip(instances.upstreams, before, strict=True)]
    assert sorted(busy) == [0, 1]
    assert instances.ask() == [0 if is_busy else ASKED for is_busy in busy]
    for upstream in instances.upstreams:
        upstream.released.set()
    waiting.join(10)


def test_a_connection_that_fails_is_tried_elsewhere(tmp_path: Path) -> None:
    upstream = Upstream()
    threading.Thread(target=upstream.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    addresses = f"127.0.0.1:{free_port()} 127.0.0.1:{upstream.server_address[1]}"
    with running(tmp_path, EDGE_ADDRESS=addresses, BALANCING="balanced") as gateway:
        for _ in range(ASKED):
            assert gateway.http.post("/functions/v1/x", json={}).status_code == 200
        assert upstream.arrived.count("/x") == ASKED
    upstream.shutdown()
    upstream.server_close()


def listens(url: str) -> bool:
    """Return whether a gateway listens there."""
    try:
        return plain_http.get(url, timeout=1).status_code == 200
    except httpx.TransportError:
        return False


def test_a_gateway_that_has_just_begun_to_listen_asks_them(tmp_path: Path) -> None:
    with serving(tmp_path) as started:
        assert min(started.ask()) > 0
        entries = map(json.loads, started.gateway.log.read_text().splitlines())
        # Half a second, until it looks again, where the first look decides.
        assert max(entry["duration"] for entry in entries if "request" in entry) < 0.3


@pytest.mark.parametrize(("method", "path"), [("GET", "/config.js"), ("POST", "/functions/v1/x")])
def test_a_gateway_that_ends_hands_its_clients_over(tmp_path: Path, method: str, path: str) -> None:
    with serving(tmp_path, SHUTDOWN_DELAY="5s") as started:
        gateway = started.gateway
        body = {} if method == "POST" else None
        assert "connection" not in gateway.http.request(method, path, json=body).headers
        gateway.process.terminate()
        until(lambda: "connection" in gateway.http.request(method, path, json=body).headers, 3)
        for _ in range(ASKED):
            response = gateway.http.request(method, path, json=body)
            assert (response.status_code, response.headers["connection"]) == (200, "close")
        gateway.process.wait(20)


def test_two_gateways_listen_at_one_port(tmp_path: Path) -> None:
    with running(tmp_path, SHUTDOWN_DELAY="2s") as gateway:
        internal = free_port()
        environment = gateway.environment | {"INTERNAL_PORT": str(internal)}
        with (tmp_path / "second").open("wb") as log:
            second = subprocess.Popen(
                ending_with_parent(gateway.command), env=environment, stdout=log, stderr=log
            )
        try:
            until(lambda: listens(f"http://127.0.0.1:{internal}/confirmation.html"), 20)
            gateway.process.terminate()
            while gateway.process.poll() is None:
                assert gateway.http.get("/config.js").status_code == 200
            assert gateway.http.get("/config.js").status_code == 200
        finally:
            second.kill()
            second.wait()


def test_what_was_sent_to_one_that_hangs_up_is_not_sent_to_another(instances: Instances) -> None:
    before = sum(len(upstream.arrived) for upstream in instances.upstreams)
    assert instances.gateway.http.post("/functions/v1/down", json={}).status_code == 502
    assert sum(len(upstream.arrived) for upstream in instances.upstreams) == before + 1
