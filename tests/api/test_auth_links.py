"""Mailed links and codes, and what they are exchanged for: each counts once, for its purpose and its time."""

import base64
import hashlib
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from tests.support.own_auth import (
    PASSWORD,
    OwnAuth,
    bearer,
    link_in,
    mail_to,
    mails,
    meanwhile,
    own_auth,
    set_password,
    signed_in,
)
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has links and codes of its own")

Link = dict[str, Any]
# How a link's token and a mail's code are given.
FORMS = ("token_hash", "token")


def _here() -> dict[str, str]:
    return {"x-real-ip": f"10.14.{secrets.randbelow(250)}.{secrets.randbelow(250)}"}


def _made(auth: OwnAuth, kind: str, email: str, **fields: str) -> Link:
    body = {"type": kind, "email": email, **fields}
    made = auth.http.post("/admin/generate_link", headers=bearer(auth.service_key), json=body)
    return dict(made.raise_for_status().json())


def _give(auth: OwnAuth, kind: str, link: Link, form: str, email: str) -> httpx.Response:
    """Give the token of a link, or the code of its mail with the address that it was sent to."""
    given = {"token_hash": link["hashed_token"]}
    if form == "token":
        given = {"token": link["email_otp"], "email": email}
    return auth.http.post("/verify", headers=_here(), json={"type": kind, **given})


def _said(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json().get("error_code", "")


EXPIRED = (403, "otp_expired")


@contextmanager
def _locked(stack: Stack, user: dict[str, Any]) -> Iterator[Callable[[int], None]]:
    """Hold a user's row; yields what waits until so many requests wait for it."""
    query = """
        with recursive blocked (pid) as (
            select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))
            union
            select l.pid from pg_locks as l, blocked as b
            where not l.granted and b.pid = any(pg_blocking_pids(l.pid)))
        select count(*) from blocked"""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as holder:
        holder.execute("select from auth.users where id = %s for update", [user["id"]])

        def wait(count: int) -> None:
            while holder.execute(query).fetchone() != (count,):
                pass

        yield wait


class TestRecovery:
    """A link of the account, and the code of the same mail."""

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("kind", ["recovery", "magiclink"])
    def test_counts_once(self, auth: OwnAuth, ada: dict[str, Any], kind: str, form: str) -> None:
        link = _made(auth, kind, ada["email"])
        given = [_give(auth, kind, link, form, ada["email"]) for _ in range(2)]
        assert (given[0].status_code, _said(given[1])) == (200, EXPIRED)

    @pytest.mark.parametrize("form", FORMS)
    def test_counts_once_of_two_at_once(
        self, auth: OwnAuth, ada: dict[str, Any], stack: Stack, form: str
    ) -> None:
        link = _made(auth, "recovery", ada["email"])
        with ThreadPoolExecutor(2) as pool, _locked(stack, ada) as wait:
            both = [pool.submit(_give, auth, "recovery", link, form, ada["email"]) for _ in range(2)]
            wait(2)
        assert sorted(_said(one.result()) for one in both) == [(200, ""), EXPIRED]

    @pytest.mark.parametrize("form", FORMS)
    def test_is_good_for_a_day(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any], form: str
    ) -> None:
        for hours, expected in ((25, EXPIRED), (23, (200, ""))):
            link = _made(auth, "recovery", ada["email"])
            admin_db.execute(
                "update auth.users set recovery_sent_at = now() - make_interval(hours => %s) where id = %s",
                [hours, ada["id"]],
            )
            assert _said(_give(auth, "recovery", link, form, ada["email"])) == expected

    def test_is_good_for_its_purpose_alone(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        link = _made(auth, "recovery", ada["email"])
        for form in FORMS:
            assert _said(_give(auth, "signup", link, form, ada["email"])) == EXPIRED
        unknown = _give(auth, "password", link, "token_hash", ada["email"])
        assert _said(unknown) == (400, "validation_failed")
        assert unknown.json()["msg"] == "Invalid email verification type"
        assert _give(auth, "recovery", link, "token_hash", ada["email"]).status_code == 200

    @pytest.mark.parametrize("form", FORMS)
    def test_opens_no_banned_account(self, auth: OwnAuth, ada: dict[str, Any], form: str) -> None:
        link = _made(auth, "recovery", ada["email"])
        _ban(auth, ada)
        assert _said(_give(auth, "recovery", link, form, ada["email"])) == (403, "user_banned")

    @pytest.mark.threat("T82")
    @pytest.mark.parametrize("form", FORMS)
    def test_is_void_after_a_change_of_the_password(
        self, auth: OwnAuth, ada: dict[str, Any], form: str
    ) -> None:
        link = _made(auth, "recovery", ada["email"])
        token = signed_in(auth, ada)["access_token"]
        set_password(auth, token, password="new-lantern-92").raise_for_status()
        assert _said(_give(auth, "recovery", link, form, ada["email"])) == EXPIRED

    def test_is_no_code_of_an_unknown_address(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        link = _made(auth, "recovery", ada["email"])
        email = f"nobody-{secrets.token_hex(6)}@example.com"
        assert _said(_give(auth, "recovery", link, "token", email)) == EXPIRED


def _ban(auth: OwnAuth, user: dict[str, Any]) -> None:
    path, headers = f"/admin/users/{user['id']}", bearer(auth.service_key)
    auth.http.put(path, headers=headers, json={"ban_duration": "1h"}).raise_for_status()


@pytest.mark.parametrize("form", FORMS)
def test_a_sign_up_is_confirmed_once(auth: OwnAuth, form: str) -> None:
    email = f"own-{secrets.token_hex(6)}@example.com"
    link = _made(auth, "signup", email, password=PASSWORD)
    given = [_give(auth, "signup", link, form, email) for _ in range(2)]
    assert (given[0].status_code, _said(given[1])) == (200, EXPIRED)
    auth.delete_user(link["id"])


def test_a_confirmed_address_gets_no_sign_up_link(auth: OwnAuth, ada: dict[str, Any]) -> None:
    body = {"type": "signup", "email": ada["email"]}
    auth.http.post("/resend", headers=_here(), json=body).raise_for_status()
    assert mails(auth, ada["email"]) == []


class TestChangeOfAddress:
    """Both addresses agree to it."""

    @pytest.fixture
    def new(self) -> str:
        """Return an address without an account."""
        return f"new-{secrets.token_hex(6)}@example.com"

    @pytest.mark.threat("T83")
    @pytest.mark.parametrize("form", FORMS)
    def test_by_both_and_not_by_one_twice(
        self, auth: OwnAuth, ada: dict[str, Any], new: str, form: str
    ) -> None:
        kinds = {"email_change_current": ada["email"], "email_change_new": new}
        links = {kind: _made(auth, kind, ada["email"], new_email=new) for kind in kinds}
        first = _give(auth, "email_change", links["email_change_new"], form, new)
        assert first.json().get("msg", "").startswith("Confirmation link accepted")
        assert _said(_give(auth, "email_change", links["email_change_new"], form, new)) == EXPIRED
        second = _give(auth, "email_change", links["email_change_current"], form, ada["email"])
        assert second.json()["user"]["email"] == new

    @pytest.mark.threat("T09", "T83")
    def test_to_one_that_another_account_took_meanwhile(
        self, auth: OwnAuth, ada: dict[str, Any], new: str
    ) -> None:
        kinds = ("email_change_current", "email_change_new")
        links = [_made(auth, kind, ada["email"], new_email=new) for kind in kinds]
        other = auth.new_user(PASSWORD, email=new)
        assert _give(auth, "email_change", links[0], "token_hash", "").status_code == 200
        assert _said(_give(auth, "email_change", links[1], "token_hash", "")) == (422, "email_exists")
        auth.delete_user(other["id"])

    @pytest.mark.threat("T09", "T83")
    def test_to_one_that_a_stranger_signed_up_and_never_proved(
        self, auth: OwnAuth, ada: dict[str, Any], new: str
    ) -> None:
        stranger = auth.new_user(PASSWORD, email=new, email_confirm=False)
        headers = bearer(signed_in(auth, ada)["access_token"]) | _here()
        assert _said(auth.http.put("/user", headers=headers, json={"email": new})) == (200, "")
        for address in (new, ada["email"]):
            token = parse_qs(urlsplit(link_in(mail_to(auth, address))).query)["token"][0]
            given = auth.http.post(
                "/verify", headers=_here(), json={"type": "email_change", "token_hash": token}
            )
            assert _said(given) == (200, "")
        assert given.json()["user"]["email"] == new
        left = auth.http.get(f"/admin/users/{stranger['id']}", headers=bearer(auth.service_key))
        assert _said(left) == (404, "user_not_found")

    @pytest.mark.threat("T09", "T83")
    def test_to_one_that_another_account_confirms_at_that_moment(
        self, stack: Stack, auth: OwnAuth, ada: dict[str, Any], new: str
    ) -> None:
        other = auth.new_user(PASSWORD, email=new, email_confirm=False)
        kinds = ("email_change_current", "email_change_new")
        links = [_made(auth, kind, ada["email"], new_email=new) for kind in kinds]
        assert _give(auth, "email_change", links[0], "token_hash", "").status_code == 200
        confirm = "update auth.users set email_confirmed_at = now() where email = %s"
        with meanwhile(stack, confirm, new) as send:
            given = send(lambda: _give(auth, "email_change", links[1], "token_hash", ""))
        assert _said(given.result()) == (422, "email_exists")
        auth.delete_user(other["id"])

    def test_is_mailed_once_a_minute(self, auth: OwnAuth, ada: dict[str, Any], new: str) -> None:
        headers = bearer(signed_in(auth, ada)["access_token"]) | _here()
        asked = [auth.http.put("/user", headers=headers, json={"email": each}) for each in (new, f"x{new}")]
        assert [_said(response) for response in asked] == [(200, ""), (429, "over_email_send_rate_limit")]

    def test_takes_no_link_to_the_old_address_where_the_new_one_is_enough(
        self, stack: Stack, auth: OwnAuth, ada: dict[str, Any], new: str
    ) -> None:
        body = {"type": "email_change_current", "email": ada["email"], "new_email": new}
        with own_auth(stack, GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED="false") as lax:
            asked = lax.http.post("/admin/generate_link", headers=bearer(lax.service_key), json=body)
        assert _said(asked) == (400, "validation_failed")
        assert asked.json()["msg"].startswith("Enable secure email change")


def test_a_code_to_confirm_a_change_is_mailed_once_a_minute(auth: OwnAuth, ada: dict[str, Any]) -> None:
    headers = bearer(signed_in(auth, ada)["access_token"])
    asked = [auth.http.get("/reauthenticate", headers=headers) for _ in range(2)]
    assert [_said(response) for response in asked] == [(200, ""), (429, "over_email_send_rate_limit")]


class TestExchange:
    """A link of a client with PKCE leads to a code that only this client can exchange."""

    VERIFIER = "v" * 64

    @pytest.fixture
    def link(self, auth: OwnAuth, ada: dict[str, Any]) -> str:
        """Return the link of the mail that the client asked for."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.VERIFIER.encode()).digest()).rstrip(b"=")
        body = {"email": ada["email"], "code_challenge": challenge.decode(), "code_challenge_method": "s256"}
        auth.http.post("/recover", headers=_here(), json=body).raise_for_status()
        return link_in(mail_to(auth, ada["email"]))

    @pytest.fixture
    def code(self, auth: OwnAuth, link: str) -> str:
        """Return the code to which it leads."""
        location = urlsplit(auth.http.get(link, headers=_here()).headers["location"])
        return parse_qs(location.query)["code"][0]

    def _exchange(self, auth: OwnAuth, code: str, verifier: str = VERIFIER) -> httpx.Response:
        body = {"auth_code": code, "code_verifier": verifier}
        return auth.http.post("/token?grant_type=pkce", headers=_here(), json=body)

    def test_counts_once(self, auth: OwnAuth, code: str) -> None:
        assert _said(self._exchange(auth, code, "w" * 64)) == (400, "bad_code_verifier")
        assert self._exchange(auth, code).status_code == 200
        assert _said(self._exchange(auth, code)) == (404, "flow_state_not_found")

    def test_ends_after_five_minutes(
        self, auth: OwnAuth, ada: dict[str, Any], code: str, admin_db: psycopg.Connection[Any]
    ) -> None:
        admin_db.execute(
            "update auth.flow_state set created_at = now() - interval '301 seconds' where user_id = %s",
            [ada["id"]],
        )
        assert _said(self._exchange(auth, code)) == (422, "flow_state_expired")

    def test_opens_no_banned_account(self, auth: OwnAuth, ada: dict[str, Any], code: str) -> None:
        _ban(auth, ada)
        assert _said(self._exchange(auth, code)) == (400, "user_banned")

    def test_opens_no_deleted_account(self, auth: OwnAuth, ada: dict[str, Any], code: str) -> None:
        auth.delete_user(ada["id"])
        assert _said(self._exchange(auth, code)) == (404, "flow_state_not_found")

    def test_needs_the_request_that_the_link_came_of(
        self, auth: OwnAuth, ada: dict[str, Any], link: str, admin_db: psycopg.Connection[Any]
    ) -> None:
        admin_db.execute("delete from auth.flow_state where user_id = %s", [ada["id"]])
        opened = auth.http.get(link, headers=_here())
        assert "error_code=flow_state_not_found" in opened.headers["location"]
