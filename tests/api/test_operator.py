"""What the operator does through the functions: settings, accounts, the audit log, files, outgoing email."""

import csv
import io
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from functions.worker.emails import EmailTemplate
from functions.worker.jobs import blueprint
from functions.worker.sql_functions import call
from tests.api.test_worker import worker_settings
from tests.support.mail import Mailbox
from tests.support.people import Administrator, Member, People
from tests.support.rollback_pool import RollbackPool, rolled_back
from tests.support.stack import Stack

Owner = psycopg.Connection[dict[str, Any]]
FORMULAS = ("=HYPERLINK(1)", "+1+1", "-1+1", "@SUM(1)", "\tcmd")


@pytest.mark.alone
def test_a_setting_keeps_its_type_and_limits(super_admin: Administrator, owner: Owner) -> None:
    def change(value: Any, key: str = "review.due_hours") -> Any:
        return super_admin.function("admin-settings", {"action": "change", "key": key, "value": value})

    assert change(47).json()["setting"] == {"key": "review.due_hours", "value": 47}
    for wrong in (0, "48", None, [48], 4.5, 10**30):
        assert change(wrong).status_code == 400, wrong
    assert change(False, "demo").status_code == 403
    value = owner.execute("select value from private.settings where key = 'review.due_hours'").fetchone()
    assert value == {"value": 47}
    assert change(48).status_code == 200


def test_a_seeded_installation_never_leaves_demo_mode(super_admin: Administrator) -> None:
    readiness = super_admin.function("admin-settings", {"action": "readiness"}).json()
    assert (readiness["demo"], readiness["ready"]) == (True, False)
    seeded = next(item for item in readiness["items"] if item["item"] == "never_seeded")
    assert seeded["ok"] is False
    response = super_admin.function("admin-settings", {"action": "leave_demo"})
    assert (response.status_code, response.json()["code"]) == (409, "not_ready")
    assert "Sample data was loaded here." in response.json()["error"]


def test_a_test_mail_arrives(super_admin: Administrator, mailbox: Mailbox) -> None:
    super_admin.function("admin-settings", {"action": "send_test_mail"}).raise_for_status()
    mailbox.wait_for(super_admin.email, "Outgoing email works")


DEPOSIT_ADDRESS = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


@pytest.fixture
def few(people: People, super_admin: Administrator, finance: Administrator, owner: Owner) -> Iterator[None]:
    """Notify only these two: every administrator of another test would get an email."""
    found = owner.execute(
        "select id::text as id from private.admin_users"
        " where is_active and email like '%%@example.com' and id <> all(%s::uuid[])",
        [[super_admin.admin_id, finance.admin_id]],
    ).fetchall()
    others = [row["id"] for row in found]
    people.switch_administrators(others, is_active=False)
    yield
    people.switch_administrators(others, is_active=True)


@pytest.mark.alone
@pytest.mark.threat("T121")
@pytest.mark.usefixtures("few")
def test_a_new_deposit_address_is_shown_recorded_and_notified_to_every_administrator(
    super_admin: Administrator, finance: Administrator, member: Member, owner: Owner, mailbox: Mailbox
) -> None:
    def change(who: Administrator, address: str) -> Any:
        return who.function(
            "admin-settings", {"action": "change", "key": "deposit.address", "value": address}
        )

    def shown() -> Any:
        response = member.rpc("get_deposit_options").raise_for_status()
        assert response.headers["cache-control"] == "no-store"
        return response.json()["deposit_address"]

    before = shown()
    assert change(finance, DEPOSIT_ADDRESS).status_code == 403
    assert change(super_admin, DEPOSIT_ADDRESS[:-1] + "u").status_code == 400
    assert shown() == before
    try:
        changed = change(super_admin, DEPOSIT_ADDRESS).raise_for_status()
        assert shown() == DEPOSIT_ADDRESS
        message = mailbox.wait_for(finance.email, "deposit address")
        assert before in message["text"]
        assert DEPOSIT_ADDRESS in message["text"]
        recorded = owner.execute(
            "select actor, payload from private.audit_log where action = 'setting.changed'"
            " and payload ->> 'key' = 'deposit.address' order by id desc limit 1"
        ).fetchone()
        assert recorded
        assert recorded["actor"] == f"admin:{super_admin.admin_id}"
        assert DEPOSIT_ADDRESS in recorded["payload"]["after"]
        assert recorded["payload"]["actor_role"] == "super_admin"
        assert recorded["payload"]["request_id"] == changed.headers["x-request-id"]
    finally:
        change(super_admin, before).raise_for_status()


@pytest.mark.threat("T121")
async def test_an_address_changed_past_the_record_is_an_alarm_within_two_minutes(
    stack: Stack, super_admin: Administrator
) -> None:
    kind, settings = "deposit_address_unexpected", worker_settings(stack, Path("unused"))
    async with rolled_back(stack) as connection:
        stored = await connection.execute("select private.setting_text('deposit.address') as address")
        before = (await stored.fetchone() or {})["address"]
        await connection.execute("delete from private.admin_notices where kind = %s", [kind])
        await connection.execute(
            "update private.settings set value = %s where key = 'deposit.address'", [Jsonb(DEPOSIT_ADDRESS)]
        )
        wrong = await call(RollbackPool(connection), "check_deposit_address", None)
        written = await connection.execute(
            "select * from private.outbox where recipient = %s and template = %s", [super_admin.email, kind]
        )
        email = EmailTemplate(settings.mail_from, settings.site_url).render(await written.fetchone())
    assert wrong == {"shown": DEPOSIT_ADDRESS, "recorded": before}
    assert "not the expected one" in email["subject"]
    text = email.get_body(("plain",)).get_content()
    assert DEPOSIT_ADDRESS in text
    assert before in text
    tasks = blueprint.periodic_registry.periodic_tasks.values()
    every_minute = {each.task.name for each in tasks if each.cron == "* * * * *"}
    assert "check_deposit_address" in every_minute


def test_an_account_from_its_first_password_to_its_end(people: People, super_admin: Administrator) -> None:
    def accounts(**body: Any) -> Any:
        return super_admin.function("admin-accounts", body)

    email = f"new-{secrets.token_hex(4)}@example.com"
    made = accounts(action="create", email=email, fullName="New Person", role="support_admin")
    assert made.status_code == 200, made.text
    identity, first = made.json()["administrator"]["id"], made.json()["password"]
    assert "password_hash" not in made.text
    assert "argon2" not in made.text
    person = people.sign_in_administrator(email, first)
    assert person.function("admin-list-deposits").status_code == 200

    again = accounts(action="create", email=email.upper(), fullName="Again", role="support_admin")
    assert (again.status_code, again.json()["code"]) == (409, "email_taken")
    second = accounts(action="reset_password", adminId=identity).json()["password"]
    assert person.function("admin-list-deposits").status_code == 401, "the session ended"
    person = people.sign_in_administrator(email, second)

    accounts(action="update", adminId=identity, role="finance_admin").raise_for_status()
    assert person.function("admin-list-deposits").status_code == 401, "another role is another sign-in"
    person = people.sign_in_administrator(email, second)
    accounts(action="update", adminId=identity, isActive=False).raise_for_status()
    assert person.function("admin-list-deposits").status_code == 401
    listed = accounts(action="list").json()["administrators"]
    assert next(row for row in listed if row["id"] == identity)["is_active"] is False


@pytest.mark.threat("T66")
def test_an_administrator_cannot_change_the_own_role(super_admin: Administrator) -> None:
    body = {"action": "update", "adminId": super_admin.admin_id, "role": "finance_admin"}
    response = super_admin.function("admin-accounts", body)
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("email", ["", "nobody", "a b@example.com", "x@", "@example.com"])
def test_an_account_needs_an_address(super_admin: Administrator, email: str) -> None:
    body = {"action": "create", "email": email, "fullName": "X", "role": "support_admin"}
    response = super_admin.function("admin-accounts", body)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_input")


def test_the_audit_log_knows_who_decided(
    member: Member, finance: Administrator, super_admin: Administrator, support: Administrator
) -> None:
    deposit = member.deposit(50)
    finance.approve_deposit(deposit["id"]).raise_for_status()
    found = super_admin.function("admin-audit", {"objectId": deposit["id"]}).json()
    assert [entry["action"] for entry in found["entries"]] == ["deposit.approved", "deposit.requested"]
    assert found["entries"][0]["actor_name"] == "Test finance_admin"
    assert support.function("admin-audit", {"objectId": deposit["id"]}).json()["entries"] == []


@pytest.mark.threat("T127")
def test_a_file_that_no_spreadsheet_runs(
    people: People, referrer: Member, finance: Administrator, support: Administrator
) -> None:
    member = people.member(referrer.profile_id)
    marks = [f"{formula} {secrets.token_hex(8)}" for formula in FORMULAS]
    for mark in marks:
        row = member.deposit_row(50, reference_number=mark)
        member.insert("deposits", row).raise_for_status()
    body = {"list": "deposits", "filters": {"search": member.username, "sort": "created_at.asc"}}
    response = finance.export(body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["amount"] for row in rows] == ["50.00"] * len(marks)
    for row, mark in zip(rows, marks, strict=True):
        assert row["reference_number"] == f"'{mark}" or not mark[0].isprintable()
        assert row["reference_number"][0] not in "=+-@\t"
    assert support.export(body).status_code == 403


@pytest.mark.threat("T127")
def test_negative_amounts_stay_numbers(
    people: People, referrer: Member, finance: Administrator, count_rows: Callable[[str], int]
) -> None:
    earner = people.earner(referrer.profile_id, finance)
    earner.insert("withdrawals", earner.withdrawal_row(100)).raise_for_status()
    body = {"list": "transactions", "filters": {"search": earner.username, "type": "withdrawal"}}
    rows = list(csv.DictReader(io.StringIO(finance.export(body).text)))
    assert [row["amount"] for row in rows] == ["-100.00"]
    assert (
        count_rows(f"private.audit_log where action = 'list.exported' and actor = 'admin:{finance.admin_id}'")
        >= 1
    )


def test_the_file_says_what_was_voided_or_paid(
    people: People, referrer: Member, finance: Administrator, super_admin: Administrator
) -> None:
    earner = people.earner(referrer.profile_id, finance)
    recalled, paid = (
        earner.insert("withdrawals", earner.withdrawal_row(amount)).raise_for_status().json()[0]["id"]
        for amount in (100, 110)
    )
    for withdrawal, reference in ((recalled, None), (paid, "transfer-1")):
        decision = {"withdrawalId": withdrawal, "action": "approve", "payoutReference": reference}
        finance.function("admin-approve-withdrawal", decision).raise_for_status()
    void = {"kind": "void_withdrawal", "targetId": recalled, "reason": "The wallet refused it."}
    proposed = super_admin.function("admin-propose-correction", void).raise_for_status().json()
    confirmation = {"correctionId": proposed["correction"]["id"]}
    finance.function("admin-confirm-correction", confirmation).raise_for_status()
    body = {"list": "withdrawals", "filters": {"search": earner.username, "sort": "amount.asc"}}
    rows = list(csv.DictReader(io.StringIO(finance.export(body).text)))
    exported = [(row["status"], bool(row["voided_at"]), row["payout_reference"]) for row in rows]
    assert exported == [("approved", True, ""), ("approved", False, "transfer-1")]


def test_a_mail_that_was_given_up_is_sent_once_more(
    super_admin: Administrator, owner: Owner, mailbox: Mailbox
) -> None:
    address = f"late-{secrets.token_hex(4)}@example.com"
    owner.execute(
        "insert into private.outbox (template, recipient, data, attempts, failed_at, last_error) "
        "values ('test_mail', %s, %s, 12, now(), 'refused')",
        [address, Jsonb({"title": "Late", "body": "Here after all."})],
    )
    jobs = super_admin.function("admin-jobs", {"action": "list"}).json()
    failed = next(mail for mail in jobs["failed"] if mail["recipient"] == address)
    retry = {"action": "retry_mail", "id": failed["id"]}
    assert super_admin.function("admin-jobs", retry).json() == {"success": True}
    mailbox.wait_for(address, "Late")


def test_a_job_that_failed_for_good_is_shown(super_admin: Administrator, stack: Stack) -> None:
    task = f"test_{secrets.token_hex(4)}"
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as database:
        database.execute("set search_path = procrastinate")
        found = database.execute(
            "insert into procrastinate_jobs (queue_name, task_name, status, attempts)"
            " values ('default', %s, 'failed', 4) returning id",
            [task],
        ).fetchone()
        assert found
        try:
            event = "insert into procrastinate_events (job_id, type, at) values (%s, 'failed', '2026-03-01Z')"
            database.execute(event, found)
            jobs = super_admin.function("admin-jobs", {"action": "list"}).raise_for_status().json()
        finally:
            database.execute("delete from procrastinate_jobs where id = %s", found)
    shown = [job for job in jobs["failed_jobs"] if job["task"] == task]
    assert shown == [{"task": task, "attempts": 4, "attempted_at": "2026-03-01T00:00:00+00:00"}]


def test_the_own_password_is_changed_not_reset(super_admin: Administrator) -> None:
    body = {"action": "reset_password", "adminId": super_admin.admin_id}
    response = super_admin.function("admin-accounts", body)
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")
