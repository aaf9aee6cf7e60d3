"""P1 to P4: the bonuses of all members at once, against JavaScript, Python, numpy and DuckDB.

P1 computes every bonus. P2 is a reconcile that finds nothing wrong, P3 one in which 1% of the members have
another package, P4 the call that screens make when nothing was posted. All must agree to the cent.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg

from tests.bench import alternatives
from tests.bench.measure import (
    SIZES,
    as_administrator,
    best_of,
    exponent,
    milliseconds,
    strangers,
    warm,
)
from tests.bench.network import make, size
from tests.bench.report import exit_code, record

HERE = Path(__file__).parent
ROUNDS = 3
SQL = """
    select v.kind, v.bonuses, v.cents::bigint
    from (
        select
            count(d.pairing_percent) as pairings,
            sum(d.pairing_cents) as pairing,
            count(d.referrer_no) as overrides,
            sum(d.override_cents) filter (where d.referrer_no is not null) as override
        from private.due_pair_bonuses as d
    ) as p
    cross join lateral (
        values ('pairing', p.pairings, p.pairing), ('override', p.overrides, p.override)
    ) as v (kind, bonuses, cents)
    union all
    select 'referral', count(*), sum(d.cents)::bigint from private.due_referrals as d
"""
# As in private.all_bonus_discrepancies().
MERGING = {
    "enable_nestloop": "off",
    "enable_hashjoin": "off",
    "enable_material": "off",
    "join_collapse_limit": "1",
}
# Page images aside, and without what checkpoints and others on the cluster say of themselves.
WAL = """
    select sum(w.record_size)::bigint from pg_get_wal_stats(%s, %s, true) as w
    where w."resource_manager/record_type" not like 'XLOG%%'
"""
SYNC_RATIO = {"10k": 20, "100k": 20, "1m": 30}


def client(url: str, *arguments: str) -> dict[str, Any]:
    """One run of the client in JavaScript."""
    command = ["node", "--max-old-space-size=6144", "client.mjs", *arguments]
    env = {**os.environ, "RIVAL_DATABASE": url}
    return dict(
        json.loads(subprocess.run(command, cwd=HERE, env=env, capture_output=True, check=True).stdout)
    )


def prepare_rival(connection: psycopg.Connection) -> None:
    """Fill the client's own table, with the indexes its pages need: bonuses by earner and by source."""
    connection.execute("drop schema if exists rival cascade")
    connection.execute("create schema rival")
    connection.execute("""
        create table rival.bonuses (
            id uuid primary key, user_id uuid not null, source_user_id uuid not null,
            bonus_type text not null, amount numeric(14, 2) not null,
            created_at timestamptz not null default now(), pair_number integer
        )
    """)
    connection.execute("""
        insert into rival.bonuses
        select b.id, b.user_id, b.source_user_id, b.bonus_type, b.amount, b.created_at, b.pair_number
        from public.bonuses as b
    """)
    connection.execute("create index on rival.bonuses (user_id)")
    connection.execute("create index on rival.bonuses (source_user_id)")
    connection.execute("vacuum analyze rival.bonuses")


def explained(connection: psycopg.Connection, query: str) -> tuple[float, int]:
    """Milliseconds and WAL bytes of a query, by the server's own account of this one statement."""
    found = connection.execute(f"explain (analyze, wal, format json) {query}").fetchone()
    assert found
    plan = found[0][0]
    return plan["Execution Time"], plan["Plan"]["WAL Bytes"]


def recomputation(connection: psycopg.Connection, text: str, javascript: dict[str, Any]) -> None:
    """P1: each implementation computes every bonus."""
    for setting, value in MERGING.items():
        connection.execute(f"set {setting} = {value}")
    sums = {row[0]: (row[1], row[2]) for row in connection.execute(SQL)}
    members: list[alternatives.Member] = connection.execute(
        "select o.no, o.referrer_no, o.child_no, o.paid_cents from private.positions as o order by o.no"
    ).fetchall()
    columns = alternatives.Columns(members)
    duck = alternatives.duck(columns)
    agreed = {kind: tuple(sum) for kind, sum in javascript["sums"].items()}
    for found in (agreed, alternatives.python(members), alternatives.numpy(columns), duck()):
        assert found == sums, (found, sums)
    record(
        "P1", f"rivals and SQL agree to the cent, {text}", sum(rows for rows, _ in sums.values()), "bonuses"
    )
    times = {"SQL": best_of(ROUNDS, lambda: connection.execute(SQL).fetchall())}
    for setting in MERGING:
        connection.execute(f"reset {setting}")
    times["numpy"] = best_of(ROUNDS, lambda: alternatives.numpy(columns))
    times["DuckDB"] = best_of(ROUNDS, duck)
    times["Python"] = best_of(1, lambda: alternatives.python(members))
    times["JavaScript"] = javascript["looping"]
    for who, took in times.items():
        record("P1", f"full recomputation, {who}, {text}", took, "ms")
    if text != "1m":
        return
    faster = times["JavaScript"] / times["SQL"]
    record("P1", f"JavaScript against SQL, {text}", faster, "x", "at least 5", faster >= 5)
    for who in ("DuckDB", "numpy"):
        ratio = times["SQL"] / times[who]
        record("P1", f"SQL against {who}, {text}", ratio, "x", "at most 4", ratio <= 4)


def nothing_changed(connection: psycopg.Connection, text: str, whole_client: float) -> float:
    """P2: a full run that finds all right; returns milliseconds."""
    took = best_of(2 * ROUNDS, lambda: connection.execute("select jobs.reconcile()").fetchall())
    limit, ratio = SYNC_RATIO.get(text, 20), whole_client / took
    record("P2", f"reconcile, nothing changed, {text}", took, "ms")
    record("P2", f"against the client, {text}", ratio, "x", f"at least {limit}", ratio >= limit)
    before = _written(connection)
    _, compared = explained(connection, "select private.all_bonus_discrepancies()")
    _, whole = explained(connection, "select jobs.reconcile()")
    record("P2", f"WAL of the comparison, {text}", str(compared), "bytes", "0", compared == 0)
    record("P2", f"WAL of the whole run, its record included, {text}", whole, "bytes")
    rows = _written(connection) - before
    record("P2", f"rows written by both, {text}", str(rows), "", "1, the record of the run", rows == 1)
    return took


def _written(connection: psycopg.Connection) -> int:
    """Return the rows inserted, updated and deleted so far, as reported by this session."""
    connection.execute("select pg_stat_force_next_flush()")
    found = connection.execute(
        "select sum(t.n_tup_ins + t.n_tup_upd + t.n_tup_del)::bigint from pg_stat_user_tables as t"
    ).fetchone()
    assert found
    return int(found[0])


def one_in_a_hundred(connection: psycopg.Connection, text: str, whole_client: float) -> None:
    """P3: a full run after 1% of the members got another package behind the engine's back."""
    nos = strangers(size(text), size(text) // 100, seed=3)
    with connection.transaction():
        connection.execute("set local session_replication_role = replica")
        connection.execute(
            """
            with changed as (
                update private.positions as o set package_cents = k.next, paid_cents = k.next
                from (
                    select
                        s.value_cents,
                        coalesce(lead(s.value_cents) over (order by s.value_cents), 5000) as next
                    from private.packages as s
                ) as k
                where o.no = any(%s) and o.package_cents = k.value_cents
                returning o.user_id, k.next
            )
            update private.profiles as p set
                package_value = c.next / 100, cash_in_amount = greatest(p.cash_in_amount, c.next / 100)
            from changed as c where p.user_id = c.user_id
            """,
            [nos],
        )
    connection.execute("vacuum analyze private.positions")
    connection.execute("vacuum analyze private.profiles")
    connection.execute("checkpoint")
    connection.execute("create extension if not exists pg_walinspect")
    before, position = _written(connection), _position(connection)
    repaired: list[tuple[int]] = []
    took = milliseconds(lambda: repaired.extend(connection.execute("select jobs.reconcile()").fetchall()))
    end = _position(connection)
    rows = _written(connection) - before
    found = connection.execute(WAL, [position, end]).fetchone()
    assert found
    assert connection.execute("select cardinality(private.all_bonus_discrepancies())").fetchone() == (0,)
    ratio = whole_client / took
    record("P3", f"reconcile, 1% of the members changed, {text}", took, "ms")
    record("P3", f"bonuses repaired, {text}", repaired[0][0], "")
    goal = text == "1m"
    record(
        "P3",
        f"against the client, {text}",
        ratio,
        "x",
        "at least 10" if goal else "",
        ratio >= 10 if goal else None,
    )
    each = found[0] / rows
    record(
        "P3",
        f"WAL outside page images, {rows:,} rows written, {text}",
        each,
        "bytes a row",
        "at most 300",
        each <= 300,
    )


def _position(connection: psycopg.Connection) -> str:
    found = connection.execute("select pg_current_wal_flush_lsn()::text").fetchone()
    assert found
    return str(found[0])


def routine(url: str, text: str) -> None:
    """P4: what a screen calls when nothing was posted since the last run."""
    with psycopg.connect(url, autocommit=True) as connection:
        as_administrator(connection)
        connection.execute("select public.sync_bonuses()")
        took = best_of(20, lambda: connection.execute("select public.sync_bonuses()").fetchall())
    record("P4", f"sync_bonuses(), nothing pending, {text}", took, "ms", "at most 5", took <= 5)


def main() -> int:
    """Measure and record P1 to P4 on every size."""
    times: dict[str, float] = {}
    for text in SIZES:
        url = make(text)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum analyze")
            warm(connection)
            prepare_rival(connection)
            position = _position(connection)
            javascript = client(url, "--write")
            end = _position(connection)
            written = connection.execute(
                "select pg_wal_lsn_diff(%s, %s)::bigint / 1000000", [end, position]
            ).fetchone()
            whole_client = javascript["reading"] + javascript["looping"] + javascript["writing"]
            record("P2", f"the client: read all, loop, delete all, insert, {text}", whole_client, "ms")
            record("P2", f"WAL of the client, {text}", written[0] if written else "", "MB")
            connection.execute("drop schema rival cascade")
            recomputation(connection, text, javascript)
            times[text] = nothing_changed(connection, text, whole_client)
            routine(url, text)
            one_in_a_hundred(connection, text, whole_client)
    if len(SIZES) > 1:
        growth = exponent(times)
        record(
            "P2", "growth of reconcile with the members", growth, "exponent", "at most 1.05", growth <= 1.05
        )
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
