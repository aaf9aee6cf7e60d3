"""What the gateway writes down: who asked for what and how it ended, and nothing that may hold a secret."""

import json
import time
from typing import Any

import httpx
import pytest

from tests.support.own_gateway import Gateway

FIELDS = {"level", "ts", "request", "duration", "size", "status", "request_id"}
WAIT_SECONDS = 10


def logged(gateway: Gateway, text: str) -> dict[str, Any]:
    """Return the line of the log that holds this text."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        for line in gateway.log.read_text().split("\n")[:-1]:
            if text in line:
                return dict(json.loads(line))
        time.sleep(0.01)
    raise AssertionError(f"{text} is not in the log")


@pytest.mark.threat("T128")
def test_a_line_says_what_was_asked_and_how_it_ended(gateway: Gateway) -> None:
    asked = {"x-request-id": "own.line", "authorization": "Bearer SECRET"}
    gateway.http.get("/functions/v1/x?token=SECRET", headers=asked)
    line = logged(gateway, "own.line")
    assert set(line) == FIELDS
    assert line["request"] == {"client_ip": "127.0.0.1", "method": "GET", "uri": "/functions/v1/x"}
    assert line["status"] == 200


@pytest.mark.threat("T128")
def test_a_request_that_brings_no_number_is_logged_with_the_given_one_alone(gateway: Gateway) -> None:
    number = gateway.http.get("/functions/v1/x").json()["headers"]["x-request-id"]
    assert set(logged(gateway, number)) == FIELDS


@pytest.mark.threat("T128")
def test_a_line_says_why_a_service_gave_no_response(gateway: Gateway) -> None:
    asked = {"x-request-id": "own.reason", "authorization": "Bearer SECRET"}
    assert gateway.http.patch("/functions/v1/down?token=SECRET", json={}, headers=asked).status_code == 502
    line = logged(gateway, "own.reason")
    assert set(line) == FIELDS | {"reason"}
    assert line["reason"] == "EOF"


@pytest.mark.threat("T128")
def test_how_a_connection_is_encrypted_is_not_logged(encrypted: Gateway) -> None:
    encrypted.http.get("/functions/v1/x", headers={"x-request-id": "own.tls"})
    assert set(logged(encrypted, "own.tls")["request"]) == {"client_ip", "method", "uri"}


@pytest.mark.threat("T128")
def test_a_warning_holds_no_secret(gateway: Gateway) -> None:
    asked = {"authorization": "Bearer SECRET"}
    with pytest.raises(httpx.RemoteProtocolError):
        gateway.http.get("/functions/v1/torn?token=SECRET", headers=asked)
    assert logged(gateway, "incomplete response")["level"] == "warn"
    assert "SECRET" not in gateway.log.read_text()
