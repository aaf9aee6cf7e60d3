"""Figures for Prometheus: on a port of their own, on loopback, and never through the gateway."""

import json
import re
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.own_stack import until
from tests.support.stack import Stack

SERVICES = ("auth", "storage", "edge", "worker")
OWN_FIGURES = pytest.mark.embedded_only("publishes other figures, under names of its own")


@pytest.fixture(scope="session")
def ports(state: Path) -> dict[str, int]:
    """Where everything of the running stack listens."""
    return dict(json.loads((state / "settings.json").read_text())["ports"])


@pytest.fixture(scope="session")
def public_client(stack: Stack) -> Iterator[httpx.Client]:
    """Yield the gateway of the running stack, with the public key."""
    with plain_http.client(base_url=stack.url, headers={"apikey": stack.anon_key}, timeout=20) as client:
        yield client


def figures(ports: dict[str, int], service: str) -> str:
    return plain_http.get(f"http://127.0.0.1:{ports[f'{service}_metrics']}/metrics", timeout=10).text


def figure(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, f"{name} is not among the figures"
    return float(found[1])


@pytest.mark.parametrize(
    ("service", "path", "route", "status"),
    [
        pytest.param("auth", "/auth/v1/user", "/user", 401, marks=OWN_FIGURES),
        pytest.param(
            "auth",
            f"/auth/v1/admin/users/{secrets.token_hex(8)}",
            "/admin/users/{user_id}",
            401,
            marks=OWN_FIGURES,
        ),
        (
            "storage",
            f"/storage/v1/object/receipts/{secrets.token_hex(8)}",
            "/object/{bucket}/{path:path}",
            400,
        ),
        ("edge", "/functions/v1/admin-audit", "/admin-audit", 401),
        ("edge", f"/functions/v1/{secrets.token_hex(8)}", "none", 404),
    ],
)
def test_requests_count_under_their_template(
    public_client: httpx.Client, ports: dict[str, int], service: str, path: str, route: str, status: int
) -> None:
    method = "POST" if service == "edge" else "GET"
    name = f'http_request_duration_seconds_count{{method="{method}",route="{route}",status="{status}"}}'
    # A service counts a request after it has responded.
    assert public_client.request(method, path).status_code == status
    until(lambda: name in figures(ports, service), 10)
    before = figure(figures(ports, service), name)
    assert public_client.request(method, path).status_code == status
    until(lambda: figure(figures(ports, service), name) >= before + 1, 10)
    after = figures(ports, service)
    # Paths hold names and ids of people.
    assert path.rsplit("/", 1)[1] not in after or path.endswith(route)


@pytest.mark.parametrize("service", [pytest.param("auth", marks=OWN_FIGURES), *SERVICES[1:]])
def test_the_pool_is_measured(ports: dict[str, int], service: str) -> None:
    text = figures(ports, service)
    assert 0 < figure(text, "database_pool_size") <= figure(text, "database_pool_max")
    assert figure(text, "database_requests_waiting") >= 0


def test_the_worker_reports_its_queue_depth(ports: dict[str, int]) -> None:
    until = time.monotonic() + 20
    while 'queue_depth{queue="mail",state="todo"}' not in figures(ports, "worker"):
        assert time.monotonic() < until, "nothing was counted"
        time.sleep(0.5)
    text = figures(ports, "worker")
    for queue, state in (("jobs", "todo"), ("jobs", "doing"), ("jobs", "failed"), ("mail", "failed")):
        assert figure(text, f'queue_depth{{queue="{queue}",state="{state}"}}') >= 0


@pytest.mark.threat("T119")
def test_the_gateway_shows_none(public_client: httpx.Client) -> None:
    for prefix in ("", "/auth/v1", "/storage/v1", "/functions/v1", "/rest/v1"):
        response = public_client.get(f"{prefix}/metrics")
        # PostgREST has no such table, and without a token nobody is told which there are.
        assert response.status_code == (401 if prefix == "/rest/v1" else 404), prefix
        assert "http_request" not in response.text, prefix


def test_the_port_of_requests_shows_none(ports: dict[str, int]) -> None:
    for service in SERVICES:
        response = plain_http.get(f"http://127.0.0.1:{ports[service]}/metrics", timeout=10)
        assert response.status_code == 404, service
        assert "http_request" not in response.text, service


@pytest.mark.threat("T125")
def test_it_listens_on_loopback_alone(ports: dict[str, int]) -> None:
    local = f"{int.from_bytes(socket.inet_aton('127.0.0.1'), 'little'):08X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    six = [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    listening = [row[1].split(":") for row in rows + six if row[3] == "0A"]
    for service in SERVICES:
        wanted = f"{ports[f'{service}_metrics']:04X}"
        assert [address for address, port in listening if port == wanted] == [local], service
