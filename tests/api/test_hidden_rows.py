"""What must not come along: rows of others by embedding, places of people who never confirmed."""

import secrets
from collections.abc import Callable

import httpx
import pytest

from tests.support.people import PASSWORD, Member, People

TABLES = (
    "deposits",
    "withdrawals",
    "bonuses",
    "transactions",
    "bot_subscriptions",
    "notifications",
    "profiles",
)


@pytest.mark.threat("T15")
def test_embedding_brings_no_row_of_another(people: People, sponsor: Member) -> None:
    """Every pair of tables, with and without a join hint, for a member whose child has rows in them."""
    finance = people.administrator("finance_admin")
    member = people.member(sponsor.profile_id)
    child = people.member(member.profile_id)
    people.fund(child, 100, finance)
    mine = {member.user_id, child.user_id, sponsor.user_id}
    for outer in TABLES:
        for inner in TABLES:
            for hint in ("", "!inner", "!user_id"):
                answer = member.rows(outer, f"select=*,x:{inner}{hint}(*)")
                assert answer.status_code < 500, answer.text
                rows = answer.json() if answer.is_success else []
                for row in rows:
                    for found in [row["x"]] if isinstance(row["x"], dict) else row["x"] or []:
                        assert found["user_id"] == member.user_id or inner == "profiles", found
                        assert found["user_id"] in mine


@pytest.mark.threat("T28")
def test_a_member_without_a_wallet_deposits_nothing(
    people: People, sponsor: Member, counted: Callable[[str], int]
) -> None:
    member = people.member(sponsor.profile_id, wallet=False)
    answer = member.insert("deposits", member.deposit_row(50))
    assert (answer.status_code, answer.json()["code"]) == (403, "profile_incomplete"), answer.text
    assert counted(f"public.deposits where user_id = '{member.user_id}'") == 0


@pytest.mark.threat("T87", "T45")
def test_who_never_confirms_takes_no_place(
    people: People, sponsor: Member, counted: Callable[[str], int]
) -> None:
    parent = people.member(sponsor.profile_id)
    stack = parent.stack
    for _ in range(3):
        name = f"t_{secrets.token_hex(5)}"
        metadata = {"username": name, "display_name": "Nobody Yet", "referrer_id": parent.profile_id}
        body = {"email": f"{name}@example.com", "password": PASSWORD, "data": metadata}
        answer = httpx.post(
            f"{stack.url}/auth/v1/signup", headers={"apikey": stack.anon_key}, json=body, timeout=20
        )
        assert answer.status_code == 200, answer.text
        assert counted(f"private.profiles where username = '{name}'") == 0
    people.member(parent.profile_id)
    assert counted(f"private.positions where profile_id = '{parent.profile_id}' and children = 1") == 1
