"""P6, P7, P8 and the rest of what screens ask for, timed in the database, and what row-level security costs.

Each call is made by a random member, and by the top referrer where that reads
more; administrators' lists at their first, middle and last page. The growth exponent is that of the medians
from the smallest size to the largest. The figures of a busy machine are too high: compare them with those of
the same run.
"""

import math
import random
import statistics
import sys
import time
from collections.abc import Iterable
from typing import LiteralString

import psycopg

from tests.bench import network
from tests.bench.measure import SIZES
from tests.bench.report import exit_code, record
from tests.bench.sweep import measured_round
from tests.support.screens import CALLS, Call, Facts, Screens

SEED = 7
MEMBERS = 25
ROUNDS = 7
SLOW_MS = 50
# Calls with a goal: its number, most milliseconds for a random member and the top referrer, most exponent.
GOALS: dict[str, tuple[str, float, float, float | None]] = {
    "rpc/get_member_dashboard": ("P6", 0.8, 10, 0.1),
    "rpc/get_network_summary": ("P7", 1, 1, None),
    "rpc/get_team_tree": ("P7", 1, 1, None),
    "rpc/get_admin_dashboard_stats": ("P7", 1, 1, None),
    "rpc/list_members search kofi_weber_7": ("P8", 10, 10, None),
    "rpc/list_members search kof": ("P8", 250, 250, None),
    "rpc/list_members search no such text anywhere": ("P8", 10, 10, None),
}
RLS_GOAL = 1.3
# The same rows with and without the policies; the second as the tables' owner.
RLS: dict[str, LiteralString] = {
    "own profile": "select * from public.profiles where user_id = %(user_id)s",
    "50 children": (
        "select * from public.profiles where referrer_id = %(profile_id)s order by created_at limit 50"
    ),
    "100 own bonuses": (
        "select * from public.bonuses where user_id = %(user_id)s order by created_at desc limit 100"
    ),
    "100 own transactions": (
        "select * from public.transactions where user_id = %(user_id)s order by created_at desc limit 100"
    ),
}


def fastest(screens: Screens, call: Call, facts: Facts) -> float:
    """Return the milliseconds of the fastest of several rounds: the least disturbed by other load."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        screens.ask(call, facts)
        times.append((time.perf_counter() - started) * 1000)
        if times[-1] > SLOW_MS and len(times) > 1:
            break
    return min(times)


def catch_up(connection: psycopg.Connection) -> None:
    """Do what the worker does every minute and every day: other benchmarks left half a day's queue here."""
    while connection.execute("select jobs.roll_up_networks() + jobs.roll_up_counters()").fetchone() != (0,):
        pass
    connection.execute("select jobs.publish_disclosure(), jobs.snapshot_coverage()")
    connection.execute("vacuum (analyze)")


def measured(screens: Screens, calls: Iterable[Call] = CALLS) -> dict[str, tuple[float, float]]:
    """Return the medians of random members and of the top referrer in milliseconds, by the call's name."""
    chance = random.Random(SEED)
    some = [screens.facts(chance.randrange(1, screens.members)) for _ in range(MEMBERS)]
    top_referrer = screens.facts(screens.top_referrer)
    found = {}
    for call in calls:
        if call.writes:
            continue
        chosen = some if call.who == "member" else some[:1]
        times = []
        for facts in chosen:
            screens.act(call.who, facts["user_id"])
            times.append(fastest(screens, call, facts))
        screens.act(call.who, top_referrer["user_id"])
        found[call.name] = (statistics.median(times), fastest(screens, call, top_referrer))
        screens.leave()
    return found


def rls_ratio(connection: psycopg.Connection, query: LiteralString, facts: Facts, screens: Screens) -> float:
    """Time with the policies over time without, the two in turn on one connection."""
    best = {True: math.inf, False: math.inf}
    for _ in range(ROUNDS * 3):
        for guarded in best:
            if guarded:
                screens.act("member", facts["user_id"])
            else:
                screens.leave()
            started = time.perf_counter()
            for _ in range(20):
                connection.execute(query, facts).fetchall()
            best[guarded] = min(best[guarded], time.perf_counter() - started)
    screens.leave()
    return best[True] / best[False]


def _report(number: str, what: str, value: float, unit: str, most: float | None) -> None:
    """Report a figure, with pass or fail where there is a limit."""
    if most is None:
        record(number, what, value, unit)
    else:
        record(number, what, value, unit, f"at most {most}", value <= most)


def checked(connection: psycopg.Connection) -> float:
    """Return how many seconds a ledger check takes."""
    connection.execute("select jobs.check_ledger()")
    row = connection.execute(
        "select extract(epoch from check_duration) from private.ledger_check_state"
    ).fetchone()
    return float(row[0]) if row else 0.0


def main() -> int:
    """Measure every size, then report the largest with its growth."""
    results: dict[str, dict[str, tuple[float, float]]] = {}
    for size in SIZES:
        with psycopg.connect(network.make(size), autocommit=True) as connection:
            catch_up(connection)
            screens = Screens(connection)
            results[size] = measured(screens)
            if size == SIZES[-1]:
                largest = screens.members
                ratios = {
                    name: rls_ratio(connection, query, screens.facts(screens.top_referrer), screens)
                    for name, query in RLS.items()
                }
                ledger_seconds = checked(connection)
    first, last = SIZES[0], SIZES[-1]
    growth = math.log(network.size(last) / network.size(first)) if len(SIZES) > 1 else 0
    for name, (median, top_referrer) in results[last].items():
        number, *limits = GOALS.get(name, ("P7", None, None, None))
        _report(number, f"{name}, {largest:,}", median, "ms", limits[0])
        if top_referrer > 2 * median or limits[1]:
            _report(number, f"{name}, hub", top_referrer, "ms", limits[1])
        if growth:
            exponent = math.log(median / results[first][name][0]) / growth
            _report(number, f"{name}, growth {first} to {last}", exponent, "", limits[2])
    for name, ratio in ratios.items():
        record("P9", f"row-level security, {name}", ratio, "x", f"at most {RLS_GOAL}", ratio <= RLS_GOAL)
    record("P7", f"all ledger checks, {largest:,}", ledger_seconds * 1000, "ms")
    measured_round("P7", f"{largest:,}", network.make(last))
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
