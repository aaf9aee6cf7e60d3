"""The worker: a notification of a transaction arrives once, whatever happens to the process."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from functions.core.database import make_pool
from functions.worker import job_queue
from functions.worker.audit_heads import AuditHeads
from functions.worker.jobs import blueprint
from functions.worker.receipts import UnusedReceipts
from functions.worker.settings import WorkerSettings
from tests.support.mail import Mailbox
from tests.support.people import Administrator, ApiClient, Member, People
from tests.support.rollback_pool import RollbackPool, rolled_back
from tests.support.stack import DEFAULT_ENV, Stack

Owner = psycopg.Connection[dict[str, Any]]


def worker_of(stack: Stack) -> int | None:
    """Return the process id of this stack's worker: it holds the address of this stack's database."""
    database = f":{urlsplit(stack.database_url).port}/"
    for process in Path("/proc").iterdir():
        try:
            arguments = (process / "cmdline").read_bytes().split(b"\0")
            variables = dict(
                line.split("=", 1) for line in (process / "environ").read_text().split("\0") if "=" in line
            )
        except (OSError, ValueError):
            continue
        if b"functions.worker" in arguments and database in variables.get("DATABASE_URL", ""):
            return int(process.name)
    return None


def kill(stack: Stack) -> None:
    """End the worker without a word, as a crash would."""
    process = worker_of(stack)
    if process:
        os.kill(process, signal.SIGKILL)


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Wait until something is there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def test_a_decision_is_mailed_with_its_reason(
    member: Member, finance: Administrator, mailbox: Mailbox
) -> None:
    deposit = member.deposit(50)
    body = {"depositId": deposit["id"], "action": "reject", "reason": "The amount differs <b>here</b>."}
    started = time.monotonic()
    finance.function("admin-approve-deposit", body).raise_for_status()
    message = mailbox.wait_for(member.email, "deposit")
    assert time.monotonic() - started < 10, "due mail is looked for every second"
    assert "The amount differs <b>here</b>." in message["text"]
    assert "The amount differs &lt;b&gt;here&lt;/b&gt;." in message["html"]
    assert member.username in message["text"] or "Test Person" in message["text"]


@pytest.mark.alone
def test_a_mail_written_while_the_worker_is_dead_arrives_once(
    stack: Stack, member: Member, finance: Administrator, owner: Owner, mailbox: Mailbox
) -> None:
    deposit = member.deposit(50)
    kill(stack)
    finance.approve_deposit(deposit["id"]).raise_for_status()
    mailbox.wait_for(member.email, "approved", seconds=90)
    unsent = "select 1 from private.outbox where recipient = %s and sent_at is null"
    until(lambda: not owner.execute(unsent, [member.email]).fetchall())
    messages = [message for message in mailbox.to(member.email) if "approved" in message["subject"].lower()]
    assert len(messages) == 1


@pytest.mark.alone
def test_killing_the_worker_again_and_again_loses_nothing(
    people: People, referrer: Member, finance: Administrator, stack: Stack, owner: Owner, mailbox: Mailbox
) -> None:
    members = [people.member(referrer.profile_id) for _ in range(6)]
    deposits = [member.deposit(50) for member in members]
    for number, deposit in enumerate(deposits):
        finance.approve_deposit(deposit["id"]).raise_for_status()
        time.sleep(0.02 * number)
        kill(stack)
    # What a dead worker had taken comes back when its lease ends: not waited for here.
    owner.execute(
        "update private.outbox set leased_until = now() where sent_at is null and failed_at is null"
    )
    for member in members:
        mailbox.wait_for(member.email, "approved", seconds=90)
        names = {
            message["messageId"] for message in mailbox.to(member.email) if "approved" in message["subject"]
        }
        assert len(names) == 1, "a second copy is the same e-mail"


def outbox_row(owner: Owner, address: str) -> dict[str, Any]:
    row = owner.execute("select * from private.outbox where recipient = %s", [address]).fetchone()
    assert row
    return row


def test_an_email_that_cannot_be_rendered_is_tried_again_later_and_then_given_up(owner: Owner) -> None:
    address = f"broken-{time.time_ns()}@example.com"
    insert = "insert into private.outbox (template, recipient, data) values ('deposit_approved', %s, '{}')"
    owner.execute(insert, [address])
    row = until(lambda: outbox_row(owner, address)["last_error"] and outbox_row(owner, address))
    assert row["attempts"] == 1
    assert row["failed_at"] is None
    assert row["next_attempt_at"] > row["created_at"]
    owner.execute(
        "update private.outbox set attempts = 11, next_attempt_at = now() where recipient = %s", [address]
    )
    until(lambda: outbox_row(owner, address)["failed_at"])


def test_the_timetable_runs_on_time(owner: Owner) -> None:
    def checked_recently() -> Any:
        # After a long check the next one waits: no more than a tenth of the time goes into them.
        return owner.execute(
            "select from private.ledger_check_state where checked_at > now() - interval '2 minutes'"
            " - case when check_duration > '3 seconds' then check_duration * 9 else '0' end"
        ).fetchall()

    assert until(checked_recently, 90)


def test_jobs_run_again_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    class Queue:
        async def run_worker_async(self, **_: Any) -> None:
            runs.append("begun")
            if len(runs) == 1:
                await asyncio.Event().wait()

    clock = chain([1000.0, 1000.0, 1030.0, 971.0], repeat(969.0))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    monkeypatch.setattr(job_queue, "LOOK_AT_CLOCK_SECONDS", 0.0)
    queue: Any = Queue()
    resources: Any = SimpleNamespace(settings=SimpleNamespace(keeps_files=True))
    assert asyncio.run(job_queue.run_until_set_back(queue, resources)) is True
    assert asyncio.run(job_queue.run_until_set_back(queue, resources)) is False
    assert runs == ["begun", "begun"]


def test_a_clock_that_was_set_back_holds_up_no_job(stack: Stack) -> None:
    name = f"test-{time.time_ns()}"
    url = make_conninfo(stack.values["DATABASE_ADMIN_URL"], options=job_queue.SEARCH_PATH)

    async def purge() -> None:
        async with make_pool(url, 1, "test") as pool:
            await job_queue.purge_later_runs(pool)

    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(
            "insert into procrastinate_periodic_defers (task_name, defer_timestamp, periodic_id)"
            " select %s, extract(epoch from now()) + n, '' from unnest(array[-60, 3600]) as n",
            [name],
        )
        owner.execute(
            "insert into procrastinate_jobs (queue_name, task_name, args, scheduled_at)"
            " select 'nobody', %s, '{}', now() + n * interval '1 minute' from unnest(array[5, 60]) as n",
            [name],
        )
        asyncio.run(purge())
        defers = "select from procrastinate_periodic_defers where task_name = %s"
        assert len(owner.execute(defers, [name]).fetchall()) == 1
        waiting = "select from procrastinate_jobs where task_name = %s and scheduled_at is not null"
        assert len(owner.execute(waiting, [name]).fetchall()) == 1
        owner.execute("delete from procrastinate_periodic_defers where task_name = %s", [name])
        owner.execute("delete from procrastinate_jobs where task_name = %s", [name])


def worker_settings(stack: Stack, audit_heads_path: Path) -> WorkerSettings:
    return WorkerSettings(
        audit_heads_path=audit_heads_path,
        database_url=stack.values["DATABASE_ADMIN_URL"],
        smtp_host="127.0.0.1",
        mail_from="Test <test@example.com>",
        site_url=stack.url,
        storage_internal_url=f"{stack.url}/storage/v1",
        supabase_service_role_key=stack.service_key,
    )


async def remove_unused(stack: Stack) -> int:
    settings = worker_settings(stack, Path("unused"))
    async with make_pool(settings.database_url, 2, "test") as pool:
        return await UnusedReceipts(pool, settings).remove()


def versions_of_bytes() -> set[str]:
    """Return the versions whose bytes lie in the stack's folder."""
    folder = Path(os.environ.get("STACK_ENV", DEFAULT_ENV)).resolve().parent / "objects"
    return {path.name for path in folder.rglob("*") if path.is_file()}


def aged(owner: Owner, name: str, age: str) -> str:
    """Age an uploaded receipt; return its version, under which its bytes are stored."""
    row = owner.execute(
        "update storage.objects set created_at = now() - %s::interval where name = %s returning version",
        [age, name],
    ).fetchone()
    assert row
    return str(row["version"])


@pytest.mark.threat("T97", "T101")
async def test_receipts_that_no_deposit_used_go_after_a_day_with_their_bytes(
    stack: Stack, member: Member, owner: Owner
) -> None:
    def name() -> str:
        return member.receipt().partition("/receipts/")[2]

    used = member.deposit(50)["receipt_url"].partition("/receipts/")[2]
    unused, fresh = name(), name()
    versions = {aged(owner, used, "40 days"), aged(owner, fresh, "23 hours")}
    deleted = aged(owner, unused, "25 hours")
    assert await remove_unused(stack) >= 1
    rows = owner.execute("select name from storage.objects where name like %s", [f"{member.user_id}/%"])
    assert {row["name"] for row in rows} == {used, fresh}
    stored = versions_of_bytes()
    assert versions <= stored
    assert deleted not in stored


async def test_old_messages_go_each_night_however_many(stack: Stack) -> None:
    """More than one transaction deletes."""
    (nightly,) = (
        each
        for each in blueprint.periodic_registry.periodic_tasks.values()
        if each.task.name == "purge_messages"
    )
    assert nightly.cron == "10 3 * * *"
    async with rolled_back(stack) as connection:
        await connection.execute(
            "insert into private.admin_notices (kind, title, body, created_at) "
            "select 'old', 'Title', 'Body', now() - interval '13 months' from generate_series(1, 50001)"
        )
        resources = SimpleNamespace(pool=RollbackPool(connection))
        await nightly.task.func(SimpleNamespace(additional_context={"resources": resources}), 0)
        left = await connection.execute("select from private.admin_notices where kind = 'old'")
        assert left.rowcount == 0


def test_a_receipt_of_a_deposit_cannot_be_removed_by_anybody(
    stack: Stack, member: Member, owner: Owner
) -> None:
    name = member.deposit(50)["receipt_url"].partition("/receipts/")[2]
    service = ApiClient(stack, stack.service_key)
    for verb, path, body in (
        ("DELETE", "/object/receipts", {"prefixes": [name]}),
        ("DELETE", f"/object/receipts/{name}", None),
    ):
        response = service.http.request(verb, f"/storage/v1{path}", json=body)
        assert (response.status_code, response.json()["statusCode"]) == (400, "403"), response.text
    assert service.http.get(f"/storage/v1/object/receipts/{name}").status_code == 200


def test_a_receipt_is_named_or_removed_and_never_both(stack: Stack, member: Member, owner: Owner) -> None:
    """Ten rounds: a deposit names the receipt that is being removed."""
    service = ApiClient(stack, stack.service_key)
    for _ in range(10):
        row = member.deposit_row(50)
        name = row["receipt_url"].partition("/receipts/")[2]
        with ThreadPoolExecutor(2) as both:
            named = both.submit(member.insert, "deposits", row)
            removed = both.submit(
                service.http.request, "DELETE", "/storage/v1/object/receipts", json={"prefixes": [name]}
            )
        there = owner.execute("select 1 from storage.objects where name = %s", [name]).fetchone()
        assert (
            (named.result().status_code == 201)
            == (there is not None)
            == (removed.result().status_code != 200)
        )
        for deposit in member.rows("deposits", "status=eq.pending").json():
            member.rpc("cancel_request", {"p_id": deposit["id"]}).raise_for_status()
        owner.execute(
            "update storage.objects set created_at = now() - interval '2 hours' where name like %s",
            [f"{member.user_id}/%"],
        )


@pytest.mark.threat("T130")
async def test_an_audit_row_that_was_anchored_and_deleted_is_found(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "audit-heads"
    async with rolled_back(stack) as connection:

        async def audit_rule() -> bool:
            await connection.execute("update private.ledger_check_state set check_duration = '0'")
            row = await (await connection.execute("select jobs.check_ledger() ? 'I26' as broken")).fetchone()
            assert row
            return bool(row["broken"])

        heads = AuditHeads(RollbackPool(connection), path)
        assert await heads.check() == {}, "there is no copy yet"
        head = await heads.copy()
        assert json.loads(path.read_text()) == head
        assert await heads.check() == {}
        assert not await audit_rule()
        # As if rows had existed an hour ago that were deleted since.
        with path.open("a") as file:
            file.write(json.dumps({"seq": head["seq"] + 1_000_000, "hash": "00"}) + "\n")
        assert await heads.check() == {"audit_row": head["seq"] + 1_000_000}
        assert await audit_rule(), "administrators and `make status` see it with the ledger checks"


async def test_while_nothing_can_be_linked_an_old_entry_is_an_alarm_and_no_request_waits(
    stack: Stack, member: Member, finance: Administrator, owner: Owner
) -> None:
    lock = "select pg_advisory_xact_lock(private.lock_key('audit_log'))"
    with owner.transaction():
        owner.execute(lock)
        deposit = member.deposit(50)
        (entry,) = finance.approve_deposit(deposit["id"]).raise_for_status().json()["audit_entries"]
        async with rolled_back(stack) as connection:
            await connection.execute(
                "select private.audit("
                "'system', 'test.late', null, null, '{}', clock_timestamp() - interval '1 hour')"
            )
            row = await (await connection.execute("select jobs.link_audit_entries() as result")).fetchone()
            assert row
            assert "error" in row["result"]
            alarms = await connection.execute(
                "select object, user_id from private.alarms where kind = 'audit_entry' and ended_at is null"
            )
            assert await alarms.fetchall() == [{"object": "not linked", "user_id": None}]
    linked = "select 1 from private.audit_chain where entry_id = %s"
    until(lambda: owner.execute(linked, [entry["id"]]).fetchone())


@pytest.mark.threat("T130")
def test_an_entry_that_is_committed_late_is_linked_after_those_that_were_written_later(
    stack: Stack, owner: Owner
) -> None:
    final = "select final_id from private.audit_state"
    linked = "select seq from private.audit_chain where entry_id = %s"
    write = "select private.audit('system', %s, null, null)"
    newest = "select max(id) as id from private.audit_log where action = %s"

    def entry(connection: psycopg.Connection[Any], action: str) -> int:
        connection.execute(write, [action])
        row = connection.execute(newest, [action]).fetchone()
        assert row
        return int(row["id"])

    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], row_factory=owner.row_factory) as late:
        first = entry(late, "test.first")
        for _ in range(3):
            second = entry(owner, "test.second")
            before = until(lambda: owner.execute(linked, [second]).fetchone())  # noqa: B023
            assert owner.execute(final).fetchone()["final_id"] <= first  # type: ignore[index]
            assert late.execute("select private.verify_audit_chain()").fetchall() == []
        late.commit()
    after = until(lambda: owner.execute(linked, [first]).fetchone())
    assert after["seq"] > before["seq"]
    # It waits for every transaction of the server that had begun before, those of other tests too.
    until(lambda: owner.execute(f"{final} where final_id >= {second}").fetchone(), 120)
    assert owner.execute("select private.verify_audit_chain()").fetchall() == []
