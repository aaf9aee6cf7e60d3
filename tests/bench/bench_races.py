"""The races of tests/money at length: a thousand rounds, and every pair of operations at every place.

On a copy of the stack's cluster. `ROUNDS=50` makes it shorter.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The launcher is a folder that the system's Python runs, not a package.
sys.path.append(str(ROOT / "supabase" / "stack"))

import settings as configuration  # noqa: E402
from tests.bench.report import exit_code, record  # noqa: E402
from tests.support import rounds  # noqa: E402
from tests.support.interleaving import PLACES, Orders, interleave  # noqa: E402
from tests.support.own_cluster import OwnCluster, settings_of_own  # noqa: E402
from tests.support.stack import stack_state  # noqa: E402
from tests.support.stage import Stage, operations  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "1000"))


def play_rounds(stage: Stage) -> None:
    """Double decisions and overspends."""
    started = time.monotonic()
    with stage.sessions(rounds.ASKING) as sessions:
        wrong = rounds.play(stage, sessions, ROUNDS)
    for complaint in wrong[:5]:
        print(f"  {complaint}")
    what = f"rounds of {ROUNDS:,} in which two decisions won or money was spent twice"
    record("C4", what, len(wrong), "", "none", not wrong)
    record(
        "C4",
        "decisions and requests a second in these rounds",
        ROUNDS * 68 / (time.monotonic() - started),
        "/s",
    )


def meet(stage: Stage) -> None:
    """Every ordered pair at every place."""
    names = list(operations(defaultdict(str)))
    untouched = stage.families(1)[0]
    orders = Orders(stage, untouched, operations(untouched))
    meetings = [(a, b, place) for a in names for b in names for place in PLACES]
    wrong = []
    with stage.sessions(2) as sessions:
        for family, (first, second, place) in zip(stage.families(len(meetings)), meetings, strict=True):
            calls = operations(family)
            ended = interleave(stage, sessions, family, (calls[first], calls[second]), place)
            if ended not in orders.of(first, second):
                wrong.append(f"{first}, {second}, {place}")
    for complaint in wrong[:5]:
        print(f"  {complaint}")
    what = f"of {len(meetings):,} interleavings, ending as neither order would"
    record("C4", what, len(wrong), "", "none", not wrong)


def main() -> int:
    """Race on a copy, then ask the books."""
    with tempfile.TemporaryDirectory() as folder:
        own = OwnCluster(settings_of_own(Path(folder) / "stack"))
        own.copy(configuration.read(stack_state()))
        with own.running(), Stage(own.url()) as stage:
            play_rounds(stage)
            meet(stage)
            violations = stage.violations()
            record("C4", "violations of the books afterwards", len(violations), "", "none", not violations)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
