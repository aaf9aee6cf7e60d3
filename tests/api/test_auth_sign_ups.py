"""Several sign-ups for one address that is not confirmed: a link confirms the one whose mail it was in."""

import base64
import hashlib
import re
import secrets
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from launcher.settings import ROOT
from tests.api.conftest import Owner
from tests.support.own_auth import OwnAuth, bearer, link_in, mail_to, mails, meanwhile, own_auth
from tests.support.people import Member, People
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("keeps the first sign-up's password and data")

PRODUCT = {
    "GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true",
    "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": "pg-functions://postgres/hooks/before_user_created",
    "HARBORLINE_AUTH_MAIL_DATA_URI": "pg-functions://postgres/hooks/mail_data",
}


@pytest.fixture(scope="module")
def auth(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service with the product's hook and mails, and no pause between two mails."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("confirmation", "recovery", "recovery_unconfirmed", "magic_link"):
            place = str(ROOT / "supabase" / "templates" / f"{name}.html")
            environment.setenv(f"GOTRUE_MAILER_TEMPLATES_{name.upper()}", place)
        with own_auth(stack, GOTRUE_SMTP_MAX_FREQUENCY="0s", **PRODUCT) as service:
            yield service


@pytest.fixture(scope="module")
def other(people: People, referrer: Member) -> Member:
    """Return the referrer whom strangers name."""
    return people.member(referrer.profile_id, wallet=False)


@dataclass
class SignUp:
    """What one person asks for, and the mail that came of it."""

    auth: OwnAuth
    address: str
    referrer: Member
    username: str = field(default_factory=lambda: f"s_{secrets.token_hex(5)}")
    password: str = field(default_factory=lambda: f"harbour-{secrets.token_hex(5)}")
    mail: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The metadata that the web app sends."""
        return {
            "username": self.username,
            "display_name": f"Name of {self.username}",
            "referrer_id": self.referrer.profile_id,
        }

    def ask(self, **fields: Any) -> httpx.Response:
        """Send the form."""
        body = {"email": self.address, "password": self.password, "data": self.data, **fields}
        return _post(self.auth, "/signup", body)

    def send(self, **fields: Any) -> "SignUp":
        """Send the form and read the mail."""
        before = len(mails(self.auth, self.address))
        self.ask(**fields).raise_for_status()
        self.mail = mail_to(self.auth, self.address, before + 1)
        return self

    def open(self) -> dict[str, str]:
        """Open the link of the mail; what it leads to."""
        return _open(self.auth, self.mail)

    def is_in(self) -> bool:
        """Return whether the password signs in."""
        return self.auth.sign_in(self.address, self.password).status_code == 200


@pytest.fixture
def address() -> str:
    """Return an address without an account."""
    return f"shared-{secrets.token_hex(6)}@example.com"


@pytest.fixture
def mine(auth: OwnAuth, address: str, referrer: Member) -> SignUp:
    """Return the sign-up of who reads the mails of the address."""
    return SignUp(auth, address, referrer)


@pytest.fixture
def stranger(auth: OwnAuth, address: str, other: Member) -> SignUp:
    """Return a sign-up of who does not."""
    return SignUp(auth, address, other)


def _post(auth: OwnAuth, path: str, body: dict[str, Any], token: str = "") -> httpx.Response:
    headers = {"x-real-ip": f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.9"}
    return auth.http.post(path, headers=headers | (bearer(token) if token else {}), json=body)


def _code(mail: str) -> str:
    return re.findall(r"\b\d{6}\b", mail)[0]


def _open(auth: OwnAuth, mail: str) -> dict[str, str]:
    headers = {"x-real-ip": f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.9"}
    opened = auth.http.get(link_in(mail), headers=headers)
    assert opened.status_code == 303
    location = urlsplit(opened.headers["location"])
    return {name: values[0] for name, values in parse_qs(f"{location.query}&{location.fragment}").items()}


def _profile(owner: Owner, address: str) -> dict[str, Any]:
    query = "select username, display_name, referrer_id from private.profiles where email = %s"
    found = owner.execute(query, [address]).fetchall()
    assert len(found) == 1
    return found[0]


def _check_confirmed(owner: Owner, confirmed: SignUp, *void: SignUp) -> None:
    """Check that the account is this sign-up's, and nothing of it another's."""
    assert confirmed.is_in()
    assert _profile(owner, confirmed.address) == {
        "username": confirmed.username,
        "display_name": f"Name of {confirmed.username}",
        "referrer_id": _uuid(confirmed.referrer),
    }
    for one in void:
        assert not one.is_in()
        assert one.open()["error_code"] == "otp_expired"
    assert confirmed.is_in(), "whatever was opened afterwards"


def _uuid(member: Member) -> uuid.UUID:
    return uuid.UUID(member.profile_id)


class TestLink:
    """Who opens a link has read its mail, and confirms what that says."""

    @pytest.mark.threat("T09")
    def test_of_the_later_sign_up(self, owner: Owner, mine: SignUp, stranger: SignUp) -> None:
        stranger.send()
        mine.send()
        assert mine.open()["type"] == "signup"
        _check_confirmed(owner, mine, stranger)

    @pytest.mark.threat("T09")
    def test_of_the_earlier_sign_up(self, owner: Owner, mine: SignUp, stranger: SignUp) -> None:
        mine.send()
        stranger.send()
        assert mine.open()["type"] == "signup"
        _check_confirmed(owner, mine, stranger)

    def test_by_its_token(self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp) -> None:
        mine.send()
        stranger.send()
        token = parse_qs(urlsplit(link_in(mine.mail)).query)["token"][0]
        session = _post(auth, "/verify", {"type": "email", "token_hash": token}).raise_for_status().json()
        assert session["user"]["user_metadata"]["username"] == mine.username
        assert session["user"]["identities"][0]["identity_data"]["username"] == mine.username
        _check_confirmed(owner, mine, stranger)

    def test_of_the_oldest_of_three(self, auth: OwnAuth, owner: Owner, mine: SignUp, other: Member) -> None:
        mine.send()
        strangers = [SignUp(auth, mine.address, other).send() for _ in range(2)]
        mine.open()
        _check_confirmed(owner, mine, *strangers)

    def test_of_the_oldest_of_four_is_void(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, other: Member
    ) -> None:
        first, second, third = (SignUp(auth, mine.address, other).send() for _ in range(3))
        mine.send()
        assert first.open()["error_code"] == "otp_expired"
        second.open()
        _check_confirmed(owner, second, first, third, mine)

    def test_of_a_sign_up_by_pkce(self, auth: OwnAuth, mine: SignUp, stranger: SignUp) -> None:
        verifiers = {one.username: secrets.token_urlsafe(48) for one in (mine, stranger)}
        for one in (mine, stranger):
            digest = hashlib.sha256(verifiers[one.username].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            one.send(code_challenge=challenge, code_challenge_method="s256")
        body = {"auth_code": mine.open()["code"], "code_verifier": verifiers[stranger.username]}
        assert _post(auth, "/token?grant_type=pkce", body).json()["error_code"] == "bad_code_verifier"
        body["code_verifier"] = verifiers[mine.username]
        session = _post(auth, "/token?grant_type=pkce", body).raise_for_status().json()
        assert session["user"]["user_metadata"]["username"] == mine.username

    def test_that_has_expired_changes_nothing(
        self, owner: Owner, mine: SignUp, stranger: SignUp, admin_db: psycopg.Connection[Any]
    ) -> None:
        stranger.send()
        mine.send()
        aged = admin_db.execute(
            "update auth.earlier_sign_ups set confirmation_sent_at = now() - interval '25 hours' "
            "where raw_user_meta_data ->> 'username' = %s",
            [stranger.username],
        )
        assert aged.rowcount == 1
        assert stranger.open()["error_code"] == "otp_expired"
        mine.open()
        _check_confirmed(owner, mine, stranger)

    @pytest.mark.threat("T09")
    def test_of_an_earlier_sign_up_opens_no_confirmed_account(
        self, owner: Owner, mine: SignUp, stranger: SignUp, admin_db: psycopg.Connection[Any]
    ) -> None:
        """Confirmed by hand in the database, where the link of the earlier one is left."""
        stranger.send()
        mine.send()
        admin_db.execute("update auth.users set email_confirmed_at = now() where email = %s", [mine.address])
        assert stranger.open()["error_code"] == "otp_expired"
        _check_confirmed(owner, mine, stranger)

    @pytest.mark.threat("T09")
    def test_of_two_at_once_exactly_one_wins(
        self, auth: OwnAuth, owner: Owner, referrer: Member, other: Member
    ) -> None:
        for _ in range(3):
            address = f"shared-{secrets.token_hex(6)}@example.com"
            both = [SignUp(auth, address, one).send() for one in (referrer, other)]
            with ThreadPoolExecutor(4) as crowd:
                opened = list(crowd.map(SignUp.open, both * 2))
            winners = [number % 2 for number, result in enumerate(opened) if "access_token" in result]
            assert len(winners) == 1, opened
            _check_confirmed(owner, both[winners[0]], both[1 - winners[0]])


# Another sign-up of an address.
SIGNED_UP = """
    with made as (
        insert into auth.users (instance_id, id, aud, role, email, email_confirmed_at, created_at, updated_at,
            confirmation_token, recovery_token, email_change_token_new, email_change)
        values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
            %s, {}, now(), now(), '', '', '', '')
        returning id)
    insert into auth.identities (provider_id, user_id, identity_data, provider)
    select id::text, id, '{{}}', 'email' from made"""


class TestResponse:
    """Nothing of one sign-up reaches the next."""

    @pytest.mark.threat("T80")
    def test_of_a_second_sign_up_holds_its_own_data_alone(
        self, auth: OwnAuth, mine: SignUp, stranger: SignUp
    ) -> None:
        first = stranger.ask().raise_for_status().json()
        _post(auth, "/recover", {"email": stranger.address}).raise_for_status()
        response = mine.ask().raise_for_status()
        second = response.json()
        for text in (stranger.username, stranger.referrer.profile_id, first["created_at"]):
            assert text not in response.text
        assert set(second) == set(first)
        assert {name: second["user_metadata"][name] for name in mine.data} == mine.data
        assert second["identities"][0]["identity_data"] == second["user_metadata"]
        assert second["created_at"] > first["created_at"]

    @pytest.mark.threat("T80")
    @pytest.mark.parametrize("case", ["unknown", "pending", "confirmed"])
    def test_to_a_wrong_request_is_the_same_for_every_address(
        self, mine: SignUp, stranger: SignUp, other: Member, case: str
    ) -> None:
        if case != "unknown":
            mine.send()
        if case == "confirmed":
            mine.open()
        wrong: list[dict[str, Any]] = [
            {"referrer_id": None},
            {"username": other.username},
            {"username": "no name"},
        ]
        said = [stranger.ask(data=stranger.data | fields) for fields in wrong]
        assert [(response.status_code, response.json()["msg"]) for response in said] == [
            (400, "Referral code is required for registration"),
            (400, "Username already exists. Please choose a different username."),
            (400, "A username has 3 to 30 characters: letters, digits and underscores only."),
        ]

    @pytest.mark.threat("T80", "T87")
    def test_to_a_confirmed_address_reserves_nothing(
        self, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        reserved = "select 1 from private.username_reservations where username = %s"
        mine.send()
        assert owner.execute(reserved, [mine.username]).fetchone(), "as one to an unknown address does"
        mine.open()
        assert stranger.ask().raise_for_status().json()["identities"] == []
        assert owner.execute(reserved, [stranger.username]).fetchone() is None

    @pytest.mark.threat("T09", "T80")
    @pytest.mark.parametrize(
        ("confirmed", "identities"), [("null", 1), ("now()", 0)], ids=["once", "confirmed"]
    )
    def test_of_an_address_that_is_signed_up_at_that_moment(
        self, stack: Stack, mine: SignUp, confirmed: str, identities: int
    ) -> None:
        with meanwhile(stack, SIGNED_UP.format(confirmed), mine.address) as send:
            asked = send(mine.ask)
        assert len(asked.result().raise_for_status().json()["identities"]) == identities
        if identities:
            mine.mail = mail_to(mine.auth, mine.address)
            assert mine.open()["type"] == "signup"
            assert mine.is_in()

    @pytest.mark.threat("T87")
    def test_of_the_hook_is_asked_for_each(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp, other: Member
    ) -> None:
        mine.send()
        taken = stranger.ask(data=stranger.data | {"username": other.username})
        assert (taken.status_code, taken.json()["msg"][:23]) == (400, "Username already exists")
        mine.open()
        _check_confirmed(owner, mine)

    def test_may_reserve_one_username_twice(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        stranger.username = mine.username
        stranger.send()
        mine.send()
        mine.open()
        _check_confirmed(owner, mine, stranger)

    def test_frees_the_names_of_the_void_ones(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        stranger.send()
        mine.send().open()
        later = SignUp(auth, f"later-{secrets.token_hex(6)}@example.com", mine.referrer, stranger.username)
        later.send().open()
        _check_confirmed(owner, later)


class TestMail:
    """It says whose sign-up it confirms."""

    def test_names_username_and_referrer_alone(self, owner: Owner, mine: SignUp, stranger: SignUp) -> None:
        for one in (stranger, mine):
            one.send()
            assert one.username in one.mail
            assert _referrer_line(owner, one) in one.mail

    def test_takes_no_referrer_from_the_form(self, owner: Owner, mine: SignUp) -> None:
        mine.send(data=mine.data | {"referrer_display_name": "Someone else", "referrer_username": "else"})
        assert "Someone else" not in mine.mail
        assert _referrer_line(owner, mine) in mine.mail

    def test_of_a_recovery_names_them_while_the_address_is_unconfirmed(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        mine.send()
        stranger.send()
        _post(auth, "/recover", {"email": mine.address}).raise_for_status()
        recovery = mail_to(auth, mine.address, 3)
        assert stranger.username in recovery
        assert _referrer_line(owner, stranger) in recovery
        mine.open()
        _post(auth, "/recover", {"email": mine.address}).raise_for_status()
        later = mail_to(auth, mine.address, 4)
        assert mine.username not in later
        assert _open(auth, recovery)["error_code"] == "otp_expired"
        assert _open(auth, later)["type"] == "recovery"

    def test_of_a_recovery_confirms_the_sign_up_that_it_names(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        mine.send()
        _post(auth, "/recover", {"email": mine.address}).raise_for_status()
        recovery = mail_to(auth, mine.address, 2)
        stranger.send()
        assert mine.username in recovery
        assert _open(auth, recovery)["type"] == "recovery"
        _check_confirmed(owner, mine, stranger)

    def test_of_a_recovery_holds_a_code_for_no_other_sign_up(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        for one in (mine, stranger):
            one.send()
            _post(auth, "/recover", {"email": mine.address}).raise_for_status()
        recovery = mail_to(auth, mine.address, 4)
        mine.open()
        body = {"type": "recovery", "email": mine.address, "token": _code(recovery)}
        assert _post(auth, "/verify", body).status_code == 403
        _check_confirmed(owner, mine, stranger)

    def test_of_a_recovery_holds_a_code_that_the_next_sign_up_ends(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        mine.send()
        _post(auth, "/recover", {"email": mine.address}).raise_for_status()
        recovery = mail_to(auth, mine.address, 2)
        stranger.send()
        body = {"type": "recovery", "email": mine.address, "token": _code(recovery)}
        assert _post(auth, "/verify", body).status_code == 403
        mine.open()
        _check_confirmed(owner, mine, stranger)

    @pytest.mark.parametrize("path", ["/resend", "/otp", "/magiclink"])
    def test_sent_again_is_that_of_the_newest(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp, path: str
    ) -> None:
        stranger.send()
        mine.send()
        body = {"email": mine.address, "type": "signup", "data": stranger.data}
        _post(auth, path, body).raise_for_status()
        again = mail_to(auth, mine.address, 3)
        assert mine.username in again
        assert mine.open()["error_code"] == "otp_expired"
        assert _open(auth, again)["type"] == "signup"
        _check_confirmed(owner, mine, stranger)

    def test_holds_a_code_that_is_good_for_the_newest(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        stranger.send()
        mine.send()
        body = {"type": "signup", "email": mine.address}
        assert _post(auth, "/verify", body | {"token": _code(stranger.mail)}).status_code == 403
        assert _post(auth, "/verify", body | {"token": _code(mine.mail)}).status_code == 200
        _check_confirmed(owner, mine, stranger)


def _referrer_line(owner: Owner, one: SignUp) -> str:
    query = "select display_name, username from private.profiles where id = %s"
    row = owner.execute(query, [one.referrer.profile_id]).fetchone()
    assert row
    assert row["display_name"] not in one.mail, "no text that a member wrote but usernames"
    return f"Sponsor: {row['username']}"


class TestAdministrator:
    """What an administrator makes is no stranger's."""

    def test_confirms_the_account_that_one_made(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        body = {"email": mine.address, "password": mine.password, "user_metadata": mine.data}
        made = _post(auth, "/admin/users", body, auth.service_key).raise_for_status().json()
        strangers = [stranger.send(), *(SignUp(auth, mine.address, stranger.referrer).send() for _ in "123")]
        path = f"/admin/users/{made['id']}"
        confirmed = auth.http.put(path, headers=bearer(auth.service_key), json={"email_confirm": True})
        assert confirmed.json()["user_metadata"]["username"] == mine.username
        _check_confirmed(owner, mine, *strangers)

    def test_confirms_the_newest_of_those_that_were_mailed(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp
    ) -> None:
        stranger.send()
        user = mine.ask().raise_for_status().json()
        mine.mail = mail_to(auth, mine.address, 2)
        path = f"/admin/users/{user['id']}"
        confirmed = auth.http.put(path, headers=bearer(auth.service_key), json={"email_confirm": True})
        assert confirmed.json()["user_metadata"]["username"] == mine.username
        _check_confirmed(owner, mine, stranger)

    @pytest.mark.parametrize("kind", ["signup", "invite"])
    def test_mails_a_link_for_no_other_sign_up(
        self, auth: OwnAuth, owner: Owner, mine: SignUp, stranger: SignUp, kind: str
    ) -> None:
        stranger.send()
        body = {"type": kind, "email": mine.address, "password": mine.password, "data": mine.data}
        link = _post(auth, "/admin/generate_link", body, auth.service_key).raise_for_status().json()
        assert link["user_metadata"]["username"] == mine.username
        body = {"type": kind, "token_hash": link["hashed_token"]}
        session = _post(auth, "/verify", body).raise_for_status().json()
        assert _profile(owner, mine.address)["username"] == mine.username
        assert session["user"]["user_metadata"]["username"] == mine.username
        assert not stranger.is_in()
        assert mine.is_in() == (kind == "signup")

    def test_loses_no_invitation_to_a_stranger(self, auth: OwnAuth, mine: SignUp, stranger: SignUp) -> None:
        body = {"email": mine.address, "data": mine.data}
        _post(auth, "/invite", body, auth.service_key).raise_for_status()
        invitation = mail_to(auth, mine.address, 1)
        stranger.send()
        assert _open(auth, invitation)["type"] == "invite"
        assert not stranger.is_in()
        assert stranger.open()["error_code"] == "otp_expired"

    def test_moves_the_account_to_an_address_that_no_old_link_confirms(
        self, auth: OwnAuth, mine: SignUp, stranger: SignUp
    ) -> None:
        stranger.send()
        user = mine.ask().raise_for_status().json()
        mine.mail = mail_to(auth, mine.address, 2)
        path, body = f"/admin/users/{user['id']}", {"email": f"moved-{mine.address}"}
        auth.http.put(path, headers=bearer(auth.service_key), json=body).raise_for_status()
        for one in (mine, stranger):
            assert one.open()["error_code"] == "otp_expired"

    def test_deletes_every_sign_up_of_an_address(
        self, auth: OwnAuth, mine: SignUp, stranger: SignUp, admin_db: psycopg.Connection[Any]
    ) -> None:
        stranger.send()
        user = mine.ask().raise_for_status().json()
        body = {"should_soft_delete": True}
        path = f"/admin/users/{user['id']}"
        auth.http.request("DELETE", path, headers=bearer(auth.service_key), json=body).raise_for_status()
        left = admin_db.execute(
            "select count(*) from auth.earlier_sign_ups where user_id = %s", [user["id"]]
        ).fetchone()
        assert left == (0,)


@pytest.mark.threat("T86")
def test_a_stranger_delays_the_owner_by_a_minute_and_no_more(
    stack: Stack,
    owner: Owner,
    address: str,
    referrer: Member,
    other: Member,
    admin_db: psycopg.Connection[Any],
) -> None:
    with own_auth(stack, **PRODUCT) as auth:
        stranger, mine = SignUp(auth, address, other).send(), SignUp(auth, address, referrer)
        soon = mine.ask()
        assert (soon.status_code, soon.json()["error_code"]) == (429, "over_email_send_rate_limit")
        reserved = "select 1 from private.username_reservations where username = %s"
        assert owner.execute(reserved, [mine.username]).fetchone() is None
        assert mine.ask(data={}).status_code == 400, "what is wrong is said in the pause too"
        admin_db.execute(
            "update auth.users set confirmation_sent_at = confirmation_sent_at - interval '1 minute' "
            "where email = %s",
            [address],
        )
        mine.send()
        later = SignUp(auth, address, other)
        assert later.ask().status_code == 429, "the pause is the address's"
        mine.open()
        _check_confirmed(owner, mine, stranger)


@pytest.mark.parametrize(
    "settings",
    [
        {
            "GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true",
            "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": "pg-functions://postgres/hooks/{}",
        },
        {"HARBORLINE_AUTH_MAIL_DATA_URI": "pg-functions://postgres/hooks/{}"},
    ],
    ids=["asked", "named"],
)
def test_while_the_database_is_lost_one_may_ask_again(
    stack: Stack, address: str, referrer: Member, admin_db: psycopg.Connection[Any], settings: dict[str, str]
) -> None:
    name = f"hangs_up_{secrets.token_hex(4)}"
    # Not in schema public, where another process would find an endpoint more.
    admin_db.execute(
        f"create function hooks.{name}(event jsonb) returns jsonb language sql as"
        " 'select to_jsonb(pg_terminate_backend(pg_backend_pid()))'"
    )
    try:
        with own_auth(stack, **{key: value.format(name) for key, value in settings.items()}) as auth:
            lost = SignUp(auth, address, referrer).ask()
    finally:
        admin_db.execute(f"drop function hooks.{name}(jsonb)")
    assert lost.status_code == 503, lost.text


def test_while_the_database_is_slow_one_may_ask_again(
    stack: Stack, address: str, referrer: Member, admin_db: psycopg.Connection[Any]
) -> None:
    """The hook has two seconds."""
    name = f"sleeps_{secrets.token_hex(4)}"
    admin_db.execute(
        f"create function hooks.{name}(event jsonb) returns jsonb language sql as"
        " 'select to_jsonb(pg_sleep(4)::text)'"
    )
    settings = {
        "GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true",
        "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": f"pg-functions://postgres/hooks/{name}",
    }
    try:
        with own_auth(stack, **settings) as auth:
            slow = SignUp(auth, address, referrer).ask()
    finally:
        admin_db.execute(f"drop function hooks.{name}(jsonb)")
    assert (slow.status_code, slow.json()["error_code"]) == (504, "request_timeout"), slow.text


NOWHERE = "pg-functions://postgres/pg_catalog/nowhere"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {
                "GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true",
                "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": NOWHERE,
            },
            f"Error running hook URI: {NOWHERE}",
        ),
        ({"HARBORLINE_AUTH_MAIL_DATA_URI": NOWHERE}, "Error running pg_catalog.nowhere"),
        ({}, "Error sending confirmation email"),
    ],
    ids=["asked", "named", "mailed"],
)
def test_a_sign_up_that_cannot_be(
    stack: Stack, address: str, referrer: Member, owner: Owner, settings: dict[str, str], text: str
) -> None:
    with own_auth(stack, **settings) as auth:
        auth.mail.rejects = True
        failed = SignUp(auth, address, referrer).ask()
    assert (failed.status_code, failed.json()["msg"]) == (500, text)
    assert owner.execute("select 1 from auth.users where email = %s", [address]).fetchone() is None
