"""What must not come along: rows of others by embedding, places of people who never confirmed."""

import secrets
from collections.abc import Callable

import pytest

from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.own_stack import until
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
def test_embedding_brings_no_row_of_another(people: People, referrer: Member) -> None:
    """Every pair of tables, with and without a join hint, for a member whose child has rows in them."""
    finance = people.administrator("finance_admin")
    member = people.member(referrer.profile_id)
    child = people.member(member.profile_id)
    people.fund(child, 100, finance)
    mine = {member.user_id, child.user_id, referrer.user_id}
    for outer in TABLES:
        for inner in TABLES:
            for hint in ("", "!inner", "!user_id"):
                response = member.rows(outer, f"select=*,x:{inner}{hint}(*)")
                assert response.status_code < 500, response.text
                rows = response.json() if response.is_success else []
                for row in rows:
                    for found in [row["x"]] if isinstance(row["x"], dict) else row["x"] or []:
                        assert found["user_id"] == member.user_id or inner == "profiles", found
                        assert found["user_id"] in mine


@pytest.mark.threat("T28")
def test_a_member_without_a_wallet_deposits_nothing(
    people: People, referrer: Member, count_rows: Callable[[str], int]
) -> None:
    member = people.member(referrer.profile_id, wallet=False)
    response = member.insert("deposits", member.deposit_row(50))
    assert (response.status_code, response.json()["code"]) == (403, "profile_incomplete"), response.text
    assert count_rows(f"public.deposits where user_id = '{member.user_id}'") == 0


@pytest.mark.threat("T87", "T45")
def test_who_never_confirms_takes_no_place(
    people: People, referrer: Member, count_rows: Callable[[str], int]
) -> None:
    referrer = people.member(referrer.profile_id)
    stack = referrer.stack
    for _ in range(3):
        name = f"t_{secrets.token_hex(5)}"
        metadata = {"username": name, "display_name": "Nobody Yet", "referrer_id": referrer.profile_id}
        body = {"email": f"{name}@example.com", "password": PASSWORD, "data": metadata}
        response = plain_http.post(
            f"{stack.url}/auth/v1/signup", headers={"apikey": stack.anon_key}, json=body, timeout=20
        )
        assert response.status_code == 200, response.text
        assert count_rows(f"private.profiles where username = '{name}'") == 0
    people.member(referrer.profile_id)
    assert count_rows(f"private.positions where user_id = '{referrer.user_id}' and children = 1") == 1


# What is shown of the own profile and of no other.
PRIVATE = (
    "email",
    "package_approved",
    "cash_in_amount",
    "available_balance",
    "trc20_wallet_address",
    "account_verified",
    "account_status",
)


@pytest.fixture(scope="module")
def pair(people: People, referrer: Member) -> tuple[Member, Member, Member]:
    """Return a member and two direct referrals, one rich and one poor, who differ in every private column."""
    finance, support = people.administrator("finance_admin"), people.administrator("support_admin")
    member = people.member(referrer.profile_id)
    rich, poor = people.member(member.profile_id), people.member(member.profile_id, wallet=False)
    people.fund(rich, 1000, finance)
    people.fund(people.member(rich.profile_id), 100, finance)
    body = {"profileId": poor.profile_id, "account_status": "suspended", "reason": "A test"}
    support.function("admin-update-member", body).raise_for_status()
    return member, rich, poor


@pytest.mark.threat("T14")
@pytest.mark.parametrize("name", PRIVATE)
def test_private_columns_of_others_give_nothing_away(
    owner: Owner, pair: tuple[Member, Member, Member], name: str
) -> None:
    """By filter or order: the same of two members who differ in it."""
    member, *others = pair
    values = [_of_administrators(owner, other, name) for other in others]
    assert values[0] != values[1]
    filters = [f"{name}={kind}" for kind in ("is.null", "not.is.null", "is.true", "gt.0")]
    filters += [f"{name}={kind}.{value}" for kind in ("eq", "neq", "gt", "like") for value in values]
    filters += [f"{name}=in.({','.join(values)})", f"or=({name}.eq.{values[0]},{name}.eq.{values[1]})"]
    for condition in filters:
        seen = []
        for other in others:
            response = member.rows("profiles", f"select=username&user_id=eq.{other.user_id}&{condition}")
            seen.append((response.status_code, response.text.replace(other.username, "x")))
        assert seen[0] == seen[1], condition
    ids = ",".join(other.user_id for other in others)
    for second in ("asc", "desc"):
        orders = [
            member.rows(
                "profiles", f"select=username&user_id=in.({ids})&order={name}.{way},username.{second}"
            )
            for way in ("asc", "desc", "asc.nullsfirst", "desc.nullslast")
        ]
        usernames = sorted((other.username for other in others), reverse=second == "desc")
        for response in orders:
            assert [row["username"] for row in response.json()] == usernames


def _of_administrators(owner: Owner, member: Member, name: str) -> str:
    """Return a value of the profile as an administrator reads it, in PostgREST's spelling."""
    table = "private.totals" if name == "available_balance" else "private.profiles"
    row = owner.execute(
        f"select to_jsonb({name})::text as value from {table} where user_id = %s", [member.user_id]
    ).fetchone()
    return str(row and row["value"]).strip('"')


# What a member's own profile hides, and what is only an administrator's.
HIDDEN = ("admin_notes", "payout_hold_until", "id_hash", "raw_user_meta_data", "encrypted_password")
VALUES = ("eq.x", "neq.x", "like.a*", "ilike.*a*", "is.null", "not.is.null", "gt.a", "in.(a,b)", "fts.a")


@pytest.fixture(scope="module")
def notified(owner: Owner) -> None:
    """Wait until the worker has notified of earlier decisions: some brought the referrer bonuses."""
    last = owner.execute("select max(id) as id from private.audit_log").fetchone()
    assert last
    due = (
        "select from private.earnings_state as s"
        " cross join lateral private.credited_decisions(s.entry_id, %s, 1)"
    )
    until(lambda: not owner.execute(due, [last["id"]]).fetchall(), 60)


@pytest.mark.threat("T14")
@pytest.mark.usefixtures("notified")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_columns_give_nothing_away(owner: Owner, referrer: Member, table: str, name: str) -> None:
    """By filter, order, selection or embedding: an error, or the same whatever the value."""
    queries = [f"select=user_id&{name}={value}" for value in VALUES]
    queries += [f"select=user_id&not.and=({name}.eq.x)", f"select=user_id&or=({name}.eq.x,{name}.neq.x)"]
    queries += [f"select=user_id&order={name}.{way},user_id" for way in ("asc", "desc", "asc.nullsfirst")]
    queries += [f"select={name}", f"select=x:{name}", f"select={name}::text", f"select={name}->>a"]
    queries += [f"select=count({name})", f"select={name}.count()", f"select={name}.max()"]
    queries += [f"select=user_id,profiles({name})"]
    queries += [f"select=user_id,profiles!inner(user_id)&profiles.{name}=eq.x"]
    queries += [f"select=user_id&profiles.order={name}", f"columns={name}&select=user_id"]

    # A change moves the row, so that equal ones need an order of their own.
    queries = [query if "&order=" in query else f"{query}&order=user_id" for query in queries]

    def responses(notes: str | None) -> list[tuple[str, int, str]]:
        change = "update private.profiles set admin_notes = %s where user_id = %s"
        owner.execute(change, [notes, referrer.user_id])
        found = [(query, referrer.rows(table, query)) for query in queries]
        return [(query, response.status_code, response.text) for query, response in found]

    without, with_notes = responses(None), responses("x")
    assert without == with_notes
    assert with_notes == responses("a secret")
    owner.execute("update private.profiles set admin_notes = null where user_id = %s", [referrer.user_id])
    for query, status, text in without:
        assert status < 500, query
        assert "secret" not in text
