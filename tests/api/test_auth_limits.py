"""Limits of sign-ins and requests per address, and what many at once delay: off in the reference profile."""

import csv
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import timedelta
from ipaddress import ip_address, ip_network
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import bcrypt
import httpx
import psycopg
import pytest

from functions.auth.limits.attempts import subject_of_email
from functions.auth.limits.passwords import PasswordAttempts, known_address
from functions.core.database import Connection, Pool, make_pool
from functions.core.errors import ApiError
from functions.core.request import networks_of
from tests.support.own_auth import (
    PASSWORD,
    OwnAuth,
    attempt_at_once,
    bearer,
    own_auth,
    signed_in,
    wait_for_notice,
)
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has none of these limits")


@pytest.mark.threat("T77")
def test_the_eleventh_login_attempt_is_rejected_even_when_right_and_the_owner_is_notified(
    auth: OwnAuth, ada: dict[str, Any]
) -> None:
    other = auth.new_user(PASSWORD)
    for number in range(10):
        rejected = auth.sign_in(ada["email"], f"wrong-{number}")
        assert (rejected.status_code, rejected.json()["error_code"]) == (400, "invalid_credentials")
    blocked = auth.sign_in(ada["email"], PASSWORD)
    assert (blocked.status_code, blocked.json()["error_code"]) == (429, "over_request_rate_limit")
    assert auth.sign_in(other["email"], PASSWORD).status_code == 200, "another account is untouched"
    wait_for_notice(auth, ada["email"], "paused")
    auth.delete_user(other["id"])


@pytest.mark.threat("T77")
def test_failures_elsewhere_do_not_keep_the_owner_out(
    auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
) -> None:
    """An address that signed in to the account in the last 90 days has attempts of its own."""
    home = "2001:db8:1:2::7"
    assert auth.sign_in(ada["email"], PASSWORD, home).status_code == 200
    assert [auth.sign_in(ada["email"], f"wrong-{n}").status_code for n in range(11)] == [400] * 10 + [429]
    assert auth.sign_in(ada["email"], PASSWORD, home).status_code == 200
    assert auth.sign_in(ada["email"], PASSWORD, "2001:db8:1:2::8").status_code == 200, "the same network"
    admin_db.execute(
        "update auth.known_addresses set seen_at = now() - interval '91 days' where user_id = %s", [ada["id"]]
    )
    assert auth.sign_in(ada["email"], PASSWORD, home).status_code == 429


ADA = "ada@example.com"
KNOWN_ADDRESSES = Path(__file__).parents[1] / "support" / "known_addresses.csv"


@pytest.mark.threat("T77")
async def test_an_address_that_signed_in_to_the_account_has_a_count_of_its_own(auth_database: str) -> None:
    """SQL says the same of each for administrators: tests/db/sign_in_limits.sql."""
    rows = list(csv.DictReader(KNOWN_ADDRESSES.open()))
    async with make_pool(auth_database, 2, "test", autocommit=True) as pool, pool.connection() as db:
        results = {row["case"]: await _result(pool, db, row) for row in rows}
    assert results == {row["case"]: (row["passes"], row["counts_as"]) for row in rows}


async def _result(pool: Pool, db: Connection, row: dict[str, str]) -> tuple[str, str]:
    """Return whether Ada's password is verified, and what a failure counts as."""
    attempts = PasswordAttempts(pool, 2, 3, timedelta(minutes=15))
    users = {who: {"id": uuid.uuid4()} for who in ("this", "other")}
    await db.execute("truncate auth.attempts, auth.users cascade")
    for user in users.values():
        await db.execute("insert into auth.users (id) values (%s)", [user["id"]])
    if row["signed_in_to"]:
        user = users[row["signed_in_to"]]
        await db.execute(
            "insert into auth.known_addresses values (%s, %s, now() - make_interval(days => %s))",
            [user["id"], known_address(user, row["signed_in_from"]), int(row["days_since"])],
        )
    for what in row["full"].split():
        for email, address in _failures(what, row):
            with suppress(ApiError):
                async with attempts.begin_password(email, address, at_home=what == "own"):
                    pass
    at_home = await attempts.is_at_home(db, users["this"], row["comes_from"])
    try:
        async with attempts.begin_password(ADA, row["comes_from"], at_home=at_home) as attempt:
            return "t", "account" if attempt.account == ("password", subject_of_email(ADA)) else "own"
    except ApiError:
        return "f", ""


def _failures(what: str, row: dict[str, str]) -> list[tuple[str, str]]:
    """Return the accounts and addresses of the failures that fill a count."""
    if what == "account":
        return [(ADA, "198.51.100.1"), (ADA, "198.51.100.2")]
    if what == "own":
        return [(ADA, row["signed_in_from"])] * 2
    if what == "network":
        return [(f"{number}@example.com", row["comes_from"]) for number in range(3)]
    here, site = ip_address(row["comes_from"]), ip_network(networks_of(row["comes_from"])[1])
    others = [network for network in islice(site.subnets(new_prefix=64), 11) if here not in network]
    return [(f"{number}@example.com", str(others[number % 10][1])) for number in range(30)]


@pytest.mark.threat("T77")
def test_a_crowd_elsewhere_does_not_make_the_owner_wait(auth: OwnAuth, ada: dict[str, Any]) -> None:
    home = "10.1.0.3"
    assert auth.sign_in(ada["email"], PASSWORD, home).status_code == 200
    goes_on = threading.Event()

    def crowd(number: int) -> set[int]:
        found = set[int]()
        while not goes_on.is_set():
            email = f"nobody-{secrets.token_hex(6)}@example.com"
            with suppress(httpx.TransportError):
                found.add(
                    auth.sign_in(email, PASSWORD, f"10.2.{number}.{secrets.randbelow(250)}").status_code
                )
        return found

    with ThreadPoolExecutor(30) as pool:
        others = [pool.submit(crowd, number) for number in range(30)]
        time.sleep(1)
        mine = [auth.sign_in(ada["email"], PASSWORD, home).status_code for _ in range(20)]
        goes_on.set()
        assert 503 in set[int]().union(*(other.result() for other in others))
    assert set(mine) == {200}


@pytest.mark.threat("T77")
def test_a_known_address_has_no_more_attempts_than_others(auth: OwnAuth, ada: dict[str, Any]) -> None:
    home = "10.1.0.1"
    assert auth.sign_in(ada["email"], PASSWORD, home).status_code == 200
    tries = [auth.sign_in(ada["email"], f"wrong-{number}", home) for number in range(10)]
    assert {response.status_code for response in tries} == {400}
    assert auth.sign_in(ada["email"], PASSWORD, home).status_code == 429
    assert auth.sign_in(ada["email"], PASSWORD, "10.1.0.2").status_code == 200, "nor slow others"


@pytest.mark.threat("T77", "T80")
def test_beyond_the_limit_a_right_and_a_wrong_password_are_alike(auth: OwnAuth, ada: dict[str, Any]) -> None:
    for number in range(10):
        auth.sign_in(ada["email"], f"wrong-{number}")

    def attempt(password: str) -> tuple[int, bytes, float]:
        started = time.process_time()
        response = auth.sign_in(ada["email"], password)
        return response.status_code, response.content, time.process_time() - started

    tries = {password: [attempt(password) for _ in range(21)] for password in (PASSWORD, "wrong-again")}
    assert len({(status, text) for given in tries.values() for status, text, _ in given}) == 1
    right, wrong = (median(seconds for _, _, seconds in given) for given in tries.values())
    # A password that is compared takes some 50 ms.
    assert abs(right - wrong) < 0.01, (right, wrong)


@pytest.mark.threat("T77", "T78")
def test_an_address_that_fails_at_many_accounts_is_slowed(stack: Stack) -> None:
    guesser, home = f"2001:db8:{secrets.token_hex(2)}:1::", f"10.10.{secrets.randbelow(250)}.1"
    with own_auth(stack, HARBORLINE_AUTH_ADDRESS_FAILURE_LIMIT="12") as auth:
        ada, ben = auth.new_user(PASSWORD), auth.new_user(PASSWORD)
        assert auth.sign_in(ada["email"], PASSWORD, f"{guesser}1").status_code == 200

        def sign_in(number: int) -> int:
            email = f"nobody-{secrets.token_hex(6)}@example.com"
            return auth.sign_in(email, PASSWORD, f"{guesser}{number:x}").status_code

        assert [sign_in(number) for number in range(14)] == [400] * 12 + [429] * 2
        assert auth.sign_in(ben["email"], PASSWORD, f"{guesser}ff").status_code == 429
        assert auth.sign_in(ben["email"], PASSWORD, home).status_code == 200, "others are untouched"
        assert auth.sign_in(ada["email"], PASSWORD, f"{guesser}ff").status_code == 200, "who was here before"
        for _ in range(14):
            assert auth.sign_in(ben["email"], PASSWORD, home).status_code == 200, "a right one is no failure"
        for user in (ada, ben):
            auth.delete_user(user["id"])


@pytest.mark.threat("T77")
def test_an_attempt_that_is_rejected_counts_nowhere(stack: Stack) -> None:
    """Neighbours do not pay for an account whose count is full."""
    neighbours = f"2001:db8:{secrets.token_hex(2)}:1::"
    with own_auth(stack, HARBORLINE_AUTH_ADDRESS_FAILURE_LIMIT="2") as auth:
        ben = auth.new_user(PASSWORD)
        for number in range(10):
            assert auth.sign_in(ben["email"], "wrong", f"10.11.{number}.1").status_code == 400
        assert {auth.sign_in(ben["email"], "wrong", f"{neighbours}1").status_code for _ in range(3)} == {429}
        strangers = [f"nobody-{secrets.token_hex(6)}@example.com" for _ in range(3)]
        statuses = [auth.sign_in(email, PASSWORD, f"{neighbours}2").status_code for email in strangers]
        assert statuses == [400, 400, 429]
        auth.delete_user(ben["id"])


@pytest.mark.threat("T77", "T78")
def test_the_networks_of_one_site_have_ten_times_as_many_failures(stack: Stack) -> None:
    site = f"2001:db8:{secrets.token_hex(2)}"
    with own_auth(stack, HARBORLINE_AUTH_ADDRESS_FAILURE_LIMIT="1") as auth:
        ben = auth.new_user(PASSWORD)

        def sign_in(network: int, email: str = "") -> int:
            email = email or f"nobody-{secrets.token_hex(6)}@example.com"
            return auth.sign_in(email, PASSWORD, f"{site}:{network:x}::1").status_code

        assert [sign_in(network) for network in (0, 0, 0)] == [400, 429, 429]
        assert [sign_in(network) for network in range(1, 12)] == [400] * 9 + [429] * 2
        assert sign_in(99, ben["email"]) == 429
        assert auth.sign_in(ben["email"], PASSWORD, "2001:db8:ffff:1::1").status_code == 200
        auth.delete_user(ben["id"])


def test_the_mail_about_a_paused_sign_in_delays_no_response(auth: OwnAuth, ada: dict[str, Any]) -> None:
    for number in range(9):
        auth.sign_in(ada["email"], f"wrong-{number}")
    auth.mail.goes_on.clear()
    assert auth.sign_in(ada["email"], "wrong-again").status_code == 400
    assert not any(ada["email"] in message for message in auth.messages), (
        "the response came before the mail left"
    )
    auth.mail.goes_on.set()
    wait_for_notice(auth, ada["email"], "Sign-in to your account was paused")


def test_an_unknown_address_is_limited_like_a_known_one(auth: OwnAuth) -> None:
    email = f"nobody-{secrets.token_hex(6)}@example.com"
    codes = [auth.sign_in(email, "whatever-1").status_code for _ in range(11)]
    assert codes == [400] * 10 + [429]


@pytest.mark.threat("T77")
def test_parallel_login_attempts_count_before_they_are_verified(auth: OwnAuth, ada: dict[str, Any]) -> None:
    assert attempt_at_once([auth], ada["email"]) == [400] * 10 + [429] * 14


@pytest.mark.threat("T79")
def test_a_restart_clears_no_counter(stack: Stack) -> None:
    with closing(OwnAuth(stack)) as service:
        service.start()
        user = service.new_user(PASSWORD)
        for number in range(9):
            service.sign_in(user["email"], f"wrong-{number}")
        service.stop(kill=True)
        service.start()
        assert service.sign_in(user["email"], "wrong-again").status_code == 400
        assert service.sign_in(user["email"], PASSWORD).status_code == 429
        service.delete_user(user["id"])


def test_the_right_password_purges_the_failures(auth: OwnAuth, ada: dict[str, Any]) -> None:
    for _ in range(2):
        for number in range(9):
            auth.sign_in(ada["email"], f"wrong-{number}")
        assert auth.sign_in(ada["email"], PASSWORD).status_code == 200


def test_a_login_attempt_that_was_not_verified_does_not_count(
    auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
) -> None:
    """Who is turned away because the service is busy may try again as often as they like."""
    token = signed_in(auth, ada)["access_token"]
    # Hashes of eight times the usual work: half a second passes before the service takes one more.
    slow = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(13)).decode()
    body = {"password": PASSWORD, "current_password": PASSWORD}
    own = {"x-real-ip": "10.2.0.1"}
    # All sign in from home, where changes of a password wait too; of each address few requests are taken.
    homes = [f"10.2.{number}.1" for number in range(100)]

    def at_home(user: dict[str, Any]) -> str:
        admin_db.execute(
            "insert into auth.known_addresses select %s, unnest(%s::text[]), now()",
            [user["id"], [known_address(user, address) for address in homes]],
        )
        return str(user["email"])

    probe = at_home(auth.new_user(PASSWORD))
    at_home(ada)

    def is_busy() -> bool:
        return auth.sign_in(probe, PASSWORD, secrets.choice(homes)).status_code == 503

    def sign_in() -> int:
        return auth.sign_in(ada["email"], PASSWORD, own["x-real-ip"]).status_code

    def change_password() -> int:
        return auth.http.put("/user", headers=bearer(token) | own, json=body).status_code

    def sent_while_busy() -> list[int]:
        others = [at_home(auth.new_user("", password_hash=slow)) for _ in range(6)]
        with ThreadPoolExecutor(27) as crowd, ThreadPoolExecutor(12) as at_once:
            waiting = [
                crowd.submit(auth.sign_in, email, "wrong", address)
                for email in others
                for address in homes[1:5]
            ]
            while not is_busy():
                assert not all(one.done() for one in waiting)
            sent = [at_once.submit(request) for request in [sign_in] * 6 + [change_password] * 6]
            return [one.result() for one in sent]

    # A place that becomes free just then goes to one of them, which is verified: once more.
    rejected = next((statuses for _ in range(12) if set(statuses := sent_while_busy()) == {503}), [])
    assert rejected == [503] * 12
    assert sign_in() == 200


def test_the_window_passes(auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]) -> None:
    for number in range(11):
        auth.sign_in(ada["email"], f"wrong-{number}")
    admin_db.execute(
        "update auth.attempts set started_at = started_at - interval '16 minutes' "
        "where subject = encode(sha256(convert_to(%s, 'utf8')), 'hex')",
        [ada["email"]],
    )
    assert auth.sign_in(ada["email"], PASSWORD).status_code == 200


def test_wrong_codes_at_once_delay_no_other_client(auth: OwnAuth, ada: dict[str, Any]) -> None:
    token = signed_in(auth, ada)["access_token"]

    def login_attempt(number: int) -> int:
        body = {"type": "email", "email": ada["email"], "token": "000000"}
        return auth.http.post("/verify", headers={"x-real-ip": f"10.2.{number}.1"}, json=body).status_code

    with ThreadPoolExecutor(40) as crowd:
        login_attempts = crowd.map(login_attempt, range(32))
        looks = list(crowd.map(lambda _: _is_served(auth, token), range(4)))
    assert set(login_attempts) == {403}
    assert all(looks)


def test_slow_bodies_delay_no_other_client(auth: OwnAuth, ada: dict[str, Any]) -> None:
    token = signed_in(auth, ada)["access_token"]
    device = {"factor_type": "totp", "friendly_name": "slow"}
    factor = auth.http.post("/factors", headers=bearer(token), json=device).json()["id"]

    begun, looked = threading.Semaphore(0), threading.Event()

    def trickle() -> Iterator[bytes]:
        yield b"{"
        begun.release()
        looked.wait(20)
        yield b"}"

    def ask(number: int) -> int:
        path = f"/factors/{factor}/{'challenge' if number % 2 else 'verify'}"
        headers = {**bearer(token), "x-real-ip": f"10.3.{number}.1", "content-length": "2"}
        return auth.http.post(path, headers=headers, content=trickle()).status_code

    with ThreadPoolExecutor(40) as crowd:
        slow = crowd.map(ask, range(24))
        for _ in range(24):
            begun.acquire(timeout=20)
        looks = list(crowd.map(lambda _: _is_served(auth, token), range(4)))
        looked.set()
    assert sorted(set(slow)) == [200, 400]
    assert all(looks)


def _is_served(auth: OwnAuth, token: str) -> bool:
    """Return whether another client gets a response soon."""
    started = time.perf_counter()
    status = auth.http.get("/user", headers=bearer(token)).status_code
    return status == 200 and time.perf_counter() - started < 10


@pytest.mark.threat("T78", "T86")
@pytest.mark.parametrize("kind", ["signup", "recover", "resend", "otp", "magiclink"])
def test_an_address_has_thirty_requests_of_a_kind_at_once(auth: OwnAuth, kind: str) -> None:
    """Ask for what fails, so that no mail is sent, once the request has been counted."""
    body = {"email": "no address", "password": PASSWORD, "type": "signup"}
    _has_thirty(lambda address: auth.http.post(f"/{kind}", headers=address, json=body), 400)


@pytest.mark.threat("T78")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/token", 400), ("POST", "/verify", 400), ("GET", "/verify", 400), ("PUT", "/user", 401)],
)
def test_an_address_has_thirty_of_other_requests(auth: OwnAuth, method: str, path: str, status: int) -> None:
    _has_thirty(lambda address: auth.http.request(method, path, headers=address, json={}), status)


@pytest.mark.threat("T78", "T85")
@pytest.mark.parametrize(("end", "status"), [("challenge", 200), ("verify", 400)])
def test_an_address_has_thirty_authenticator_codes_at_once(
    auth: OwnAuth, ada: dict[str, Any], end: str, status: int
) -> None:
    headers = bearer(signed_in(auth, ada)["access_token"])
    factor = auth.http.post("/factors", headers=headers, json={"factor_type": "totp"}).json()
    path = f"/factors/{factor['id']}/{end}"
    _has_thirty(lambda address: auth.http.post(path, headers=headers | address, json={}), status)


def _has_thirty(ask: Callable[[dict[str, str]], httpx.Response], status: int) -> None:
    """Check that an address gets thirty responses, then too soon an error, and another one its own."""
    here, there = (
        {"x-real-ip": f"10.{number}.{secrets.randbelow(250)}.{secrets.randbelow(250)}"} for number in (40, 41)
    )
    assert {ask(here).status_code for _ in range(30)} == {status}
    # While these were sent a few more have become free.
    late = [ask(here) for _ in range(10)]
    assert {429} <= {response.status_code for response in late} <= {429, status}
    assert {"over_request_rate_limit"} <= {response.json().get("error_code") for response in late}
    assert ask(there).status_code == status, "another address has its own"


@pytest.mark.threat("T80")
def test_a_recovery_of_an_unknown_address_takes_as_long(
    auth: OwnAuth, ada: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the slowest of the last that mailed: the mail server of this one waits."""
    monkeypatch.setattr(secrets, "choice", max)

    def seconds(email: str) -> float:
        started = time.perf_counter()
        auth.http.post(
            "/recover", headers={"x-real-ip": "10.5.0.2"}, json={"email": email}
        ).raise_for_status()
        return time.perf_counter() - started

    auth.mail.goes_on.clear()
    threading.Timer(1, auth.mail.goes_on.set).start()
    known, unknown = seconds(ada["email"]), seconds(f"nobody-{secrets.token_hex(6)}@example.com")
    # The mail waits for a second, of which a part passes before the request is there.
    assert known > 0.5
    assert unknown > 0.5
