"""Second factors: whose they are, how many, and which code of which challenge verifies one."""

import secrets
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pyotp
import pytest

from tests.support.own_auth import PASSWORD, OwnAuth, bearer, meanwhile, own_auth, signed_in
from tests.support.principals import claims_of
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has factors of its own")


class Person:
    """Somebody with a session, who asks for factors and enters the password where one is given."""

    def __init__(self, auth: OwnAuth, token: str, password: str = "") -> None:
        self.auth, self.token, self.password = auth, token, password
        self.address = f"10.15.{secrets.randbelow(250)}.{secrets.randbelow(250)}"

    def ask(self, method: str, path: str, body: Any = None, address: str = "") -> httpx.Response:
        """Send one request from the own address, unless another is given."""
        headers = bearer(self.token) | {"x-real-ip": address or self.address}
        return self.auth.http.request(method, path, headers=headers, json=body)

    def enroll(self, name: str = "phone", kind: str = "totp") -> httpx.Response:
        """Begin a factor."""
        body = {"factor_type": kind, "friendly_name": name, "current_password": self.password}
        return self.ask("POST", "/factors", body)

    def begun(self, name: str = "phone") -> dict[str, Any]:
        """Return a factor that is not verified yet, with an open challenge."""
        factor = self.enroll(name).raise_for_status().json()
        challenge = self.ask("POST", f"/factors/{factor['id']}/challenge").raise_for_status().json()
        return {"id": factor["id"], "secret": factor["totp"]["secret"], "challenge": challenge["id"]}

    def verify(self, factor: dict[str, Any], code: str = "", address: str = "") -> httpx.Response:
        """Give a code, by default the right one."""
        body = {"challenge_id": factor["challenge"], "code": code or pyotp.TOTP(factor["secret"]).now()}
        return self.ask("POST", f"/factors/{factor['id']}/verify", body, address)


@pytest.fixture
def person(auth: OwnAuth, ada: dict[str, Any]) -> Person:
    """Return Ada with a session."""
    return Person(auth, signed_in(auth, ada)["access_token"])


@pytest.fixture
def other(auth: OwnAuth) -> Iterator[Person]:
    """Yield another person with a session."""
    user = auth.new_user(PASSWORD)
    yield Person(auth, signed_in(auth, user)["access_token"])
    auth.delete_user(user["id"])


def _said(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json().get("error_code", "")


@pytest.mark.threat("T84")
@pytest.mark.parametrize(("method", "end"), [("POST", "/challenge"), ("POST", "/verify"), ("DELETE", "")])
def test_a_factor_is_its_owners(person: Person, other: Person, method: str, end: str) -> None:
    factor = person.begun()
    body = {"challenge_id": factor["challenge"], "code": pyotp.TOTP(factor["secret"]).now()}
    asked = other.ask(method, f"/factors/{factor['id']}{end}", body, person.address)
    assert _said(asked) == (404, "mfa_factor_not_found")
    assert person.verify(factor).status_code == 200


def test_a_factor_is_named_by_its_id(person: Person) -> None:
    asked = person.ask("DELETE", "/factors/phone")
    assert _said(asked) == (404, "validation_failed")


class TestCode:
    """A code counts for the challenge that was just asked for, from the same address."""

    @pytest.mark.threat("T84")
    def test_for_the_challenge_of_another_factor(self, person: Person) -> None:
        phone, tablet = person.begun("phone"), person.begun("tablet")
        mixed = tablet | {"challenge": phone["challenge"]}
        assert _said(person.verify(mixed)) == (422, "mfa_factor_not_found")

    def test_for_an_unknown_challenge(self, person: Person) -> None:
        factor = person.begun() | {"challenge": str(uuid.uuid4())}
        assert _said(person.verify(factor)) == (422, "mfa_factor_not_found")

    def test_from_another_address(self, person: Person) -> None:
        factor = person.begun()
        assert _said(person.verify(factor, address="10.16.0.1")) == (422, "mfa_ip_address_mismatch")
        assert person.verify(factor, address=f"::ffff:{person.address}").status_code == 200

    def test_from_another_network(self, person: Person) -> None:
        """Of IPv6 a client changes its address from time to time, within its network."""
        person.address = "2001:db8:1:2::1"
        factor = person.begun()
        assert _said(person.verify(factor, address="2001:db8:1:3::1")) == (422, "mfa_ip_address_mismatch")
        assert person.verify(factor, address="2001:db8:1:2:ffff::1").status_code == 200

    def test_after_five_minutes(self, person: Person, admin_db: psycopg.Connection[Any]) -> None:
        factor = person.begun()
        admin_db.execute(
            "update auth.mfa_challenges set created_at = now() - interval '301 seconds' where id = %s",
            [factor["challenge"]],
        )
        assert _said(person.verify(factor)) == (422, "mfa_challenge_expired")

    @pytest.mark.threat("T85")
    @pytest.mark.parametrize(("seconds", "status"), [(-60, 422), (-30, 200), (30, 200), (60, 422)])
    def test_of_another_moment(
        self, person: Person, monkeypatch: pytest.MonkeyPatch, seconds: int, status: int
    ) -> None:
        """The time stands still, so that no step ends meanwhile."""
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now)
        factor = person.begun()
        code = pyotp.TOTP(factor["secret"]).at(int(now) + seconds)
        assert person.verify(factor, code).status_code == status

    def test_that_is_none(self, person: Person) -> None:
        factor = person.begun()
        body = {"challenge_id": factor["challenge"], "code": ""}
        asked = person.ask("POST", f"/factors/{factor['id']}/verify", body)
        assert _said(asked) == (400, "validation_failed")

    def test_of_a_token_without_a_session(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        claims = {"sub": ada["id"], "role": "authenticated", "aud": "authenticated"}
        without = Person(auth, auth.signed(claims | {"exp": int(time.time()) + 60}), PASSWORD)
        assert _said(without.verify(without.begun())) == (403, "session_not_found")

    @pytest.mark.threat("T85")
    def test_that_is_right_purges_the_failures(
        self, person: Person, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        factor = person.begun()
        assert person.verify(factor, "000000").status_code == 422
        query = "select failures from auth.attempts where kind = 'totp' and subject = %s"
        assert admin_db.execute(query, [ada["id"]]).fetchone() == (1,)
        assert person.verify(factor).status_code == 200
        assert admin_db.execute(query, [ada["id"]]).fetchone() is None


class TestProof:
    """With a factor its code is the proof, and in its first day the password too."""

    @pytest.fixture
    def later(self, person: Person, ada: dict[str, Any], admin_db: psycopg.Connection[Any]) -> Any:
        """Return what verifies Ada's factor and returns its id; then it and the entries are so long age."""

        def pass_by(factor: str, code: str, password: str) -> str:
            begun = person.begun()
            session = person.verify(begun).raise_for_status().json()
            admin_db.execute(
                "update auth.mfa_factors set created_at = now() - interval '3 days',"
                " updated_at = now() - %s::interval where id = %s",
                [factor, begun["id"]],
            )
            for method, age in (("totp", code), ("password", password)):
                admin_db.execute(
                    "update auth.mfa_amr_claims set updated_at = now() - %s::interval"
                    " where authentication_method = %s and session_id in"
                    " (select id from auth.sessions where user_id = %s)",
                    [age, method, ada["id"]],
                )
            body = {"refresh_token": session["refresh_token"]}
            fresh = person.auth.http.post("/token?grant_type=refresh_token", json=body).json()
            person.token = fresh["access_token"]
            return str(begun["id"])

        return pass_by

    def changes(self, person: Person, factor_id: str) -> list[httpx.Response]:
        """Ask for everything that needs it; the removal last."""
        proof = {"current_password": person.password} if person.password else {}
        new_email = f"new-{secrets.token_hex(6)}@example.com"
        return [
            person.enroll("tablet"),
            person.ask("PUT", "/user", {"email": new_email, **proof}),
            person.ask("PUT", "/user", {"password": "new-lantern-92", **proof}),
            person.ask("DELETE", f"/factors/{factor_id}"),
        ]

    @pytest.mark.threat("T82", "T84")
    @pytest.mark.parametrize("password", ["", PASSWORD])
    def test_a_code_of_before_is_none_whatever_the_password(
        self, person: Person, later: Any, password: str
    ) -> None:
        factor_id = later("2 days", "601 seconds", "0 seconds")
        person.password = password
        changes = self.changes(person, factor_id)
        assert [_said(each) for each in changes] == [(403, "reauthentication_needed")] * 4
        # What is no credential yet needs none.
        begun = person.ask("POST", f"/factors/{factor_id}/challenge")
        assert begun.status_code == 200

    def test_a_code_is_proof(self, person: Person, later: Any) -> None:
        changes = self.changes(person, later("25 hours", "590 seconds", "3 hours"))
        assert [each.status_code for each in changes] == [200] * 4

    @pytest.mark.threat("T84")
    def test_a_code_of_a_new_factor_is_proof_with_the_password(self, person: Person, later: Any) -> None:
        factor_id = later("23 hours", "0 seconds", "3 hours")
        required = (400, "current_password_required")
        changes = self.changes(person, factor_id)
        assert [_said(each) for each in changes] == [required] * 3 + [(403, "reauthentication_needed")]
        person.password = PASSWORD
        assert [each.status_code for each in self.changes(person, factor_id)] == [200] * 3 + [403]

    def test_an_unverified_one_is_removed_without(
        self, person: Person, admin_db: psycopg.Connection[Any]
    ) -> None:
        factor = person.begun()
        admin_db.execute("update auth.mfa_amr_claims set updated_at = now() - interval '1 hour'")
        assert person.ask("DELETE", f"/factors/{factor['id']}").status_code == 200

    @pytest.mark.threat("T84")
    def test_a_token_from_before_the_code_is_worth_nothing(
        self, auth: OwnAuth, person: Person, later: Any
    ) -> None:
        before = person.token
        factor_id = later("2 days", "0 seconds", "0 seconds")
        owner, person.token = person.token, before
        assert [_said(each)[1] for each in self.changes(person, factor_id)] == ["insufficient_aal"] * 4
        person.token = owner
        assert person.ask("DELETE", f"/factors/{factor_id}").status_code == 200

    def test_the_token_says_what_the_database_does(
        self,
        person: Person,
        ada: dict[str, Any],
        admin_db: psycopg.Connection[Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The clock of this service is two minutes fast."""
        factor = person.begun()
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 120)
        code = pyotp.TOTP(factor["secret"]).at(int(now) + 120)
        verified = person.verify(factor, code).raise_for_status().json()
        rows = admin_db.execute(
            "select authentication_method, floor(extract(epoch from a.updated_at))::int"
            " from auth.mfa_amr_claims as a join auth.sessions as s on a.session_id = s.id"
            " where s.user_id = %s",
            [ada["id"]],
        ).fetchall()
        amr = claims_of(verified["access_token"])["amr"]
        assert {(entry["method"], entry["timestamp"]) for entry in amr} == set(rows)
        assert max(entry["timestamp"] for entry in amr) <= now + 1
        person.token = verified["access_token"]
        assert person.ask("DELETE", f"/factors/{factor['id']}").status_code == 200


class TestAtTheSameMoment:
    """What another request does while one waits for it is seen by the one that waited."""

    @pytest.mark.threat("T84")
    def test_a_refresh_under_way_outlives_no_code(
        self, stack: Stack, person: Person, ada: dict[str, Any]
    ) -> None:
        refresh = """
            with held as (
                select s.id, s.user_id from auth.sessions as s join auth.users as u on u.id = s.user_id
                where u.email = %s for update of s),
            used as (
                update auth.refresh_tokens as t set revoked = true from held where t.session_id = held.id)
            insert into auth.refresh_tokens
                (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
            select
                '00000000-0000-0000-0000-000000000000', left(translate(id::text, '-', ''), 12),
                user_id::text, false, now(), now(), id
            from held
        """
        factor = person.begun()
        child = claims_of(person.token)["session_id"].replace("-", "")[:12]
        with meanwhile(stack, refresh, ada["email"]) as send:
            verified = send(lambda: person.verify(factor))
        assert verified.result().status_code == 200
        body = {"refresh_token": child}
        assert _said(person.auth.http.post("/token?grant_type=refresh_token", json=body)) == (
            400,
            "refresh_token_not_found",
        )

    def test_there_is_no_eleventh_factor(self, stack: Stack, person: Person, ada: dict[str, Any]) -> None:
        ten = """
            with held as (select id from auth.users where email = %s for update)
            insert into auth.mfa_factors
                (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret)
            select gen_random_uuid(), id, n::text, 'totp', 'unverified', now(), now(), 'A'
            from held, generate_series(1, 10) as n
        """
        with meanwhile(stack, ten, ada["email"]) as send:
            begun = send(person.enroll)
        assert _said(begun.result()) == (422, "too_many_enrolled_mfa_factors")


@pytest.mark.threat("T84")
def test_the_first_code_comes_soon(person: Person, admin_db: psycopg.Connection[Any]) -> None:
    """The proof that beginning a factor took is good for ten minutes, not for whoever comes days later."""
    factor = person.begun()
    later = "update auth.mfa_factors set created_at = now() - interval '601 seconds' where id = %s"
    admin_db.execute(later, [factor["id"]])
    challenge = person.ask("POST", f"/factors/{factor['id']}/challenge")
    assert _said(challenge) == _said(person.verify(factor)) == (404, "mfa_factor_not_found")
    assert person.ask("DELETE", f"/factors/{factor['id']}").status_code == 200


class TestSignOut:
    """A password alone, of an account with a factor, ends no session but its own."""

    @pytest.fixture
    def sessions(self, auth: OwnAuth, ada: dict[str, Any], person: Person) -> tuple[Person, Person]:
        """Return Ada with a session at aal2, and with one that knows the password alone."""
        person.token = person.verify(person.begun()).raise_for_status().json()["access_token"]
        return person, Person(auth, signed_in(auth, ada)["access_token"])

    @pytest.mark.threat("T84")
    def test_with_the_password_alone(self, sessions: tuple[Person, Person]) -> None:
        owner, other = sessions
        assert _said(other.ask("POST", "/logout?scope=others")) == (403, "insufficient_aal")
        assert other.ask("POST", "/logout").status_code == 204
        assert [each.ask("GET", "/user").status_code for each in (owner, other)] == [200, 403]

    def test_with_both(self, sessions: tuple[Person, Person]) -> None:
        owner, other = sessions
        assert owner.ask("POST", "/logout").status_code == 204
        assert [each.ask("GET", "/user").status_code for each in (owner, other)] == [403, 403]


class TestNewFactor:
    """Not for any session, not of any kind, and not without end."""

    @pytest.mark.threat("T84")
    def test_after_a_verified_one_needs_that_one(
        self, auth: OwnAuth, ada: dict[str, Any], person: Person, admin_db: psycopg.Connection[Any]
    ) -> None:
        verified = person.verify(person.begun()).raise_for_status().json()
        again = Person(auth, signed_in(auth, ada)["access_token"])
        assert _said(again.enroll("tablet")) == (403, "insufficient_aal")
        # A token says what held when it was made.
        admin_db.execute("update auth.sessions set aal = 'aal1' where user_id = %s", [ada["id"]])
        earlier = Person(auth, verified["access_token"])
        assert _said(earlier.enroll("tablet")) == (403, "insufficient_aal")

    def test_of_a_taken_name(self, person: Person) -> None:
        person.enroll("phone").raise_for_status()
        assert _said(person.enroll("phone")) == (422, "mfa_factor_name_conflict")

    @pytest.mark.parametrize(
        ("kind", "error"),
        [
            ("phone", (422, "mfa_phone_enroll_not_enabled")),
            ("webauthn", (422, "mfa_webauthn_enroll_not_enabled")),
            ("key", (400, "validation_failed")),
        ],
        ids=["phone", "webauthn", "key"],
    )
    def test_of_another_kind(self, person: Person, kind: str, error: tuple[int, str]) -> None:
        assert _said(person.enroll("phone", kind)) == error

    def test_beyond_the_most(self, stack: Stack) -> None:
        with own_auth(stack, GOTRUE_MFA_MAX_ENROLLED_FACTORS="1") as auth:
            user = auth.new_user(PASSWORD)
            person = Person(auth, signed_in(auth, user)["access_token"])
            person.enroll("phone").raise_for_status()
            assert _said(person.enroll("tablet")) == (422, "too_many_enrolled_mfa_factors")
            auth.delete_user(user["id"])

    def test_while_they_are_off(self, stack: Stack) -> None:
        with own_auth(stack, GOTRUE_MFA_TOTP_ENROLL_ENABLED="false") as auth:
            user = auth.new_user(PASSWORD)
            asked = Person(auth, signed_in(auth, user)["access_token"]).enroll()
            auth.delete_user(user["id"])
        assert _said(asked) == (422, "mfa_totp_enroll_not_enabled")

    def test_that_may_not_be_verified(self, stack: Stack) -> None:
        with own_auth(stack, GOTRUE_MFA_TOTP_VERIFY_ENABLED="false") as auth:
            user = auth.new_user(PASSWORD)
            person = Person(auth, signed_in(auth, user)["access_token"])
            asked = person.verify(person.begun())
            auth.delete_user(user["id"])
        assert _said(asked) == (422, "mfa_totp_verify_not_enabled")
