"""Stateful tests with crashes in between: after every step the database equals the reference model.

The same few runs each time, so that a failure can be repeated; `make test-long` adds more and longer random
ones. `SHRINK=1` looks for the shortest failing run.
"""

import os
import secrets
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test as play
from psycopg.conninfo import make_conninfo

from tests.support.isolated_db_client import IsolatedDbClient
from tests.support.money_state_machine import MoneyStateMachine
from tests.support.own_cluster import PLAIN, OwnCluster

# Guards taken out, each with those behind it that would reject the row: function, texts, triggers.
PLANTED_BUGS = {
    "no compare-and-set": (
        "public.decide_deposit",
        {"v_deposit.status <> 'pending'": "false", "and d.status = 'pending'": ""},
        ["_100_immutable on public.deposits", "_100_immutable on public.transactions"],
    ),
    "a smaller package lowers": (
        "private.credit_deposit",
        {
            "greatest(p.package_value, coalesce(": "coalesce(",
            "), 0))": "), p.package_value)",
        },
        ["_100_immutable on private.profiles", "_100_immutable on public.bonuses"],
    ),
    "no balance check": ("private.check_payable", {"(p_withdrawal).amount > v_available": "false"}, []),
    "no bonuses at approval": (
        "private.credit_deposit",
        {"perform private.post_bonuses(v_position.no, (p_deposit).decided_at);": ""},
        [],
    ),
    "the clock orders decisions": (
        "private.due_package",
        {
            "d.decision_no > coalesce((select c.decision_no from correction as c), 0)": (
                "d.decided_at > coalesce((select x.confirmed_at from private.corrections as x,"
                " correction as c where x.decision_no = c.decision_no), '-infinity')"
            )
        },
        [],
    ),
    "the first funding counts": (
        "private.profiles_sync_position",
        {"when v_paid = 0 then null when p.paid_cents = 0": "when p.paid_order is null"},
        [],
    ),
}
# Shrinking takes minutes: who looks into a red run asks for it.
PHASES = [Phase.generate, *([Phase.shrink] if "SHRINK" in os.environ else [])]
USUAL = settings(
    max_examples=3,
    stateful_step_count=25,
    derandomize=True,
    phases=PHASES,
    print_blob=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(USUAL, max_examples=100, stateful_step_count=40, derandomize=False)
# One guard of decisions and one of amounts in each run, the others in the long one.
USUAL_BUGS = ("no compare-and-set", "no bonuses at approval")


@pytest.fixture
def source(own: OwnCluster) -> Iterator[str]:
    """Yield the name of a database without fixture members, the template of every run's copy."""
    name = f"source_{secrets.token_hex(4)}"
    with psycopg.connect(own.url(), autocommit=True) as connection:
        connection.execute(f"create database {name} template {PLAIN}")
        yield name
        connection.execute(f"drop database {name}")


def machine(own: OwnCluster, source: str) -> type[MoneyStateMachine]:
    """Stateful runs, each on its own copy of one database."""
    return type(
        "OwnStateMachine",
        (MoneyStateMachine,),
        {"make_client": staticmethod(lambda: IsolatedDbClient(own.url(), source))},
    )


@pytest.mark.parametrize("extent", [USUAL, pytest.param(LONG, marks=pytest.mark.long)], ids=["usual", "long"])
def test_the_database_follows_the_model(own: OwnCluster, source: str, extent: settings) -> None:
    play(machine(own, source), settings=extent)


@pytest.mark.parametrize(
    "bug", [pytest.param(b, marks=() if b in USUAL_BUGS else pytest.mark.long) for b in PLANTED_BUGS]
)
def test_a_planted_bug_is_found(own: OwnCluster, source: str, bug: str) -> None:
    function, changes, triggers = PLANTED_BUGS[bug]
    with psycopg.connect(make_conninfo(own.url(), dbname=source), autocommit=True) as connection:
        row = connection.execute("select pg_get_functiondef(%s::regproc)", [function]).fetchone()
        assert row
        text: str = row[0]
        for found, replacement in changes.items():
            assert found in text
            text = text.replace(found, replacement)
        connection.execute(text)
        for trigger in triggers:
            connection.execute(f"drop trigger {trigger}")
    with pytest.raises((AssertionError, psycopg.IntegrityError)):
        play(machine(own, source), settings=settings(USUAL, max_examples=100, report_multiple_bugs=False))
