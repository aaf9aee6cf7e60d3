"""Every pair of operations on money, interleaved on one group of members, ends as one of both orders would.

In each run every pair meets once, when the first has done everything but commit; in `make test-long` every
ordered pair meets at every place.
"""

from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.support.interleaving import PLACES, Orders, interleave
from tests.support.race_harness import AUDIT_LOCK, MONEY_LOCK, MemberGroup, RaceHarness, Session, operations

NAMES = list(operations(defaultdict(str)))
# All others lock the member's row alone, or the referrer's.
UNDER_THE_MONEY_LOCK = {
    name
    for name in NAMES
    if name.split()[0] in ("approve", "ask", "reject", "record", "void", "set", "reconcile", "rebuild")
}
FREE = """
select user_id::text from private.profiles where user_id::text = any(%s)
order by id for no key update skip locked
"""
IN_ORDER = "select user_id::text from private.profiles where user_id::text = any(%s) order by id"


@pytest.fixture(scope="module")
def orders(harness: RaceHarness) -> Orders:
    """Return the results of both orders of every pair."""
    group = harness.groups(1)[0]
    return Orders(harness, group, operations(group))


@pytest.fixture(scope="module")
def sessions(harness: RaceHarness) -> Iterator[list[Session]]:
    """Two connections."""
    with harness.sessions(2) as opened:
        yield opened


@pytest.mark.threat("T19", "T26", "T37", "T38")
@pytest.mark.parametrize("first", NAMES)
def test_any_pair_ends_as_one_of_its_orders(
    harness: RaceHarness, sessions: list[Session], orders: Orders, first: str
) -> None:
    meetings = [(second, "late") for second in NAMES[NAMES.index(first) :]]
    meet(harness, sessions, orders, first, meetings)


@pytest.mark.long
@pytest.mark.parametrize("first", NAMES)
def test_any_ordered_pair_ends_as_one_of_its_orders_everywhere(
    harness: RaceHarness, sessions: list[Session], orders: Orders, first: str
) -> None:
    meet(harness, sessions, orders, first, [(second, place) for second in NAMES for place in PLACES])


def meet(
    harness: RaceHarness, sessions: list[Session], orders: Orders, first: str, meetings: list[tuple[str, str]]
) -> None:
    """Run an operation against others, each on a group of its own and at a place of PLACES."""
    for group, (second, place) in zip(harness.groups(len(meetings)), meetings, strict=True):
        calls = operations(group)
        ended = interleave(harness, sessions, group, (calls[first], calls[second]), place)
        assert ended in orders.of(first, second), f"{first}, {second}, {place}"
    assert harness.violations() == []


@pytest.mark.parametrize("name", NAMES)
def test_locks_are_taken_in_the_one_order(harness: RaceHarness, sessions: list[Session], name: str) -> None:
    """No session that waits for a lock holds one that comes after it."""
    group = harness.groups(1)[0]
    members = [value for key, value in group.items() if f"{key}_profile" in group]
    in_order = [row[0] for row in harness.director.execute(IN_ORDER, [members]).fetchall()]
    decides = name in UNDER_THE_MONEY_LOCK
    assert _stopped(harness, sessions[0], group, name, MONEY_LOCK, in_order) == (
        (False, [], False) if decides else None
    )
    for number, member in enumerate(in_order):
        row = "select 1 from private.profiles where user_id = '%s' for no key update" % member  # noqa: UP031
        stopped = _stopped(harness, sessions[0], group, name, row, in_order[:number] + in_order[number + 1 :])
        if stopped:
            money, held, audit = stopped
            assert (money, audit) == (decides, False)
            assert set(held) <= set(in_order[:number])
    # The linker's alone.
    assert _stopped(harness, sessions[0], group, name, AUDIT_LOCK, []) is None


def _stopped(
    harness: RaceHarness, session: Session, group: MemberGroup, name: str, lock: str, members: list[str]
) -> tuple[bool, list[str], bool] | None:
    """Return the locks an operation holds while it waits for one (money, members, audit), or None."""
    held = None
    with harness.holding(lock, group=group):
        work = session.start(group, operations(group)[name])
        if harness.wait_until_done_or_blocked(session, work):
            money, audit = (harness.holds_advisory(session, name) for name in ("money", "audit_log"))
            free = {row[0] for row in harness.director.execute(FREE, [members]).fetchall()}
            held = (money, [m for m in members if m not in free], audit)
    work.result()
    session.rollback()
    return held
