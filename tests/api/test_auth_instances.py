"""Two processes of the auth service over one database: what counts per account, and all mail, counts once."""

import itertools
import re
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pyotp
import pytest

from launcher.settings import ROOT
from tests.support.own_auth import PASSWORD, OwnAuth, attempt_at_once, bearer, signed_in, two_instances
from tests.support.own_database import empty_database
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("counts in each process")

Instances = tuple[OwnAuth, OwnAuth]
# Each process of the tests deletes its own accounts only.
_MARK = f"instances-{secrets.token_hex(4)}-"


@pytest.fixture(scope="module")
def instances(stack: Stack) -> Iterator[Instances]:
    """Yield two instances with the product's limits, but for the failures of an address."""
    with two_instances(stack, HARBORLINE_AUTH_ADDRESS_FAILURE_LIMIT="12") as both:
        yield both


@pytest.fixture
def ada(instances: Instances) -> Iterator[dict[str, Any]]:
    """Yield an account."""
    user = instances[0].new_user(PASSWORD)
    yield user
    instances[0].delete_user(user["id"])


def _address() -> str:
    return f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.13"


def _by_turns(instances: Instances, times: int, request: Callable[[OwnAuth], int]) -> list[int]:
    """Return the statuses of so many requests, each to the other instance than the one before."""
    return [request(instance) for instance in itertools.islice(itertools.cycle(instances), times)]


@pytest.mark.threat("T77")
def test_a_password_is_guessed_at_no_more_often(instances: Instances, ada: dict[str, Any]) -> None:
    tries = _by_turns(instances, 11, lambda each: each.sign_in(ada["email"], "wrong").status_code)
    assert tries == [400] * 10 + [429]
    assert _by_turns(instances, 2, lambda each: each.sign_in(ada["email"], PASSWORD).status_code) == [429] * 2


@pytest.mark.threat("T77")
def test_a_password_is_guessed_at_no_more_often_at_once(instances: Instances, ada: dict[str, Any]) -> None:
    assert attempt_at_once(instances, ada["email"]) == [400] * 10 + [429] * 14


@pytest.mark.threat("T77", "T78")
def test_an_address_fails_no_more_often(instances: Instances) -> None:
    guesser = f"2001:db8:{secrets.token_hex(2)}:7::"

    def sign_in(instance: OwnAuth) -> int:
        email = f"nobody-{secrets.token_hex(6)}@example.com"
        return instance.sign_in(email, PASSWORD, f"{guesser}{secrets.token_hex(1)}").status_code

    assert _by_turns(instances, 14, sign_in) == [400] * 12 + [429] * 2


@pytest.mark.threat("T77")
def test_who_signed_in_at_one_is_known_at_the_other(instances: Instances, ada: dict[str, Any]) -> None:
    home = _address()
    assert instances[0].sign_in(ada["email"], PASSWORD, home).status_code == 200
    _by_turns(instances, 10, lambda each: each.sign_in(ada["email"], "wrong").status_code)
    assert instances[1].sign_in(ada["email"], PASSWORD).status_code == 429
    assert instances[1].sign_in(ada["email"], PASSWORD, home).status_code == 200


@pytest.mark.threat("T85")
def test_a_mailed_code_is_guessed_at_no_more_often(instances: Instances, ada: dict[str, Any]) -> None:
    body = {"type": "magiclink", "email": ada["email"]}
    first, _ = instances
    link = first.http.post("/admin/generate_link", headers=bearer(first.service_key), json=body).json()

    def give(instance: OwnAuth, code: str) -> int:
        body = {"type": "email", "email": ada["email"], "token": code}
        return instance.http.post("/verify", headers={"x-real-ip": _address()}, json=body).status_code

    wrong = f"{(int(link['email_otp']) + 1) % 1_000_000:06d}"
    assert _by_turns(instances, 10, lambda each: give(each, wrong)) == [403] * 10
    assert _by_turns(instances, 2, lambda each: give(each, link["email_otp"])) == [403] * 2
    body = {"type": "magiclink", "token_hash": link["hashed_token"]}
    opened = instances[1].http.post("/verify", headers={"x-real-ip": _address()}, json=body)
    assert opened.status_code == 200, "the link of one opens at the other"


@pytest.mark.threat("T85")
def test_authenticator_codes_are_guessed_no_more_often(instances: Instances, ada: dict[str, Any]) -> None:
    token = signed_in(instances[0], ada)["access_token"]
    body = {"factor_type": "totp", "friendly_name": "phone"}
    factor = instances[1].http.post("/factors", headers=bearer(token), json=body).json()

    def give(instance: OwnAuth, code: str) -> int:
        headers = {**bearer(token), "x-real-ip": _address()}
        challenge = instance.http.post(f"/factors/{factor['id']}/challenge", headers=headers, json={}).json()
        body = {"challenge_id": challenge["id"], "code": code}
        return instance.http.post(f"/factors/{factor['id']}/verify", headers=headers, json=body).status_code

    assert _by_turns(instances, 11, lambda each: give(each, "000000")) == [422] * 10 + [429]
    right = pyotp.TOTP(factor["totp"]["secret"]).now()
    assert _by_turns(instances, 2, lambda each: give(each, right)) == [429] * 2


def test_an_owner_is_notified_once(auth_database: str) -> None:
    """Of what an instance has left behind that is not there any more, all others send a part."""
    with (
        two_instances(Stack.read(), DATABASE_URL=auth_database) as instances,
        psycopg.connect(auth_database, autocommit=True) as database,
    ):
        database.execute(
            """
            insert into auth.notices (notice, recipient, data, instance, created_at)
            select 'password_changed_notification', format('ada-%s@example.com', n), '{}', gen_random_uuid(),
                now() - interval '2 minutes'
            from generate_series(1, 80) as n
            """
        )
        until = time.monotonic() + 30
        while database.execute("select from auth.notices").rowcount:
            assert time.monotonic() < until
            time.sleep(0.05)
        sent = re.findall("RCPT TO:<(ada-.*)>", "\n".join(instances[0].messages))
        assert (len(sent), len(set(sent))) == (80, 80)


class TestMail:
    """The budget of an hour is one, however many instances send."""

    @pytest.fixture
    def limited(self, stack: Stack, admin_db: psycopg.Connection[Any]) -> Iterator[Instances]:
        """Yield two instances with a budget of their own: 50 mails in a long time."""
        budget = f"50/{50_000 + secrets.randbelow(100_000)}s"
        settings = {"GOTRUE_RATE_LIMIT_EMAIL_SENT": budget, "GOTRUE_SMTP_MAX_FREQUENCY": "0s"}
        with two_instances(stack, **settings) as instances:
            yield instances
        admin_db.execute("delete from auth.users where email like %s", [f"%{_MARK}%"])

    def test_is_sent_as_far_as_the_budget_goes_and_no_further(self, limited: Instances) -> None:
        members = [limited[0].new_user(PASSWORD, email=self._email())["email"] for _ in range(20)]
        with ThreadPoolExecutor(4) as pool:
            signed_up = list(
                pool.map(lambda n: self._ask(limited[n % 2], "signup", self._email()), range(44))
            )
            assert sorted(signed_up) == [200] * 35 + [429] * 9, "three tenths are left"
            recovered = list(pool.map(self._ask, limited * 10, ["recover"] * 20, members))
        assert sorted(recovered) == [200] * 15 + [429] * 5
        assert len(limited[0].messages) == 50

    def test_has_one_share_for_a_client_and_one_for_a_recipient(self, limited: Instances) -> None:
        here, domain = _address(), f"{_MARK}{secrets.token_hex(6)}.example"
        asked = _by_turns(limited, 7, lambda each: self._ask(each, "signup", self._email(), here))
        assert asked == [200] * 5 + [429] * 2
        asked = _by_turns(
            limited, 7, lambda each: self._ask(each, "signup", f"{secrets.token_hex(6)}@{domain}")
        )
        assert asked == [200] * 5 + [429] * 2

    def test_to_one_address_goes_once_a_minute(self, instances: Instances, ada: dict[str, Any]) -> None:
        first, second = instances
        for email in (ada["email"], f"nobody-{secrets.token_hex(6)}@example.com"):
            asked = [self._ask(each, "recover", email) for each in (first, second, first)]
            assert asked == [200, 429, 429]

    def _ask(self, auth: OwnAuth, kind: str, email: str, address: str = "") -> int:
        """Ask until the service is not too busy to hash, as a client would; return the status."""
        sent = {
            "headers": {"x-real-ip": address or _address()},
            "json": {"email": email, "password": PASSWORD},
        }
        until = time.monotonic() + 30
        while (status := auth.http.post(f"/{kind}", **sent).status_code) == 503 and time.monotonic() < until:
            time.sleep(0.1)
        return status

    def _email(self) -> str:
        return f"own@{_MARK}{secrets.token_hex(6)}.example"


@pytest.mark.threat("T78")
def test_instances_divide_the_requests_of_an_address(instances: Instances) -> None:
    """Thirty at once; whoever is asked by turns notices nothing of the division."""
    here = {"x-real-ip": _address()}
    body = {"type": "magiclink", "token_hash": "unknown"}

    def open_link(instance: OwnAuth) -> int:
        return instance.http.post("/verify", headers=here, json=body).status_code

    assert _by_turns(instances, 32, open_link) == [403] * 30 + [429] * 2


def test_instances_that_start_at_once_make_one_schema(stack: Stack) -> None:
    with empty_database(stack) as url, two_instances(stack, DATABASE_URL=url) as instances:
        user = instances[0].new_user(PASSWORD)
        assert (
            _by_turns(instances, 2, lambda each: each.sign_in(user["email"], PASSWORD).status_code)
            == [200] * 2
        )
        with psycopg.connect(url) as database:
            made = database.execute(
                "select (select count(*) from auth.schema_migrations), (select count(*) from auth.migrations)"
            )
            own = len(list((ROOT / "functions" / "auth" / "migrations").glob("*.sql")))
            assert made.fetchone() == (70, own)
