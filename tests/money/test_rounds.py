"""Many sessions at the same moment: one decision wins, and no balance is spent twice.

Ten rounds in each run, a thousand in `make test-long`.
"""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support import rounds
from tests.support.stage import Stage

USUAL, LONG = 10, 1000


@pytest.mark.threat("T31", "T50", "T51")
@pytest.mark.parametrize("count", [USUAL, pytest.param(LONG, marks=pytest.mark.long)])
def test_one_decision_wins_and_no_balance_is_spent_twice(stage: Stage, count: int) -> None:
    with stage.sessions(rounds.ASKING) as sessions:
        assert rounds.play(stage, sessions, count) == []
    assert stage.violations() == []


def test_the_books_agree_at_every_moment_of_a_race(stage: Stage) -> None:
    """Also while the worker rolls up the counters: a check never sees a partial state."""
    looks, seen = 0, []
    with (
        stage.sessions(rounds.ASKING) as sessions,
        psycopg.connect(stage.url, autocommit=True) as worker,
        ThreadPoolExecutor(1) as pool,
    ):
        race = pool.submit(rounds.play, stage, sessions, 10)
        while not race.done():
            seen += worker.execute("select rule, object from private.check_ledger()").fetchall()
            worker.execute("select jobs.roll_up_counters()")
            looks += 1
        assert race.result() == []
    assert seen == []
    assert looks > 1
