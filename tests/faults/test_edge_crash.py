"""The functions crash between a commit and its response: one effect, and a retry that says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.own_edge import OwnEdge
from tests.support.people import PASSWORD, Member, People
from tests.support.stack import Stack

CRASHED = 137
Owner = psycopg.Connection[dict[str, Any]]


@pytest.fixture
def owner() -> Iterator[Owner]:
    """Yield the database's owner."""
    with psycopg.connect(Stack.read().database_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture
def people(owner: Owner) -> People:
    """Return the factory of members and administrators."""
    return People(Stack.read(), owner)


@pytest.fixture
def member(people: People) -> Member:
    """Return a referral of the demo's first member."""
    return people.member(people.stack.values["DEMO_REFERRAL_CODE"])


@pytest.fixture
def own_edge(tmp_path: Path) -> Iterator[OwnEdge]:
    """Yield a functions process that the test starts."""
    edge = OwnEdge(Stack.read(), tmp_path)
    yield edge
    edge.http.close()


def sign_in(edge: OwnEdge, email: str) -> str:
    """Return an administrator's token of this process."""
    body = {"action": "login", "email": email, "password": PASSWORD}
    return str(edge.call("admin-auth", body).raise_for_status().json()["access_token"])


@pytest.mark.threat("T49", "T57")
def test_a_decision_whose_response_was_lost(
    own_edge: OwnEdge, people: People, member: Member, owner: Owner
) -> None:
    deposit = member.deposit(50)
    email = people.account("finance_admin")
    body = {"depositId": deposit["id"], "action": "approve"}
    with own_edge.running():
        token = sign_in(own_edge, email)
    with own_edge.running("public.decide_deposit.after_commit") as process:
        with pytest.raises(httpx.TransportError):
            own_edge.call("admin-approve-deposit", body, token)
        assert process.wait(10) == CRASHED
    rows = "select count(*) as n from public.transactions where reference_id = %s"
    assert owner.execute(rows, [deposit["id"]]).fetchone() == {"n": 1}
    with own_edge.running():
        again = own_edge.call("admin-approve-deposit", body, token)
    assert again.status_code == 200, again.text
    assert again.json()["already"] is True
    assert owner.execute(rows, [deposit["id"]]).fetchone() == {"n": 1}


def test_a_sign_in_whose_response_was_lost(own_edge: OwnEdge, people: People) -> None:
    email = people.account("support_admin")
    body = {"action": "login", "email": email, "password": PASSWORD}
    with own_edge.running("admin.after_session_row") as process:
        with pytest.raises(httpx.TransportError):
            own_edge.call("admin-auth", body)
        assert process.wait(10) == CRASHED
    with own_edge.running():
        assert own_edge.call("admin-list-deposits", {"page": 1}, sign_in(own_edge, email)).status_code == 200


def test_a_bot_whose_password_was_encrypted_and_never_stored(
    own_edge: OwnEdge, member: Member, owner: Owner
) -> None:
    body = {
        "bot_name": "Scout",
        "action": "subscribe",
        "mt5_server": "Demo-Server",
        "mt5_login": "100245",
        "mt5_password": "geheim",
    }
    with own_edge.running("bot.after_encrypt") as process:
        with pytest.raises(httpx.TransportError):
            own_edge.call("bot-subscription", body, member.token)
        assert process.wait(10) == CRASHED
    rows = "select count(*) as n from public.bot_subscriptions where user_id = %s"
    assert owner.execute(rows, [member.user_id]).fetchone() == {"n": 0}
    with own_edge.running():
        assert own_edge.call("bot-subscription", body, member.token).status_code == 200
    assert owner.execute(rows, [member.user_id]).fetchone() == {"n": 1}
