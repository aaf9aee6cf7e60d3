"""The gateway's figures: on its internal listener, with what PostgREST does as the gateway sees it."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import plain_http
from tests.support.own_gateway import KEY, PERSON, Gateway

DURATION = 'caddy_http_request_duration_seconds_count{code="%s",handler="%s",method="GET",server="'


def figure(gateway: Gateway, beginning: str) -> float:
    """Return the sum of the figures whose name and labels begin so."""
    text = plain_http.get(f"http://127.0.0.1:{gateway.internal}/metrics").text
    return sum(
        float(value) for value in re.findall(rf"^{re.escape(beginning)}\S* (\S+)$", text, re.MULTILINE)
    )


@pytest.mark.parametrize("site", ["gateway", "encrypted"])
def test_what_postgrest_does_counts_apart(site: str, request: pytest.FixtureRequest) -> None:
    gateway: Gateway = request.getfixturevalue(site)
    taken, failed = DURATION % (200, "reverse_proxy"), DURATION % (502, "reverse_proxy")
    before, before_failed = figure(gateway, taken), figure(gateway, failed)
    assert gateway.http.get("/rest/v1/deposits", headers=PERSON).status_code == 200
    assert gateway.http.get("/rest/v1/down", headers=PERSON).status_code == 502
    assert gateway.http.get("/auth/v1/user", headers=KEY).status_code == 200
    assert figure(gateway, taken) == before + 1
    assert figure(gateway, failed) == before_failed + 1


def test_requests_in_flight_are_seen(gateway: Gateway) -> None:
    in_flight = 'caddy_http_requests_in_flight{handler="reverse_proxy"'
    before = figure(gateway, in_flight)
    gateway.upstream.released.clear()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(gateway.http.get, "/rest/v1/held", headers=PERSON)
        end = time.monotonic() + 8
        while figure(gateway, in_flight) != before + 1:
            assert time.monotonic() < end, "it is not counted"
            time.sleep(0.05)
        gateway.upstream.released.set()
        assert held.result().status_code == 200
    assert figure(gateway, in_flight) == before


@pytest.mark.threat("T119")
def test_the_public_side_shows_no_figures(gateway: Gateway) -> None:
    response = gateway.http.get("/metrics")
    assert response.status_code == 404
    assert "caddy" not in response.text
