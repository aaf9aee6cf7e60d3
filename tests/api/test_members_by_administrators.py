"""What administrators change about members: status, notes, lost second devices; and corrections."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pyotp
import pytest

from functions.core.errors import ApiError
from functions.edge.support.auth_admin import AuthAdmin
from tests.support.endpoints import ANONYMOUS
from tests.support.own_edge import OwnEdge
from tests.support.people import PASSWORD, Administrator, Member, People
from tests.support.stack import Stack


@pytest.mark.threat("T35")
def test_suspending_ends_access_at_once_and_reactivating_opens_it(
    people: People, member: Member, support: Administrator
) -> None:
    body = {"profileId": member.profile_id, "account_status": "suspended", "reason": "Shared password"}
    response = support.function("admin-update-member", body)
    assert response.status_code == 200, response.text
    assert response.json()["profile"]["account_status"] == "suspended"
    assert member.rows("deposits").status_code in (401, 403)

    back = people.sign_in_blocked(member)
    status = back.rpc("get_my_account_status").json()
    assert status["message"] == "Your account has been suspended. Please contact support for assistance."
    for rejected in (back.rows("deposits"), back.function("sync-all-mlm-bonuses")):
        assert (rejected.status_code, rejected.json()["code"]) == (403, "account_suspended")

    support.function("admin-update-member", {**body, "account_status": "active"}).raise_for_status()
    assert back.rows("deposits").status_code == 200


@pytest.mark.threat("T54")
def test_support_neither_disables_nor_lifts_a_disable(
    member: Member, support: Administrator, super_admin: Administrator
) -> None:
    body = {"profileId": member.profile_id, "account_status": "disabled", "reason": "Second account"}
    assert support.function("admin-update-member", body).status_code == 403
    assert super_admin.function("admin-update-member", body).status_code == 200
    assert support.function("admin-update-member", {**body, "account_status": "active"}).status_code == 403


def test_notes_are_for_administrators_only(member: Member, support: Administrator) -> None:
    body = {"profileId": member.profile_id, "admin_notes": "Called on Monday"}
    response = support.function("admin-update-member", body)
    assert response.json()["profile"]["admin_notes"] == "Called on Monday"
    assert member.rows("profiles", f"user_id=eq.{member.user_id}").json()[0]["admin_notes"] is None


def add_factor(member: Member) -> None:
    """Insert a verified second factor for a member."""
    factor = member.http.post(
        "/auth/v1/factors", json={"factor_type": "totp", "friendly_name": "phone"}
    ).json()
    challenge = member.http.post(f"/auth/v1/factors/{factor['id']}/challenge", json={}).json()
    code = pyotp.TOTP(factor["totp"]["secret"]).now()
    proof = {"challenge_id": challenge["id"], "code": code}
    member.http.post(f"/auth/v1/factors/{factor['id']}/verify", json=proof).raise_for_status()


def test_a_lost_second_device(
    people: People,
    member: Member,
    super_admin: Administrator,
    support: Administrator,
    count_rows: Callable[[str], int],
) -> None:
    add_factor(member)
    without = people.sign_in_blocked(member)
    rejected = without.function("sync-all-mlm-bonuses")
    assert (rejected.status_code, rejected.json()["code"]) == (403, "aal2_required")

    body = {"profileId": member.profile_id, "reason": "Passport and voice checked"}
    assert support.function("admin-remove-factors", body).status_code == 403
    assert super_admin.function("admin-remove-factors", body).json() == {"success": True}
    assert count_rows(f"auth.mfa_factors where user_id = '{member.user_id}'") == 0
    assert without.rows("deposits").status_code == 401, "every sign-in ended"
    assert people.sign_in(member.email, PASSWORD).rows("deposits").status_code == 200
    assert count_rows(f"private.profiles where user_id = '{member.user_id}' and hold_reason = 'factor'") == 1


def test_factors_are_removed_without_the_public_address(
    stack: Stack, people: People, member: Member, count_rows: Callable[[str], int], tmp_path: Path
) -> None:
    """In a container nothing listens there."""
    add_factor(member)
    edge = OwnEdge(stack, tmp_path)
    with edge.serving():
        login = {"action": "login", "email": people.account("super_admin"), "password": PASSWORD}
        token = edge.call("admin-auth", login).raise_for_status().json()["access_token"]
        body = {"profileId": member.profile_id, "reason": "Passport and voice checked"}
        removed = edge.call("admin-remove-factors", body, token)
    edge.http.close()
    assert (removed.status_code, removed.json()) == (200, {"success": True})
    assert count_rows(f"auth.mfa_factors where user_id = '{member.user_id}'") == 0


async def test_factors_stay_while_the_sign_in_service_is_down() -> None:
    with pytest.raises(ApiError) as raised:
        await AuthAdmin("http://127.0.0.1:9", "key").remove_factors(ANONYMOUS)
    assert (raised.value.status, raised.value.code) == (503, "try_again")


@pytest.mark.threat("T56")
def test_a_correction_needs_two_administrators(
    people: People, member: Member, super_admin: Administrator, finance: Administrator
) -> None:
    deposit = member.deposit(50)
    finance.approve_deposit(deposit["id"]).raise_for_status()
    body = {"kind": "void_deposit", "targetId": deposit["id"], "reason": "The transfer was taken back"}
    assert finance.function("admin-propose-correction", body).status_code == 403
    proposed = super_admin.function("admin-propose-correction", body)
    assert proposed.status_code == 200, proposed.text
    correction = {"correctionId": proposed.json()["correction"]["id"]}
    assert super_admin.function("admin-confirm-correction", correction).status_code == 403
    # An account that the proposer made, and whose password they have seen, is not another person.
    email = f"own-{secrets.token_hex(4)}@example.com"
    account = {"action": "create", "email": email, "fullName": "Own", "role": "finance_admin"}
    made = super_admin.function("admin-accounts", account).raise_for_status().json()
    own = people.sign_in_administrator(email, made["password"])
    rejected = own.function("admin-confirm-correction", correction)
    assert (rejected.status_code, rejected.json()["code"]) == (403, "two_people")
    assert "count as one person" in rejected.json()["error"]
    profile = f"user_id=eq.{member.user_id}"
    assert member.rows("profiles", profile).json()[0]["package_value"] == 50
    assert finance.function("admin-confirm-correction", correction).status_code == 200
    after = member.rows("profiles", profile).json()[0]
    assert (after["package_value"], after["cash_in_amount"]) == (0, 0)


@pytest.mark.parametrize("body", [{}, {"page": 1, "pageSize": 5, "type": "deposit", "status": "completed"}])
def test_the_journal(support: Administrator, body: dict[str, object]) -> None:
    response = support.function("admin-get-transactions", body)
    assert response.status_code == 200, response.text
    assert {"transactions", "total"} <= set(response.json())
    assert response.json()["transactions"]
