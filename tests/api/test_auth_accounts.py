"""Accounts: what their owners and the service key may change of them, and what both are denied."""

import secrets
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pyotp
import pytest

from tests.support.own_auth import PASSWORD, OwnAuth, bearer, meanwhile, own_auth, set_password, signed_in
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has endpoints of its own")

# Stands for an account that there is.
KNOWN = "known"


def _said(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json().get("error_code", "")


def _new_email() -> str:
    return f"own-{secrets.token_hex(6)}@example.com"


def _as_service(auth: OwnAuth, method: str, path: str, body: Any = None) -> httpx.Response:
    return auth.http.request(method, path, headers=bearer(auth.service_key), json=body)


def test_a_new_account_whose_connection_is_cut_may_be_asked_for_again(auth: OwnAuth, stack: Stack) -> None:
    email, url = _new_email(), stack.values["DATABASE_ADMIN_URL"]
    cut = (
        "select pg_terminate_backend(a.pid) from pg_stat_activity as a"
        " where a.wait_event_type = 'Lock' and %s = any(pg_blocking_pids(a.pid))"
    )
    with (
        psycopg.connect(url) as holder,
        psycopg.connect(url, autocommit=True) as watch,
        ThreadPoolExecutor(1) as pool,
    ):
        holder.execute("set local session_replication_role = replica")
        holder.execute(
            "insert into auth.users (id, aud, role, email)"
            " values (gen_random_uuid(), 'authenticated', '', %s)",
            [email],
        )
        asked = pool.submit(_as_service, auth, "POST", "/admin/users", {"email": email, "password": PASSWORD})
        while not watch.execute(cut, [holder.info.backend_pid]).fetchone():
            assert not asked.done()
        assert asked.result().status_code == 503
        holder.rollback()
    made = _as_service(auth, "POST", "/admin/users", {"email": email, "password": PASSWORD})
    assert made.status_code == 200
    auth.delete_user(made.json()["id"])


class TestServiceKey:
    """It may do almost everything, but nothing that makes no sense."""

    @pytest.mark.parametrize(
        ("name", "error"),
        [("x", "validation_failed"), (str(uuid.UUID(int=1)), "user_not_found")],
        ids=["no id", "unknown"],
    )
    def test_names_an_account_that_there_is(self, auth: OwnAuth, name: str, error: str) -> None:
        assert _said(_as_service(auth, "GET", f"/admin/users/{name}")) == (404, error)

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            (
                {"password": PASSWORD, "password_hash": "$2a$10$x"},
                "Only a password or a password hash should be provided",
            ),
            ({"password_hash": PASSWORD}, "invalid password hash: bcrypt or argon2 is expected"),
            ({"password": "x" * 73}, "Password cannot be longer than 72 characters"),
            ({"id": "x"}, "ID must conform to the uuid v4 format"),
            ({"id": str(uuid.UUID(int=0))}, "ID cannot be a nil uuid"),
            ({"ban_duration": "x"}, 'invalid format for ban duration: time: invalid duration "x"'),
            (
                {"ban_duration": "\u0661h"},
                'invalid format for ban duration: time: invalid duration "\u0661h"',
            ),
        ],
        ids=["two passwords", "no hash", "a long password", "no id", "the nil id", "no duration", "no digit"],
    )
    def test_makes_no_account_of(self, auth: OwnAuth, fields: dict[str, str], text: str) -> None:
        made = _as_service(auth, "POST", "/admin/users", {"email": _new_email(), **fields})
        assert (*_said(made), made.json()["msg"]) == (400, "validation_failed", text)

    def test_makes_no_account_that_the_database_rejects(self, auth: OwnAuth) -> None:
        made = _as_service(auth, "POST", "/admin/users", {"email": _new_email(), "role": "x" * 300})
        assert (*_said(made), made.json()["msg"]) == (
            500,
            "unexpected_failure",
            "Database error saving new user",
        )

    @pytest.mark.parametrize(
        ("kind", "email", "error"),
        [
            ("recovery", "", (404, "user_not_found")),
            ("signup", "", (400, "validation_failed")),
            ("signup", KNOWN, (422, "email_exists")),
            ("invite", KNOWN, (422, "email_exists")),
        ],
        ids=["recovery of nobody", "sign-up without a password", "known sign-up", "known invitation"],
    )
    def test_makes_no_link(
        self, auth: OwnAuth, ada: dict[str, Any], kind: str, email: str, error: tuple[int, str]
    ) -> None:
        body = {"type": kind, "email": ada["email"] if email == KNOWN else _new_email()}
        assert _said(_as_service(auth, "POST", "/admin/generate_link", body)) == error

    def test_reads_a_thousand_accounts_at_once(self, auth: OwnAuth) -> None:
        listed = _as_service(auth, "GET", "/admin/users?per_page=5000")
        assert "per_page=1000" in listed.headers["link"]

    def test_adds_no_more_metadata_than_fits(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        path, half = f"/admin/users/{ada['id']}", "x" * 5000
        added = [_as_service(auth, "PUT", path, {"user_metadata": {name: half}}) for name in "ab"]
        assert [_said(each) for each in added] == [(200, ""), (422, "validation_failed")]

    @pytest.mark.threat("T63")
    @pytest.mark.parametrize(
        ("method", "body"),
        [("PUT", {"password": "new-lantern-92"}), ("DELETE", {"should_soft_delete": True})],
        ids=["by a new password", "by deletion"],
    )
    def test_ends_the_sessions(
        self, auth: OwnAuth, ada: dict[str, Any], method: str, body: dict[str, Any]
    ) -> None:
        token = signed_in(auth, ada)["access_token"]
        _as_service(auth, method, f"/admin/users/{ada['id']}", body).raise_for_status()
        assert _said(auth.http.get("/user", headers=bearer(token))) == (403, "session_not_found")

    @pytest.mark.parametrize("kind", ["invite", "admin/generate_link"])
    def test_asks_the_hook_about_a_sign_up(self, stack: Stack, kind: str) -> None:
        hook = "pg-functions://postgres/hooks/before_user_created"
        settings = {"GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true"}
        with own_auth(stack, GOTRUE_HOOK_BEFORE_USER_CREATED_URI=hook, **settings) as auth:
            body = {"email": _new_email(), "type": "signup", "password": PASSWORD}
            asked = _as_service(auth, "POST", f"/{kind}", body)
        assert asked.json()["msg"] == "Referral code is required for registration"


class TestMeanwhile:
    """What changes an account just before a request does: it is seen under the lock."""

    @pytest.fixture
    def unconfirmed(self, auth: OwnAuth) -> Iterator[dict[str, Any]]:
        """Yield an account whose address is not confirmed."""
        user = auth.new_user(PASSWORD, email_confirm=False)
        yield user
        auth.delete_user(user["id"])

    def _link(self, auth: OwnAuth, email: str, kind: str) -> httpx.Response:
        body = {"type": kind, "email": email, "password": PASSWORD}
        return _as_service(auth, "POST", "/admin/generate_link", body)

    def test_the_address_was_taken(self, stack: Stack, auth: OwnAuth) -> None:
        email = _new_email()
        insert = (
            "insert into auth.users (instance_id, id, aud, email, created_at) "
            "values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', %s, now())"
        )
        with meanwhile(stack, insert, email) as send:
            made = send(lambda: _as_service(auth, "POST", "/admin/users", {"email": email}))
        assert _said(made.result()) == (422, "email_exists")
        with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as admin:
            admin.execute("delete from auth.users where email = %s", [email])

    def test_the_address_was_confirmed(
        self, stack: Stack, auth: OwnAuth, unconfirmed: dict[str, Any]
    ) -> None:
        email = unconfirmed["email"]
        confirm = "update auth.users set email_confirmed_at = now() where email = %s"
        with meanwhile(stack, confirm, email) as send:
            made = send(lambda: self._link(auth, email, "signup"))
        assert _said(made.result()) == (422, "email_exists")

    def test_the_account_was_deleted(self, stack: Stack, auth: OwnAuth, unconfirmed: dict[str, Any]) -> None:
        email = unconfirmed["email"]
        with meanwhile(stack, "delete from auth.users where email = %s", email) as send:
            made = send(lambda: self._link(auth, email, "recovery"))
        assert _said(made.result()) == (404, "user_not_found")


class TestOwner:
    """What a signed-in person changes, and what not."""

    @pytest.fixture
    def token(self, auth: OwnAuth, ada: dict[str, Any]) -> str:
        """Return the token of a new session."""
        return str(signed_in(auth, ada)["access_token"])

    @pytest.mark.parametrize(
        ("method", "path", "body", "error"),
        [
            ("PUT", "/user", {"phone": "+441632960000"}, (400, "phone_provider_disabled")),
            ("PUT", "/user", {"app_metadata": {"role": "service_role"}}, (403, "not_admin")),
            ("PUT", "/user", {"password": PASSWORD}, (422, "same_password")),
            ("POST", "/logout?scope=some", {}, (400, "validation_failed")),
            ("GET", "/user/identities/authorize", {}, (404, "manual_linking_disabled")),
        ],
        ids=["a phone", "own rights", "the same password", "some sessions", "another identity"],
    )
    def test_cannot_have(
        self, auth: OwnAuth, token: str, method: str, path: str, body: Any, error: tuple[int, str]
    ) -> None:
        assert _said(auth.http.request(method, path, headers=bearer(token), json=body)) == error

    @pytest.mark.threat("T82")
    def test_needs_a_code_for_a_new_password_where_that_is_set(
        self, stack: Stack, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        settings = {"GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION": "true"}
        with own_auth(stack, HARBORLINE_AUTH_PASSWORD_CHANGE_WINDOW="0", **settings) as auth:
            token = signed_in(auth, ada)["access_token"]
            admin_db.execute(
                "update auth.sessions set created_at = now() - interval '25 hours' where user_id = %s",
                [ada["id"]],
            )
            without = set_password(auth, token, password="new-lantern-92")
            wrong = set_password(auth, token, password="new-lantern-92", nonce="000000")
        assert _said(without) == (400, "reauthentication_needed")
        assert _said(wrong) == (422, "reauthentication_not_valid")

    def test_signs_in_after_a_new_password_whatever_failed_before(
        self, auth: OwnAuth, ada: dict[str, Any], token: str
    ) -> None:
        for number in range(10):
            auth.sign_in(ada["email"], f"wrong-{number}")
        assert auth.sign_in(ada["email"], PASSWORD).status_code == 429
        set_password(auth, token, password="new-lantern-92").raise_for_status()
        assert auth.sign_in(ada["email"], "new-lantern-92").status_code == 200

    def test_does_not_sign_in_while_banned(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        _as_service(auth, "PUT", f"/admin/users/{ada['id']}", {"ban_duration": "1h"}).raise_for_status()
        assert _said(auth.sign_in(ada["email"], PASSWORD)) == (400, "user_banned")


@pytest.fixture(scope="module")
def notifying(stack: Stack) -> Iterator[OwnAuth]:
    """Yield a service that notifies of everything, and whose notifications wait: there is no budget."""
    names = ("PASSWORD_CHANGED", "EMAIL_CHANGED", "MFA_FACTOR_ENROLLED", "MFA_FACTOR_UNENROLLED")
    settings = {f"GOTRUE_MAILER_NOTIFICATIONS_{name}_ENABLED": "true" for name in names}
    with own_auth(stack, GOTRUE_RATE_LIMIT_EMAIL_SENT="0", **settings) as service:
        yield service


class TestNotification:
    """What changes how an account is signed in to is mailed to its owner."""

    def _queued(self, admin_db: psycopg.Connection[Any], user: dict[str, Any]) -> list[str]:
        """Return the notifications that wait for a person, and take them away."""
        query = "delete from auth.notices where recipient = %s returning notice"
        return [row[0].removesuffix("_notification") for row in admin_db.execute(query, [user["email"]])]

    @pytest.mark.threat("T82")
    def test_of_a_new_password(
        self, notifying: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        token = signed_in(notifying, ada)["access_token"]
        set_password(notifying, token, password="new-lantern-92").raise_for_status()
        assert self._queued(admin_db, ada) == ["password_changed"]

    @pytest.mark.threat("T83")
    def test_of_a_new_address(
        self, notifying: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
    ) -> None:
        new = _new_email()
        bodies = [
            {"type": f"email_change_{which}", "email": ada["email"], "new_email": new}
            for which in ("current", "new")
        ]
        links = [_as_service(notifying, "POST", "/admin/generate_link", body).json() for body in bodies]
        for link in links:
            body = {"type": "email_change", "token_hash": link["hashed_token"]}
            _as_service(notifying, "POST", "/verify", body).raise_for_status()
        assert self._queued(admin_db, ada) == ["email_changed"]

    @pytest.mark.threat("T84")
    @pytest.mark.parametrize("by", ["its owner", "the service key"])
    def test_of_a_factor(
        self, notifying: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any], by: str
    ) -> None:
        headers = bearer(signed_in(notifying, ada)["access_token"])
        factor = notifying.http.post("/factors", headers=headers, json={"factor_type": "totp"}).json()
        path = f"/factors/{factor['id']}"
        challenge = notifying.http.post(f"{path}/challenge", headers=headers).json()
        body = {"challenge_id": challenge["id"], "code": pyotp.TOTP(factor["totp"]["secret"]).now()}
        verified = notifying.http.post(f"{path}/verify", headers=headers, json=body).json()
        assert self._queued(admin_db, ada) == ["mfa_factor_enrolled"]
        if by == "its owner":
            notifying.http.delete(path, headers=bearer(verified["access_token"])).raise_for_status()
        else:
            _as_service(notifying, "DELETE", f"/admin/users/{ada['id']}{path}").raise_for_status()
        assert self._queued(admin_db, ada) == ["mfa_factor_unenrolled"]


@pytest.mark.parametrize(
    ("column", "text"),
    [("created_at", "Session Expired"), ("refreshed_at", "Session Expired (Inactivity)")],
)
def test_a_session_ends_when_the_settings_say(
    stack: Stack, ada: dict[str, Any], admin_db: psycopg.Connection[Any], column: str, text: str
) -> None:
    times = {"GOTRUE_SESSIONS_TIMEBOX": "10h", "GOTRUE_SESSIONS_INACTIVITY_TIMEOUT": "1h"}
    with own_auth(stack, **times) as auth:
        session = signed_in(auth, ada)
        path, body = "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]}
        session = auth.http.post(path, json=body).raise_for_status().json()
        admin_db.execute(
            f"update auth.sessions set {column} = {column} - interval '10 hours' where user_id = %s",
            [ada["id"]],
        )
        ended = auth.http.post(path, json={"refresh_token": session["refresh_token"]})
        rejected = auth.http.get("/user", headers=bearer(session["access_token"]))
    assert _said(rejected) == (403, "session_not_found")
    assert (*_said(ended), ended.json()["msg"]) == (
        400,
        "session_expired",
        f"Invalid Refresh Token: {text}",
    )


@pytest.mark.parametrize("path", ["otp", "magiclink"])
def test_no_mail_makes_an_account_while_sign_ups_are_off(stack: Stack, path: str) -> None:
    with own_auth(stack, GOTRUE_DISABLE_SIGNUP="true") as auth:
        asked = auth.http.post(f"/{path}", headers={"x-real-ip": "10.17.0.1"}, json={"email": _new_email()})
    assert _said(asked) == (422, "signup_disabled")


def test_a_sign_in_by_mail_makes_no_account_unasked(auth: OwnAuth) -> None:
    body = {"email": _new_email(), "create_user": False}
    asked = auth.http.post("/otp", headers={"x-real-ip": "10.17.0.2"}, json=body)
    assert _said(asked) == (422, "otp_disabled")
