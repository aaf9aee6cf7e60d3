"""Bonuses never exceed 56% of what is funded: 5% referral, 50% pairing and 1% override of each package.

Trees built to come as close as they can (one reaches it), and trees that hypothesis drives towards it,
approved in any order, with members whose tier was a gift. All is one transaction that is rolled back.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from tests.support.db_client import DbClient
from tests.support.own_cluster import PLAIN, OwnCluster
from tests.support.reference_model import RATES, ReferenceModel

BOUND = Decimal("0.56")
VIP = 1000


@dataclass(frozen=True)
class Member:
    """Where a member joins, which packages are bought, and whether the tier is a gift."""

    referrer: int | None
    sizes: tuple[int, ...] = (VIP,)
    promised: bool = False


def top_referrer(count: int) -> list[Member]:
    """Return the whole downline of a member."""
    return [Member(None)] + [Member(0)] * count


def chain(count: int) -> list[Member]:
    """One below the other: no pair at all."""
    return [Member(None)] + [Member(n) for n in range(count)]


def complete(count: int) -> list[Member]:
    """Two below each: every child stands in a pair, every pair but one has an override."""
    return [Member(None)] + [Member(n // 2) for n in range(count)]


def gifts(count: int) -> list[Member]:
    """No member above the last row paid anything, and all of them have the best tier."""
    tree = complete(count)
    return [Member(m.referrer, (), True) if n < count // 2 else m for n, m in enumerate(tree)]


@pytest.fixture
def database(own: OwnCluster) -> Iterator[psycopg.Connection[dict[str, object]]]:
    """Yield a connection as the owner; nothing on it is committed."""
    with psycopg.connect(make_conninfo(own.url(), dbname=PLAIN), row_factory=dict_row) as connection:
        yield connection
        connection.rollback()


def earned_of_funded(client: DbClient, tree: list[Member], order: random.Random) -> Decimal:
    """Join and fund a tree in some order; return the share of bonuses in what is funded."""
    model = ReferenceModel()
    for member in tree:
        client.join(model.join(None if member.referrer is None else model.people[member.referrer]))
    for number, member in enumerate(tree):
        if member.promised:
            correct(client, model, number)
    asked = []
    for number, member in enumerate(tree):
        for size in member.sizes if not member.promised else ():
            deposit, error_code = client.deposit(model.people[number], Decimal(size))
            assert error_code is None
            asked.append((number, deposit, Decimal(size)))
    order.shuffle(asked)
    for number, deposit, size in asked:
        assert client.as_admin(1, "select public.decide_deposit(%s, 'approve')", deposit) is None
        model.people[number].deposits[deposit] = size
    assert client.bonuses() == model.bonuses()
    funded = sum(person.funded_package for person in model.people)
    return sum(client.bonuses().values(), Decimal(0)) / funded if funded else Decimal(0)


def correct(client: DbClient, model: ReferenceModel, number: int) -> None:
    """Give a member the best tier without payment."""
    person = model.people[number]
    propose = "select public.propose_correction('set_package', %s, 1000, 'a gift')"
    assert client.as_admin(0, propose, client.profiles[person.name]) is None
    query = "select id::text from private.corrections where target_id = %s"
    correction = client.value(query, client.profiles[person.name])
    assert client.as_admin(1, "select public.confirm_correction(%s)", correction) is None
    person.set_package(VIP)


@pytest.mark.parametrize(
    ("tree", "at_least"),
    [
        (top_referrer(40), "0.53"),
        (chain(30), "0.04"),
        (complete(62), "0.55"),
        (gifts(62), "0.56"),
        ([Member(None), *[Member(0, (50,))] * 20, Member(1), Member(1)], "0.20"),
    ],
    ids=["hub", "chain", "complete", "gifts", "cheap children"],
)
def test_the_closest_trees_stay_below_56_percent(
    database: psycopg.Connection[dict[str, object]], tree: list[Member], at_least: str
) -> None:
    share = earned_of_funded(DbClient(database), tree, random.Random(1))
    assert Decimal(at_least) <= share <= BOUND
    assert database.execute("select * from private.check_ledger() where rule = 'I21'").fetchall() == []


members = st.builds(
    lambda referrer, sizes, promised: (referrer, tuple(sizes), promised),
    st.integers(0, 5),
    st.lists(st.sampled_from(sorted(RATES)), max_size=3, unique=True),
    st.sampled_from([False, False, False, True]),
)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(drawn=st.lists(members, min_size=3, max_size=25), order=st.randoms(use_true_random=False))
def test_any_tree_in_any_order_stays_below_56_percent(
    database: psycopg.Connection[dict[str, object]],
    drawn: list[tuple[int, tuple[int, ...], bool]],
    order: random.Random,
) -> None:
    # Small distances upwards make hubs and pairs; 0 begins a new tree.
    tree = [
        Member(None if not distance or number < distance else (number - distance), sizes, promised)
        for number, (distance, sizes, promised) in enumerate(drawn)
    ]
    try:
        share = earned_of_funded(DbClient(database), tree, order)
        target(float(share))
        assert share <= BOUND
        assert DbClient(database).value("select private.reconcile()") == 0
    finally:
        database.rollback()
