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

from tests.support.company import Company
from tests.support.own_cluster import PLAIN, OwnCluster
from tests.support.plan import RATES, Plan

BOUND = Decimal("0.56")
VIP = 1000


@dataclass(frozen=True)
class Member:
    """Where a member joins, which packages are bought, and whether the tier is a gift."""

    sponsor: int | None
    sizes: tuple[int, ...] = (VIP,)
    promised: bool = False


def hub(count: int) -> list[Member]:
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
    return [Member(m.sponsor, (), True) if n < count // 2 else m for n, m in enumerate(tree)]


@pytest.fixture
def database(own: OwnCluster) -> Iterator[psycopg.Connection[dict[str, object]]]:
    """Yield a connection as the owner; nothing on it is committed."""
    with psycopg.connect(make_conninfo(own.url(), dbname=PLAIN), row_factory=dict_row) as connection:
        yield connection
        connection.rollback()


def earned_of_funded(company: Company, tree: list[Member], order: random.Random) -> Decimal:
    """Join and fund a tree in some order; return the share of bonuses in what is funded."""
    plan = Plan()
    for member in tree:
        company.join(plan.join(None if member.sponsor is None else plan.people[member.sponsor]))
    for number, member in enumerate(tree):
        if member.promised:
            correct(company, plan, number)
    asked = []
    for number, member in enumerate(tree):
        for size in member.sizes if not member.promised else ():
            deposit, refusal = company.deposit(plan.people[number], Decimal(size))
            assert refusal is None
            asked.append((number, deposit, Decimal(size)))
    order.shuffle(asked)
    for number, deposit, size in asked:
        assert company.as_admin(1, "select public.decide_deposit(%s, 'approve')", deposit) is None
        plan.people[number].deposits[deposit] = size
    assert company.bonuses() == plan.bonuses()
    funded = sum(person.funded_package for person in plan.people)
    return sum(company.bonuses().values(), Decimal(0)) / funded if funded else Decimal(0)


def correct(company: Company, plan: Plan, number: int) -> None:
    """Give a member the best tier without payment."""
    person = plan.people[number]
    propose = "select public.propose_correction('set_package', %s, 1000, 'a gift')"
    assert company.as_admin(0, propose, company.profiles[person.name]) is None
    query = "select id::text from private.corrections where target_id = %s"
    correction = company.value(query, company.profiles[person.name])
    assert company.as_admin(1, "select public.confirm_correction(%s)", correction) is None
    person.set_package(VIP)


@pytest.mark.parametrize(
    ("tree", "at_least"),
    [
        (hub(40), "0.53"),
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
    share = earned_of_funded(Company(database), tree, random.Random(1))
    assert Decimal(at_least) <= share <= BOUND
    assert database.execute("select * from private.check_ledger() where rule = 'I21'").fetchall() == []


members = st.builds(
    lambda sponsor, sizes, promised: (sponsor, tuple(sizes), promised),
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
        share = earned_of_funded(Company(database), tree, order)
        target(float(share))
        assert share <= BOUND
        assert Company(database).value("select private.reconcile()") == 0
    finally:
        database.rollback()
