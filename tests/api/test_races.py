"""Race conditions: what must hold when requests and decisions arrive at the same moment.

Every round releases its threads from a barrier. Each test verifies the responses by reading as the owner.
"""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.people import Administrator, Member, People
from tests.support.stack import Stack

Owner = psycopg.Connection[dict[str, Any]]
T = TypeVar("T")
# One that fails before the start lets the others fail too; they would wait for it for ever.
START_SECONDS = 30
BALANCE = 1100


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run all calls at the same moment and return their responses in order.

    A person has three places at PostgREST: what comes while none is free is sent again, as a client would.
    """
    barrier = threading.Barrier(len(calls), timeout=START_SECONDS)

    def run(call: Callable[[], T]) -> T:
        barrier.wait()
        until = time.monotonic() + START_SECONDS
        while (response := call()) and _came_too_soon(response) and time.monotonic() < until:
            time.sleep(0.05)
        return response

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def _came_too_soon(response: object) -> bool:
    return (
        isinstance(response, httpx.Response) and response.status_code == 429 and "under way" in response.text
    )


def statuses(responses: Sequence[httpx.Response]) -> dict[int, int]:
    """Count the responses by status."""
    found: dict[int, int] = {}
    for response in responses:
        found[response.status_code] = found.get(response.status_code, 0) + 1
    return found


def one(owner: Owner, query: str, *arguments: object) -> Any:
    """Return the single value of a query, read as the owner."""
    row = owner.execute(query, arguments).fetchone()
    assert row is not None
    return next(iter(row.values()))


@pytest.fixture
def earner(people: People, referrer: Member, finance: Administrator) -> Member:
    """Return a member with 1,100.00 to withdraw."""
    return people.earner(referrer.profile_id, finance)


@pytest.fixture(autouse=True)
def ledger(owner: Owner) -> Any:
    """Assert that the ledger checks pass after the race."""
    yield
    assert owner.execute("select * from private.check_ledger()").fetchall() == []


@pytest.mark.threat("T31")
def test_fifty_withdrawals_of_one_balance(earner: Member, owner: Owner) -> None:
    responses = together(
        [lambda: earner.insert("withdrawals", earner.withdrawal_row(100)) for _ in range(50)]
    )
    assert statuses(responses) == {201: BALANCE // 100, 400: 50 - BALANCE // 100}
    rejected = {a.json()["message"] for a in responses if a.status_code == 400}
    assert rejected == {"Insufficient balance. Available: $0.00"}
    query = "select sum(amount)::int from public.withdrawals where user_id = %s"
    assert one(owner, query, earner.user_id) == BALANCE


@pytest.mark.threat("T32")
def test_an_array_above_the_balance_is_rejected_whole(earner: Member, owner: Owner) -> None:
    response = earner.insert("withdrawals", [earner.withdrawal_row(100) for _ in range(50)])
    assert response.status_code == 400
    assert response.json()["code"] == "insufficient_balance"
    assert one(owner, "select count(*) from public.withdrawals where user_id = %s", earner.user_id) == 0


@pytest.mark.threat("T26")
def test_one_request_sent_twenty_times(earner: Member, owner: Owner) -> None:
    row = earner.withdrawal_row(700)
    headers = {"prefer": "resolution=ignore-duplicates"}

    def send() -> httpx.Response:
        return earner.http.post("/rest/v1/withdrawals?on_conflict=id", json=row, headers=headers)

    assert statuses(together([send] * 20)) == {201: 20}
    assert one(owner, "select count(*) from public.withdrawals where user_id = %s", earner.user_id) == 1
    assert one(owner, "select count(*) from public.transactions where reference_id = %s", row["id"]) == 1


@pytest.mark.threat("T26")
def test_one_deposit_request_sent_twenty_times(member: Member, owner: Owner) -> None:
    row = member.deposit_row(100)
    headers = {"prefer": "resolution=ignore-duplicates"}

    def send() -> httpx.Response:
        return member.http.post("/rest/v1/deposits?on_conflict=id", json=row, headers=headers)

    assert statuses(together([send] * 20)) == {201: 20}
    assert one(owner, "select count(*) from public.deposits where user_id = %s", member.user_id) == 1


@pytest.mark.threat("T30")
def test_ten_deposits_at_once_keep_the_limit(member: Member, owner: Owner) -> None:
    # Uploads are limited to ten an hour: these are the ten.
    rows = [member.deposit_row(50) for _ in range(10)]
    responses = together([lambda row=row: member.insert("deposits", row) for row in rows])  # type: ignore[misc]
    assert statuses(responses) == {201: 5, 409: 5}
    assert one(owner, "select count(*) from public.deposits where user_id = %s", member.user_id) == 5


@pytest.mark.threat("T50")
def test_twenty_approvals_of_one_deposit(people: People, member: Member, owner: Owner) -> None:
    first, second = people.administrator("finance_admin"), people.administrator("super_admin")
    deposit = member.deposit(500)
    responses = together(
        [lambda a=a: a.approve_deposit(deposit["id"]) for a in [first, second] * 10]  # type: ignore[misc]
    )
    effective = [a for a in responses if a.status_code == 200 and "already" not in a.json()]
    assert len(effective) == 1
    assert statuses(responses) == {200: 10, 409: 10}
    codes = {a.json()["code"] for a in responses if a.status_code == 409}
    assert codes == {"already_decided"}
    query = "select cash_in_amount::int from private.profiles where user_id = %s"
    assert one(owner, query, member.user_id) == 500
    query = "select count(*) from public.transactions where reference_id = %s and status = 'completed'"
    assert one(owner, query, deposit["id"]) == 1


@pytest.mark.threat("T51")
def test_approve_and_reject_at_once(people: People, member: Member, owner: Owner) -> None:
    first, second = people.administrator("finance_admin"), people.administrator("super_admin")
    for _ in range(5):
        deposit = member.deposit(50 if one(owner, _PACKAGE, member.user_id) == 0 else 7)
        approve = {"depositId": deposit["id"], "action": "approve"}
        reject = {"depositId": deposit["id"], "action": "reject", "reason": "race"}
        responses = together(
            [
                lambda: first.function("admin-approve-deposit", approve),  # noqa: B023
                lambda: second.function("admin-approve-deposit", reject),  # noqa: B023
            ]
        )
        assert statuses(responses) == {200: 1, 409: 1}
        won = "approved" if responses[0].status_code == 200 else "rejected"
        assert one(owner, "select status::text from public.deposits where id = %s", deposit["id"]) == won


_PACKAGE = "select package_value::int from private.profiles where user_id = %s"


@pytest.mark.threat("T25")
def test_one_transfer_claimed_by_two(people: People, referrer: Member, finance: Administrator) -> None:
    reference = secrets.token_hex(32)
    members = [people.member(referrer.profile_id) for _ in range(4)]
    rows = [m.deposit_row(50, reference_number=f"0x{reference}") for m in members]
    ids = [
        m.insert("deposits", row).raise_for_status().json()[0]["id"]
        for m, row in zip(members, rows, strict=True)
    ]
    responses = together([lambda i=i: finance.approve_deposit(i) for i in ids])  # type: ignore[misc]
    assert statuses(responses) == {200: 1, 409: 3}


@pytest.mark.threat("T25")
def test_one_transfer_in_two_spellings(people: People, referrer: Member, owner: Owner) -> None:
    deciders = [people.administrator(role) for role in ("finance_admin", "super_admin")]
    members = [people.member(referrer.profile_id) for _ in range(2)]
    reference = secrets.token_hex(32)
    spellings = (f"TXID{reference.upper()}", f"https://tronscan.org/#/transaction/{reference}")
    rows = [m.deposit_row(50, reference_number=text) for m, text in zip(members, spellings, strict=True)]
    for m, row in zip(members, rows, strict=True):
        m.insert("deposits", row).raise_for_status()
    for m, other in (members, members[::-1]):
        wanted = {"search": m.username, "status": "pending", "pageSize": 10}
        [item] = deciders[0].function("admin-list-deposits", wanted).raise_for_status().json()["items"]
        [text] = [flag["text"] for flag in item["flags"] if flag["kind"] == "same_reference"]
        assert text.startswith(f"Same reference as {other.username}, ")
    ids = [row["id"] for row in rows]
    responses = together(
        [lambda a=a, i=i: a.approve_deposit(i) for a, i in zip(deciders, ids, strict=True)]  # type: ignore[misc]
    )
    assert statuses(responses) == {200: 1, 409: 1}
    assert {r.json()["code"] for r in responses if r.status_code == 409} == {"reference_used"}
    query = "select sum(cash_in_amount)::int from private.profiles where user_id = any(%s::uuid[])"
    assert one(owner, query, [m.user_id for m in members]) == 50


@pytest.mark.threat("T37", "T53")
def test_two_approvals_beyond_the_balance(people: People, earner: Member, owner: Owner) -> None:
    """A correction lowers the balance after the requests: only one of them can still be paid."""
    first, second = people.administrator("super_admin"), people.administrator("super_admin")
    ids = [
        earner.insert("withdrawals", earner.withdrawal_row(amount)).raise_for_status().json()[0]["id"]
        for amount in (600, 500)
    ]
    proposal = {"p_kind": "set_package", "p_target_id": earner.profile_id, "p_value": 500, "p_reason": "race"}
    proposed = first.rpc("propose_correction", proposal).raise_for_status().json()["correction"]["id"]
    second.rpc("confirm_correction", {"p_correction_id": proposed}).raise_for_status()
    bodies = [{"withdrawalId": i, "action": "approve"} for i in ids]
    responses = together(
        [
            lambda: first.function("admin-approve-withdrawal", bodies[0]),
            lambda: second.function("admin-approve-withdrawal", bodies[1]),
        ]
    )
    assert statuses(responses) == {200: 1, 409: 1}
    loser = next(a for a in responses if a.status_code == 409)
    assert loser.json()["error"] == "Insufficient available balance"
    query = "select sum(amount) <= 900 from public.withdrawals where user_id = %s and status = 'approved'"
    assert one(owner, query, earner.user_id) is True


@pytest.mark.threat("T36", "T41")
def test_syncs_parallel_to_readers_change_nothing(earner: Member, owner: Owner) -> None:
    query = (
        "select md5(string_agg(b::text || b.xmin || b.ctid, '' order by b.id)) from public.bonuses as b"
        " where b.user_id = %s"
    )
    before = one(owner, query, earner.user_id)
    responses = together([lambda: earner.function("sync-all-mlm-bonuses") for _ in range(20)])
    assert statuses(responses) == {200: 20}
    assert one(owner, query, earner.user_id) == before
    assert earner.rows("profiles", f"user_id=eq.{earner.user_id}").json()[0]["available_balance"] == BALANCE


@pytest.mark.threat("T11")
def test_one_username_asked_for_at_once(stack: Stack, referrer: Member) -> None:
    name = f"r_{secrets.token_hex(5)}"

    def ask(number: int) -> Any:
        event = {
            "user": {
                "email": f"{name}{number}@example.com",
                "user_metadata": {
                    "username": name.upper() if number % 2 else name,
                    "display_name": "Racer",
                    "referrer_id": referrer.profile_id,
                },
            }
        }
        with psycopg.connect(stack.database_url, row_factory=dict_row) as connection:
            barrier.wait()
            row = connection.execute(
                "select hooks.before_user_created(%s::jsonb) as answer", [psycopg.types.json.Jsonb(event)]
            ).fetchone()
        assert row is not None
        return row["answer"]

    # The server has connections for few more beside what runs at the same time.
    barrier = threading.Barrier(5, timeout=START_SECONDS)
    with ThreadPoolExecutor(5) as pool:
        responses = list(pool.map(ask, range(5)))
    rejected = [a for a in responses if a]
    assert len(rejected) == 4
    assert {a["error"]["message"] for a in rejected} == {
        "Username already exists. Please choose a different username."
    }


@pytest.mark.threat("T47")
def test_children_are_numbered_without_gaps(people: People, referrer: Member, owner: Owner) -> None:
    referrer = people.member(referrer.profile_id)
    together([lambda: people.member(referrer.profile_id, wallet=False) for _ in range(8)])
    rows = owner.execute(
        "select c.child_no from private.positions as c join private.positions as p on p.no = c.referrer_no"
        " where p.user_id = %s order by c.child_no",
        [referrer.user_id],
    ).fetchall()
    assert [row["child_no"] for row in rows] == list(range(1, 9))


@pytest.mark.threat("T52")
def test_a_stuck_session_gets_try_again(stack: Stack, earner: Member) -> None:
    with psycopg.connect(stack.database_url) as stuck:
        stuck.execute("select 1 from private.profiles where user_id = %s for no key update", [earner.user_id])
        started = time.monotonic()
        response = earner.insert("withdrawals", earner.withdrawal_row(100))
        # It waits 3 s for a lock, and would for 8 s without that limit.
        assert time.monotonic() - started < 7
        assert (response.status_code, response.json()["code"]) == (503, "try_again")
        assert earner.rows("profiles", f"user_id=eq.{earner.user_id}").status_code == 200
        stuck.rollback()
    assert earner.insert("withdrawals", earner.withdrawal_row(100)).status_code == 201


def test_closing_an_account_while_its_requests_are_approved(
    earner: Member, finance: Administrator, owner: Owner
) -> None:
    withdrawal = earner.insert("withdrawals", earner.withdrawal_row(100)).raise_for_status().json()[0]["id"]
    deposit = earner.deposit(37.5)["id"]
    paid = {"withdrawalId": withdrawal, "action": "approve"}
    closed, *decided = together(
        [
            lambda: earner.function("close-account", {"confirmed": True}),
            lambda: finance.approve_deposit(deposit),
            lambda: finance.function("admin-approve-withdrawal", paid),
        ]
    )
    assert (closed.status_code, closed.json()) == (200, {"success": True})
    for table, request, response in zip(
        ("deposits", "withdrawals"), (deposit, withdrawal), decided, strict=True
    ):
        row = owner.execute(
            f"select r.status::text, r.admin_notes, t.status::text as journal from public.{table} as r"
            " inner join public.transactions as t on t.reference_id = r.id where r.id = %s",
            [request],
        ).fetchone()
        if response.status_code == 200:
            assert row == {"status": "approved", "admin_notes": None, "journal": "completed"}
        else:
            assert response.json()["code"] in ("already_decided", "account_blocked")
            assert row == {"status": "rejected", "admin_notes": "Account closed", "journal": "failed"}
    credited, withdrawn = (response.status_code == 200 for response in decided)
    cash_in = "select cash_in_amount from private.profiles where user_id = %s and closed_at is not null"
    assert one(owner, cash_in, earner.user_id) == (1037.5 if credited else 1000)
    totals = "select withdrawn_amount - reserved_amount from private.totals where user_id = %s"
    assert one(owner, totals, earner.user_id) == (100 if withdrawn else 0)
