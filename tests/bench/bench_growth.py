"""P13: what grows with the members, from ten thousand to ten million; on request, `SIZES=10m make bench`.

On each size a reconcile that finds nothing to repair, a round of the ledger's sweep, one approval, the
dashboard, both ends of every administrator's list, and the bytes on disk; then the growth exponents, and the
sweep at ten million if they were not made. By hand on any sizes:

    STACK_ENV=.stack/env python -m tests.bench.bench_growth 10k 100k 300k
"""

import sys
from collections.abc import Iterator

import psycopg

from tests.bench.bench_approval import one_at_a_time
from tests.bench.bench_screens import catch_up, measured
from tests.bench.measure import LARGER, best_of, exponent, warm
from tests.bench.network import make, size
from tests.bench.report import exit_code, record
from tests.bench.sweep import measured_round, project
from tests.support.screens import CALLS, LISTED, Call, Screens

SMALLEST = "10k"
ASKED = "10m"
RECONCILE, APPROVAL = "reconcile, nothing changed", "one approval, time on the processor"
SWEEP = "a round of the ledger's sweep"
MOST_EXPONENT = 0.1
# These read every member.
MOST_EXPONENTS = {RECONCILE: 1.05, SWEEP: 1.05}
ROUNDS = 3


def screens_to_measure() -> Iterator[Call]:
    """Yield the dashboard and both ends of every list."""
    for call in CALLS:
        is_end = call.wire in LISTED and call.filters in ({"page": "first"}, {"page": "last"})
        if is_end or call.wire == "rpc/get_member_dashboard":
            yield call


def grown(text: str) -> tuple[dict[str, float], list[float]]:
    """Return the milliseconds of everything on one size, and the seconds of each run of a sweep's round."""
    url = make(text)
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("select pg_database_size(current_database())").fetchone()
        assert row
        record("P13", f"on disk, {text}", row[0] / size(text), "B a member")
        catch_up(connection)
        warm(connection)
        times = {
            RECONCILE: best_of(ROUNDS, lambda: connection.execute("select jobs.reconcile()").fetchall()),
            **{
                name: median
                for name, (median, _) in measured(Screens(connection), screens_to_measure()).items()
            },
        }
    cost = one_at_a_time(text, url)
    times[APPROVAL] = cost.on_processor
    for what, took in times.items():
        record("P13", f"{what}, {text}", took, "ms")
    record("P13", f"one approval, median, durable, {text}", cost.durable, "ms")
    runs = measured_round("P13", text, url)
    return {**times, SWEEP: sum(runs) * 1000}, runs


def main() -> int:
    """Measure every size, then record how each figure grows."""
    sizes = sys.argv[1:] or ([SMALLEST, *LARGER] if LARGER else [])
    if not sizes:
        print("  P13 is measured on request: SIZES=10m make bench")
        return 0
    # The largest first: where it does not fit, nothing is begun.
    by_size = {text: grown(text) for text in reversed(sizes)}
    for what in by_size[sizes[0]][0] if len(sizes) > 1 else ():
        growth = exponent({text: times[what] for text, (times, _) in by_size.items()})
        most = MOST_EXPONENTS.get(what, MOST_EXPONENT)
        what = f"growth {sizes[0]} to {sizes[-1]}, {what}"
        record("P13", what, growth, "exponent", f"at most {most}", growth <= most)
    largest = sizes[-1]
    if (times := size(ASKED) / size(largest)) > 1:
        project("P13", f"the worker's round, {ASKED} by the runs of {largest}", by_size[largest][1], times)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
