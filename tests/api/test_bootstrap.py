"""The commands of a new installation: generated passwords, first people, and no second first."""

import runpy
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from functions.edge.bootstrap import administrators, demo
from functions.edge.bootstrap.settings import BootstrapSettings
from tests.support.admin_sign_in import login, with_two_steps, works
from tests.support.people import Administrator, ApiClient, People
from tests.support.stack import Stack

Database = psycopg.Connection[dict[str, Any]]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


Bootstrap = Callable[..., Done]


@pytest.fixture
def bootstrap(stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bootstrap:
    """Return what runs a command as the launcher does, but in this process."""
    monkeypatch.setenv("DATABASE_URL", stack.database_url)
    monkeypatch.setenv("AUTH_INTERNAL_URL", f"{stack.url}/auth/v1")
    monkeypatch.setenv("STORAGE_INTERNAL_URL", f"{stack.url}/storage/v1")
    monkeypatch.setenv("SUPABASE_SERVICE_ROLE_KEY", stack.service_key)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["bootstrap", *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("functions.edge.bootstrap", run_name="__main__")
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, printed.out, printed.err)

    return run


@pytest.fixture
def database(stack: Stack) -> Iterator[Database]:
    """Yield a transaction of the superuser, without triggers, that is rolled back."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], row_factory=dict_row) as connection:
        connection.execute("set local session_replication_role = replica")
        yield connection
        connection.rollback()


def lines_of(response: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in response.splitlines())


def test_there_is_one_first_administrator(bootstrap: Bootstrap, count_rows: Callable[[str], int]) -> None:
    email = f"second-{secrets.token_hex(4)}@example.com"
    again = bootstrap("first-administrator", "--email", email, "--name", "Second")
    assert again.status == 1
    assert again.stdout == ""
    assert again.stderr.startswith("There is a super administrator already.")
    assert count_rows(f"private.admin_users where email = '{email}'") == 0


def test_a_further_administrator_can_confirm_what_others_propose(
    bootstrap: Bootstrap, people: People, super_admin: Administrator
) -> None:
    email = f"further-{secrets.token_hex(4)}@example.com"
    options = ("--email", email, "--name", "Further", "--role", "finance_admin")
    made = bootstrap("administrator", *options)
    assert made.status == 0, made.stderr
    further = people.sign_in_administrator(email, lines_of(made.stdout)["ADMIN_PASSWORD"])
    row = people.owner.execute(
        "select private.are_one_person(%s, %s) as one,"
        " (select count(*) from private.outbox where recipient = %s) as mails",
        [super_admin.admin_id, further.admin_id, email],
    ).fetchone()
    assert row == {"one": False, "mails": 1}
    again = bootstrap("administrator", *options)
    assert (again.status, again.stderr) == (1, "There is already an administrator with this email.\n")


def test_an_administrator_who_lost_phone_and_mail_address_comes_in_again(
    bootstrap: Bootstrap, people: People, anonymous: ApiClient
) -> None:
    administrator, _ = with_two_steps(people)
    email, new_email = administrator.email, f"new-{secrets.token_hex(4)}@example.com"
    options = ("--email", email, "--new-email", new_email)
    rejected = bootstrap("recover-administrator", *options, "--reason", " ")
    assert (rejected.status, rejected.stdout, rejected.stderr) == (1, "", "Give a reason.\n")
    recovered = bootstrap("recover-administrator", *options, "--reason", "Phone lost, called back")
    assert recovered.status == 0, recovered.stderr
    lines = lines_of(recovered.stdout)
    assert lines["ADMIN_EMAIL"] == new_email
    assert not works(administrator)
    assert login(anonymous, email).status_code == 401
    again = login(anonymous, new_email, lines["ADMIN_PASSWORD"])
    assert again.status_code == 200, "without a code"


def test_a_root_member_can_sign_in_and_refer(bootstrap: Bootstrap, people: People) -> None:
    name = f"root_{secrets.token_hex(4)}"
    email = f"{name}@example.com"
    made = bootstrap("root-member", "--email", email, "--username", name, "--name", "First Member")
    assert made.status == 0, made.stderr
    lines = lines_of(made.stdout)
    root = people.sign_in(email, lines["MEMBER_PASSWORD"])
    assert root.profile_id == lines["REFERRAL_CODE"]
    assert root.rows("profiles", f"id=eq.{root.profile_id}").json()[0]["referrer_id"] is None
    assert people.member(root.profile_id).username


def test_a_root_member_needs_a_free_name(bootstrap: Bootstrap, count_rows: Callable[[str], int]) -> None:
    email = f"root_{secrets.token_hex(4)}@example.com"
    rejected = bootstrap("root-member", "--email", email, "--username", "mara_l", "--name", "Copy")
    assert (rejected.status, rejected.stdout) == (1, "")
    assert "Traceback" not in rejected.stderr
    assert count_rows(f"auth.users where email = '{email}'") == 0


@pytest.mark.parametrize("is_active", [True, False])
def test_who_is_no_longer_active_was_the_first_all_the_same(database: Database, is_active: bool) -> None:
    # First the lock asked for below: who signs in meanwhile would wait for a row and hold a part of it.
    database.execute("lock table private.admin_users in share row exclusive mode")
    database.execute("update private.admin_users set is_active = %s where role = 'super_admin'", [is_active])
    with pytest.raises(administrators.AlreadyExistsError):
        administrators.make_first(database, "second@example.com", "Second")


def test_the_first_administrator_waits_for_another_who_is_being_made(
    stack: Stack, database: Database
) -> None:
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as other:
        other.execute("lock table private.admin_users in row exclusive mode")
        database.execute("set local lock_timeout = '20ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            administrators.make_first(database, "second@example.com", "Second")


def test_a_demo_without_its_story_is_no_demo(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "script", lambda _: b"select from private.profiles where false")
    monkeypatch.setattr(demo, "MEMBERS", {"MEMBER": "no_such_member"})
    monkeypatch.setattr(demo.demo_bots, "subscribe", lambda _: None)
    monkeypatch.setattr(demo, "ADMINISTRATORS", ())
    nowhere = "http://127.0.0.1:9"
    settings = BootstrapSettings(
        database_url="",
        auth_internal_url=nowhere,
        storage_internal_url=nowhere,
        supabase_service_role_key="x",
    )
    with pytest.raises(LookupError, match="no_such_member is not in the story"):
        demo.seed(database, settings)


def test_passwords_are_never_the_same(stack: Stack) -> None:
    demo = {value for key, value in stack.values.items() if key.startswith("DEMO_") and "PASSWORD" in key}
    assert len(demo) == len([key for key in stack.values if key.startswith("DEMO_") and "PASSWORD" in key])
    assert all(len(password) >= 16 for password in demo)
