"""Decisions, corrections, repairs and rebuilds at the same moment: each group ends as it would alone."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.support.race_harness import PATIENCE_SECONDS, Call, MemberGroup, RaceHarness, operations

GROUPS = 6
# In this order for each group, of which some can and some can no longer be done.
DONE = (
    "approve a first package",
    "request a withdrawal",
    "void a child's package",
    "sign up below",
    "approve the withdrawal",
    "approve a cash-in",
)
# Behind the triggers: what no operation on the group touches itself.
DAMAGES = (
    "update public.bonuses set amount = 0, volume = 0 where subject_no = %(no)s and bonus_type = 'referral'",
    "update public.bonuses set amount = amount * 2, volume = volume * 2"
    " where subject_no = %(no)s and bonus_type = 'referral'",
    "update public.bonuses as b set user_id = (select o.user_id from private.positions as o"
    " where o.no <> b.subject_no and o.user_id <> b.user_id order by o.no limit 1)"
    " where b.subject_no = %(no)s and b.bonus_type = 'referral'",
    "update private.totals set pairing_count = pairing_count + 3 where user_id = %(user)s",
    "update private.networks set members = members + 1 where no = %(no)s",
    "update private.counters set value = value + 1 where name = 'profiles'",
)
REPAIRS = (
    Call("system", "select private.reconcile()"),
    Call("bea", "select public.rebuild_counters('race')"),
)


def damage(url: str, group: MemberGroup) -> None:
    """Damage the referrer's own bonus, sums and networks, one after the other."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "select no, user_id from private.positions where user_id = %s", [group["referrer"]]
        ).fetchone()
        assert row
        for statement in DAMAGES:
            with connection.transaction():
                # As every decision does: what is damaged in the middle of one is another story.
                connection.execute("select private.lock_money()")
                connection.execute("set local session_replication_role = replica")
                connection.execute(statement, {"no": row[0], "user": row[1]})


def alarms(harness: RaceHarness) -> int:
    """Return how many repairs raised an alarm so far."""
    rows = harness.director.execute("select object from private.alarms where kind = 'repair'").fetchall()
    return len(rows)


def test_decisions_corrections_repairs_and_rebuilds_at_once(harness: RaceHarness) -> None:
    groups = harness.groups(GROUPS)
    alone = [
        harness.one_after_the_other(group, [operations(group)[name] for name in DONE]) for group in groups
    ]
    before = alarms(harness)
    with harness.sessions(GROUPS + len(REPAIRS)) as sessions, ThreadPoolExecutor(GROUPS * 2 + 2) as pool:

        def work(number: int) -> tuple[str, ...]:
            group, calls = groups[number], operations(groups[number])
            return tuple(
                sessions[number].start(group, calls[name], commit=True).result(PATIENCE_SECONDS)
                for name in DONE
            )

        def repair(number: int, busy: Callable[[], bool]) -> int:
            runs = 0
            while busy() or not runs:
                result = sessions[GROUPS + number].start(groups[0], REPAIRS[number], commit=True)
                # A rebuild waits for the repair of a bonus that is damaged.
                assert result.result(PATIENCE_SECONDS) in ("done", "try_again", "rows_wrong")
                runs += 1
            return runs

        damages = [pool.submit(damage, harness.url, group) for group in groups]
        works = [pool.submit(work, number) for number in range(GROUPS)]

        def busy() -> bool:
            return not all(future.done() for future in [*damages, *works])

        repairs = [pool.submit(repair, number, busy) for number in range(len(REPAIRS))]
        assert [future.result() for future in damages] == [None] * GROUPS
        results = [future.result() for future in works]
        assert all(future.result() for future in repairs)
    with harness.sessions(1) as (last,):
        for call in (*REPAIRS, *REPAIRS):
            assert last.start(groups[0], call, commit=True).result(PATIENCE_SECONDS) == "done"
    assert results == [result.results for result in alone]
    assert [harness.state(group) for group in groups] == [result.state for result in alone]
    assert harness.violations() == []
    assert alarms(harness) > before, "no damaged bonus was repaired"
