"""One request id: in the gateway's log, in the service's log, and in the response."""

import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import plain_http
from tests.support.stack import Stack

PATHS = {
    "auth": "/auth/v1/user",
    "storage": "/storage/v1/bucket",
    "edge": "/functions/v1/admin-audit",
}
WAIT_SECONDS = 20


@pytest.fixture
def public_client(stack: Stack) -> Iterator[httpx.Client]:
    """Yield the gateway of the running stack, with the public key."""
    with plain_http.client(base_url=stack.url, headers={"apikey": stack.anon_key}, timeout=20) as client:
        yield client


def logged(state: Path, name: str, number: str) -> dict[str, Any]:
    """Return the log line with this request id."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        # A log that is full is begun anew: its lines are then in the one before.
        files = [state / "logs" / f"{name}.log{former}" for former in ("", ".1")]
        for file in filter(Path.exists, files):
            # The last line may be half written: others are served meanwhile.
            for line in file.read_text(errors="replace").split("\n")[:-1]:
                if number in line:
                    return dict(json.loads(line))
        time.sleep(0.1)
    raise AssertionError(f"{number} is not in the log of {name}")


@pytest.mark.parametrize(
    "service", [pytest.param("auth", marks=pytest.mark.embedded_only("logs of its own")), "storage", "edge"]
)
def test_a_request_has_one_number_in_every_log(
    public_client: httpx.Client, state: Path, service: str
) -> None:
    own = f"own.{secrets.token_hex(8)}"
    assert public_client.get(PATHS[service], headers={"x-request-id": own}).headers["x-request-id"] == own
    for number in (own, public_client.get(PATHS[service]).headers["x-request-id"]):
        assert logged(state, "gateway", number)["request_id"] == number
        assert logged(state, service, number)["request_id"] == number


def test_a_response_of_the_tables_has_its_number_too(public_client: httpx.Client, state: Path) -> None:
    number = public_client.get("/rest/v1/deposits").headers["x-request-id"]
    assert logged(state, "gateway", number)["status"] == 401
