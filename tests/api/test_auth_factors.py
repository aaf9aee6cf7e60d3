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

from tests.support.own_auth import PASSWORD, OwnAuth, bearer, own_auth, signed_in
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has factors of its own")


class Person:
    """Somebody with a session, who asks for factors."""

    def __init__(self, auth: OwnAuth, token: str) -> None:
        self.auth, self.token = auth, token
        self.address = f"10.15.{secrets.randbelow(250)}.{secrets.randbelow(250)}"

    def ask(self, method: str, path: str, body: Any = None, address: str = "") -> httpx.Response:
        """Send one request from the own address, unless another is given."""
        headers = bearer(self.token) | {"x-real-ip": address or self.address}
        return self.auth.http.request(method, path, headers=headers, json=body)

    def enroll(self, name: str = "phone", kind: str = "totp") -> httpx.Response:
        """Begin a factor."""
        return self.ask("POST", "/factors", {"factor_type": kind, "friendly_name": name})

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
        without = Person(auth, auth.signed(claims | {"exp": int(time.time()) + 60}))
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


class TestNewFactor:
    """Not for any session, not of any kind, and not without end."""

    @pytest.mark.threat("T84")
    def test_after_a_verified_one_needs_that_one(
        self, auth: OwnAuth, ada: dict[str, Any], person: Person
    ) -> None:
        person.verify(person.begun()).raise_for_status()
        again = Person(auth, signed_in(auth, ada)["access_token"])
        assert _said(again.enroll("tablet")) == (403, "insufficient_aal")

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
