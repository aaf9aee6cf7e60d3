"""Many sessions at the same moment: one decision wins, and no balance is spent twice.

Fifty rounds here, a thousand in `tests/bench/bench_races.py`.
"""

from tests.support import rounds
from tests.support.stage import Stage

ROUNDS = 50


def test_one_decision_wins_and_no_balance_is_spent_twice(stage: Stage) -> None:
    with stage.sessions(rounds.ASKING) as sessions:
        assert rounds.play(stage, sessions, ROUNDS) == []
    assert stage.violations() == []
