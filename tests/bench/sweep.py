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
# It takes no more members after this one (private.slice_size()).
RUN_SECONDS = 50
MOST_MINUTES = 60
# Deposits that other benchmarks decided were requested past the audit log.
LEFT = {"I43"}


def measured_round(goal: str, text: str, url: str) -> list[float]:
    """Record what a round takes, and return the seconds of each run."""
    runs = _seconds_of_runs(url)
    record(goal, f"a round of the ledger's sweep, {text}", sum(runs), "s")
    record(goal, f"its longest run, {text}", max(runs), "s")
    # The worker begins a run each minute, unless one still runs.
    _record_minutes(goal, f"the worker's round, {text}", sum(max(1, math.ceil(run / 60)) for run in runs))
    return runs


def project(goal: str, what: str, runs: list[float], times: float) -> None:
    """Record the worker's round with so many times the members: what a run may not take is left to more."""
    _record_minutes(goal, what, max(len(runs), math.ceil(sum(runs) * times / RUN_SECONDS)))


def _record_minutes(goal: str, what: str, minutes: int) -> None:
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
        # What the stack's worker would have done in another database.
        connection.execute("select private.link_entries()")
        connection.execute("delete from private.ledger_changes")
        connection.execute("delete from private.ledger_slices")
        connection.execute(f"set local statement_timeout = '{MOST_SECONDS} s'")
        taken: list[float] = []
        while not (taken and _is_over(connection)):
            started = time.perf_counter()
            found = connection.execute("select jobs.check_ledger()").fetchone()
            taken.append(time.perf_counter() - started)
            assert found
            assert found[0].keys() <= LEFT, found
            # Or each run would look at them again.
            connection.execute(
                "update private.alarms set ended_at = clock_timestamp() where ended_at is null"
            )
        connection.rollback()
    return taken


def _is_over(connection: psycopg.Connection) -> bool:
    row = connection.execute(
        "select l.is_last from private.ledger_slices as l order by l.round desc, l.no desc limit 1"
    ).fetchone()
    return bool(row and row[0])
