"""admin-auth: how often passwords and codes may be wrong, for an account and from an address."""

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import psycopg
import pyotp
import pytest
from psycopg import sql

from functions.core.errors import ApiError
from functions.edge import admin_auth
from functions.edge.support import passwords
from functions.edge.support.dependencies import RequestContext
from tests.support.admin_sign_in import change_password, failures, login, with_two_steps
from tests.support.people import PASSWORD, Administrator, ApiClient, People, until_served
from tests.support.rollback_pool import RollbackPool, rolled_back
from tests.support.stack import Stack


@pytest.mark.threat("T64")
async def test_the_sixth_failure_takes_a_second_longer(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(admin_auth, "asyncio", SimpleNamespace(sleep=pause))
    unknown = f"nobody-{secrets.token_hex(6)}@example.com"
    wrong = admin_auth.Login(action="login", email=unknown, password="wrong")
    # Where no other test fails.
    context = RequestContext("198.51.100.7", "test", "/admin-auth")
    async with rolled_back(stack) as connection:
        services: Any = SimpleNamespace(pool=RollbackPool(connection), passwords=passwords.Passwords())
        few = (
            "select edge.consume_rate_limit('admin_failures', %s, 5, '15 minutes') from generate_series(1, 4)"
        )
        await connection.execute(few, [wrong.email])
        for number in (5, 6):
            with pytest.raises(ApiError, match="Authentication failed"):
                await admin_auth.admin_auth(wrong, None, context, services)  # type: ignore[arg-type]
            assert pauses == [1] * (number - 5)


def failed(people: People, email: str, address: str, times: int) -> None:
    """Record failures directly: from the sixth on the response to a real one takes a second longer."""
    people.owner.execute(
        "select edge.record_admin_sign_in(%s, %s, false) from generate_series(1, %s)", [email, address, times]
    )


@pytest.mark.threat("T64")
def test_the_eleventh_login_attempt_is_rejected_even_when_right(people: People, anonymous: ApiClient) -> None:
    email = people.account("finance_admin")
    failed(people, email, "192.0.2.1", 9)
    assert login(anonymous, email, "wrong").status_code == 401
    last = login(anonymous, email)
    assert last.status_code == 429
    assert last.json()["code"] == "too_many_attempts"


@pytest.mark.threat("T64")
def test_failures_elsewhere_do_not_keep_an_administrator_out(people: People, anonymous: ApiClient) -> None:
    """Nor two of them, so that no super admin is left to help the other."""
    administrators = [people.administrator("super_admin") for _ in range(2)]
    for administrator in administrators:
        failed(people, administrator.email, "192.0.2.1", 20)
        assert login(anonymous, administrator.email, "wrong").status_code == 401, "has its own attempts"
        assert login(anonymous, administrator.email).status_code == 200, "from where they signed in before"


def move_away(people: People, administrator: Administrator) -> None:
    """Make the address of this test one that never signed in to the account, whose count is full."""
    people.owner.execute(
        "delete from private.known_admin_addresses where admin_id = %s", [administrator.admin_id]
    )
    failed(people, administrator.email, "192.0.2.1", 10)


@pytest.mark.threat("T64")
def test_elsewhere_the_second_factor_passes_beyond_the_limit(people: People, anonymous: ApiClient) -> None:
    administrator, totp = with_two_steps(people)
    move_away(people, administrator)
    later = totp.at(time.time() + 30)
    assert login(anonymous, administrator.email).status_code == 429, "not the password alone"
    assert login(anonymous, administrator.email, "wrong", totp=later).status_code == 429, "nor the code alone"
    assert login(anonymous, administrator.email, totp=later).status_code == 200
    assert login(anonymous, administrator.email, "wrong").status_code == 401, "and is known from now on"


@pytest.mark.threat("T64")
def test_beyond_the_limit_a_right_password_and_a_wrong_one_are_alike(
    people: People, anonymous: ApiClient
) -> None:
    with_factor, totp = with_two_steps(people)
    without = people.administrator("super_admin")
    for administrator in (with_factor, without):
        move_away(people, administrator)
        wrong_code = f"{(int(totp.now()) + 1) % 1_000_000:06d}"
        for more in ({}, {"totp": wrong_code}):
            right, wrong = (
                login(anonymous, administrator.email, each, **more) for each in (PASSWORD, "wrong")
            )
            assert (right.status_code, right.content) == (wrong.status_code, wrong.content)
            assert (right.status_code, right.json()["code"]) == (429, "too_many_attempts")


def with_nine_wrong_codes(people: People) -> tuple[Administrator, pyotp.TOTP]:
    """Return an administrator at an unknown address beyond the limit, where one more wrong code is left."""
    administrator, totp = with_two_steps(people)
    move_away(people, administrator)
    people.owner.execute(
        "select edge.record_wrong_admin_code(%s, '192.0.2.1') from generate_series(1, 9)",
        [administrator.email],
    )
    return administrator, totp


@pytest.mark.threat("T64")
def test_who_has_the_password_alone_cannot_try_codes_for_ever(people: People, anonymous: ApiClient) -> None:
    administrator, totp = with_nine_wrong_codes(people)
    assert login(anonymous, administrator.email, "wrong", totp="000000").status_code == 429, (
        "counts for nothing"
    )
    assert login(anonymous, administrator.email, totp="000000").status_code == 429
    later = totp.at(time.time() + 30)
    assert login(anonymous, administrator.email, totp=later).status_code == 429


@pytest.mark.threat("T64")
def test_wrong_passwords_beyond_the_limit_use_up_no_codes(people: People, anonymous: ApiClient) -> None:
    """Nobody without the password can close the account."""
    administrator, totp = with_nine_wrong_codes(people)
    later = totp.at(time.time() + 30)
    assert login(anonymous, administrator.email, "wrong", totp=later).status_code == 429
    assert login(anonymous, administrator.email, totp=later).status_code == 200


@pytest.mark.threat("T64", "T78")
def test_an_address_that_tries_many_accounts_is_rejected(people: People) -> None:
    stranger, name = people.stranger(), secrets.token_hex(6)
    before = 14 if stranger.address else 0
    failed(people, f"{name}@example.com", stranger.address, before)

    def login_attempt(number: int) -> int:
        # The gateway overwrites what a client says about its address.
        forged = {"x-real-ip": f"10.0.0.{number}", "x-forwarded-for": f"10.0.0.{number}"}
        body = {"action": "login", "email": f"{name}-{number}@example.com", "password": "x"}
        return stranger.http.post("/functions/v1/admin-auth", json=body, headers=forged).status_code

    statuses = [login_attempt(number) for number in range(before, 24)]
    assert statuses == [401] * (20 - before) + [429] * 4


@pytest.mark.threat("T64")
def test_parallel_login_attempts_count_one_by_one(people: People, anonymous: ApiClient) -> None:
    email = people.account("finance_admin")

    def attempt(number: int) -> int:
        # All suites share the 24 places of the functions: who finds none has not tried.
        return int(until_served(lambda: login(anonymous, email, f"wrong-{number}")).status_code)

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(attempt, range(16)))
    assert sorted(statuses) == [401] * 10 + [429] * 6


@pytest.mark.threat("T64")
def test_a_login_attempt_waits_for_another_on_the_account(people: People, anonymous: ApiClient) -> None:
    email, url = people.account("finance_admin"), people.stack.values["DATABASE_ADMIN_URL"]
    waiting = "select l.pid from pg_locks as l where not l.granted and %s = any(pg_blocking_pids(l.pid))"
    with (
        psycopg.connect(url) as other,
        psycopg.connect(url, autocommit=True) as watch,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("select edge.lock_login_attempt(%s, '198.51.100.8')", [email])
        attempt = pool.submit(until_served, lambda: login(anonymous, email, "wrong"))
        while not watch.execute(waiting, [other.info.backend_pid]).fetchone():
            assert not attempt.done()
        other.rollback()
        assert attempt.result().status_code == 401


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_login_attempt_that_could_not_be_verified_does_not_count(
    people: People, anonymous: ApiClient, end: str
) -> None:
    administrator = people.administrator("finance_admin")
    url = people.stack.values["DATABASE_ADMIN_URL"]
    # Who changes any account waits for this one too, and is to be left alone.
    end_waiting = sql.SQL(
        "select {}(l.pid) from pg_locks as l inner join pg_stat_activity as a on a.pid = l.pid"
        " where not l.granted and %s = any(pg_blocking_pids(l.pid)) and a.query like 'select edge.%%'"
    ).format(sql.Identifier(end))
    with (
        psycopg.connect(url) as holder,
        psycopg.connect(url, autocommit=True) as watch,
        ThreadPoolExecutor(1) as pool,
    ):
        holder.execute(
            "select from private.admin_users where id = %s for no key update", [administrator.admin_id]
        )
        for ask in (lambda: login(anonymous, administrator.email), lambda: change_password(administrator)):
            asked = pool.submit(ask)
            while not watch.execute(end_waiting, [holder.info.backend_pid]).fetchone():
                assert not asked.done()
            assert asked.result().status_code == 503
    assert failures(people, administrator.email) == 0


@pytest.mark.threat("T79")
def test_failures_survive_restarts(people: People, anonymous: ApiClient) -> None:
    email = people.account("support_admin")
    for _ in range(3):
        login(anonymous, email, "wrong")
    assert failures(people, email) == 3
    assert login(anonymous, email).status_code == 200
    assert failures(people, email) == 0


def test_who_is_asked_for_a_code_has_not_failed(people: People, anonymous: ApiClient) -> None:
    administrator, totp = with_two_steps(people)
    asked = [login(anonymous, administrator.email).json()["code"] for _ in range(11)]
    assert set(asked) == {"totp_required"}
    assert change_password(administrator).json()["code"] == "totp_required"
    assert failures(people, administrator.email) == 0
    later = totp.at(time.time() + 30)
    assert login(anonymous, administrator.email, totp=later).status_code == 200


@pytest.mark.threat("T64")
def test_codes_cannot_be_guessed(people: People, anonymous: ApiClient) -> None:
    administrator, totp = with_two_steps(people)
    with ThreadPoolExecutor(9) as pool:
        login_attempts = list(
            pool.map(lambda _: login(anonymous, administrator.email, totp="000000"), range(9))
        )
    login_attempts.append(change_password(administrator, totp="000000"))
    assert {response.json()["code"] for response in login_attempts} == {"totp_invalid"}
    later = totp.at(time.time() + 30)
    assert login(anonymous, administrator.email, totp=later).json()["code"] == "too_many_attempts"
    assert change_password(administrator, totp=later).json()["code"] == "too_many_attempts"


@pytest.mark.threat("T64")
def test_codes_of_an_open_session_cannot_be_guessed_either(people: People) -> None:
    administrator = people.administrator("finance_admin")
    totp = pyotp.TOTP(administrator.function("admin-auth", {"action": "totp_enroll"}).json()["secret"])

    def shown(code: str) -> str:
        response = administrator.function("admin-auth", {"action": "totp_verify", "code": code})
        return str(response.json().get("code", response.status_code))

    now = time.time()
    assert [shown(totp.at(now + 30 * step)) for step in (-8, -4, 4, 8)] == ["totp_invalid"] * 4
    assert [shown("000000") for _ in range(6)] == ["totp_invalid"] * 6
    assert shown(totp.now()) == "too_many_attempts"
