"""A member's whole way, with the stock Python client: from the invitation to the payout."""

import time
import uuid
from typing import Any

import pytest
from supabase import Client, ClientOptions, create_client

from tests.support import plain_http
from tests.support.files import png
from tests.support.mail import Mailbox
from tests.support.people import PASSWORD, Administrator, Member
from tests.support.stack import Stack
from tests.support.wallet import wallet_of


@pytest.fixture
def client(stack: Stack) -> Client:
    """Return the stock client with the public key, as a browser has it."""
    return create_client(
        stack.url, stack.anon_key, ClientOptions(persist_session=False, flow_type="implicit")
    )


@pytest.fixture
def newcomer(client: Client, mailbox: Mailbox, referrer: Member) -> dict[str, Any]:
    """Return a new member who signed up, opened the link in the email, and is signed in."""
    name = f"j_{uuid.uuid4().hex[:10]}"
    email = f"{name}@example.com"
    data = {
        "display_name": "June Novak",
        "username": name,
        "package_value": 0,
        "referrer_id": referrer.profile_id,
    }
    client.auth.sign_up({"email": email, "password": PASSWORD, "options": {"data": data}})
    assert client.auth.get_session() is None, "nobody is signed in before the address is confirmed"
    message = mailbox.wait_for(email)
    assert name in message["html"], "the confirmation names the username"
    opened = plain_http.get(mailbox.opened_by(message))
    assert opened.status_code == 303
    assert "access_token=" in opened.headers["location"]
    client.auth.sign_in_with_password({"email": email, "password": PASSWORD})
    user = client.auth.get_user()
    assert user
    return {"id": user.user.id, "email": email, "username": name}


def test_from_invitation_to_payout(
    client: Client, newcomer: dict[str, Any], finance: Administrator, people: Any
) -> None:
    me = client.table("profiles").select("*").eq("user_id", newcomer["id"]).single().execute().data
    assert (me["username"], me["email"], me["package_value"]) == (newcomer["username"], newcomer["email"], 0)

    wallet = wallet_of(newcomer["id"])
    client.table("profiles").update({"trc20_wallet_address": wallet}).eq("user_id", newcomer["id"]).execute()
    client.table("profiles").update({"username": me["username"], "email": me["email"]}).eq(
        "user_id", newcomer["id"]
    ).execute()

    path = f"{newcomer['id']}/{time.time_ns() // 1_000_000}.png"
    client.storage.from_("receipts").upload(path, png(), {"content-type": "image/png", "upsert": "false"})
    receipt = client.storage.from_("receipts").get_public_url(path)
    deposit_id = str(uuid.uuid4())
    deposit = {
        "id": deposit_id,
        "user_id": newcomer["id"],
        "amount": 1000,
        "reference_number": uuid.uuid4().hex * 2,
        "receipt_url": receipt,
        "status": "pending",
    }
    client.table("deposits").upsert(deposit, on_conflict="id", ignore_duplicates=True).execute()
    client.table("deposits").upsert(deposit, on_conflict="id", ignore_duplicates=True).execute()
    mine = client.table("deposits").select("*").eq("user_id", newcomer["id"]).execute().data
    assert [row["status"] for row in mine] == ["pending"]

    finance.approve_deposit(deposit_id).raise_for_status()
    for _ in range(2):
        people.fund(people.member(me["id"]), 1000, finance)

    bonuses = (
        client.table("bonuses").select("bonus_type, amount").eq("user_id", newcomer["id"]).execute().data
    )
    assert sorted((row["bonus_type"], row["amount"]) for row in bonuses) == [
        ("pairing", 1000),
        ("referral", 50),
        ("referral", 50),
    ]
    response = client.functions.invoke("sync-all-mlm-bonuses", {"body": {}, "responseType": "json"})
    assert response["success"] is True

    withdrawal_id = str(uuid.uuid4())
    client.table("withdrawals").insert(
        {
            "id": withdrawal_id,
            "user_id": newcomer["id"],
            "amount": 150,
            "wallet_address": wallet,
            "status": "pending",
        }
    ).execute()
    body = {"withdrawalId": withdrawal_id, "action": "approve", "payoutReference": "tx-1"}
    finance.function("admin-approve-withdrawal", body).raise_for_status()

    after = client.table("profiles").select("*").eq("user_id", newcomer["id"]).single().execute().data
    assert after["available_balance"] == 950
    assert after["account_verified"] is True
    journal = client.table("transactions").select("*").eq("user_id", newcomer["id"]).execute().data
    assert sorted((row["transaction_type"], row["amount"], row["status"]) for row in journal) == [
        ("bonus", 50, "completed"),
        ("bonus", 50, "completed"),
        ("bonus", 1000, "completed"),
        ("deposit", 1000, "completed"),
        ("withdrawal", -150, "completed"),
    ]
    assert client.rpc("get_user_bot_subscriptions", {"p_user_id": newcomer["id"]}).execute().data == []
    client.auth.sign_out()


def test_an_administrator_with_the_stock_client(stack: Stack, people: Any) -> None:
    email = people.account("super_admin")
    anonymous = create_client(stack.url, stack.anon_key)
    body = {"action": "login", "email": email, "password": PASSWORD}
    session = anonymous.functions.invoke("admin-auth", {"body": body, "responseType": "json"})
    headers = {"Authorization": f"Bearer {session['access_token']}"}
    admin = create_client(stack.url, stack.anon_key, ClientOptions(headers=headers))
    stats = admin.rpc("get_admin_dashboard_stats", {}).execute().data
    assert stats[0]["total_users"] > 0
    token = session["session_token"]
    row = admin.table("admin_sessions").select("*").eq("session_token", token).single().execute().data
    assert row["admin_id"] == session["admin"]["id"]
    assert admin.table("profiles").select("*").order("created_at", desc=True).limit(5).execute().data
    admin.table("admin_sessions").delete().eq("session_token", token).execute()
    with pytest.raises(Exception, match="session"):
        admin.table("profiles").select("*").execute()
