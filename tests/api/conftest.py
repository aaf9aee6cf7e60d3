"""Fixtures of the API tests: a running stack, its owner's connection, and people."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from functions.auth.migrate import migrate
from tests.support.mail import Mailbox
from tests.support.own_auth import PASSWORD, OwnAuth, own_auth
from tests.support.own_database import empty_database
from tests.support.people import Administrator, ApiClient, Member, People
from tests.support.stack import Stack

Owner = psycopg.Connection[dict[str, Any]]


# What takes longest comes first, so that no process is left alone with it at the end.
SLOW = (
    "test_screen_plans",
    "test_auth_instances",
    "test_auth_limits",
    "test_auth_codes",
    "test_auth_mail_budget",
    "test_authorisation",
    "test_storage_paths",
    "test_openapi",
    "test_instances",
    "test_worker_instances",
    "test_key_rotation",
    "test_openapi_chains",
    "test_storage_limits",
    "test_admin_auth",
    "test_races",
    "test_rpc_limits",
    "test_auth_sign_ups",
    "test_auth_accounts",
    "test_auth_links",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the order of the files for processes that share the work (`-n 3 --dist loadfile`)."""
    rank = {name: number for number, name in enumerate(SLOW)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))
    if len({item.nodeid for item in items}) != len(items):
        raise pytest.UsageError("Of tests with one name the processes would run one: give each its own.")


@pytest.fixture(scope="session")
def stack() -> Stack:
    """Return the stack that STACK_ENV names."""
    return Stack.read()


@pytest.fixture(scope="session")
def owner(stack: Stack) -> Iterator[Owner]:
    """Yield a connection as the database's owner, to check what a rejected request must not have changed."""
    with psycopg.connect(stack.database_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture(scope="session")
def people(stack: Stack, owner: Owner) -> People:
    """Return the factory of members and administrators."""
    return People(stack, owner)


@pytest.fixture(autouse=True)
def forgiven(people: People) -> None:
    """Sign in from one address per process, so that failures elsewhere do not count against it.

    The sign-ins of administrators that tests share stay recent.
    """
    people.keep_recent()
    people.owner.execute(
        "delete from private.sign_in_failures where kind = 'admin_address' and %s in (key, '')",
        [people.address],
    )


@pytest.fixture(scope="session")
def mailbox(stack: Stack) -> Iterator[Mailbox]:
    """Yield the mail catcher."""
    box = Mailbox(stack.mail_url)
    yield box
    box.close()


@pytest.fixture(scope="session")
def anonymous(people: People) -> ApiClient:
    """Return a client with the public key alone."""
    return people.anonymous()


@pytest.fixture(scope="session")
def referrer(stack: Stack, people: People) -> Member:
    """Return a member of this test run, the upline of all members that the tests create."""
    return people.member(stack.values["DEMO_REFERRAL_CODE"])


@pytest.fixture
def member(people: People, referrer: Member) -> Member:
    """Return a new member with a wallet and without a package."""
    return people.member(referrer.profile_id)


@pytest.fixture(scope="session")
def finance(people: People) -> Administrator:
    """Return a finance administrator, who decides deposits and withdrawals."""
    return people.shared_administrator("finance_admin")


@pytest.fixture(scope="session")
def support(people: People) -> Administrator:
    """Return a support administrator, who only reads lists."""
    return people.shared_administrator("support_admin")


@pytest.fixture(scope="session")
def super_admin(people: People) -> Administrator:
    """Return a super administrator."""
    return people.shared_administrator("super_admin")


@pytest.fixture
def count_rows(owner: Owner) -> Callable[[str], int]:
    """How many rows a table has that match a condition, read as the owner."""

    def count(table_and_condition: str) -> int:
        row = owner.execute(f"select count(*) as n from {table_and_condition}").fetchone()
        return int(row["n"]) if row else 0

    return count


@pytest.fixture(scope="session")
def admin_db(stack: Stack) -> Iterator[psycopg.Connection[Any]]:
    """Yield a superuser connection, to move timestamps into the past."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def auth(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service with the product's limits and keys of its own."""
    with own_auth(stack) as service:
        yield service


@pytest.fixture
def ada(auth: OwnAuth) -> Iterator[dict[str, Any]]:
    """Create an account of that service."""
    user = auth.new_user(PASSWORD)
    yield user
    auth.delete_user(user["id"])


@pytest.fixture
def auth_database(stack: Stack) -> Iterator[str]:
    """Yield the address of a database with schema auth and no more, which no other service uses."""
    with empty_database(stack) as url:
        migrate(url)
        yield url
