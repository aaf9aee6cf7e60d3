"""The auth service's own limits, off in the reference profile: attempts, reauthentication, emails, IPs."""

import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from statistics import median
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import bcrypt
import httpx
import psycopg
import pyotp
import pytest

from functions.auth.migrate import migrate
from tests.support.own_auth import OwnAuth, bearer, own_auth
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has none of these limits")

PASSWORD = "harbour-lantern-41"


@pytest.fixture(scope="module")
def auth(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service with the product's limits."""
    with own_auth(stack) as service:
        yield service


@pytest.fixture
def ada(auth: OwnAuth) -> Iterator[dict[str, Any]]:
    """Create an account."""
    user = auth.new_user(PASSWORD)
    yield user
    auth.delete_user(user["id"])


@pytest.fixture(scope="module")
def admin_db(stack: Stack) -> Iterator[psycopg.Connection[Any]]:
    """Yield a superuser connection, to move timestamps into the past."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
        yield connection


def _signed_in(auth: OwnAuth, user: dict[str, Any]) -> dict[str, Any]:
    return dict(auth.sign_in(user["email"], PASSWORD).raise_for_status().json())


def _set_password(auth: OwnAuth, token: str, **fields: str) -> httpx.Response:
    address = f"10.9.{secrets.randbelow(250)}.{secrets.randbelow(250)}"
    return auth.http.put("/user", headers={**bearer(token), "x-real-ip": address}, json=fields)


def test_sign_ins_that_would_wait_too_long_are_rejected_at_once(auth: OwnAuth) -> None:
    def sign_in(_: int) -> int:
        return auth.sign_in(f"nobody-{secrets.token_hex(6)}@example.com", PASSWORD).status_code

    with ThreadPoolExecutor(90) as crowd:
        statuses = list(crowd.map(sign_in, range(90)))
    assert set(statuses) == {400, 503}
    assert sign_in(0) == 400, "and the next one is welcome"


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
    _wait_for_notice(auth, ada["email"], "paused")
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


def _wait_for_notice(auth: OwnAuth, email: str, word: str) -> None:
    until = time.monotonic() + 10
    while not any(email in message and word in message for message in auth.messages):
        assert time.monotonic() < until, f"no mail to {email} that says {word!r}"
        time.sleep(0.05)


def test_the_mail_about_a_paused_sign_in_delays_no_response(auth: OwnAuth, ada: dict[str, Any]) -> None:
    for number in range(9):
        auth.sign_in(ada["email"], f"wrong-{number}")
    auth.mail.goes_on.clear()
    assert auth.sign_in(ada["email"], "wrong-again").status_code == 400
    assert not any(ada["email"] in message for message in auth.messages), (
        "the response came before the mail left"
    )
    auth.mail.goes_on.set()
    _wait_for_notice(auth, ada["email"], "Sign-in to your account was paused")


def test_an_unknown_address_is_limited_like_a_known_one(auth: OwnAuth) -> None:
    email = f"nobody-{secrets.token_hex(6)}@example.com"
    codes = [auth.sign_in(email, "whatever-1").status_code for _ in range(11)]
    assert codes == [400] * 10 + [429]


@pytest.mark.threat("T77")
def test_parallel_login_attempts_count_before_they_are_verified(auth: OwnAuth, ada: dict[str, Any]) -> None:
    with ThreadPoolExecutor(12) as pool:
        responses = list(pool.map(lambda n: auth.sign_in(ada["email"], f"guess-{n}"), range(24)))
    assert sum(response.status_code == 400 for response in responses) == 10


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


def test_a_login_attempt_that_was_not_verified_does_not_count(auth: OwnAuth, ada: dict[str, Any]) -> None:
    """Who is turned away because the service is busy may try again as often as they like."""
    token = _signed_in(auth, ada)["access_token"]
    # Hashes of eight times the usual work: half a second passes before the service takes one more.
    slow = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(13)).decode()
    body = {"password": PASSWORD, "current_password": PASSWORD}
    own = {"x-real-ip": "10.2.0.1"}

    def is_busy() -> bool:
        return auth.sign_in(f"nobody-{secrets.token_hex(6)}@example.com", PASSWORD).status_code == 503

    def sign_in() -> int:
        return auth.sign_in(ada["email"], PASSWORD, own["x-real-ip"]).status_code

    def change_password() -> int:
        return auth.http.put("/user", headers=bearer(token) | own, json=body).status_code

    def sent_while_busy() -> list[int]:
        others = [auth.new_user("", password_hash=slow)["email"] for _ in range(3)]
        with ThreadPoolExecutor(27) as crowd, ThreadPoolExecutor(12) as at_once:
            waiting = [crowd.submit(auth.sign_in, email, "wrong") for email in others for _ in range(9)]
            while not is_busy():
                assert not all(one.done() for one in waiting)
            sent = [at_once.submit(request) for request in [sign_in] * 6 + [change_password] * 6]
            return [one.result() for one in sent]

    # A place that becomes free just then goes to one of them, which is verified: once more.
    rejected = next((statuses for _ in range(4) if set(statuses := sent_while_busy()) == {503}), [])
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
    people = [auth.new_user(PASSWORD) for _ in range(10)]
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


class TestNewPassword:
    """A stolen session alone must not be able to change it."""

    @pytest.mark.threat("T82")
    def test_a_fresh_sign_in_is_proof(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        session = _signed_in(auth, ada)
        assert _set_password(auth, session["access_token"], password="new-lantern-92").status_code == 200
        assert auth.sign_in(ada["email"], "new-lantern-92").status_code == 200

    @pytest.mark.threat("T82")
    def test_an_older_session_needs_the_current_password(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        session, other = _signed_in(auth, ada), _signed_in(auth, ada)
        admin_db.execute(
            "update auth.mfa_amr_claims set updated_at = now() - interval '11 minutes' where session_id in "
            "(select id from auth.sessions where user_id = %s)",
            [ada["id"]],
        )
        token = session["access_token"]
        bare = _set_password(auth, token, password="new-lantern-92")
        assert (bare.status_code, bare.json()["error_code"]) == (400, "current_password_required")
        wrong = _set_password(auth, token, password="new-lantern-92", current_password="guess-1")
        assert (wrong.status_code, wrong.json()["error_code"]) == (400, "current_password_invalid")
        right = _set_password(auth, token, password="new-lantern-92", current_password=PASSWORD)
        assert right.status_code == 200
        ended = auth.http.get("/user", headers=bearer(other["access_token"]))
        assert (ended.status_code, ended.json()["error_code"]) == (403, "session_not_found")

    @pytest.mark.threat("T82")
    def test_attempts_at_the_current_password_count(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        token = _signed_in(auth, ada)["access_token"]
        codes = [
            _set_password(
                auth, token, password="new-lantern-92", current_password=f"guess-{number}"
            ).status_code
            for number in range(11)
        ]
        assert codes == [400] * 10 + [429]
        _wait_for_notice(auth, ada["email"], "paused")

    def test_a_recovery_link_is_proof_for_an_hour(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        link = auth.http.post(
            "/admin/generate_link",
            headers=bearer(auth.service_key),
            json={"type": "recovery", "email": ada["email"]},
        ).json()
        headers = {"x-real-ip": "10.8.8.1"}
        body = {"type": "recovery", "token_hash": link["hashed_token"]}
        session = auth.http.post("/verify", headers=headers, json=body).raise_for_status().json()
        admin_db.execute(
            "update auth.mfa_amr_claims set updated_at = now() - interval '2 hours' where session_id in "
            "(select id from auth.sessions where user_id = %s)",
            [ada["id"]],
        )
        late = _set_password(auth, session["access_token"], password="new-lantern-92")
        assert late.json()["error_code"] == "current_password_required"
        admin_db.execute(
            "update auth.mfa_amr_claims set updated_at = now() - interval '30 minutes' where session_id in "
            "(select id from auth.sessions where user_id = %s)",
            [ada["id"]],
        )
        assert _set_password(auth, session["access_token"], password="new-lantern-92").status_code == 200

    @pytest.mark.threat("T81")
    @pytest.mark.parametrize("password", ["123456", "Password", "qwerty", "HARBORLINE"])
    def test_a_common_one_is_rejected(self, auth: OwnAuth, ada: dict[str, Any], password: str) -> None:
        rejected = _set_password(auth, _signed_in(auth, ada)["access_token"], password=password)
        assert (rejected.status_code, rejected.json()["weak_password"]) == (422, {"reasons": ["pwned"]})


def _step_up(auth: OwnAuth, token: str, secret: str, factor_id: str, code: str = "") -> httpx.Response:
    headers = {**bearer(token), "x-real-ip": f"10.7.{secrets.randbelow(250)}.{secrets.randbelow(250)}"}
    challenge = auth.http.post(f"/factors/{factor_id}/challenge", headers=headers, json={}).json()
    body = {"challenge_id": challenge["id"], "code": code or pyotp.TOTP(secret).now()}
    return auth.http.post(f"/factors/{factor_id}/verify", headers=headers, json=body)


@pytest.fixture
def enrolled(auth: OwnAuth, ada: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """Ada's session, the id of a factor that is not verified yet, and its secret."""
    session = _signed_in(auth, ada)
    body = {"factor_type": "totp", "friendly_name": "phone"}
    factor = auth.http.post("/factors", headers=bearer(session["access_token"]), json=body).json()
    return session, factor["id"], factor["totp"]["secret"]


def test_two_factors_cannot_have_one_name(
    auth: OwnAuth, ada: dict[str, Any], enrolled: tuple[dict[str, Any], str, str]
) -> None:
    session = enrolled[0]
    body = {"factor_type": "totp", "friendly_name": "tablet"}
    tablet = auth.http.post("/factors", headers=bearer(session["access_token"]), json=body).json()
    path = f"/admin/users/{ada['id']}/factors/{tablet['id']}"
    taken = auth.http.put(path, headers=bearer(auth.service_key), json={"friendly_name": "phone"})
    assert (taken.status_code, taken.json()["error_code"]) == (422, "mfa_factor_name_conflict")
    free = auth.http.put(path, headers=bearer(auth.service_key), json={"friendly_name": "laptop"})
    assert (free.status_code, free.json()["friendly_name"]) == (200, "laptop")


def test_an_authenticator_code_is_good_once(
    auth: OwnAuth, ada: dict[str, Any], enrolled: tuple[dict[str, Any], str, str]
) -> None:
    session, factor_id, secret = enrolled
    code = pyotp.TOTP(secret).now()
    assert _step_up(auth, session["access_token"], secret, factor_id, code).status_code == 200
    again = _signed_in(auth, ada)
    replayed = _step_up(auth, again["access_token"], secret, factor_id, code)
    assert (replayed.status_code, replayed.json()["error_code"]) == (422, "mfa_verification_failed")


@pytest.mark.threat("T85")
def test_authenticator_codes_cannot_be_guessed(
    auth: OwnAuth, ada: dict[str, Any], enrolled: tuple[dict[str, Any], str, str]
) -> None:
    session, factor_id, secret = enrolled
    codes = [
        _step_up(auth, session["access_token"], secret, factor_id, "000000").status_code for _ in range(11)
    ]
    assert codes == [422] * 10 + [429]
    assert _step_up(auth, session["access_token"], secret, factor_id).status_code == 429
    _wait_for_notice(auth, ada["email"], "Two-step sign-in was paused")


def test_a_code_that_could_not_be_verified_does_not_count(
    auth: OwnAuth, ada: dict[str, Any], enrolled: tuple[dict[str, Any], str, str], stack: Stack
) -> None:
    session, factor_id, secret = enrolled
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("select from auth.users where id = %s for update", [ada["id"]])
        given = pool.submit(_step_up, auth, session["access_token"], secret, factor_id)
        cancelled = None
        while not cancelled:
            assert not given.done()
            cancelled = holder.execute(
                "select pg_cancel_backend(pid) from pg_locks "
                "where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
            ).fetchone()
        assert given.result().status_code == 504
        failures = holder.execute(
            "select failures from auth.attempts where kind = 'totp' and subject = %s", [ada["id"]]
        ).fetchone()
    assert failures == (0,)
    assert _step_up(auth, session["access_token"], secret, factor_id).status_code == 200


class TestMailedCodes:
    """Six digits can be tried; a link's token cannot."""

    @pytest.mark.threat("T85")
    def test_ten_wrong_ones_make_it_void_and_the_owner_is_notified(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        link = _link(auth, ada)
        assert {_give(auth, ada, _wrong(link)).status_code for _ in range(10)} == {403}
        _wait_for_notice(auth, ada["email"], "entered wrongly too often")
        late = _give(auth, ada, link["email_otp"])
        assert (late.status_code, late.json()["error_code"]) == (403, "otp_expired")
        _end_window(admin_db, ada)
        assert _give(auth, ada, link["email_otp"]).status_code == 403, "it stays void after the window"
        assert _open(auth, link["hashed_token"]).status_code == 200, "the link itself still works"

    @pytest.mark.threat("T85")
    def test_a_new_one_is_no_new_chance(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        first = _link(auth, ada)
        assert {_give(auth, ada, _wrong(first)).status_code for _ in range(10)} == {403}
        second = _link(auth, ada)
        assert _give(auth, ada, second["email_otp"]).status_code == 403
        _end_window(admin_db, ada)
        assert _give(auth, ada, second["email_otp"]).status_code == 200

    def test_attempts_count_for_their_purpose_alone(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        link = _link(auth, ada)
        token = _signed_in(auth, ada)["access_token"]
        new = f"new-{secrets.token_hex(6)}@example.com"
        body = {"type": "email_change_new", "email": ada["email"], "new_email": new}
        change = auth.http.post("/admin/generate_link", headers=bearer(auth.service_key), json=body).json()
        for _ in range(10):
            _give(auth, {"email": new}, _wrong(change), "email_change")
        assert _give(auth, {"email": new}, change["email_otp"], "email_change").status_code == 403
        assert auth.http.get("/user", headers=bearer(token)).json()["email"] == ada["email"]
        assert _give(auth, ada, link["email_otp"]).status_code == 200

    @pytest.mark.threat("T85")
    @pytest.mark.parametrize("prefix", ["", "pkce_"])
    def test_it_is_no_way_to_the_link(self, auth: OwnAuth, ada: dict[str, Any], prefix: str) -> None:
        """GoTrue links the hash of address and code, so that who tries hashes tries six digits."""
        link = _link(auth, ada)
        computed = hashlib.sha224((ada["email"] + link["email_otp"]).encode()).hexdigest()
        assert link["hashed_token"] != computed
        assert _open(auth, prefix + computed).status_code == 403
        query = {"type": "magiclink", "token": prefix + computed}
        opened = auth.http.get("/verify", params=query, headers={"x-real-ip": "10.6.0.2"})
        assert "error_code=otp_expired" in opened.headers["location"]
        assert _open(auth, link["hashed_token"]).status_code == 200

    @pytest.mark.threat("T85")
    def test_a_copy_of_the_database_opens_nothing(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        link = _link(auth, ada)
        stored = admin_db.execute(
            "select t.token_hash, u.recovery_token from auth.users u join auth.one_time_tokens t "
            "on t.user_id = u.id where u.id = %s",
            [ada["id"]],
        ).fetchone()
        assert stored
        unkeyed = [ada["email"] + link["email_otp"], link["email_otp"], link["hashed_token"]]
        digests = {
            digest(text.encode()).hexdigest()
            for text in unkeyed
            for digest in (hashlib.sha224, hashlib.sha256)
        }
        assert digests.isdisjoint(stored)
        assert not {link["hashed_token"], link["email_otp"]} & set(stored)
        assert {_open(auth, text).status_code for text in stored} == {403}

    def test_two_links_have_nothing_in_common(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        tokens = {_link(auth, ada)["hashed_token"] for _ in range(3)}
        assert len(tokens) == 3
        assert {len(token) for token in tokens} == {56}


def _link(auth: OwnAuth, user: dict[str, Any]) -> dict[str, Any]:
    body = {"type": "magiclink", "email": user["email"]}
    made = auth.http.post("/admin/generate_link", headers=bearer(auth.service_key), json=body)
    return dict(made.raise_for_status().json())


def _wrong(link: dict[str, Any]) -> str:
    return f"{(int(link['email_otp']) + 1) % 1_000_000:06d}"


def _give(auth: OwnAuth, user: dict[str, Any], code: str, kind: str = "email") -> httpx.Response:
    headers = {"x-real-ip": f"10.6.{secrets.randbelow(250)}.{secrets.randbelow(250)}"}
    body = {"type": kind, "email": user["email"], "token": code}
    return auth.http.post("/verify", headers=headers, json=body)


def _open(auth: OwnAuth, token: str) -> httpx.Response:
    headers = {"x-real-ip": f"10.6.{secrets.randbelow(250)}.{secrets.randbelow(250)}"}
    return auth.http.post("/verify", headers=headers, json={"type": "magiclink", "token_hash": token})


def _end_window(admin_db: psycopg.Connection[Any], user: dict[str, Any]) -> None:
    admin_db.execute(
        "update auth.attempts set started_at = started_at - interval '16 minutes' "
        "where kind = 'code' and subject like %s || '%%'",
        [user["id"]],
    )


def test_wrong_codes_at_once_delay_no_other_client(auth: OwnAuth, ada: dict[str, Any]) -> None:
    token = _signed_in(auth, ada)["access_token"]

    def login_attempt(number: int) -> int:
        body = {"type": "email", "email": ada["email"], "token": "000000"}
        return auth.http.post("/verify", headers={"x-real-ip": f"10.2.{number}.1"}, json=body).status_code

    with ThreadPoolExecutor(40) as crowd:
        login_attempts = crowd.map(login_attempt, range(32))
        looks = list(crowd.map(lambda _: _is_served(auth, token), range(4)))
    assert set(login_attempts) == {403}
    assert all(looks)


def test_slow_bodies_delay_no_other_client(auth: OwnAuth, ada: dict[str, Any]) -> None:
    token = _signed_in(auth, ada)["access_token"]
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
    return status == 200 and time.perf_counter() - started < 3


def test_one_mail_a_minute_for_known_and_unknown_addresses_alike(auth: OwnAuth, ada: dict[str, Any]) -> None:
    for email in (ada["email"], f"nobody-{secrets.token_hex(6)}@example.com"):
        headers = {"x-real-ip": "10.5.0.1"}
        first, second = (auth.http.post("/recover", headers=headers, json={"email": email}) for _ in range(2))
        assert (first.status_code, first.json()) == (200, {})
        assert (second.status_code, second.json()["error_code"]) == (429, "over_email_send_rate_limit")


class TestMailBudget:
    """One client cannot use up all mail, and what concerns the safety of accounts is sent in every case."""

    def _ask(self, auth: OwnAuth, kind: str, email: str, address: str = "") -> int:
        headers = {"x-real-ip": address or _any_address()}
        body = {"email": email, "password": PASSWORD}
        response = auth.http.post(f"/{kind}", headers=headers, json=body)
        if response.status_code == 429:
            assert response.json()["error_code"] == "over_email_send_rate_limit"
            assert response.json()["msg"] == "email rate limit exceeded"
        return response.status_code

    @pytest.fixture
    def limited(self, stack: Stack, admin_db: psycopg.Connection[Any]) -> Iterator[OwnAuth]:
        """Yield a service with a budget of its own: 50 mails in an hour and some seconds."""
        seconds = 3600 + secrets.randbelow(100_000)
        with own_auth(
            stack, GOTRUE_RATE_LIMIT_EMAIL_SENT=f"50/{seconds}s", GOTRUE_SMTP_MAX_FREQUENCY="0s"
        ) as auth:
            yield auth
        admin_db.execute("delete from auth.users where email like %s", [f"%{_BUDGET}%"])

    def test_an_address_has_a_tenth(self, limited: OwnAuth) -> None:
        here = f"2001:db8:{secrets.token_hex(2)}:5::"
        kinds = ["signup", "otp", "magiclink", "recover", "signup", "recover", "signup"]
        asked = [self._ask(limited, kind, _new_email(), f"{here}{n}") for n, kind in enumerate(kinds)]
        assert asked == [200] * 5 + [429] * 2
        assert len(limited.messages) == 4, "to unknown addresses no recovery is mailed"
        assert self._ask(limited, "signup", _new_email()) == 200

    def test_a_domain_has_a_tenth(self, limited: OwnAuth) -> None:
        domain = f"{_BUDGET}{secrets.token_hex(4)}.example"
        asked = [self._ask(limited, "signup", f"n{n}@{domain}") for n in range(6)]
        assert asked == [200] * 5 + [429]
        assert self._ask(limited, "recover", f"other@{domain}") == 429

    def test_at_a_large_provider_a_mailbox_has_a_tenth(self, limited: OwnAuth) -> None:
        asked = [self._ask(limited, "signup", f"{_BUDGET}{secrets.token_hex(4)}@gmail.com") for _ in range(7)]
        assert asked == [200] * 7
        one = f"{_BUDGET}{secrets.token_hex(4)}"
        assert [self._ask(limited, "signup", f"{one}+{n}@gmail.com") for n in range(6)] == [200] * 5 + [429]

    def test_three_tenths_are_left_to_recovery_and_notifications(self, limited: OwnAuth) -> None:
        ada, ben = (limited.new_user(PASSWORD, email=_new_email()) for _ in range(2))
        assert [self._ask(limited, "signup", _new_email()) for _ in range(36)] == [200] * 35 + [429]
        assert self._ask(limited, "otp", _new_email()) == 429
        unknown = [self._ask(limited, "recover", _new_email()) for _ in range(20)]
        assert unknown == [200] * 20, "mail that is not sent uses nothing up"
        assert self._ask(limited, "recover", ada["email"]) == 200
        for number in range(10):
            limited.sign_in(ben["email"], f"wrong-{number}")
        _wait_for_notice(limited, ben["email"], "paused")

    def test_another_instance_has_no_budget_of_its_own(self, stack: Stack) -> None:
        budget, here = f"50/{3600 + secrets.randbelow(100_000)}s", _any_address()
        for expected in (200, 429):
            with own_auth(stack, GOTRUE_RATE_LIMIT_EMAIL_SENT=budget) as auth:
                asked = {self._ask(auth, "recover", _new_email(), here) for _ in range(5)}
            assert asked == {expected}

    def test_a_notification_waits_for_the_budget_and_a_restart(self, empty_database: str) -> None:
        """In a database of its own, where no other instance sends it."""
        stack = Stack.read()
        with (
            own_auth(stack, DATABASE_URL=empty_database, GOTRUE_RATE_LIMIT_EMAIL_SENT="0") as auth,
            psycopg.connect(empty_database, autocommit=True) as db,
        ):
            ada = auth.new_user(PASSWORD)
            for number in range(10):
                auth.sign_in(ada["email"], f"wrong-{number}")
            until = time.monotonic() + 10
            while db.execute("select attempts from auth.notices").fetchone() != (1,):
                assert time.monotonic() < until
                time.sleep(0.05)
            assert not auth.messages
            db.execute(
                "update auth.notices set next_attempt_at = now(), created_at = created_at - interval '1 hour'"
            )
        with (
            own_auth(stack, DATABASE_URL=empty_database) as auth,
            psycopg.connect(empty_database, autocommit=True) as db,
        ):
            _wait_for_notice(auth, ada["email"], "paused")
            while db.execute("select from auth.notices").rowcount:
                assert time.monotonic() < until + 20
                time.sleep(0.05)


@pytest.fixture
def empty_database(stack: Stack) -> Iterator[str]:
    """Yield the address of a database with schema auth and no more, dropped afterwards."""
    admin_url, name = stack.values["DATABASE_ADMIN_URL"], f"auth_{secrets.token_hex(5)}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(f"create database {name}")
        try:
            url = urlunsplit(urlsplit(admin_url)._replace(path=f"/{name}"))
            migrate(url)
            yield url
        finally:
            admin.execute(f"drop database {name} with (force)")


_BUDGET = "budget-"


def _new_email() -> str:
    return f"own@{_BUDGET}{secrets.token_hex(6)}.example"


def _any_address() -> str:
    return f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.9"


def test_an_audience_of_the_clients_choice_is_ignored(auth: OwnAuth, ada: dict[str, Any]) -> None:
    """Or an account of another one would keep the owner of the address from signing up and recovering."""
    email, other = f"own-{secrets.token_hex(6)}@example.com", {"x-jwt-aud": "elsewhere"}
    headers, body = {"x-real-ip": "10.11.0.1"}, {"email": email, "password": PASSWORD}
    squatted = auth.http.post("/signup", headers=headers | other, json=body).raise_for_status().json()
    assert squatted["aud"] == "authenticated"
    auth.delete_user(squatted["id"])
    taken = auth.http.post("/signup", headers=headers | other, json=body | {"email": ada["email"]})
    assert (taken.status_code, taken.json()["aud"]) == (200, "authenticated"), "looks like any other"
    auth.http.post("/recover", headers=headers | other, json={"email": ada["email"]}).raise_for_status()
    _wait_for_notice(auth, ada["email"], "Reset your password")
    assert auth.http.post(
        "/token?grant_type=password",
        headers=headers | other,
        json={"email": ada["email"], "password": PASSWORD},
    ).is_success


class TestMetadata:
    """At most 8 kB: each token carries it, and anybody may sign up."""

    SMALL = "x" * ((8 << 10) - len('{"note":""}'))

    @pytest.mark.parametrize("kind", ["signup", "otp", "magiclink"])
    def test_a_new_account_has_little_of_it(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any], kind: str
    ) -> None:
        new = f"own-{secrets.token_hex(6)}@example.com"
        for email in (new, ada["email"]):
            body = {"email": email, "password": PASSWORD, "data": {"note": self.SMALL + "x"}}
            _rejects_metadata(auth.http.post(f"/{kind}", headers={"x-real-ip": "10.12.0.1"}, json=body))
        found = admin_db.execute("select from auth.users where email = %s", [new])
        assert found.rowcount == 0
        body = {"email": new, "password": PASSWORD, "data": {"note": self.SMALL}}
        auth.http.post(f"/{kind}", headers={"x-real-ip": "10.12.0.1"}, json=body).raise_for_status()
        admin_db.execute("delete from auth.users where email = %s", [new])

    def test_an_account_never_gets_more(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        headers = bearer(_signed_in(auth, ada)["access_token"]) | {"x-real-ip": "10.12.0.2"}
        _rejects_metadata(auth.http.put("/user", headers=headers, json={"data": {"note": self.SMALL + "x"}}))
        half = {"data": {"one": self.SMALL[: 5 << 10]}}
        auth.http.put("/user", headers=headers, json=half).raise_for_status()
        _rejects_metadata(
            auth.http.put("/user", headers=headers, json={"data": {"two": self.SMALL[: 5 << 10]}})
        )
        stored = auth.http.get("/user", headers=headers).raise_for_status().json()["user_metadata"]
        assert {"one", "two"} & set(stored) == {"one"}
        swapped = {"data": {"one": None, "two": self.SMALL[: 5 << 10]}}
        assert auth.http.put("/user", headers=headers, json=swapped).status_code == 200

    def test_nor_by_the_service_key(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        headers, large = bearer(auth.service_key), {"note": self.SMALL + "x"}
        new = f"own-{secrets.token_hex(6)}@example.com"
        for method, path, body in (
            ("POST", "/admin/users", {"email": new, "user_metadata": large}),
            ("PUT", f"/admin/users/{ada['id']}", {"user_metadata": large}),
            ("POST", "/invite", {"email": new, "data": large}),
            (
                "POST",
                "/admin/generate_link",
                {"type": "signup", "email": new, "password": "x", "data": large},
            ),
        ):
            _rejects_metadata(auth.http.request(method, path, headers=headers, json=body))


def _rejects_metadata(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["error_code"]) == (422, "validation_failed")
    assert response.json()["msg"] == "User metadata is too large: the limit is 8 kB"


@pytest.mark.threat("T78", "T86")
@pytest.mark.parametrize("kind", ["signup", "recover", "resend", "otp", "magiclink"])
def test_an_address_has_thirty_requests_of_a_kind_at_once(auth: OwnAuth, kind: str) -> None:
    here, there = (f"10.{number}.{secrets.randbelow(250)}.{secrets.randbelow(250)}" for number in (40, 41))

    def ask(address: str) -> tuple[int, str]:
        """Ask for what fails, so that no mail is sent, once the request has been counted."""
        body = {"email": "no address", "password": PASSWORD, "type": "signup"}
        response = auth.http.post(f"/{kind}", headers={"x-real-ip": address}, json=body)
        return response.status_code, response.json()["error_code"]

    assert {ask(here) for _ in range(30)} == {(400, "validation_failed")}
    assert ask(here) == (429, "over_request_rate_limit")
    assert ask(there)[0] == 400, "another address has its own"


def test_no_cache_keeps_what_is_personal(auth: OwnAuth, ada: dict[str, Any]) -> None:
    signed_in = auth.sign_in(ada["email"], PASSWORD)
    session, here = bearer(signed_in.json()["access_token"]), {"x-real-ip": "10.13.0.1"}
    for response in (
        signed_in,
        auth.sign_in(ada["email"], "wrong"),
        auth.http.get("/user", headers=session),
        auth.http.get("/user"),
        auth.http.get("/verify?token=x&type=signup", headers=here),
        auth.http.post("/recover", headers=here, content=b"{"),
        auth.http.get("/admin/users", headers=bearer(auth.service_key)),
        auth.http.get("/nowhere"),
    ):
        assert response.headers.get("cache-control") == "no-store", response.url
    for path, rule in (
        ("/settings", None),
        ("/health", None),
        ("/.well-known/jwks.json", "public, max-age=600"),
    ):
        assert auth.http.get(path).headers.get("cache-control") == rule


@pytest.mark.threat("T113")
@pytest.mark.parametrize(
    ("target", "is_followed"),
    [
        ("http://app.example.test:8080/x", True),
        ("http://app.example.test:9090/x", False),
        ("https://app.example.test:8080/x", False),
        ("http://app.example.test:8080@evil.example/x", False),
        ("http://evil.example\\@app.example.test:8080/", False),
        ("http://user:pw@app.example.test:8080/", False),
        ("//evil.example/x", False),
        ("javascript:alert(1)", False),
        ("http://user@docs.example/x", False),
        ("https://user:pw@docs.example/x", False),
        ("harborline://docs.example/x", False),
        ("ftp://docs.example/x", False),
        ("javascript://docs.example/%0aalert(1)", False),
        ("http://127.0.0.1:9999/x", False),
        ("http://127.9.9.9/x", False),
        ("http://[::1]:9999/x", False),
        ("http://[::ffff:127.0.0.1]/x", False),
        ("http://0.0.0.0/x", False),
        ("http://localhost:3000/x", False),
        ("http://app.localhost/x", False),
        ("http://127.1/x", False),
        ("http://0x7f.1/x", False),
        ("http://2130706433/x", False),
        ("http://10.0.0.1/x", False),
        ("https://one.preview.example/x", True),
        ("https://one.two.preview.example/x", False),
        ("https://one.preview.example.evil.example/x", False),
        ("https://docs.example/a/b/c", True),
        ("http://app.example.test:8080/\r\nset-cookie: a=b", False),
    ],
)
def test_a_link_leads_only_where_it_may(stack: Stack, lists: OwnAuth, target: str, is_followed: bool) -> None:
    query = {"token": "x", "type": "signup", "redirect_to": target}
    response = lists.http.get("/verify", params=query, headers={"x-real-ip": "10.3.0.1"})
    assert response.status_code == 303
    base = response.headers["location"].split("#")[0]
    assert (base == target) if is_followed else (base == "http://app.example.test:8080")


@pytest.mark.threat("T113")
@pytest.mark.parametrize(
    ("target", "is_followed"),
    [
        ("http://127.0.0.1:9999/x", True),
        ("http://[::1]:9999/x", True),
        ("http://localhost:3000/x", True),
        ("http://user:pw@127.0.0.1/x", False),
        ("javascript://127.0.0.1/%0aalert(1)", False),
        ("data://127.0.0.1/x", False),
        ("evilapp://127.0.0.1/x", False),
        ("ftp://127.0.0.1/x", False),
        ("http://2130706433/x", False),
        ("https://elsewhere.example/x", False),
    ],
)
def test_a_site_on_loopback_leads_there_too(local: OwnAuth, target: str, is_followed: bool) -> None:
    query = {"token": "x", "type": "signup", "redirect_to": target}
    response = local.http.get("/verify", params=query, headers={"x-real-ip": "10.3.0.1"})
    base = response.headers["location"].split("#")[0]
    assert base == (target if is_followed else "http://127.0.0.1:8080")


@pytest.fixture(scope="module")
def local(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service whose site is on loopback, without limits per address."""
    with own_auth(stack, GOTRUE_SITE_URL="http://127.0.0.1:8080", GOTRUE_RATE_LIMIT_HEADER="") as service:
        yield service


@pytest.fixture(scope="module")
def lists(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service with an allow-list and no limits per address."""
    allowed = "https://*.preview.example/*,https://docs.example/**,http://docs.example/**"
    allowed += ",harborline://**,ftp://**,javascript://**,http://localhost:3000/**,http://*.1/**,http://*.localhost/*"
    with own_auth(stack, GOTRUE_URI_ALLOW_LIST=allowed, GOTRUE_RATE_LIMIT_HEADER="") as service:
        yield service
