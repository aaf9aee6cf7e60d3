"""Limits of sign-ins and requests per address, and what many at once delay: off in the reference profile."""

import csv
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing, suppress
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

from functions.auth import passwords
from functions.auth.limits.attempts import subject_of_email
from functions.auth.limits.passwords import PasswordAttempts, known_address
from functions.auth.passwords import COST, Passwords
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


def test_sign_ins_that_would_wait_too_long_are_rejected_at_once(auth: OwnAuth) -> None:
    def sign_in(_: int) -> int:
        return auth.sign_in(f"nobody-{secrets.token_hex(6)}@example.com", PASSWORD).status_code

    with ThreadPoolExecutor(90) as crowd:
        statuses = list(crowd.map(sign_in, range(90)))
    assert set(statuses) == {400, 503}
    assert sign_in(0) == 400, "and the next one is welcome"


async def test_the_queue_is_as_short_as_hashes_are_slow() -> None:
    """However long a hash takes on a busy machine, the last in the queue is answered within a second."""
    usual = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    slow = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(13)).decode()
    places = []
    with closing(Passwords(6, reject_common=False)) as passwords:
        for hashed, times in ((usual, 1), (slow, 3), (usual, 20)):
            for _ in range(times):
                async with passwords.slot("a@example.com") as matches:
                    assert await matches(PASSWORD, hashed)
            places.append(await _places(passwords))
    assert places[0] == places[2] == 16
    assert 2 <= places[1] <= 8


async def _places(passwords: Passwords) -> int:
    """Return how many wait until one more is rejected."""
    async with AsyncExitStack() as waiting:
        for number in range(100):
            try:
                await waiting.enter_async_context(passwords.slot(f"{number}@example.com"))
            except ApiError:
                return number
    raise AssertionError("no end of them")


@pytest.mark.threat("T77")
async def test_an_account_has_four_places() -> None:
    """The rest of the queue is there for the others."""
    with closing(Passwords(6, reject_common=False)) as passwords:
        async with AsyncExitStack() as waiting:
            for _ in range(4):
                await waiting.enter_async_context(passwords.slot("a@example.com", at_home=True))
            with pytest.raises(ApiError, match="busy"):
                await passwords.hash(PASSWORD, "a@example.com")
            assert await passwords.hash(PASSWORD, "b@example.com")
        assert await passwords.hash(PASSWORD, "a@example.com")


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


@pytest.mark.long
@pytest.mark.threat("T80")
def test_known_and_unknown_addresses_take_the_same_time(auth: OwnAuth) -> None:
    """Of 200 attempts the medians differ by less than a tenth.

    Measured is the time of this process, in which the service runs: a busy machine changes nothing about it.
    """
    people = [auth.new_user(PASSWORD, cost=COST) for _ in range(10)]
    times: dict[str, list[float]] = {"known": [], "unknown": []}
    for turn in range(100):
        for kind, email in (
            ("known", people[turn % 10]["email"]),
            ("unknown", f"nobody-{secrets.token_hex(6)}@example.com"),
        ):
            started = time.process_time()
            assert auth.sign_in(email, "wrong-password").status_code == 400
            times[kind].append(time.process_time() - started)
    known, unknown = median(times["known"]), median(times["unknown"])
    assert abs(known - unknown) < 0.1 * min(known, unknown), (known, unknown)
    for person in people:
        auth.delete_user(person["id"])


@pytest.fixture
def email(auth: OwnAuth, case: str) -> Iterator[str]:
    """Yield an address that has an account, or one that has none."""
    if case == "unknown":
        yield f"nobody-{secrets.token_hex(6)}@example.com"
        return
    user = auth.new_user(PASSWORD, cost=COST)
    yield user["email"]
    auth.delete_user(user["id"])


@pytest.fixture
def hashed(email: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    """Return what is hashed from now on, and at which cost: the service runs in this process."""
    done: list[tuple[str, bytes]] = []

    def noting(name: str) -> Callable[[bytes, bytes], Any]:
        original = getattr(bcrypt, name)

        def note(password: bytes, salt_or_hash: bytes) -> Any:
            done.append((name, salt_or_hash[:7]))
            return original(password, salt_or_hash)

        return note

    monkeypatch.setattr(passwords, "COST", COST)
    for name in ("hashpw", "checkpw"):
        monkeypatch.setattr(bcrypt, name, noting(name))
    return done


@pytest.mark.threat("T80")
@pytest.mark.parametrize("case", ["known", "unknown"])
def test_a_sign_in_costs_a_hash_whatever_the_address(
    auth: OwnAuth, hashed: list[tuple[str, bytes]], email: str
) -> None:
    assert auth.sign_in(email, "wrong-password").status_code == 400
    assert hashed == [("checkpw", b"$2a$10$")]


@pytest.mark.threat("T80")
@pytest.mark.parametrize("case", ["known", "unknown"])
def test_a_sign_up_costs_a_hash_whatever_the_address(
    auth: OwnAuth, hashed: list[tuple[str, bytes]], email: str
) -> None:
    body = {"email": email, "password": PASSWORD}
    made = auth.http.post("/signup", headers={"x-real-ip": "10.5.0.3"}, json=body).raise_for_status()
    assert hashed == [("hashpw", b"$2a$10$")]
    auth.delete_user(made.json()["id"])


@pytest.mark.threat("T86")
@pytest.mark.parametrize(("kind", "case"), [("signup", "known"), ("signup", "unknown"), ("otp", "unknown")])
def test_a_request_that_is_rejected_costs_no_hash(
    stack: Stack, hashed: list[tuple[str, bytes]], email: str, kind: str
) -> None:
    """As it would when no mail is left, or when the product rejects what was signed up with."""
    hook = "pg-functions://postgres/hooks/before_user_created"
    for settings in (
        {"GOTRUE_RATE_LIMIT_EMAIL_SENT": "0"},
        {"GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true", "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": hook},
    ):
        with own_auth(stack, **settings) as auth:
            body = {"email": email, "password": PASSWORD, "data": {"referrer_id": "nobody"}}
            sent = auth.http.post(f"/{kind}", headers={"x-real-ip": "10.5.0.4"}, json=body)
            assert sent.status_code in (400, 429), sent.text
    assert not hashed


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


def test_what_is_too_old_to_matter_is_purged(stack: Stack, auth_database: str) -> None:
    """At the start of the service, and hourly; in a database of its own, where no other instance does it."""
    with own_auth(stack, DATABASE_URL=auth_database) as auth:
        ada = auth.new_user(PASSWORD)
        auth.http.post("/admin/generate_link", headers=bearer(auth.service_key), json=_recovery(ada))
        signed_in(auth, ada)
    old = {
        "attempts": (
            "subject",
            "insert into auth.attempts select kind, %s, 1, now() - age from "
            "(values ('totp', interval '16 minutes'), ('code', '25 hours')) as t (kind, age)",
        ),
        "mail_counts": (
            "subject",
            "insert into auth.mail_counts values (%s, 1, now() - interval '61 minutes')",
        ),
        "notices": (
            "recipient",
            "insert into auth.notices (notice, recipient, data, instance, created_at, next_attempt_at) "
            "values ('x', %s, '{}', gen_random_uuid(), now() - interval '8 days', now() + interval '1 day')",
        ),
        "flow_state": (
            "user_id",
            "insert into auth.flow_state (id, user_id, auth_code, code_challenge_method, code_challenge, "
            "provider_type, authentication_method, created_at) values "
            "(gen_random_uuid(), %s, 'x', 'plain', 'x', 'email', 'recovery', now() - interval '25 hours')",
        ),
        "one_time_tokens": (
            "user_id",
            "update auth.one_time_tokens set created_at = now() - interval '25 hours' where user_id = %s",
        ),
        "earlier_sign_ups": (
            "user_id",
            "insert into auth.earlier_sign_ups (user_id, identity_data, created_at, confirmation_sent_at) "
            "values (%s, '{}', now(), now() - interval '25 hours')",
        ),
        "known_addresses": (
            "user_id",
            "update auth.known_addresses set seen_at = now() - interval '91 days' where user_id = %s",
        ),
    }
    with psycopg.connect(auth_database, autocommit=True) as db:
        for _, statement in old.values():
            assert db.execute(statement, [ada["id"]]).rowcount >= 1
        db.execute("insert into auth.attempts values ('code', 'alive', 1, now() - interval '23 hours')")

        def left() -> list[str]:
            counts = {
                table: f"select 1 from auth.{table} where {column} = %s limit 1"
                for table, (column, _) in old.items()
            }
            return [table for table, query in counts.items() if db.execute(query, [ada["id"]]).fetchone()]

        with own_auth(stack, DATABASE_URL=auth_database):
            until = time.monotonic() + 20
            while left() and time.monotonic() < until:
                time.sleep(0.02)
        assert left() == []
        assert db.execute("select from auth.attempts where subject = 'alive'").rowcount == 1


@pytest.mark.parametrize(
    ("settings", "days"), [({}, 365), ({"GOTRUE_SESSIONS_INACTIVITY_TIMEOUT": "720h"}, 60)]
)
def test_what_sessions_leave_behind_is_purged_by_its_age(
    stack: Stack, auth_database: str, settings: dict[str, str], days: int
) -> None:
    """Used refresh tokens after 30 days, the audit log after 90, sessions after 30 more or a year."""
    with own_auth(stack, DATABASE_URL=auth_database) as auth:
        ada = auth.new_user(PASSWORD)
        first, idle, alive = (signed_in(auth, ada)["refresh_token"] for _ in range(3))
        second = _refreshed(auth, first)
        newest = _refreshed(auth, second)
        left_by_a_tab = _refreshed(auth, first)
    with psycopg.connect(auth_database, autocommit=True) as db:
        late, early = days + 1, days - 1
        ages = ((first, 31), (second, 29), (left_by_a_tab, late), (idle, late), (alive, early))
        for token, age in ages:
            aged = "update auth.refresh_tokens set updated_at = now() - make_interval(days => %s) "
            assert db.execute(f"{aged} where token = %s", [age, token]).rowcount == 1
        unused = (
            "update auth.sessions set created_at = created_at - make_interval(days => %s)"
            " where id = (select session_id from auth.refresh_tokens where token = %s)"
        )
        for token, age in ((idle, late), (alive, early)):
            assert db.execute(unused, [age, token]).rowcount == 1
        db.execute(
            "update auth.audit_log_entries set created_at = now() - case payload ->> 'action' "
            "when 'login' then interval '91 days' else interval '89 days' end"
        )

        def left() -> tuple[set[str], set[str]]:
            tokens = db.execute("select token from auth.refresh_tokens").fetchall()
            actions = db.execute("select payload ->> 'action' from auth.audit_log_entries").fetchall()
            return {token for (token,) in tokens}, {"login", "token_refreshed"} & {
                name for (name,) in actions
            }

        assert left() == ({first, second, newest, left_by_a_tab, idle, alive}, {"login", "token_refreshed"})
        due = ({second, newest, left_by_a_tab, alive}, {"token_refreshed"})
        with own_auth(stack, DATABASE_URL=auth_database, **settings) as auth:
            until = time.monotonic() + 20
            while left() != due and time.monotonic() < until:
                time.sleep(0.02)
            assert left() == due
            assert db.execute("select from auth.sessions").rowcount == 2, "nobody came back to the third"
            body = {"refresh_token": alive}
            back = auth.http.post("/token?grant_type=refresh_token", json=body).json()
            assert back.get("error_code") == ("session_expired" if settings else None), (
                "who was away for less"
            )
            assert _refreshed(auth, newest), "a session needs none of its used tokens"


def _refreshed(auth: OwnAuth, token: str) -> str:
    response = auth.http.post("/token?grant_type=refresh_token", json={"refresh_token": token})
    return str(response.raise_for_status().json()["refresh_token"])


def _recovery(user: dict[str, Any]) -> dict[str, str]:
    return {"type": "recovery", "email": user["email"]}


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
