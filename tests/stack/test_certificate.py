"""The certificate's days: read at the gateway as a browser meets it, absent when there is none."""

import time
from pathlib import Path

import pytest

from functions.worker.certificate import expiry_of
from functions.worker.gauges import Gauges
from functions.worker.settings import WorkerSettings
from launcher.services import health
from tests.support.own_gateway import Gateway
from tests.support.ports import free_port
from tests.support.webhook_receiver import own_certificate, receiving

NAME = "harborline_certificate_expiry_timestamp_seconds"
DAY = 86_400


def settings(address: str) -> WorkerSettings:
    """Return settings of a worker whose gateway is there."""
    return WorkerSettings(
        audit_heads_path=Path("unused"),
        database_url="",
        smtp_host="127.0.0.1",
        mail_from="Test <test@example.com>",
        site_url="https://localhost",
        storage_internal_url="",
        supabase_service_role_key="",
        certificate_address=address,
    )


async def test_the_gateways_certificate_says_when_it_expires(encrypted: Gateway) -> None:
    (figure,) = await Gauges(None, settings(f"127.0.0.1:{encrypted.port}")).of_certificate()  # type: ignore[arg-type]
    assert figure.name == NAME
    # Caddy's own authority gives half a day.
    assert time.time() < figure.value < time.time() + DAY


async def test_one_that_has_expired_says_so_too(tmp_path: Path) -> None:
    expired = own_certificate(tmp_path / "own.pem", "localhost", days=0)
    with receiving(expired) as receiver:
        expiry = await expiry_of(f"127.0.0.1:{receiver.port}", "localhost")
    assert expiry
    assert expiry <= time.time()


async def test_without_a_certificate_there_is_no_figure(gateway: Gateway) -> None:
    for address in ("", f"127.0.0.1:{gateway.port}", f"127.0.0.1:{free_port()}"):
        assert await Gauges(None, settings(address)).of_certificate() == [], address  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("days", "fine", "words"),
    [
        (40.5, True, "40 days left"),
        (13.5, True, "warning: 13 days left"),
        (2.5, False, "NOT HEALTHY: 2 days left"),
        (-1.5, False, "NOT HEALTHY: -2 days left"),
    ],
)
def test_status_says_how_long_it_is_good(days: float, fine: bool, words: str) -> None:
    assert health.certificate({(NAME,): time.time() + days * DAY}) == (fine, words)


def test_status_says_when_none_is_served() -> None:
    assert health.certificate({}) == (False, "NOT HEALTHY: the gateway serves no certificate")
