"""Alarms on the running stack: from a figure changed behind the product's back to the decision that waits."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from functions.worker.disks import measure_disks
from functions.worker.jobs import blueprint
from functions.worker.sql_functions import call
from tests.api.test_worker import until
from tests.support.mail import Mailbox
from tests.support.people import Administrator, Member, People
from tests.support.rollback_pool import RollbackPool, rolled_back
from tests.support.stack import Stack

Owner = psycopg.Connection[dict[str, Any]]
PROBLEM = "A member's totals are not the sums of the bonuses and withdrawals, so the balance is wrong."
MISCOUNT = "update private.totals set reentry_amount = reentry_amount + %s where user_id = %s"


@pytest.fixture
def miscounted(people: People, referrer: Member, finance: Administrator, owner: Owner) -> Iterator[Member]:
    """Yield a member whose totals are wrong until the test ends; no e-mail about alarms was sent lately."""
    member = people.earner(referrer.profile_id, finance)
    owner.execute("update private.alarm_mail_state set mailed_at = null")
    owner.execute(MISCOUNT, [1, member.user_id])
    try:
        yield member
    finally:
        owner.execute(MISCOUNT, [-1, member.user_id])
        owner.execute("select jobs.check_ledger()")


def alarm_of(administrator: Administrator, member: Member, status: str = "open") -> dict[str, Any] | None:
    """Return the alarm that names the member, as the page reads it."""
    filters = {"status": status, "pageSize": 500}
    items = administrator.rpc("list_alarms", {"p_filters": filters}).raise_for_status().json()["items"]
    return next((item for item in items if item["username"] == member.username), None)


def acknowledge(administrator: Administrator, alarm: dict[str, Any], reason: str = "Known.") -> Any:
    return administrator.rpc("acknowledge_alarm", {"p_id": alarm["id"], "p_reason": reason})


@pytest.mark.long
@pytest.mark.alone
def test_a_violation_reaches_people_and_stops_decisions_until_it_is_understood(
    miscounted: Member,
    member: Member,
    finance: Administrator,
    super_admin: Administrator,
    support: Administrator,
    owner: Owner,
    mailbox: Mailbox,
) -> None:
    # The worker's own minute, not a call of this test.
    alarm = until(lambda: alarm_of(finance, miscounted), 130)
    assert (alarm["rule"], alarm["problem"], alarm["stops"]) == ("I07", PROBLEM, "member")
    for administrator in (finance, super_admin):
        message = mailbox.wait_for(administrator.email, "alarm", 90)
        assert PROBLEM in message["text"]
        assert f"Member: {miscounted.username}." in message["text"]
        assert "/admin/alarms" in message["text"]
    assert not [message for message in mailbox.to(support.email) if "alarm" in message["subject"]]

    withdrawal = miscounted.insert("withdrawals", miscounted.withdrawal_row(100)).raise_for_status().json()[0]
    body = {"withdrawalId": withdrawal["id"], "action": "approve"}
    stopped = finance.function("admin-approve-withdrawal", body)
    assert (stopped.status_code, stopped.json()["code"]) == (409, "ledger_alarm")
    assert PROBLEM in stopped.json()["error"]
    cancelled = miscounted.rpc("cancel_request", {"p_id": withdrawal["id"]})
    assert (cancelled.status_code, cancelled.json()["code"]) == (409, "ledger_alarm")
    assert "contact support" in cancelled.json()["message"]
    other = member.deposit(50)
    finance.approve_deposit(other["id"]).raise_for_status()

    assert acknowledge(finance, alarm).status_code == 403
    assert acknowledge(super_admin, alarm, " ").json()["code"] == "invalid_reason"
    acknowledge(super_admin, alarm).raise_for_status()
    seen = alarm_of(support, miscounted)
    assert seen
    assert (seen["stops"], seen["reason"]) == (None, "Known.")
    assert seen["acknowledged_by_name"]
    owner.execute(
        "select private.raise_alarm('ledger_violation', %s, %s, '{\"rows\": 2}')",
        [alarm["object"], miscounted.user_id],
    )
    assert finance.function("admin-approve-withdrawal", body).json()["code"] == "ledger_alarm"
    changed = alarm_of(super_admin, miscounted)
    assert changed
    assert changed["id"] != alarm["id"]
    owner.execute(MISCOUNT, [-1, miscounted.user_id])
    try:
        owner.execute("select jobs.check_ledger()")
        assert alarm_of(finance, miscounted) is None
        assert alarm_of(finance, miscounted, "ended")
        finance.function("admin-approve-withdrawal", body).raise_for_status()
    finally:
        owner.execute(MISCOUNT, [1, miscounted.user_id])


def test_alarms_are_looked_for_every_minute() -> None:
    tasks = blueprint.periodic_registry.periodic_tasks.values()
    every_minute = {each.task.name for each in tasks if each.cron == "* * * * *"}
    assert {"check_alarms", "check_books"} <= every_minute


def test_disks_are_measured_by_name_and_one_that_is_not_there_is_left_out() -> None:
    (disk,) = measure_disks({"the receipts": "/", "lost": "/no/such/folder"})
    assert disk["folder"] == "the receipts"
    assert 0 < disk["percent"] < 100


async def test_a_full_disk_is_an_alarm(stack: Stack) -> None:
    disks = json.dumps(measure_disks({"the receipts": "/"}))
    async with rolled_back(stack) as connection:
        pool = RollbackPool(connection)
        for full, open_ones in ((101, None), (1, 1)):
            await call(pool, "check_disks", disks, full, full + 1)
            assert (await call(pool, "check_alarms")).get("disk") == open_ones


@pytest.mark.long
@pytest.mark.alone
def test_a_given_up_job_is_an_alarm_until_it_works_again(
    finance: Administrator, owner: Owner, admin_db: psycopg.Connection[Any]
) -> None:
    def dead_job(status: str = "open") -> Any:
        alarms = finance.rpc("list_alarms", {"p_filters": {"status": status}}).raise_for_status()
        return next((item for item in alarms.json()["items"] if item["kind"] == "dead_job"), None)

    # As procrastinate leaves a job that was given up; the worker runs another of its task each minute.
    job = admin_db.execute(
        "insert into procrastinate.procrastinate_jobs (queue_name, task_name, status, attempts)"
        " values ('default', 'product:fold_counters', 'failed', 4) returning id"
    ).fetchone()
    assert job
    try:
        admin_db.execute(
            "insert into procrastinate.procrastinate_events (job_id, type, at) values (%s, 'failed', now())",
            [job[0]],
        )
        raised = owner.execute("select jobs.check_alarms() as open").fetchone()
        assert raised
        assert raised["open"]["dead_job"]
        # The worker may have run the task by now, and so ended the alarm.
        alarm = dead_job() or dead_job("ended")
        assert alarm
        assert alarm["problem"] == "The job fold_counters failed and was given up."
        until(lambda: dead_job() is None, 130)
        owner.execute("select jobs.check_alarms()")
        assert dead_job() is None
    finally:
        admin_db.execute("delete from procrastinate.procrastinate_jobs where id = %s", [job[0]])
