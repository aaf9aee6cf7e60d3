"""Alarms at the operator's webhook: signed, tried again, and no way into the operator's network."""

import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from functions.core.database import Pool
from functions.worker.settings import WorkerSettings
from functions.worker.webhooks import SIGNATURE, WebhookError, Webhooks, is_public
from tests.api.test_worker import until, worker_settings
from tests.support.people import Administrator
from tests.support.rollback_pool import RollbackPool, rolled_back
from tests.support.stack import Stack, stack_state
from tests.support.webhook_receiver import Receiver, own_certificate, receiving

Owner = psycopg.Connection[dict[str, Any]]
ROOT = Path(__file__).resolve().parents[2]
KEY = "a key of the test"
BODY = {
    "id": "1",
    "title": "A new alarm",
    "link": "/admin/alarms",
    "alarms": [{"kind": "disk", "problem": "One.", "advice": "Do."}],
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Yield a receiver of this test's own."""
    with receiving() as server:
        yield server


def set_address(administrator: Administrator, address: str | None) -> None:
    change = {"action": "change", "key": "alarm.webhook_url", "value": address}
    administrator.function("admin-settings", change).raise_for_status()


@pytest.fixture
def alarm(receiver: Receiver, super_admin: Administrator, owner: Owner) -> Iterator[str]:
    """Raise an alarm whose message goes to the receiver; no email about alarms was sent lately."""
    name = f"disk {time.time_ns()}"
    set_address(super_admin, f"http://127.0.0.1:{receiver.port}/alarms?to=us")
    owner.execute("update private.alarm_mail_state set mailed_at = null")
    owner.execute("select private.raise_alarm('disk', %s, null, '{\"above\": 90, \"urgent\": true}')", [name])
    try:
        yield name
    finally:
        owner.execute("select private.end_alarm('disk', %s)", [name])
        owner.execute(
            "update private.alarms set mailed_at = now(), noticed_at = now() where object = %s", [name]
        )
        set_address(super_admin, None)


@pytest.mark.alone
def test_an_alarm_arrives_signed_and_is_sent_again_until_it_is_taken(
    receiver: Receiver, alarm: str, stack: Stack, owner: Owner
) -> None:
    receiver.statuses = [500]
    owner.execute("select private.announce_alarms()")
    until(lambda: len(receiver.received) == 2, 60)
    first, second = receiver.received
    assert (first.path, first.body) == (second.path, second.body) == ("/alarms?to=us", second.body)
    key = json.loads((stack_state() / "keys" / "credentials.json").read_text())["ALARM_WEBHOOK_KEY"]
    signature = hmac.new(key.encode(), second.body, hashlib.sha256).hexdigest()
    assert second.headers[SIGNATURE.lower()] == f"sha256={signature}"
    message = json.loads(second.body)
    assert message["link"] == f"{stack.url}/admin/alarms"
    sent = next(item for item in message["alarms"] if item["object"] == alarm)
    problem = f"The disk of {alarm} is more than 90% full."
    assert (sent["kind"], sent["urgent"], sent["stops"], sent["problem"]) == ("disk", True, None, problem)
    assert sent["since"]
    assert (ROOT / sent["runbook"]).is_file()
    assert problem in message["text"]

    def ended() -> Any:
        query = "select sent_at, last_error from private.alarm_webhooks where id = %s and sent_at is not null"
        return owner.execute(query, [message["id"]]).fetchone()

    assert until(ended)["last_error"] is None
    assert len(receiver.received) == 2


@pytest.mark.alone
def test_a_message_whose_receiver_fails_slowly_is_sent_again(
    receiver: Receiver, alarm: str, owner: Owner
) -> None:
    """Meanwhile the next job waits for the one that sends."""
    jobs = "procrastinate.procrastinate_jobs"
    waiting = f"select from {jobs} where queueing_lock = 'send_webhooks' and status = 'todo'"
    receiver.held.clear()
    receiver.statuses = [500]
    owner.execute("select private.announce_alarms()")
    until(lambda: receiver.received and owner.execute(waiting).fetchall())
    receiver.held.set()
    until(lambda: len(receiver.received) == 2, 60)
    first, second = receiver.received
    assert first.body == second.body


def webhooks_of(stack: Stack, pool: Any = None, **own: Any) -> Webhooks:
    """Return the sender with settings of the test's own."""
    settings: WorkerSettings = worker_settings(stack, Path("unused"))
    own = {"alarm_webhook_key": KEY, "alarm_webhook_private": False} | own
    return Webhooks(pool, settings.model_copy(update=own))


async def failure_of(webhooks: Webhooks, url: str, *, is_demo: bool = True) -> str:
    """Return why a message is not taken; empty when it is."""
    try:
        await webhooks.send({"id": "1", "url": url, "is_demo": is_demo, "body": BODY})
    except WebhookError as error:
        return str(error)
    return ""


async def test_a_redirect_is_no_success_and_is_not_followed(stack: Stack, receiver: Receiver) -> None:
    receiver.statuses = [302, 200]
    url = f"http://127.0.0.1:{receiver.port}/first"
    assert await failure_of(webhooks_of(stack), url) == "The response was 302."
    assert [request.path for request in receiver.received] == ["/first"]


async def test_a_slow_receiver_is_not_waited_for(stack: Stack, receiver: Receiver) -> None:
    receiver.held.clear()
    started = time.monotonic()
    said = await failure_of(webhooks_of(stack), f"http://127.0.0.1:{receiver.port}/")
    assert said == "No response within five seconds."
    # The receiver would make it wait for twenty.
    assert 4 < time.monotonic() - started < 15


async def test_without_a_key_nothing_is_sent(stack: Stack, receiver: Receiver) -> None:
    said = await failure_of(webhooks_of(stack, alarm_webhook_key=""), f"http://127.0.0.1:{receiver.port}/")
    assert said == "There is no key to sign it with."
    assert not receiver.received


async def test_with_real_money_it_is_https_alone(stack: Stack, receiver: Receiver) -> None:
    url = f"http://127.0.0.1:{receiver.port}/"
    for may_be_private in (False, True):
        sender = webhooks_of(stack, alarm_webhook_private=may_be_private)
        assert await failure_of(sender, url, is_demo=False) == "The address is not https."
    assert not receiver.received


async def test_in_demo_mode_http_goes_to_this_machine_alone(stack: Stack) -> None:
    assert await failure_of(webhooks_of(stack), "http://192.0.2.1/") == "The address is not https."


@pytest.mark.threat("T136")
async def test_no_message_goes_into_a_private_network_unless_the_operator_says_so(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_certificate(tmp_path / "own.pem", "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    with receiving(own) as receiver:
        url = f"https://localhost:{receiver.port}/x"
        closed = await failure_of(webhooks_of(stack), url, is_demo=False)
        assert closed == "The address is not one of the internet."
        for host in ("10.0.0.1", "169.254.169.254", "0.0.0.0"):
            assert await failure_of(webhooks_of(stack), f"https://{host}/", is_demo=False) == closed, host
        assert not receiver.received
        opened = webhooks_of(stack, alarm_webhook_private=True)
        assert await failure_of(opened, url, is_demo=False) == ""
        assert receiver.received[0].headers["host"] == f"localhost:{receiver.port}"


@pytest.mark.parametrize("case", ["unknown", "of another name"])
async def test_a_wrong_certificate_is_no_receiver(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    served = own_certificate(
        tmp_path / "served.pem", "elsewhere.example" if case != "unknown" else "localhost"
    )
    known = own_certificate(tmp_path / "known.pem", "localhost") if case == "unknown" else served
    monkeypatch.setenv("SSL_CERT_FILE", str(known))
    with receiving(served) as receiver:
        sender = webhooks_of(stack, alarm_webhook_private=True)
        said = await failure_of(sender, f"https://localhost:{receiver.port}/", is_demo=False)
        assert said == "ConnectError"
        assert not receiver.received


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *[(address, True) for address in ("93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34")],
        *[(address, False) for address in ("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1")],
        *[(address, False) for address in ("169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1")],
        *[(address, False) for address in ("255.255.255.255", "192.0.2.1", "::1", "::", "fe80::1")],
        *[(address, False) for address in ("fd00::1", "fec0::1", "ff02::1", "2001:db8::1")],
        # Written as another address.
        *[(address, False) for address in ("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::")],
    ],
)
def test_which_addresses_are_of_the_internet(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


async def test_the_last_attempt_gives_up_and_earlier_ones_do_not(stack: Stack, receiver: Receiver) -> None:
    receiver.statuses = [500, 500, 200]
    async with rolled_back(stack) as connection:

        async def row() -> dict[str, Any]:
            found = await connection.execute(
                "select * from private.alarm_webhooks where body ->> 'title' = 'ours'"
            )
            rows = await found.fetchall()
            return dict(rows[0])

        await connection.execute(
            "update private.settings set value = to_jsonb(%s::text) where key = 'alarm.webhook_url'",
            [f"http://127.0.0.1:{receiver.port}/secret"],
        )
        await connection.execute("delete from private.alarm_webhooks")
        ours = {"title": "ours", "link": "/", "alarms": []}
        await connection.execute("insert into private.alarm_webhooks (body) values (%s)", [json.dumps(ours)])
        pool: Pool = RollbackPool(connection)  # type: ignore[assignment]
        sender = webhooks_of(stack, pool)
        with pytest.raises(WebhookError):
            await sender.send_due(is_last_attempt=False)
        waiting = await row()
        assert waiting["tried_at"]
        assert (waiting["failed_at"], waiting["last_error"]) == (None, "The response was 500.")
        assert "secret" not in str(waiting["last_error"])
        with pytest.raises(WebhookError):
            await sender.send_due(is_last_attempt=True)
        assert (await row())["failed_at"]
        assert await sender.send_due(is_last_attempt=False) == 0
        await connection.execute("update private.alarm_webhooks set failed_at = null")
        assert await sender.send_due(is_last_attempt=False) == 1
        assert (await row())["sent_at"]
