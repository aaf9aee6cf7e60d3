"""A round of the ledger's sweep, run by run as the worker makes it."""

import math
import time

import psycopg

from tests.bench.report import record

# With how few members so ever.
SWEPT = """
    create or replace function private.whole_check_limit() returns integer
    language plpgsql immutable parallel safe set search_path = '' as 'begin return 0; end'
"""
# The worker gives up a run after this time.
MOST_SECONDS = 120
MOST_MINUTES = 60


def measured_round(goal: str, text: str, url: str) -> list[float]:
    """Record what a round takes, and return the seconds of each run."""
    runs = _seconds_of_runs(url)
    record(goal, f"a round of the ledger's sweep, {text}", sum(runs), "s")
    record(goal, f"its longest run, {text}", max(runs), "s")
    record_minutes(goal, f"the worker's round, {text}", runs)
    return runs


def record_minutes(goal: str, what: str, runs: list[float]) -> None:
    """Record how long the round takes of a worker that begins a run each minute, unless one still runs."""
    minutes = sum(max(1, math.ceil(seconds / 60)) for seconds in runs)
    record(goal, what, minutes, "min", f"at most {MOST_MINUTES}", minutes <= MOST_MINUTES)


def _seconds_of_runs(url: str) -> list[float]:
    """Make a whole round, of which nothing stays.

    Raises:
        AssertionError: a run found something wrong.
        psycopg.errors.QueryCanceled: a run took longer than the worker lets it.
    """
    # A connection of its own: where the ledger was checked whole before, that is what stays planned.
    with psycopg.connect(url) as connection:
        connection.execute(SWEPT)
        connection.execute("delete from private.ledger_changes")
        connection.execute("delete from private.ledger_slices")
        connection.execute(f"set local statement_timeout = '{MOST_SECONDS} s'")
        taken: list[float] = []
        while not (taken and _is_over(connection)):
            started = time.perf_counter()
            found = connection.execute("select jobs.check_ledger()").fetchone()
            taken.append(time.perf_counter() - started)
            assert found == ({},), found
        connection.rollback()
    return taken


def _is_over(connection: psycopg.Connection) -> bool:
    row = connection.execute(
        "select l.is_last from private.ledger_slices as l order by l.round desc, l.no desc limit 1"
    ).fetchone()
    return bool(row and row[0])
