"""The audit log from outside: responses and logs name what was written, and a log shows what was cut."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import tuple_row

from functions.worker.audit_links import log_links
from launcher.database import audit_log
from launcher.terminal import Stop
from tests.support.people import Administrator, Member, People
from tests.support.stack import DEFAULT_ENV, Stack

Owner = psycopg.Connection[dict[str, Any]]
LINKED = "select c.seq from private.audit_chain as c where c.entry_id = %s"
FOUND_SECONDS = 20


class Rows:
    """What the comparison asks, inside a transaction of the test's own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def rows(self, sql: str) -> list[Any]:
        """Return the rows of a query."""
        return self.connection.execute(sql.encode()).fetchall()


@pytest.fixture
def insider(stack: Stack) -> Iterator[psycopg.Connection[Any]]:
    """Yield a superuser's transaction in which no trigger runs; nothing of it stays."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], row_factory=tuple_row) as connection:
        connection.execute("set local session_replication_role = replica")
        yield connection
        connection.rollback()


def stored(owner: Owner, identity: int) -> dict[str, Any]:
    """Return an entry as the database has it."""
    row = owner.execute(
        "select action, object_id, encode(hash, 'hex') as hash from private.audit_log where id = %s",
        [identity],
    ).fetchone()
    assert row
    return row


def log_of(name: str) -> Path:
    """Return a log of the stack."""
    return Path(os.environ.get("STACK_ENV", DEFAULT_ENV)).resolve().parent / "logs" / f"{name}.log"


def named_in(name: str, identity: int) -> audit_log.Named:
    """Return what a log names as soon as it names an entry."""
    end = time.monotonic() + FOUND_SECONDS
    while identity not in (named := audit_log.read(log_of(name))).entries:
        assert time.monotonic() < end, "the log does not name it"
        time.sleep(0.05)
    return named


def test_a_decision_names_its_entry_in_the_response_and_in_the_log(
    member: Member, finance: Administrator, owner: Owner
) -> None:
    deposit = member.deposit(50)
    (entry,) = finance.approve_deposit(deposit["id"]).raise_for_status().json()["audit_entries"]
    row = stored(owner, entry["id"])
    assert (row["action"], str(row["object_id"])) == ("deposit.approved", deposit["id"])
    assert row["hash"] == entry["hash"]
    assert named_in("edge", entry["id"]).entries[entry["id"]] == {entry["hash"]}


def test_an_approval_with_its_payout_names_both_entries_and_a_later_payout_its_own(
    people: People, referrer: Member, finance: Administrator, owner: Owner
) -> None:
    earner = people.member(referrer.profile_id)
    finance.approve_deposit(earner.deposit(1000)["id"]).raise_for_status()
    for _ in range(2):
        finance.approve_deposit(people.member(earner.profile_id).deposit(1000)["id"]).raise_for_status()
    ids = []
    for _ in range(2):
        asked = earner.insert("withdrawals", earner.withdrawal_row(100)).raise_for_status()
        ids.append(asked.json()[0]["id"])

    def approve(identity: str, **more: str) -> list[str]:
        body = {"withdrawalId": identity, "action": "approve", **more}
        response = finance.function("admin-approve-withdrawal", body).raise_for_status()
        return [stored(owner, entry["id"])["action"] for entry in response.json()["audit_entries"]]

    assert approve(ids[0], payoutReference="paid") == ["withdrawal.approved", "withdrawal.paid"]
    assert approve(ids[1]) == ["withdrawal.approved"]
    assert approve(ids[1], payoutReference="paid later") == ["withdrawal.paid"]


def test_a_new_administrator_names_the_entry_in_the_response_and_in_the_log(
    super_admin: Administrator, owner: Owner
) -> None:
    body = {"action": "create", "email": f"{os.urandom(4).hex()}@example.com", "role": "support_admin"}
    response = super_admin.function("admin-accounts", {**body, "fullName": "New"}).raise_for_status()
    (entry,) = response.json()["audit_entries"]
    assert stored(owner, entry["id"])["action"] == "admin.created"
    assert named_in("edge", entry["id"]).entries[entry["id"]] == {entry["hash"]}


def test_a_request_is_in_the_audit_log_as_the_member_made_it(member: Member, owner: Owner) -> None:
    deposit = member.deposit(50)
    row = owner.execute(
        "select actor, payload - '{request_id,receipt}'::text[] as payload from private.audit_log"
        " where action = 'deposit.requested' and object_id = %s",
        [deposit["id"]],
    ).fetchall()
    assert row == [
        {
            "actor": f"member:{member.user_id}",
            "payload": {
                "user_id": member.user_id,
                "amount": "50.00",
                "reference_number": deposit["reference_number"],
                "kind": "first",
            },
        }
    ]


@pytest.mark.threat("T130")
def test_what_is_written_is_linked_within_two_seconds_and_the_worker_logs_the_head(
    member: Member, finance: Administrator, owner: Owner
) -> None:
    deposit = member.deposit(50)
    (entry,) = finance.approve_deposit(deposit["id"]).json()["audit_entries"]
    # Committed by now: how long the decision itself took says nothing of the link.
    started = time.monotonic()
    while not (row := owner.execute(LINKED, [entry["id"]]).fetchone()):
        assert time.monotonic() - started < FOUND_SECONDS
        time.sleep(0.02)
    assert time.monotonic() - started < 2.5
    end = time.monotonic() + FOUND_SECONDS
    while max(audit_log.read(log_of("worker")).links, default=0) < row["seq"]:
        assert time.monotonic() < end, "the worker's log has no later head"
        time.sleep(0.05)


@pytest.mark.threat("T130")
def test_a_log_shows_which_entries_and_links_were_cut_or_changed(
    member: Member, finance: Administrator, owner: Owner, insider: psycopg.Connection[Any]
) -> None:
    (entry,) = finance.approve_deposit(member.deposit(50)["id"]).json()["audit_entries"]
    named = named_in("edge", entry["id"])
    named.links = audit_log.read(log_of("worker")).links
    last = max(named.links)
    assert audit_log.differences(Rows(insider), named) == []
    insider.execute("update private.audit_log set hash = '' where id = %s", [entry["id"]])
    insider.execute("update private.audit_chain set hash = '' where seq = %s", [last])
    assert audit_log.differences(Rows(insider), named) == [
        f"entry {entry['id']} is different",
        f"link {last} is different",
    ]
    insider.execute("delete from private.audit_chain where seq >= %s", [last])
    insider.execute("delete from private.audit_log where id >= %s", [entry["id"]])
    found = audit_log.differences(Rows(insider), named)
    assert f"entry {entry['id']} is missing" in found
    assert f"link {last} is missing" in found


@pytest.mark.threat("T130")
def test_a_log_that_names_two_hashes_of_one_number_shows_that_its_end_was_cut_and_written_anew(
    insider: psycopg.Connection[Any], tmp_path: Path
) -> None:
    """The chain agrees with the later one, for it went on from there."""
    query = "select seq, encode(hash, 'hex') as hash from private.audit_chain order by seq desc limit 1"
    head = insider.execute(query).fetchone()
    log = tmp_path / "worker.log"
    heads = [{"seq": head[0], "hash": "what was cut"}, {"seq": head[0], "hash": head[1]}]
    log.write_text("".join(f"{json.dumps({'audit_head': head})}\n" for head in heads))
    found = audit_log.differences(Rows(insider), audit_log.read(log))
    assert found == [f"link {head[0]} has 2 different hashes in the log"]


def test_no_reader_or_writer_waits_while_a_partition_is_made(stack: Stack, owner: Owner) -> None:
    """Two write and read, one of them uncommitted; the partition is rolled back."""
    url = stack.values["DATABASE_ADMIN_URL"]
    entry = "select private.audit('system', 'test.partition', null, null)"
    with psycopg.connect(url) as writer, psycopg.connect(url) as maker:
        writer.execute(entry)
        writer.execute("select count(*) from private.audit_log")
        maker.execute("set local lock_timeout = '5s'")
        maker.execute("select private.lock_audit_log()")
        maker.execute("select private.add_audit_partition()")
        owner.execute("set lock_timeout = '1s'")
        owner.execute(entry)
        owner.execute("select count(*) from private.audit_log")
        owner.execute("reset lock_timeout")
        writer.execute(entry)
        writer.commit()
        maker.rollback()


def test_a_log_is_read_whatever_else_stands_in_it(tmp_path: Path) -> None:
    log = tmp_path / "edge.log"
    log.write_text(
        'no JSON "audit_entries"\n{"audit_entries": null}\n["audit_entries"]\n{"audit_entries": cut\n'
        'prefix {"audit_entries": [{"id": 7, "hash": "ab"}], "audit_head": {"seq": 3, "hash": "cd"}}\n'
    )
    named = audit_log.read(log)
    assert (named.entries, named.links) == ({7: {"ab"}}, {3: {"cd"}})
    with pytest.raises(Stop, match="audit-log-check LOG="):
        audit_log.read(tmp_path)


def test_the_worker_logs_a_head_and_an_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        log_links({})
        log_links({"audit_head": {"seq": 1, "hash": "ab"}})
        log_links({"error": "23514"})
    lines = [(record.levelname, record.__dict__["fields"]) for record in caplog.records]
    assert lines == [
        ("INFO", {"audit_head": {"seq": 1, "hash": "ab"}}),
        ("ERROR", {"error": "23514"}),
    ]
