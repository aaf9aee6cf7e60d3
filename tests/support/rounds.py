"""Race rounds: many sessions decide the same request, or withdraw the same balance, at once."""

from collections import Counter

from tests.support.interleaving import ALL_LOCKS
from tests.support.stage import PATIENCE_SECONDS, WALLET, Call, Family, Session, Stage

DECIDERS = [(name, action) for name in ("ada", "bea") for action in ("approve", "reject")] * 2
ASKING = 50


def all_at_once(
    stage: Stage, sessions: list[Session], family: Family, calls: list[Call], gathered: bool
) -> list[str]:
    """Return the results of simultaneous calls; with `gathered`, all have read before the first may write."""
    if not gathered:
        works = [s.start(family, c, commit=True) for s, c in zip(sessions, calls, strict=False)]
        return [work.result(PATIENCE_SECONDS) for work in works]
    with stage.holding(*ALL_LOCKS, family=family):
        works = [s.start(family, c, commit=True) for s, c in zip(sessions, calls, strict=False)]
        for session, work in zip(sessions, works, strict=False):
            stage.settle(session, work)
    return [work.result(PATIENCE_SECONDS) for work in works]


def decide(stage: Stage, sessions: list[Session], family: Family, noun: str, gathered: bool) -> str:
    """Race two administrators, approving and rejecting, against the member's cancel; return the failure."""
    wanted = family["upgrade" if noun == "deposit" else "asked"]
    query = f"select public.decide_{noun}(%s, %s)"
    calls = [Call(name, query, (wanted, action)) for name, action in DECIDERS]
    calls.append(Call("member", "select public.cancel_request(%s)", (wanted,)))
    answers = Counter(all_at_once(stage, sessions, family, calls, gathered))
    # The winner's duplicate gets `already`; the member has no duplicate.
    right = ({"done": 1, "already": 1, "already_decided": 7}, {"done": 1, "already_decided": 8})
    return "" if answers in right else f"{noun}: {dict(answers)}"


def overspend(stage: Stage, sessions: list[Session], family: Family, gathered: bool) -> str:
    """Send fifty requests of 100 on a balance of 250; return the failure."""
    query = "insert into public.withdrawals (user_id, amount, wallet_address) values (%s, 100, %s)"
    calls = [Call("member", query, (family["member"], WALLET))] * ASKING
    answers = Counter(all_at_once(stage, sessions, family, calls, gathered))
    right = {"done": 2, "insufficient_balance": ASKING - 2}
    return "" if answers == right else f"overspend: {dict(answers)}"


def play(stage: Stage, sessions: list[Session], rounds: int) -> list[str]:
    """Run rounds of all three kinds, every second one gathered; return the violations."""
    wrong = []
    for number, family in enumerate(stage.families(rounds)):
        gathered = number % 2 == 1
        wrong.append(overspend(stage, sessions, family, gathered))
        wrong += [decide(stage, sessions, family, noun, gathered) for noun in ("deposit", "withdrawal")]
    return [complaint for complaint in wrong if complaint]
