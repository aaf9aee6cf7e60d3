"""P5: an approval by an administrator with bonuses, journal, notice, audit and outbox rows, durable.

Random members on every size, with the statements and the WAL of an approval; then eight administrators at
once, and an upgrade of the member with most direct referrals.
"""

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import psycopg

from tests.bench.measure import (
    SIZES,
    as_administrator,
    exponent,
    flush,
    milliseconds,
    on_processor,
    pend,
    strangers,
    warm,
)
from tests.bench.network import ROOTS, make, size
from tests.bench.report import exit_code, record

ROUNDS = 300
WARM = 30
CLIENTS = 8
SECONDS = 10
DECIDE = "select public.decide_deposit(%s, 'approve') ->> 'success'"


def approve(connection: psycopg.Connection, deposit: str) -> None:
    """One approval in a transaction of its own; returns when it is on the disk."""
    row = connection.execute(DECIDE, [deposit]).fetchone()
    assert row == ("true",), row


class Cost(NamedTuple):
    """What one approval takes: three times in milliseconds, WAL in kB after a checkpoint, statements."""

    durable: float
    unflushed: float
    on_processor: float
    written: float
    statements: float


def one_at_a_time(text: str, url: str) -> Cost:
    """Return what an approval costs: medians of 150 each way of waiting, means of the rest."""
    with psycopg.connect(url, autocommit=True) as owner, psycopg.connect(url, autocommit=True) as admin:
        deposits = pend(owner, strangers(size(text), 3 * (ROUNDS + WARM), seed=5))
        owner.execute("vacuum (analyze) public.deposits")
        warm(owner)
        as_administrator(admin)
        for deposit in deposits[:WARM]:
            approve(admin, deposit)
        durable, computed = [], []
        before = on_processor(admin.info.backend_pid)
        for deposit in deposits[WARM : WARM + ROUNDS // 2]:
            durable.append(milliseconds(lambda deposit=deposit: approve(admin, deposit)))
        busy = (on_processor(admin.info.backend_pid) - before) / len(durable)
        admin.execute("set synchronous_commit = off")
        for deposit in deposits[WARM + ROUNDS // 2 : WARM + ROUNDS]:
            computed.append(milliseconds(lambda deposit=deposit: approve(admin, deposit)))
        admin.execute("set synchronous_commit = on")
        owner.execute("checkpoint")
        position, late = wal_position(owner), deposits[WARM + ROUNDS : WARM + 3 * ROUNDS // 2]
        for deposit in late:
            approve(admin, deposit)
        written = (wal_position(owner) - position) / len(late) / 1000
    run = statements(url, deposits[WARM + 3 * ROUNDS // 2 : 2 * WARM + 3 * ROUNDS // 2])
    return Cost(statistics.median(durable), statistics.median(computed), busy, written, run)


def wal_position(connection: psycopg.Connection) -> int:
    """Return how many bytes of WAL the server has written."""
    found = connection.execute("select (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
    assert found
    return int(found[0])


def statements(url: str, deposits: list[str]) -> float:
    """Return how many statements an approval runs, itself and the checks of foreign keys included."""
    notices: list[object] = []
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("load 'auto_explain'")
        admin.execute(
            """
            select set_config('auto_explain.' || s.name, s.value, false)
            from (
                values ('log_min_duration', '0'), ('log_nested_statements', 'on'), ('log_level', 'notice')
            ) as s (name, value)
            """
        )
        as_administrator(admin)
        admin.add_notice_handler(notices.append)
        for deposit in deposits:
            approve(admin, deposit)
    return len(notices) / len(deposits)


def several_at_once(text: str, url: str) -> tuple[float, int]:
    """Approvals a second of eight clients, and how many deadlocks there were."""
    with psycopg.connect(url, autocommit=True) as owner:
        deposits = pend(owner, strangers(size(text), 60_000, seed=6))
        owner.execute("vacuum (analyze) public.deposits")
    shares = [deposits[client::CLIENTS] for client in range(CLIENTS)]

    def work(share: list[str]) -> tuple[int, int]:
        done = deadlocks = 0
        with psycopg.connect(url, autocommit=True) as admin:
            as_administrator(admin)
            until = time.monotonic() + SECONDS
            for deposit in share:
                if time.monotonic() > until:
                    break
                try:
                    approve(admin, deposit)
                    done += 1
                except psycopg.errors.DeadlockDetected:
                    deadlocks += 1
        return done, deadlocks

    started = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        results = list(pool.map(work, shares))
    seconds = time.monotonic() - started
    return sum(done for done, _ in results) / seconds, sum(deadlocks for _, deadlocks in results)


def upgrade_of_the_top_referrer(url: str) -> tuple[int, int, float, float]:
    """Return the top referrer's referrals, bonuses raised by its upgrade, milliseconds, CPU milliseconds."""
    with psycopg.connect(url, autocommit=True) as owner, psycopg.connect(url, autocommit=True) as admin:
        as_administrator(admin)
        [deposit] = pend(owner, [ROOTS + 1])
        before = on_processor(admin.info.backend_pid)
        took = milliseconds(lambda: approve(admin, deposit))
        busy = on_processor(admin.info.backend_pid) - before
        found = owner.execute(
            """
            select o.children, (
                select count(*) from public.bonuses as b
                where b.bonus_type = 'pairing' and b.subject_no = o.no and b.amount > 0
            ) from private.positions as o where o.no = %s
            """,
            [ROOTS + 1],
        ).fetchone()
        assert found
        assert owner.execute("select cardinality(private.all_bonus_discrepancies())").fetchone() == (0,)
    return *found, took, busy


def main() -> int:
    """Measure and record everything of P5."""
    busy: dict[str, float] = {}
    for text in SIZES:
        url = make(text)
        cost = one_at_a_time(text, url)
        busy[text] = cost.on_processor
        limit = "at most 2 ms"
        record("P5", f"one approval, median, durable, {text}", cost.durable, "ms", limit, cost.durable <= 2)
        record("P5", f"the same without waiting for the disk, {text}", cost.unflushed, "ms")
        record("P5", f"the same, time on the processor, {text}", cost.on_processor, "ms")
        record("P5", f"the same, WAL after a checkpoint, {text}", cost.written, "kB")
        record("P5", f"the same, statements, {text}", cost.statements, "")
    with psycopg.connect(url) as owner:
        [[folder]] = owner.execute("select current_setting('data_directory')").fetchall()
    record("P5", "fdatasync of 8 kB on the same disk", flush(str(folder)), "ms")
    if len(SIZES) > 1:
        growth = exponent(busy)
        record(
            "P5", "growth of an approval with the members", growth, "exponent", "at most 0.05", growth <= 0.05
        )
    rate, deadlocks = several_at_once(text, url)
    record("P5", f"approvals by {CLIENTS} clients, {text}", rate, "a second", "at least 250", rate >= 250)
    record("P5", "deadlocks among them", str(deadlocks), "", "0", deadlocks == 0)
    children, raised, took, on_cpu = upgrade_of_the_top_referrer(url)
    what = f"upgrade of a hub with {children:,} children, {raised:,} pairs, {text}"
    record("P5", what, took, "ms", "at most 1,000", took <= 1000)
    record("P5", "the same, time on the processor", on_cpu, "ms")
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
