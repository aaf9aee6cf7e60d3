"""Two operations on one group of members, interleaved, and the result of either order."""

from concurrent.futures import Future

from tests.support.stage import MONEY_LOCK, PATIENCE_SECONDS, Call, Family, Outcome, Session, Stage

ALL_LOCKS = (
    MONEY_LOCK,
    "select 1 from private.profiles where user_id::text = any(%(ids)s) order by id for no key update",
)
# Where the second meets the first: while both have read and wait for their first lock, before the first
# writes its first row, when the first has done everything but commit.
PLACES = ("early", "writing", "late")


def interleave(
    stage: Stage, sessions: list[Session], family: Family, calls: tuple[Call, Call], place: str
) -> Outcome:
    """Run the second call when the first is at a place; commit both."""
    first, second = sessions
    if place == "early":
        with stage.holding(*ALL_LOCKS, family=family):
            works = [_started(stage, s, family, c) for s, c in zip(sessions, calls, strict=True)]
    elif place == "writing":
        with stage.closed() as turnstile:
            work = first.start(family, calls[0], turnstile, commit=True)
            stage.settle(first, work)
            works = [work, _started(stage, second, family, calls[1])]
    else:
        work = first.start(family, calls[0])
        work.result(PATIENCE_SECONDS)
        works = [work, _started(stage, second, family, calls[1])]
        first.commit().result(PATIENCE_SECONDS)
    answers = tuple(work.result(PATIENCE_SECONDS) for work in works)
    return Outcome(answers, stage.state(family))


def _started(stage: Stage, session: Session, family: Family, call: Call) -> Future[str]:
    """Wait until a call is committed, or is known to wait for a lock."""
    work = session.start(family, call, commit=True)
    stage.settle(session, work)
    return work


class Orders:
    """The results of two operations in sequence; everything is rolled back."""

    def __init__(self, stage: Stage, family: Family, calls: dict[str, Call]) -> None:
        self._stage, self._family, self._calls = stage, family, calls
        self._known: dict[tuple[str, str], Outcome] = {}

    def of(self, first: str, second: str) -> list[Outcome]:
        """Return the results of both orders, in the order of the arguments."""
        there, back = self._outcome(first, second), self._outcome(second, first)
        return [there, Outcome(back.answers[::-1], back.state)]

    def _outcome(self, first: str, second: str) -> Outcome:
        if (first, second) not in self._known:
            calls = [self._calls[first], self._calls[second]]
            self._known[first, second] = self._stage.one_after_the_other(self._family, calls)
        return self._known[first, second]
