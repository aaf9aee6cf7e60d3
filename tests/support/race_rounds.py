"""Race rounds: many sessions decide the same request, or withdraw the same balance, at once."""

from collections import Counter

from tests.support.interleaving import ALL_LOCKS
from tests.support.race_harness import PATIENCE_SECONDS, Call, MemberGroup, RaceHarness, Session
from tests.support.wallet import wallet_of

DECIDERS = [(name, action) for name in ("ada", "bea") for action in ("approve", "reject")] * 2
ASKING = 50


def all_at_once(
    harness: RaceHarness, sessions: list[Session], group: MemberGroup, calls: list[Call], gathered: bool
) -> list[str]:
    """Return the results of simultaneous calls; with `gathered`, all have read before the first may write."""
    if not gathered:
        works = [s.start(group, c, commit=True) for s, c in zip(sessions, calls, strict=False)]
        return [work.result(PATIENCE_SECONDS) for work in works]
    with harness.holding(*ALL_LOCKS, group=group):
        works = [s.start(group, c, commit=True) for s, c in zip(sessions, calls, strict=False)]
        for session, work in zip(sessions, works, strict=False):
            harness.wait_until_done_or_blocked(session, work)
    return [work.result(PATIENCE_SECONDS) for work in works]


def decide(
    harness: RaceHarness, sessions: list[Session], group: MemberGroup, noun: str, gathered: bool
) -> str:
    """Race two administrators, approving and rejecting, against the member's cancel; return the failure."""
    wanted = group["upgrade" if noun == "deposit" else "asked"]
    query = f"select public.decide_{noun}(%s, %s)"
    calls = [Call(name, query, (wanted, action)) for name, action in DECIDERS]
    calls.append(Call("member", "select public.cancel_request(%s)", (wanted,)))
    results = Counter(all_at_once(harness, sessions, group, calls, gathered))
    # The winner's duplicate gets `already`; the member has no duplicate.
    right = ({"done": 1, "already": 1, "already_decided": 7}, {"done": 1, "already_decided": 8})
    return "" if results in right else f"{noun}: {dict(results)}"


def overspend(harness: RaceHarness, sessions: list[Session], group: MemberGroup, gathered: bool) -> str:
    """Send fifty requests of 100 on a balance of 250; return the failure."""
    query = "insert into public.withdrawals (user_id, amount, wallet_address) values (%s, 100, %s)"
    calls = [Call("member", query, (group["member"], wallet_of(group["member"])))] * ASKING
    results = Counter(all_at_once(harness, sessions, group, calls, gathered))
    right = {"done": 2, "insufficient_balance": ASKING - 2}
    return "" if results == right else f"overspend: {dict(results)}"


def run_rounds(harness: RaceHarness, sessions: list[Session], rounds: int) -> list[str]:
    """Run rounds of all three kinds, every second one gathered; return the violations."""
    wrong = []
    for number, group in enumerate(harness.groups(rounds)):
        gathered = number % 2 == 1
        wrong.append(overspend(harness, sessions, group, gathered))
        wrong += [decide(harness, sessions, group, noun, gathered) for noun in ("deposit", "withdrawal")]
    return [failure for failure in wrong if failure]
