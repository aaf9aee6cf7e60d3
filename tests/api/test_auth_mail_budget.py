"""The budget of all mail: one a minute for an address, a share of the hour for a client or a recipient."""

import secrets
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from functions.auth.limits.attempts import subject_of_email
from tests.support.own_auth import PASSWORD, OwnAuth, bearer, mails, own_auth, signed_in, wait_for_notice
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has none of these limits")


@pytest.mark.threat("T80")
@pytest.mark.parametrize(
    "kinds",
    ["recover recover", "signup signup", "signup resend", "resend resend", "resend signup signup"],
)
def test_one_mail_a_minute_for_known_and_unknown_addresses_alike(
    auth: OwnAuth, ada: dict[str, Any], kinds: str
) -> None:
    unknown = f"nobody-{secrets.token_hex(6)}@example.com"
    try:
        for email in (ada["email"], unknown):
            *first, last = [_post(auth, kind, email) for kind in kinds.split()]
            assert ({response.status_code for response in first}, last.status_code) == ({200}, 429)
            assert last.json()["error_code"] == "over_email_send_rate_limit"
    finally:
        _delete(auth, unknown)


@pytest.mark.threat("T80")
def test_how_long_to_wait_is_said_alike(
    auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any]
) -> None:
    unknown = f"nobody-{secrets.token_hex(6)}@example.com"
    for email in (ada["email"], unknown):
        _post(auth, "recover", email).raise_for_status()
    admin_db.execute(
        "update auth.users set recovery_sent_at = recovery_sent_at - interval '30 seconds' where email = %s",
        [ada["email"]],
    )
    admin_db.execute(
        "update auth.attempts set started_at = started_at - interval '30 seconds' "
        "where kind = 'mail' and subject = %s",
        [subject_of_email(f"recovery {unknown}")],
    )
    for email in (ada["email"], unknown):
        said = _post(auth, "recover", email).json()["msg"]
        assert any(f"after {left} seconds" in said for left in range(20, 31)), said


def _post(auth: OwnAuth, kind: str, email: str, **fields: str) -> httpx.Response:
    body = {"email": email, "password": PASSWORD, "type": "signup", **fields}
    return auth.http.post(f"/{kind}", headers={"x-real-ip": _any_address()}, json=body)


def _delete(auth: OwnAuth, email: str) -> None:
    found = auth.http.get("/admin/users", headers=bearer(auth.service_key), params={"filter": email}).json()
    for user in found["users"]:
        auth.delete_user(user["id"])


class TestMailBudget:
    """One client cannot use up all mail, and what concerns the safety of accounts is sent in every case."""

    def _ask(self, auth: OwnAuth, kind: str, email: str, address: str = "") -> int:
        headers = {"x-real-ip": address or _any_address()}
        body = {"email": email, "password": PASSWORD, "type": "signup"}
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
        kinds = ["signup", "otp", "magiclink", "resend", "signup", "otp", "signup"]
        people = [_new_email() for _ in kinds]
        asked = [
            self._ask(limited, kind, email, f"{here}{n}")
            for n, (kind, email) in enumerate(zip(kinds, people, strict=True))
        ]
        assert asked == [200] * 5 + [429] * 2
        # To unknown addresses nothing is mailed again.
        assert [len(mails(limited, email)) for email in people] == [1, 1, 1, 0, 1, 0, 0]
        recoveries = [self._ask(limited, "recover", _new_email(), here) for _ in range(6)]
        assert recoveries == [200] * 5 + [429]
        assert self._ask(limited, "signup", _new_email()) == 200

    def test_a_domain_has_a_tenth(self, limited: OwnAuth) -> None:
        domain = f"{_BUDGET}{secrets.token_hex(4)}.example"
        asked = [self._ask(limited, "signup", f"n{n}@{domain}") for n in range(6)]
        assert asked == [200] * 5 + [429]

    def test_the_networks_of_one_site_have_three_tenths(self, limited: OwnAuth) -> None:
        site = f"2001:db8:{secrets.token_hex(2)}"
        asked = {
            network: [self._ask(limited, "recover", _new_email(), f"{site}:{network}::{n}") for n in range(6)]
            for network in range(4)
        }
        assert asked == dict.fromkeys(range(3), [200] * 5 + [429]) | {3: [429] * 6}

    def test_at_a_large_provider_a_mailbox_has_a_tenth(self, limited: OwnAuth) -> None:
        asked = [self._ask(limited, "signup", f"{_BUDGET}{secrets.token_hex(4)}@gmail.com") for _ in range(7)]
        assert asked == [200] * 7
        one = f"{_BUDGET}{secrets.token_hex(4)}"
        assert [self._ask(limited, "signup", f"{one}+{n}@gmail.com") for n in range(6)] == [200] * 5 + [429]

    @pytest.mark.parametrize("kind", ["signup", "resend", "resend of a change", "otp", "recover of others"])
    def test_what_strangers_ask_for_keeps_no_member_from_recovery(self, limited: OwnAuth, kind: str) -> None:
        domain = f"{_BUDGET}{secrets.token_hex(4)}.example"
        ada = limited.new_user(PASSWORD, email=f"ada@{domain}")
        for number in range(6):
            if kind == "recover of others":
                _post(limited, "recover", f"n{number}@{domain}")
            elif kind == "resend of a change":
                _post(limited, "resend", ada["email"], type="email_change")
            else:
                _post(limited, kind, ada["email"])
        assert self._ask(limited, "recover", ada["email"]) == 200
        assert len(mails(limited, ada["email"])) == (6 if kind == "otp" else 1)
        token = signed_in(limited, ada)["access_token"]
        assert limited.http.get("/reauthenticate", headers=bearer(token)).status_code == 200
        if kind != "otp":
            assert self._ask(limited, "otp", ada["email"]) == 200, (
                "nor from the other mails, if none was sent"
            )

    def test_each_kind_of_essential_mail_has_its_own_share(self, limited: OwnAuth) -> None:
        ada, here = limited.new_user(PASSWORD, email=_new_email()), _any_address()
        for kind in ("signup", "recover"):
            asked = [self._ask(limited, kind, ada["email"], here) for _ in range(6)]
            assert asked == [200] * 5 + [429]
        headers = {**bearer(signed_in(limited, ada)["access_token"]), "x-real-ip": here}
        asked = [limited.http.get("/reauthenticate", headers=headers).status_code for _ in range(6)]
        assert asked == [200] * 5 + [429]

    def test_recoveries_of_sign_ups_have_no_more_than_the_share_of_these(self, limited: OwnAuth) -> None:
        domain = f"{_BUDGET}{secrets.token_hex(4)}.example"
        emails = [f"n{number}@{domain}" for number in range(3)]
        assert [self._ask(limited, "signup", email) for email in emails] == [200] * 3
        assert [self._ask(limited, "recover", email) for email in emails] == [200] * 3
        assert sum(len(mails(limited, email)) for email in emails) == 5, "the last is not sent"

    @pytest.mark.threat("T80")
    @pytest.mark.parametrize(
        ("kind", "type_"), [("signup", ""), ("recover", ""), ("resend", "signup"), ("resend", "email_change")]
    )
    def test_known_and_unknown_addresses_have_as_much(self, limited: OwnAuth, kind: str, type_: str) -> None:
        changing = self._changing(limited)
        known = limited.new_user(PASSWORD, email=_new_email())["email"]
        for email in (known, _new_email(), *([changing] if type_ == "email_change" else [])):
            asked = [_post(limited, kind, email, type=type_).status_code for _ in range(6)]
            assert asked == [200] * 5 + [429]

    def test_a_change_that_is_mailed_again_counts_for_both_addresses(self, limited: OwnAuth) -> None:
        new = _new_email()
        changing = self._changing(limited, new)
        asked = [_post(limited, "resend", changing, type="email_change").status_code for _ in range(3)]
        assert asked == [200] * 3
        assert len(mails(limited, new)) == 4
        assert [self._ask(limited, "signup", new) for _ in range(3)] == [200] * 2 + [429]

    def test_a_request_that_is_rejected_uses_no_share_of_the_recipient(
        self, stack: Stack, admin_db: psycopg.Connection[Any]
    ) -> None:
        """Within a minute of the last mail."""
        budget = f"10/{3600 + secrets.randbelow(100_000)}s"
        with own_auth(stack, GOTRUE_RATE_LIMIT_EMAIL_SENT=budget, GOTRUE_SMTP_MAX_FREQUENCY="1h") as auth:
            ada = auth.new_user(PASSWORD, email=_new_email())
            for kind in ("otp", "recover"):
                admin_db.execute("update auth.users set recovery_sent_at = now() where id = %s", [ada["id"]])
                late = _post(auth, kind, ada["email"])
                assert (late.status_code, "only request this after" in late.json()["msg"]) == (429, True)
                admin_db.execute("update auth.users set recovery_sent_at = null where id = %s", [ada["id"]])
                assert self._ask(auth, kind, ada["email"]) == 200
            unknown = _new_email()
            for _ in range(2):
                admin_db.execute(
                    "insert into auth.attempts values ('mail', %s, 0, now())",
                    [subject_of_email(f"recovery {unknown}")],
                )
                assert "only request this after" in _post(auth, "recover", unknown).json()["msg"]
                admin_db.execute(
                    "delete from auth.attempts where subject = %s", [subject_of_email(f"recovery {unknown}")]
                )
            assert self._ask(auth, "recover", unknown) == 200
            auth.delete_user(ada["id"])

    def _changing(self, auth: OwnAuth, new: str = "") -> str:
        """Return the address of an account whose change of address, of the same domain by default, waits."""
        email = _new_email()
        token = signed_in(auth, auth.new_user(PASSWORD, email=email))["access_token"]
        headers = {**bearer(token), "x-real-ip": _any_address()}
        auth.http.put(
            "/user", headers=headers, json={"email": new or email.replace("own@", "new@")}
        ).raise_for_status()
        return email

    def test_three_tenths_are_left_to_recovery_and_notifications(self, auth_database: str) -> None:
        """In a database of its own: an instance also sends, and counts, notifications of other accounts."""
        with own_auth(
            Stack.read(),
            DATABASE_URL=auth_database,
            GOTRUE_RATE_LIMIT_EMAIL_SENT="50/100h",
            GOTRUE_SMTP_MAX_FREQUENCY="0s",
        ) as limited:
            ada, ben = (limited.new_user(PASSWORD, email=_new_email()) for _ in range(2))
            assert [self._ask(limited, "signup", _new_email()) for _ in range(36)] == [200] * 35 + [429]
            assert self._ask(limited, "otp", _new_email()) == 429
            unknown = [self._ask(limited, "recover", _new_email()) for _ in range(20)]
            assert unknown == [200] * 20, "mail that is not sent uses nothing up"
            assert self._ask(limited, "recover", ada["email"]) == 200
            token = signed_in(limited, ada)["access_token"]
            assert limited.http.get("/reauthenticate", headers=bearer(token)).status_code == 200
            for number in range(10):
                limited.sign_in(ben["email"], f"wrong-{number}")
            wait_for_notice(limited, ben["email"], "paused")

    def test_of_nothing_sends_nothing(self, stack: Stack) -> None:
        with own_auth(stack, GOTRUE_RATE_LIMIT_EMAIL_SENT="0") as auth:
            assert self._ask(auth, "recover", _new_email()) == 429

    def test_another_instance_has_no_budget_of_its_own(self, stack: Stack) -> None:
        budget, here = f"50/{3600 + secrets.randbelow(100_000)}s", _any_address()
        for expected in (200, 429):
            with own_auth(stack, GOTRUE_RATE_LIMIT_EMAIL_SENT=budget) as auth:
                asked = {self._ask(auth, "recover", _new_email(), here) for _ in range(5)}
            assert asked == {expected}

    def test_a_notification_waits_for_the_budget_and_a_restart(self, auth_database: str) -> None:
        """In a database of its own, where no other instance sends it."""
        stack = Stack.read()
        with (
            own_auth(stack, DATABASE_URL=auth_database, GOTRUE_RATE_LIMIT_EMAIL_SENT="0") as auth,
            psycopg.connect(auth_database, autocommit=True) as db,
        ):
            ada = auth.new_user(PASSWORD)
            for number in range(10):
                auth.sign_in(ada["email"], f"wrong-{number}")
            until = time.monotonic() + 10
            while db.execute("select attempts from auth.notices").fetchone() != (1,):
                assert time.monotonic() < until
                time.sleep(0.05)
            assert not auth.messages
        with psycopg.connect(auth_database, autocommit=True) as db:
            # Not before: the instance without a budget would try it once more, and put it off for longer.
            db.execute(
                "update auth.notices set next_attempt_at = now(), created_at = created_at - interval '1 hour'"
            )
        with (
            own_auth(stack, DATABASE_URL=auth_database) as auth,
            psycopg.connect(auth_database, autocommit=True) as db,
        ):
            wait_for_notice(auth, ada["email"], "paused")
            while db.execute("select from auth.notices").rowcount:
                assert time.monotonic() < until + 20
                time.sleep(0.05)


# Each process deletes its own accounts only: another's tests may run just then.
_BUDGET = f"budget-{secrets.token_hex(4)}-"


def _new_email() -> str:
    return f"own@{_BUDGET}{secrets.token_hex(6)}.example"


def _any_address() -> str:
    return f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.9"
