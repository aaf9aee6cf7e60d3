"""Many sessions at the same moment: one decision wins, and no balance is spent twice.

Ten rounds in each run, a thousand in `make test-long`.
"""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support import race_rounds
from tests.support.race_harness import RaceHarness

USUAL, LONG = 10, 1000


@pytest.mark.threat("T31", "T50", "T51")
@pytest.mark.parametrize("count", [USUAL, pytest.param(LONG, marks=pytest.mark.long)])
def test_one_decision_wins_and_no_balance_is_spent_twice(harness: RaceHarness, count: int) -> None:
    with harness.sessions(race_rounds.ASKING) as sessions:
        assert race_rounds.run_rounds(harness, sessions, count) == []
    assert harness.violations() == []


def test_the_ledger_checks_pass_at_every_moment_of_a_race(harness: RaceHarness) -> None:
    """Also while the worker rolls up the counters: a check never sees a partial state."""
    looks = 0
    seen: list[tuple[str, str]] = []
    with (
        harness.sessions(race_rounds.ASKING) as sessions,
        psycopg.connect(harness.url, autocommit=True) as worker,
        ThreadPoolExecutor(1) as pool,
    ):

        def race() -> list[str]:
            """Race until the ledger was looked at twice, however fast or slow the machine is."""
            wrong: list[str] = []
            while not wrong and looks < 2:
                wrong = race_rounds.run_rounds(harness, sessions, USUAL)
            return wrong

        racing = pool.submit(race)
        while not racing.done():
            seen += worker.execute("select rule, object from private.check_ledger()").fetchall()
            worker.execute("select jobs.roll_up_counters()")
            looks += 1
        assert racing.result() == []
    assert seen == []
