"""Codes of mails and of authenticators, and new passwords: each needs its proof, and none can be guessed."""

import hashlib
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pyotp
import pytest

from functions.auth.limits.attempts import Attempts, Key
from tests.support.own_auth import PASSWORD, OwnAuth, bearer, set_password, signed_in, wait_for_notice
from tests.support.principals import claims_of
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has none of these limits")


def _change(auth: OwnAuth, token: str, act: str, **proof: str) -> httpx.Response:
    """Ask for another credential, or for the address that is one."""
    if act == "password":
        return set_password(auth, token, password="new-lantern-92", **proof)
    if act == "address":
        return set_password(auth, token, email=f"new-{secrets.token_hex(6)}@example.com", **proof)
    body = {"factor_type": "totp", "friendly_name": secrets.token_hex(4), **proof}
    return auth.http.post("/factors", headers=bearer(token), json=body)


def _shown(auth: OwnAuth, token: str, seconds: float) -> str:
    """Return a token of the same session whose password was entered so many seconds before now."""
    entry = {"method": "password", "timestamp": time.time() - seconds}
    return auth.signed(claims_of(token) | {"amr": [entry]})


def _entered(admin_db: psycopg.Connection[Any], user: dict[str, Any], age: str) -> None:
    """Let the rows of an account's sessions say when the password was entered, or the link opened."""
    admin_db.execute(
        "update auth.mfa_amr_claims set updated_at = clock_timestamp() - %s::interval where session_id in "
        "(select id from auth.sessions where user_id = %s)",
        [age, user["id"]],
    )


def _refreshed(auth: OwnAuth, session: dict[str, Any]) -> str:
    body = {"refresh_token": session["refresh_token"]}
    response = auth.http.post("/token?grant_type=refresh_token", json=body)
    return str(response.raise_for_status().json()["access_token"])


@pytest.mark.threat("T82")
@pytest.mark.parametrize("act", ["password", "address", "factor"])
class TestProof:
    """What yields a credential needs the password of the last ten minutes, in the token and in its row."""

    @pytest.mark.parametrize(
        ("in_token", "in_row", "status"),
        [
            (598, 598, 200),
            (601, 601, 400),
            (601, 0, 400),
            (0, 601, 400),
            (60, 120, 400),
            (-120, -120, 400),
        ],
        ids=[
            "at 9:58",
            "at 10:01",
            "a token from before the session was proved",
            "a row that was set back",
            "a token newer than its row",
            "a time to come",
        ],
    )
    def test_how_fresh(
        self,
        auth: OwnAuth,
        ada: dict[str, Any],
        admin_db: psycopg.Connection[Any],
        act: str,
        in_token: int,
        in_row: int,
        status: int,
    ) -> None:
        session = signed_in(auth, ada)
        _entered(admin_db, ada, f"{in_row} seconds")
        changed = _change(auth, _shown(auth, session["access_token"], in_token + 0.5), act)
        assert changed.status_code == status
        assert status == 200 or changed.json()["error_code"] == "current_password_required"

    def test_a_token_without_entries_proves_nothing(
        self, auth: OwnAuth, ada: dict[str, Any], act: str
    ) -> None:
        claims = claims_of(signed_in(auth, ada)["access_token"])
        for amr in (None, [], ["password"], [{"method": "password"}]):
            changed = _change(auth, auth.signed(claims | {"amr": amr}), act)
            assert (changed.status_code, changed.json()["error_code"]) == (400, "current_password_required")

    def test_an_older_session_needs_the_current_password(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any], act: str
    ) -> None:
        session = signed_in(auth, ada)
        _entered(admin_db, ada, "3 hours")
        token = _refreshed(auth, session)
        bare = _change(auth, token, act)
        assert (bare.status_code, bare.json()["error_code"]) == (400, "current_password_required")
        wrong = _change(auth, token, act, current_password="guess-1")
        assert (wrong.status_code, wrong.json()["error_code"]) == (400, "current_password_invalid")
        assert _change(auth, token, act, current_password=PASSWORD).status_code == 200

    def test_a_mailed_link_is_proof_for_a_password_alone(
        self, auth: OwnAuth, ada: dict[str, Any], act: str
    ) -> None:
        changed = _change(auth, _by_link(auth, ada)["access_token"], act)
        assert changed.status_code == (200 if act == "password" else 400)


@pytest.mark.threat("T82")
def test_an_account_without_a_password_gets_none_by_an_old_session(
    auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
) -> None:
    session = _by_link(auth, ada)
    admin_db.execute("update auth.users set encrypted_password = '' where id = %s", [ada["id"]])
    _entered(admin_db, ada, "61 minutes")
    late = set_password(auth, _refreshed(auth, session), password="new-lantern-92")
    assert (late.status_code, late.json()["error_code"]) == (400, "current_password_required")
    fresh = _by_link(auth, ada)["access_token"]
    assert set_password(auth, fresh, password="new-lantern-92").status_code == 200


def _by_link(auth: OwnAuth, user: dict[str, Any]) -> dict[str, Any]:
    """Return a session that began with a recovery link."""
    body = {"type": "recovery", "email": user["email"]}
    link = auth.http.post("/admin/generate_link", headers=bearer(auth.service_key), json=body).json()
    headers = {"x-real-ip": f"10.8.{secrets.randbelow(250)}.{secrets.randbelow(250)}"}
    opened = {"type": "recovery", "token_hash": link["hashed_token"]}
    return dict(auth.http.post("/verify", headers=headers, json=opened).raise_for_status().json())


class TestNewPassword:
    """A stolen session alone must not be able to change it."""

    @pytest.mark.threat("T82")
    def test_a_fresh_sign_in_is_proof(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        session = signed_in(auth, ada)
        assert set_password(auth, session["access_token"], password="new-lantern-92").status_code == 200
        assert auth.sign_in(ada["email"], "new-lantern-92").status_code == 200

    @pytest.mark.threat("T82")
    def test_other_sessions_end(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        session, other = signed_in(auth, ada), signed_in(auth, ada)
        set_password(auth, session["access_token"], password="new-lantern-92").raise_for_status()
        ended = auth.http.get("/user", headers=bearer(other["access_token"]))
        assert (ended.status_code, ended.json()["error_code"]) == (403, "session_not_found")

    @pytest.mark.threat("T82")
    def test_attempts_at_the_current_password_count(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        token = signed_in(auth, ada)["access_token"]
        codes = [
            set_password(
                auth, token, password="new-lantern-92", current_password=f"guess-{number}"
            ).status_code
            for number in range(11)
        ]
        assert codes == [400] * 10 + [429]
        wait_for_notice(auth, ada["email"], "paused")

    def test_a_recovery_link_is_proof_for_an_hour(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        session = _by_link(auth, ada)
        _entered(admin_db, ada, "61 minutes")
        late = set_password(auth, _refreshed(auth, session), password="new-lantern-92")
        assert late.json()["error_code"] == "current_password_required"
        session = _by_link(auth, ada)
        _entered(admin_db, ada, "59 minutes")
        token = _refreshed(auth, session)
        assert set_password(auth, token, password="new-lantern-92").status_code == 200

    @pytest.mark.threat("T81")
    @pytest.mark.parametrize("password", ["123456", "Password", "qwerty", "HARBORLINE"])
    def test_a_common_one_is_rejected(self, auth: OwnAuth, ada: dict[str, Any], password: str) -> None:
        rejected = set_password(auth, signed_in(auth, ada)["access_token"], password=password)
        assert (rejected.status_code, rejected.json()["weak_password"]) == (422, {"reasons": ["pwned"]})


def _step_up(auth: OwnAuth, token: str, secret: str, factor_id: str, code: str = "") -> httpx.Response:
    headers = {**bearer(token), "x-real-ip": f"10.7.{secrets.randbelow(250)}.{secrets.randbelow(250)}"}
    challenge = auth.http.post(f"/factors/{factor_id}/challenge", headers=headers, json={}).json()
    body = {"challenge_id": challenge["id"], "code": code or pyotp.TOTP(secret).now()}
    return auth.http.post(f"/factors/{factor_id}/verify", headers=headers, json=body)


@pytest.fixture
def enrolled(auth: OwnAuth, ada: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """Ada's session, the id of a factor that is not verified yet, and its secret."""
    session = signed_in(auth, ada)
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
    again = signed_in(auth, ada)
    replayed = _step_up(auth, again["access_token"], secret, factor_id, code)
    assert (replayed.status_code, replayed.json()["error_code"]) == (422, "mfa_verification_failed")


@pytest.mark.threat("T85")
def test_authenticator_codes_cannot_be_guessed(
    auth: OwnAuth,
    ada: dict[str, Any],
    enrolled: tuple[dict[str, Any], str, str],
    admin_db: psycopg.Connection[Any],
) -> None:
    session, factor_id, secret = enrolled
    codes = [
        _step_up(auth, session["access_token"], secret, factor_id, "000000").status_code for _ in range(11)
    ]
    assert codes == [422] * 10 + [429]
    assert _step_up(auth, session["access_token"], secret, factor_id).status_code == 429
    wait_for_notice(auth, ada["email"], "Two-step sign-in was paused")
    admin_db.execute(
        "update auth.attempts set started_at = started_at - interval '16 minutes' "
        "where kind = 'totp' and subject = %s",
        [ada["id"]],
    )
    codes = [
        _step_up(auth, session["access_token"], secret, factor_id, "000000").status_code for _ in range(2)
    ]
    assert codes == [422, 422], "of a new window there are as many"


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
        wait_for_notice(auth, ada["email"], "entered wrongly too often")
        late = _give(auth, ada, link["email_otp"])
        assert (late.status_code, late.json()["error_code"]) == (403, "otp_expired")
        admin_db.execute(
            "delete from auth.attempts where kind = 'code' and starts_with(subject, %s)", [ada["id"]]
        )
        assert _give(auth, ada, link["email_otp"]).status_code == 403, "it stays void whatever is counted"
        assert _open(auth, link["hashed_token"]).status_code == 200, "the link itself still works"

    @pytest.mark.threat("T85")
    def test_wrong_ones_count_as_long_as_it_lives(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        link = _link(auth, ada)
        assert {_give(auth, ada, _wrong(link)).status_code for _ in range(9)} == {403}
        admin_db.execute(
            "update auth.attempts set started_at = started_at - interval '23 hours' "
            "where kind = 'code' and starts_with(subject, %s)",
            [ada["id"]],
        )
        assert _give(auth, ada, _wrong(link)).status_code == 403
        assert _give(auth, ada, link["email_otp"]).status_code == 403

    @pytest.mark.parametrize("wrong", [9, 10])
    def test_a_new_one_begins_with_none(self, auth: OwnAuth, ada: dict[str, Any], wrong: int) -> None:
        for _ in range(2):
            link = _link(auth, ada)
            assert {_give(auth, ada, _wrong(link)).status_code for _ in range(wrong)} == {403}
        link = _link(auth, ada)
        assert _give(auth, ada, _wrong(link)).status_code == 403
        assert _give(auth, ada, link["email_otp"]).status_code == 200

    @pytest.mark.threat("T85")
    def test_the_one_after_the_last_is_wrong_before_it_is_void(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        """As in parallel with the last."""
        link = _link(auth, ada)
        _give(auth, ada, _wrong(link))
        changed = admin_db.execute(
            "update auth.attempts set failures = 10 where kind = 'code' and starts_with(subject, %s)",
            [ada["id"]],
        )
        assert changed.rowcount == 1
        assert _give(auth, ada, link["email_otp"]).status_code == 403

    @pytest.mark.threat("T85")
    @pytest.mark.parametrize(
        ("wrong", "status"), [(8, 200), (9, 403)], ids=["counts not", "forgives nothing"]
    )
    def test_the_right_one_of_two(self, auth: OwnAuth, wrong: int, status: int) -> None:
        """An address that waits for its first link has one code to confirm it, and one to recover."""
        new = {"email": f"own-{secrets.token_hex(6)}@example.com"}
        sign_up = _link(auth, new, "signup", password=PASSWORD)
        recovery = _link(auth, new)
        for _ in range(wrong):
            _give(auth, new, _wrong(recovery), "recovery")
        assert _give(auth, new, sign_up["email_otp"]).status_code == 200
        _give(auth, new, _wrong(recovery), "recovery")
        assert _give(auth, new, recovery["email_otp"], "recovery").status_code == status
        auth.delete_user(sign_up["id"])

    @pytest.mark.threat("T80")
    @pytest.mark.parametrize("kind", ["email", "recovery", "email_change"])
    def test_a_wrong_one_is_an_attempt_at_any_address(
        self, auth: OwnAuth, ada: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With a code, without one, without an account: each takes the same work, and time."""
        keys_seen: list[Key] = []
        count = Attempts.count

        async def listed(self: Attempts, keys: list[Key]) -> list[int]:
            keys_seen.extend(keys)
            return await count(self, keys)

        def times(email: str) -> int:
            keys_seen.clear()
            assert _give(auth, {"email": email}, "no code", kind).status_code == 403
            return len(keys_seen)

        monkeypatch.setattr(Attempts, "count", listed)
        unknown, without = times(f"nobody-{secrets.token_hex(6)}@example.com"), times(ada["email"])
        _link(auth, ada)
        assert unknown == without == times(ada["email"]) == (2 if kind == "email" else 1)

    def test_one_of_no_kind_is_wrong(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        link = _link(auth, ada)
        response = _give(auth, ada, link["email_otp"], "nonsense")
        assert (response.status_code, response.json()["error_code"]) == (403, "otp_expired")

    def test_attempts_count_for_their_purpose_alone(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        link = _link(auth, ada)
        token = signed_in(auth, ada)["access_token"]
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
        links = [_link(auth, ada) for _ in range(3)]
        tokens = {link["hashed_token"] for link in links}
        assert len(tokens) == 3
        assert len({link["email_otp"] for link in links}) > 1
        assert {len(token) for token in tokens} == {56}


def _link(auth: OwnAuth, user: dict[str, Any], kind: str = "magiclink", **fields: str) -> dict[str, Any]:
    body = {"type": kind, "email": user["email"], **fields}
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
