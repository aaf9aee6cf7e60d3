"""Decisions of administrators through the functions: once, with reasons, and what they leave behind."""

import csv
import json
import secrets
import time
from typing import Any

import httpx
import orjson
import psycopg
import pytest

from functions.core.errors import ApiError
from functions.edge.support.receipts import ReceiptSigner
from tests.support import plain_http
from tests.support.people import Administrator, Member, People
from tests.support.principals import claims_of
from tests.support.states import set_administrator, set_member
from tests.support.wallet import wallet_of

Owner = psycopg.Connection[dict[str, Any]]


def test_an_approved_package_pays_the_referrer(
    people: People, referrer: Member, finance: Administrator, owner: Owner
) -> None:
    referrer = people.member(referrer.profile_id)
    child = people.member(referrer.profile_id)
    deposit = child.deposit(500)
    response = finance.approve_deposit(deposit["id"])
    assert response.status_code == 200, response.text
    assert response.json()["success"] is True
    assert response.json()["deposit"]["status"] == "approved"
    bonuses = owner.execute("select * from public.bonuses where user_id = %s", [referrer.user_id]).fetchall()
    assert [(row["bonus_type"], str(row["amount"])) for row in bonuses] == [("referral", "25.00")]
    profile = child.rows("profiles", f"user_id=eq.{child.user_id}").json()[0]
    assert (profile["package_value"], profile["cash_in_amount"]) == (500, 500)


@pytest.mark.threat("T57")
def test_the_same_decision_again_returns_the_first_result(member: Member, finance: Administrator) -> None:
    deposit = member.deposit(50)
    first = finance.approve_deposit(deposit["id"]).raise_for_status().json()
    again = finance.approve_deposit(deposit["id"])
    assert again.status_code == 200, again.text
    assert again.json()["already"] is True
    assert again.json()["deposit"]["decided_at"] == first["deposit"]["decided_at"]


@pytest.mark.parametrize("reason", [None, "", "   "])
def test_a_rejection_without_a_reason(member: Member, finance: Administrator, reason: str | None) -> None:
    deposit = member.deposit(50)
    body = {"depositId": deposit["id"], "action": "reject", "reason": reason}
    response = finance.function("admin-approve-deposit", body)
    assert response.status_code == 200, response.text
    row = member.rows("deposits", f"id=eq.{deposit['id']}").json()[0]
    assert (row["status"], row["admin_notes"]) == ("rejected", "No reason provided")


def test_a_reason_reaches_the_member(member: Member, finance: Administrator) -> None:
    deposit = member.deposit(50)
    body = {"depositId": deposit["id"], "action": "reject", "reason": "  The amount differs.  "}
    finance.function("admin-approve-deposit", body).raise_for_status()
    row = member.rows("deposits", f"id=eq.{deposit['id']}").json()[0]
    assert row["admin_notes"] == "The amount differs."


def test_a_deposit_that_arrives_in_two_parts(
    member: Member, finance: Administrator, support: Administrator
) -> None:
    deposit, rest = member.deposit(100), secrets.token_hex(32)
    short = finance.approve_deposit(deposit["id"], receivedAmount="60.00")
    assert (short.status_code, short.json()["code"]) == (409, "amount_differs")
    assert orjson.loads(short.json()["details"]) == {
        "claimed": "100.00",
        "received": "60.00",
        "tolerance": "5.00",
    }
    body = {"depositId": deposit["id"], "action": "ask_rest", "receivedAmount": 60}
    asked = finance.function("admin-approve-deposit", body).raise_for_status().json()
    assert (asked["deposit"]["status"], asked["rest"]["missing"]) == ("pending", "40.00")
    assert asked["audit_entries"]
    assert finance.function("admin-approve-deposit", body).json()["already"] is True
    added = {"p_id": deposit["id"], "p_reference": rest}
    assert member.rpc("add_deposit_reference", added).raise_for_status().json()["rest"]["missing"] == "40.00"
    assert member.rpc("add_deposit_reference", added).json()["already"] is True
    filters = {"search": rest}
    [item] = support.function("admin-list-deposits", filters).json()["items"]
    assert (item["id"], item["further_references"]) == (deposit["id"], [rest])
    approved = finance.approve_deposit(deposit["id"], receivedAmount="99.50").raise_for_status().json()
    assert approved["deposit"]["received_amount"] == "99.50"
    [row] = member.rows("deposits", f"id=eq.{deposit['id']}").json()
    assert (row["status"], row["received_amount"]) == ("approved", 99.5)
    assert (row["reference_number"], row["amount"]) == (deposit["reference_number"], 100)
    exported = {"list": "deposits", "filters": {"search": member.username}}
    lines = finance.function("admin-export", exported).text.splitlines()
    [exported_row] = csv.DictReader(lines)
    assert (exported_row["amount"], exported_row["received_amount"]) == ("100.00", "99.50")
    assert rest in exported_row["further_references"]


def test_a_withdrawal_from_request_to_payout(
    people: People, referrer: Member, finance: Administrator
) -> None:
    earner = people.earner(referrer.profile_id, finance)
    row = earner.insert("withdrawals", earner.withdrawal_row(150)).raise_for_status().json()[0]
    body = {"withdrawalId": row["id"], "action": "approve"}
    response = finance.function("admin-approve-withdrawal", body)
    assert response.status_code == 200, response.text
    assert response.json()["withdrawal"]["status"] == "approved"
    noted = finance.function("admin-approve-withdrawal", {**body, "payoutReference": "tx-77"})
    assert noted.status_code == 200, noted.text
    mine = earner.rows("withdrawals", f"id=eq.{row['id']}").json()[0]
    assert mine["wallet_address"] == wallet_of(earner.user_id)
    profile = earner.rows("profiles", f"user_id=eq.{earner.user_id}").json()[0]
    assert profile["available_balance"] == 950


def test_a_payout_reference_that_comes_again_is_confirmed(
    people: People, referrer: Member, finance: Administrator
) -> None:
    earner = people.earner(referrer.profile_id, finance)
    first, second = (
        earner.insert("withdrawals", earner.withdrawal_row(150)).raise_for_status().json()[0]
        for _ in range(2)
    )
    reference = secrets.token_hex(32)
    body = {"action": "approve", "payoutReference": reference}
    finance.function("admin-approve-withdrawal", {**body, "withdrawalId": first["id"]}).raise_for_status()
    again = {**body, "withdrawalId": second["id"], "payoutReference": f"0x{reference.upper()}"}
    rejected = finance.function("admin-approve-withdrawal", again)
    assert (rejected.status_code, rejected.json()["code"]) == (409, "payout_reference_used")
    assert earner.username in rejected.json()["error"]
    [row] = earner.rows("withdrawals", f"id=eq.{second['id']}").json()
    assert (row["status"], row["payout_reference"]) == ("pending", None)
    finance.function("admin-approve-withdrawal", {**again, "sharedPayout": True}).raise_for_status()
    [row] = earner.rows("withdrawals", f"id=eq.{second['id']}").json()
    assert (row["status"], row["payout_reference"]) == ("approved", again["payoutReference"])


def test_a_payout_with_warnings_is_confirmed_by_a_reason(
    people: People, referrer: Member, finance: Administrator, owner: Owner
) -> None:
    earner, other = people.earner(referrer.profile_id, finance), people.member(referrer.profile_id, False)
    wallet = {"trc20_wallet_address": wallet_of(earner.user_id)}
    other.patch("profiles", f"user_id=eq.{other.user_id}", wallet).raise_for_status()
    row = earner.insert("withdrawals", earner.withdrawal_row(150)).raise_for_status().json()[0]
    body = {"withdrawalId": row["id"], "action": "approve", "payoutReference": secrets.token_hex(32)}
    rejected = finance.function("admin-approve-withdrawal", body)
    assert (rejected.status_code, rejected.json()["code"]) == (409, "payout_warned")
    warning = {"kind": "address_shared", "text": f"Also the wallet of {other.username}"}
    assert json.loads(rejected.json()["details"]) == [warning]
    reason = {"payoutReason": "They share it."}
    finance.function("admin-approve-withdrawal", {**body, **reason}).raise_for_status()
    query = (
        "select payload ->> 'payout_reason' as why from private.audit_log"
        " where action = 'withdrawal.paid' and object_id = %s"
    )
    assert owner.execute(query, [row["id"]]).fetchall() == [{"why": "They share it."}]


def test_a_receipt_opens_for_a_minute(member: Member, finance: Administrator) -> None:
    deposit = member.deposit(100)
    response = finance.function("admin-get-receipt", {"receiptUrl": deposit["receipt_url"]})
    assert response.status_code == 200, response.text
    signed = response.json()["signedUrl"]
    assert httpx.URL(signed).path.startswith(f"/storage/v1/object/sign/receipts/{member.user_id}/")
    assert 0 < claims_of(httpx.URL(signed).params["token"])["exp"] - time.time() <= 60
    picture = plain_http.get(signed)
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert plain_http.get(deposit["receipt_url"]).status_code in (400, 404)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (httpx.Response(400), "receipt_not_found"),
        (httpx.Response(404), "receipt_not_found"),
        (httpx.Response(500), "try_again"),
        (httpx.ConnectError("down"), "try_again"),
    ],
    ids=["400", "404", "500", "down"],
)
async def test_a_receipt_that_storage_does_not_sign(response: httpx.Response | Exception, code: str) -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        return response

    async with httpx.AsyncClient(base_url="http://s", transport=httpx.MockTransport(respond)) as storage:
        with pytest.raises(ApiError) as raised:
            await ReceiptSigner(storage, "key", "http://here").sign("receipts", "a/1.png")
    assert raised.value.code == code


@pytest.mark.threat("T99")
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:5432/",
        "file:///etc/passwd",
        "/storage/v1/object/public/other/x.png",
        "/storage/v1/object/public/receipts/../../etc/passwd",
        "/storage/v1/object/public/receipts/00000000-0000-4000-8000-000000000000/1700000000000.png",
        "receipts",
        "javascript:alert(1)",
    ],
)
def test_only_receipts_of_deposits_are_signed(finance: Administrator, address: str) -> None:
    response = finance.function("admin-get-receipt", {"receiptUrl": address})
    assert 400 <= response.status_code < 500, response.text
    assert "signedUrl" not in response.json()


def test_lists_find_a_member_and_contain_what_the_table_shows(member: Member, support: Administrator) -> None:
    deposit = member.deposit(250)
    response = support.function(
        "admin-list-deposits", {"page": 1, "pageSize": 10, "search": member.username, "status": "pending"}
    )
    assert response.status_code == 200, response.text
    (item,) = response.json()["items"]
    assert item["id"] == deposit["id"]
    assert item["username"] == member.username
    assert item["email"] == member.email
    assert item["trc20_wallet_address"] == wallet_of(member.user_id)
    assert {"available_balance", "cash_in_amount"} <= set(item)


def test_a_list_without_filters_holds_every_pending_row(member: Member, support: Administrator) -> None:
    deposit = member.deposit(250)
    items = support.function("admin-list-deposits").json()["items"]
    assert deposit["id"] in [item["id"] for item in items]


@pytest.mark.threat("T41")
def test_sync_changes_nothing_when_all_is_right(
    people: People, referrer: Member, finance: Administrator, owner: Owner
) -> None:
    member = people.member(referrer.profile_id)
    people.fund(people.member(member.profile_id), 100, finance)

    def bonuses() -> list[dict[str, Any]]:
        return owner.execute(
            "select * from public.bonuses where user_id = any(%s) order by id",
            [[referrer.user_id, member.user_id]],
        ).fetchall()

    before = bonuses()
    assert before
    response = member.function("sync-all-mlm-bonuses")
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["success"] is True
    assert set(body["summary"]) == {"totalBonuses", "totalProfiles"}
    assert bonuses() == before


@pytest.mark.threat("T55")
def test_an_administrator_cannot_decide_an_item_of_the_own_account(people: People, member: Member) -> None:
    email = people.account("finance_admin")
    deposit = member.deposit(50)
    set_administrator(people.owner, email, email=member.email)
    own = people.sign_in_administrator(member.email)
    response = own.approve_deposit(deposit["id"])
    assert response.status_code == 403, response.text
    assert member.rows("deposits", f"id=eq.{deposit['id']}").json()[0]["status"] == "pending"


@pytest.mark.threat("T35")
def test_a_blocked_member_is_rejected_at_once(member: Member, owner: Owner) -> None:
    set_member(owner, member.user_id, account_status="suspended")
    response = member.function("sync-all-mlm-bonuses")
    assert (response.status_code, response.json()["code"]) == (403, "account_suspended"), response.text
