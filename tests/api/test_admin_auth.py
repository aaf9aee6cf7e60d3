"""admin-auth: signing in and out, passwords, two-step sign-in."""

import asyncio
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from statistics import median

import psycopg
import pyotp
import pytest
from argon2 import PasswordHasher

from functions.edge.support import passwords
from tests.support.admin_sign_in import (
    NEW_PASSWORD,
    change_password,
    failures,
    known_address,
    login,
    signed_in_before,
    with_two_steps,
    works,
)
from tests.support.people import PASSWORD, Administrator, ApiClient, People
from tests.support.principals import claims_of
from tests.support.states import set_administrator


def test_login_returns_what_the_panel_needs(people: People, anonymous: ApiClient) -> None:
    email = people.account("finance_admin")
    response = login(anonymous, email)
    assert response.status_code == 200, response.text
    body = response.json()
    assert set(body) == {"session_token", "access_token", "expires_at", "admin"}
    assert body["admin"]["email"] == email
    assert body["admin"]["role"] == "finance_admin"
    assert response.headers["cache-control"] == "no-store"
    ends = datetime.fromisoformat(body["expires_at"])
    assert claims_of(body["access_token"])["exp"] == int(ends.timestamp())
    assert "password_hash" not in response.text
    assert "totp_secret" not in response.text


def test_a_sign_in_is_on_record_with_the_number_of_its_request(people: People, anonymous: ApiClient) -> None:
    response = login(anonymous, people.account("finance_admin")).raise_for_status()
    recorded = people.owner.execute(
        "select payload from private.audit_log where action = 'admin.signed_in' and object_id = %s"
        " order by id desc limit 1",
        [response.json()["admin"]["id"]],
    ).fetchone()
    assert recorded
    assert recorded["payload"]["request_id"] == response.headers["x-request-id"]


def test_a_long_user_agent_is_cut(people: People, anonymous: ApiClient) -> None:
    body = {"action": "login", "email": people.account("support_admin"), "password": PASSWORD}
    headers = {"user-agent": "x" * 1000}
    response = anonymous.http.post("/functions/v1/admin-auth", json=body, headers=headers)
    stored = people.owner.execute(
        "select user_agent from private.admin_session_activity where session_token = %s",
        [response.raise_for_status().json()["session_token"]],
    ).fetchone()
    assert stored == {"user_agent": "x" * 400}


@pytest.mark.threat("T61")
def test_the_session_token_is_no_credential(finance: Administrator) -> None:
    assert not works(ApiClient(finance.stack, finance.session_token))


@pytest.mark.threat("T64")
def test_wrong_password_and_unknown_address_respond_alike(people: People, anonymous: ApiClient) -> None:
    unknown = f"nobody-{secrets.token_hex(6)}@example.com"
    responses = [login(anonymous, people.account("finance_admin"), "wrong"), login(anonymous, unknown)]
    assert [response.status_code for response in responses] == [401, 401]
    assert (
        responses[0].json()
        == responses[1].json()
        == {"error": "Authentication failed", "code": "invalid_credentials"}
    )


@pytest.mark.threat("T64")
def test_time_does_not_reveal_whether_an_account_exists(people: People, anonymous: ApiClient) -> None:
    def seconds(email: str) -> float:
        started = time.perf_counter()
        assert login(anonymous, email, "wrong").status_code == 401
        return time.perf_counter() - started

    known = [people.account("support_admin") for _ in range(9)]
    # Test accounts have a cheap hash; these have what the product makes.
    for email in known:
        set_administrator(people.owner, email, password_hash=PasswordHasher().hash(PASSWORD))
    unknown = [f"nobody-{secrets.token_hex(6)}@example.com" for _ in range(9)]
    times = [(seconds(here), seconds(nowhere)) for here, nowhere in zip(known, unknown, strict=True)]
    ratio = median(here for here, _ in times) / median(nowhere for _, nowhere in times)
    # Without a dummy hash an unknown address would get its response about ten times faster.
    assert 1 / 3 < ratio < 3, ratio


@pytest.mark.threat("T64")
async def test_without_a_stored_password_none_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the one whose hash stands in."""
    monkeypatch.setattr(passwords, "_dummy_hash", PasswordHasher(1, 8192, 1).hash(PASSWORD))
    assert not await passwords.Passwords().matches(None, PASSWORD)


async def test_two_passwords_are_hashed_at_once_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = most = 0

    async def hashed(*_: object) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return "hash"

    monkeypatch.setattr(asyncio, "to_thread", hashed)
    shared = passwords.Passwords()
    await asyncio.gather(*(shared.hash(PASSWORD) for _ in range(9)))
    assert most == 2


@pytest.mark.threat("T64")
def test_a_password_too_long_to_be_stored_is_not_verified(anonymous: ApiClient) -> None:
    response = login(anonymous, "nobody@example.com", "x" * 1025)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_input")


@pytest.mark.threat("T63")
def test_a_password_that_is_replaced_meanwhile_does_not_sign_in(people: People, anonymous: ApiClient) -> None:
    email = people.account("finance_admin")
    with psycopg.connect(people.stack.values["DATABASE_ADMIN_URL"]) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute(
            "select edge.set_admin_password(a.id, %s, null) from private.admin_users as a where a.email = %s",
            [PasswordHasher().hash(NEW_PASSWORD), email],
        )
        asked = pool.submit(login, anonymous, email)
        while not holder.execute(
            "select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
        ).fetchone():
            assert not asked.done()
        holder.commit()
        assert asked.result().status_code == 401
    assert login(anonymous, email, NEW_PASSWORD).status_code == 200


@pytest.mark.threat("T63")
def test_an_inactive_administrator_cannot_sign_in_and_is_out_at_once(
    people: People, anonymous: ApiClient
) -> None:
    administrator = people.administrator("finance_admin")
    people.switch_administrators([administrator.admin_id], is_active=False)
    assert not works(administrator)
    right, wrong = (login(anonymous, administrator.email, each) for each in (PASSWORD, "wrong"))
    assert (right.status_code, right.content) == (wrong.status_code, wrong.content)
    assert right.status_code == 401
    assert failures(people, known_address(people, administrator)) == 2


@pytest.mark.threat("T63")
@pytest.mark.parametrize("by", ["function", "table"])
def test_signing_out_ends_the_token_at_once(people: People, by: str) -> None:
    administrator = people.administrator("finance_admin")
    assert works(administrator)
    if by == "function":
        assert administrator.function("admin-auth", {"action": "logout"}).json() == {"success": True}
    else:
        path = f"/rest/v1/admin_sessions?session_token=eq.{administrator.session_token}"
        assert administrator.http.delete(path).status_code == 204
    assert not works(administrator)


@pytest.mark.threat("T62")
def test_an_expired_session_counts_no_more(people: People) -> None:
    administrator = people.administrator("finance_admin")
    people.owner.execute(
        "update public.admin_sessions set expires_at = now() - interval '1 second' where session_token = %s",
        [administrator.session_token],
    )
    assert not works(administrator)


@pytest.mark.threat("T62")
def test_thirty_idle_minutes_end_a_session(people: People) -> None:
    administrator = people.administrator("finance_admin")
    people.owner.execute(
        "update private.admin_session_activity set last_seen_at = now() - interval '31 minutes' "
        "where session_token = %s",
        [administrator.session_token],
    )
    assert not works(administrator)


@pytest.mark.threat("T68")
@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({"currentPassword": ""}, 400, "All fields are required"),
        ({"newPassword": ""}, 400, "All fields are required"),
        ({"newPassword": "short-7"}, 400, "New password must be at least 8 characters long"),
        ({"newPassword": "password1"}, 400, "This password is too easy to guess. Choose another one."),
        ({"newPassword": " " * 9}, 400, "This password is too easy to guess. Choose another one."),
        ({"newPassword": "é" * 600}, 400, "New password must be at most 1,024 bytes long"),
        ({"currentPassword": "not-this-one"}, 400, "The current password is not right."),
        ({"email": "somebody@example.com"}, 403, "You can change your own password only."),
    ],
    ids=["no current one", "no new one", "short", "common", "blank", "long", "wrong", "another's"],
)
def test_a_password_change_that_is_rejected(
    people: People, changes: dict[str, str], status: int, text: str
) -> None:
    administrator = people.administrator("support_admin")
    response = change_password(administrator, **changes)
    assert (response.status_code, response.json()["error"]) == (status, text)
    assert people.sign_in_administrator(administrator.email)


@pytest.mark.threat("T68")
def test_the_password_of_another_stays_as_it_is(people: People) -> None:
    here, there = (people.administrator("super_admin") for _ in range(2))
    response = change_password(here, email=there.email)
    assert (response.status_code, response.json()["error"]) == (403, "You can change your own password only.")
    assert people.sign_in_administrator(here.email)


@pytest.mark.threat("T64", "T68")
def test_wrong_current_passwords_count_like_wrong_sign_ins(people: People) -> None:
    administrator = people.administrator("support_admin")
    here = known_address(people, administrator)
    assert failures(people, here) == 0
    assert change_password(administrator, currentPassword="not-this-one").status_code == 400
    assert failures(people, here) == 1


@pytest.mark.threat("T63", "T68")
def test_a_password_change_ends_the_other_sessions(people: People, anonymous: ApiClient) -> None:
    here = people.administrator("finance_admin")
    there = people.sign_in_administrator(here.email)
    assert change_password(here).json() == {"success": True}
    assert failures(people, here.email) == 0
    assert works(here)
    assert not works(there)
    assert login(anonymous, here.email).status_code == 401
    assert login(anonymous, here.email, NEW_PASSWORD).status_code == 200


@pytest.mark.threat("T69")
def test_a_stolen_token_makes_no_second_step_no_account_and_moves_no_deposits(
    people: People, anonymous: ApiClient
) -> None:
    thief = people.administrator("super_admin")
    signed_in_before(people, thief, "10 minutes 1 second")
    email = f"thief-{secrets.token_hex(4)}@example.com"
    acts: list[tuple[str, dict[str, str]]] = [
        ("admin-auth", {"action": "totp_enroll"}),
        (
            "admin-settings",
            {"action": "change", "key": "deposit.address", "value": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
        ),
        (
            "admin-accounts",
            {"action": "create", "email": email, "fullName": "Thief", "role": "super_admin"},
        ),
    ]
    for name, body in acts:
        response = thief.function(name, body)
        assert (response.status_code, response.json()["code"]) == (403, "reauthentication_needed"), body
        assert "Sign in again to" in response.json()["error"]
    left = people.owner.execute(
        "select (select totp_secret from private.admin_users where id = %s) as secret,"
        " (select count(*) from private.admin_users where email = %s) as accounts",
        [thief.admin_id, email],
    ).fetchone()
    assert left == {"secret": None, "accounts": 0}
    # Just before, and whoever knows the password.
    signed_in_before(people, thief, "9 minutes 55 seconds")
    assert thief.function("admin-auth", {"action": "totp_enroll"}).status_code == 200
    assert login(anonymous, thief.email).status_code == 200


@pytest.mark.threat("T69")
def test_a_code_that_comes_too_late_turns_nothing_on_or_off(people: People) -> None:
    administrator = people.administrator("support_admin")
    totp = pyotp.TOTP(administrator.function("admin-auth", {"action": "totp_enroll"}).json()["secret"])
    signed_in_before(people, administrator, "11 minutes")
    shown = {"action": "totp_verify", "code": totp.now()}
    assert administrator.function("admin-auth", shown).json()["code"] == "reauthentication_needed"
    signed_in_before(people, administrator, "1 minute")
    # The rejected attempt has not used the code up.
    administrator.function("admin-auth", shown).raise_for_status()
    signed_in_before(people, administrator, "11 minutes")
    later = {"action": "totp_disable", "code": totp.at(time.time() + 30)}
    assert administrator.function("admin-auth", later).json()["code"] == "reauthentication_needed"


@pytest.mark.threat("T63", "T69")
def test_signing_in_with_ones_token_replaces_the_session_and_no_other(people: People) -> None:
    administrator, other = (people.administrator("super_admin") for _ in range(2))
    elsewhere = people.sign_in_administrator(administrator.email)
    signed_in_before(people, administrator, "2 hours")
    # Who has another one's token and an own account ends nothing with it.
    assert login(administrator, other.email).status_code == 200
    assert works(administrator)
    # A wrong password neither.
    assert login(administrator, administrator.email, "wrong").status_code == 401
    assert works(administrator)
    body = login(administrator, administrator.email).raise_for_status().json()
    proved = ApiClient(people.stack, body["access_token"], people.address)
    assert [works(each) for each in (administrator, elsewhere, proved)] == [False, True, True]
    assert proved.function("admin-auth", {"action": "totp_enroll"}).status_code == 200


def test_a_failed_sign_in_is_on_record_with_its_account(people: People, anonymous: ApiClient) -> None:
    email, unknown = people.account("support_admin"), f"Secret-{secrets.token_hex(4)}"
    responses = [login(anonymous, each, "wrong") for each in (email, unknown)]
    rows = people.owner.execute(
        "select object_id, actor, payload from private.audit_log where action = 'admin.sign_in_failed'"
        " and payload ->> 'request_id' = any(%s) order by id",
        [[each.headers["x-request-id"] for each in responses]],
    ).fetchall()
    owner = people.owner.execute("select id from private.admin_users where email = %s", [email]).fetchone()
    assert owner
    assert [row["object_id"] for row in rows] == [owner["id"], None]
    assert {(row["actor"], row["payload"]["wrong"]) for row in rows} == {("system", "password")}
    assert unknown.lower() not in str(rows).lower()


def test_passwords_are_changed_so_often_and_no_more(people: People) -> None:
    administrator = people.administrator("support_admin")
    people.owner.execute(
        "insert into private.rate_limits (bucket, key, window_start, hits)"
        " values ('admin_password', %s, clock_timestamp(), 10)",
        [administrator.admin_id],
    )
    response = change_password(administrator)
    assert (response.status_code, response.json()["code"]) == (429, "too_many_attempts")


def test_two_step_sign_in_is_set_up_once(people: People) -> None:
    administrator, _ = with_two_steps(people)
    again = administrator.function("admin-auth", {"action": "totp_enroll"})
    assert (again.status_code, again.json()["code"]) == (409, "totp_enrolled")


@pytest.mark.parametrize("action", ["totp_verify", "totp_disable"])
def test_a_code_before_two_step_sign_in_is_set_up(people: People, action: str) -> None:
    response = people.administrator("finance_admin").function(
        "admin-auth", {"action": action, "code": "000000"}
    )
    assert (response.status_code, response.json()["code"]) == (409, "totp_not_enrolled")


def test_two_step_sign_in(people: People, anonymous: ApiClient, count_rows: Callable[[str], int]) -> None:
    administrator = people.administrator("finance_admin")
    enrolled = administrator.function("admin-auth", {"action": "totp_enroll"}).json()
    totp = pyotp.TOTP(enrolled["secret"])
    assert enrolled["uri"].startswith("otpauth://totp/")
    assert enrolled["qr_code"].startswith("<svg")
    # Not confirmed yet: signing in works without a code.
    assert login(anonymous, administrator.email).status_code == 200

    wrong = administrator.function("admin-auth", {"action": "totp_verify", "code": "000000"})
    assert wrong.json() == {
        "error": "That code did not match. Codes change every 30 seconds.",
        "code": "totp_invalid",
    }
    code = totp.now()
    assert administrator.function("admin-auth", {"action": "totp_verify", "code": code}).status_code == 200

    asked = login(anonymous, administrator.email)
    assert (asked.status_code, asked.json()) == (
        401,
        {"error": "Enter the six-digit code", "code": "totp_required"},
    )
    assert login(anonymous, administrator.email, totp=code).json()["code"] == "totp_invalid", (
        "a code counts once"
    )
    later = totp.at(time.time() + 30)
    assert login(anonymous, administrator.email, totp=later).status_code == 200
    secret = enrolled["secret"].encode().hex()
    assert count_rows(f"private.admin_users where encode(totp_secret, 'hex') like '%{secret}%'") == 0


def test_a_sign_in_leaves_an_audit_row(people: People, count_rows: Callable[[str], int]) -> None:
    administrator = people.administrator("finance_admin")
    assert count_rows(f"private.audit_log where actor = 'admin:{administrator.admin_id}'") >= 1
