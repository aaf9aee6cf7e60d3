"""Bots: subscribing with an MT5 account, and what becomes of its password."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.support.people import Administrator, ApiClient, Member, People

PASSWORD = "mt5-Geheim-7781"
ACCOUNT = {"mt5_server": "Demo-Server", "mt5_login": "100245", "mt5_password": PASSWORD}
Owner = psycopg.Connection[dict[str, Any]]


def subscribe(member: ApiClient, bot: str = "Scout", **changes: Any) -> Any:
    return member.function("bot-subscription", {"bot_name": bot, "action": "subscribe", **ACCOUNT, **changes})


def test_subscribing_and_unsubscribing(member: Member, count_rows: Callable[[str], int]) -> None:
    response = subscribe(member)
    assert response.status_code == 200, response.text
    assert response.json()["subscription"]["status"] == "active"
    assert PASSWORD not in response.text
    (row,) = member.rpc("get_user_bot_subscriptions", {"p_user_id": member.user_id}).json()
    assert row["bot_name"] == "Scout"

    ended = member.function("bot-subscription", {"bot_name": "Scout", "action": "unsubscribe"})
    assert ended.json()["subscription"]["status"] == "cancelled"
    assert count_rows(f"private.bot_secrets where subscription_id = '{row['id']}'") == 0
    assert member.rpc("get_user_bot_subscriptions", {"p_user_id": member.user_id}).json() == []


@pytest.mark.parametrize("field", ["mt5_server", "mt5_login", "mt5_password"])
def test_the_whole_account_is_required(member: Member, field: str, count_rows: Callable[[str], int]) -> None:
    response = subscribe(member, **{field: ""})
    assert (response.status_code, response.json()["error"]) == (
        400,
        "MT5 server, login and password are required",
    )
    assert count_rows(f"public.bot_subscriptions where user_id = '{member.user_id}'") == 0


def test_a_password_of_256_characters_is_the_longest(member: Member) -> None:
    long = subscribe(member, mt5_password="x" * 257)
    text = "An MT5 password has at most 256 characters."
    assert (long.status_code, long.json()["error"]) == (400, text)
    assert subscribe(member, mt5_password="x" * 256).status_code == 200


@pytest.mark.threat("T110")
def test_one_subscription_for_each_bot(member: Member, count_rows: Callable[[str], int]) -> None:
    subscribe(member).raise_for_status()
    again = subscribe(member)
    assert (again.status_code, again.json()["error"]) == (409, "You are already subscribed to Scout.")
    assert subscribe(member, "Ranger").status_code == 200
    assert count_rows(f"public.bot_subscriptions where user_id = '{member.user_id}'") == 2


@pytest.mark.threat("T110")
def test_an_unknown_bot(member: Member) -> None:
    assert subscribe(member, "Crawler").status_code == 400


@pytest.mark.threat("T106", "T108")
def test_the_password_lies_nowhere_in_clear(member: Member, owner: Owner) -> None:
    subscribe(member).raise_for_status()
    tables = owner.execute(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables "
        "where schemaname in ('public', 'private')"
    ).fetchall()
    clear, encoded = PASSWORD, PASSWORD.encode().hex()
    for table in tables:
        found = owner.execute(
            f"select count(*) as n from {table['name']} as t where t::text like %s or t::text like %s",
            [f"%{clear}%", f"%{encoded}%"],
        ).fetchone()
        assert found == {"n": 0}, table["name"]


@pytest.mark.threat("T54")
def test_who_may_look_at_a_password(
    member: Member, finance: Administrator, support: Administrator, count_rows: Callable[[str], int]
) -> None:
    subscription = subscribe(member).json()["subscription"]["id"]
    seen = finance.function("admin-reveal-mt5-password", {"subscriptionId": subscription})
    assert seen.json() == {"password": PASSWORD}
    assert (
        count_rows(
            f"private.audit_log where action = 'bot.password_revealed' and object_id = '{subscription}'"
        )
        == 1
    )
    rejected = support.function("admin-reveal-mt5-password", {"subscriptionId": subscription})
    assert (rejected.status_code, rejected.json()["code"]) == (403, "forbidden")


def test_the_bots_of_the_demo_open_with_the_key_of_the_stack(finance: Administrator, owner: Owner) -> None:
    rows = owner.execute(
        "select s.id, s.mt5_password_length as length from public.bot_subscriptions as s"
        " inner join private.profiles as p on p.user_id = s.user_id and s.status = 'active'"
        " where p.username in ('mara_l', 'noor_h', 'leo_marin')"
    ).fetchall()
    assert len(rows) == 3
    for row in rows:
        seen = finance.function("admin-reveal-mt5-password", {"subscriptionId": str(row["id"])})
        assert len(seen.json()["password"]) == row["length"]


@pytest.mark.threat("T107")
def test_a_password_put_into_another_row_does_not_open(
    people: People, referrer: Member, finance: Administrator, owner: Owner
) -> None:
    ids = [subscribe(people.member(referrer.profile_id)).json()["subscription"]["id"] for _ in range(2)]
    owner.execute(
        "update private.bot_secrets as b set secret = o.secret from private.bot_secrets as o "
        "where b.subscription_id = %s and o.subscription_id = %s",
        ids,
    )
    response = finance.function("admin-reveal-mt5-password", {"subscriptionId": ids[0]})
    assert (response.status_code, response.json()["code"]) == (409, "seal_broken")
    assert finance.function("admin-reveal-mt5-password", {"subscriptionId": ids[1]}).status_code == 200


@pytest.mark.threat("T59")
def test_twenty_looks_a_minute(people: People, member: Member) -> None:
    subscription = subscribe(member).json()["subscription"]["id"]
    curious = people.administrator("finance_admin")
    body = {"subscriptionId": subscription}
    statuses = [curious.function("admin-reveal-mt5-password", body).status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]


def test_an_administrator_suspends_a_subscription(member: Member, support: Administrator) -> None:
    subscription = subscribe(member).json()["subscription"]["id"]
    body = {"subscriptionId": subscription, "status": "suspended", "reason": "Wrong server"}
    response = support.function("admin-update-subscription", body)
    assert response.json()["subscription"]["status"] == "suspended"
    (row,) = member.rpc("get_user_bot_subscriptions", {"p_user_id": member.user_id}).json()
    assert row["status"] == "suspended"
