"""Two operations on one group of members, interleaved, and the result of either order."""

from concurrent.futures import Future

from tests.support.race_harness import (
    MONEY_LOCK,
    PATIENCE_SECONDS,
    Call,
    MemberGroup,
    RaceHarness,
    Result,
    Session,
)

ALL_LOCKS = (
    MONEY_LOCK,
    "select 1 from private.profiles where user_id::text = any(%(ids)s) order by id for no key update",
)
# Where the second meets the first: while both have read and wait for their first lock, before the first
# writes its first row, when the first has done everything but commit.
PLACES = ("early", "writing", "late")


def interleave(
    harness: RaceHarness, sessions: list[Session], group: MemberGroup, calls: tuple[Call, Call], place: str
) -> Result:
    """Run the second call when the first is at a place; commit both."""
    first, second = sessions
    harness.prove(*group.values())
    if place == "early":
        with harness.holding(*ALL_LOCKS, group=group):
            works = [_started(harness, s, group, c) for s, c in zip(sessions, calls, strict=True)]
    elif place == "writing":
        with harness.closed() as barrier:
            work = first.start(group, calls[0], barrier, commit=True)
            harness.wait_until_done_or_blocked(first, work)
            works = [work, _started(harness, second, group, calls[1])]
    else:
        work = first.start(group, calls[0])
        work.result(PATIENCE_SECONDS)
        works = [work, _started(harness, second, group, calls[1])]
        first.commit().result(PATIENCE_SECONDS)
    results = tuple(work.result(PATIENCE_SECONDS) for work in works)
    return Result(results, harness.state(group))


def _started(harness: RaceHarness, session: Session, group: MemberGroup, call: Call) -> Future[str]:
    """Wait until a call is committed, or is known to wait for a lock."""
    work = session.start(group, call, commit=True)
    harness.wait_until_done_or_blocked(session, work)
    return work


class Orders:
    """The results of two operations in sequence; everything is rolled back."""

    def __init__(self, harness: RaceHarness, group: MemberGroup, calls: dict[str, Call]) -> None:
        self._harness, self._group, self._calls = harness, group, calls
        self._known: dict[tuple[str, str], Result] = {}

    def of(self, first: str, second: str) -> list[Result]:
        """Return the results of both orders, in the order of the arguments."""
        there, back = self._result(first, second), self._result(second, first)
        return [there, Result(back.results[::-1], back.state)]

    def _result(self, first: str, second: str) -> Result:
        if (first, second) not in self._known:
            calls = [self._calls[first], self._calls[second]]
            self._known[first, second] = self._harness.one_after_the_other(self._group, calls)
        return self._known[first, second]
