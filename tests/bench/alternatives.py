"""The bonuses computed outside the database, over members in memory; returns rows and cents by type.

The rivals get what the database stores: integers, the position under the referrer, whole cents.
"""

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np

RATES = {5000: 10, 10000: 20, 25000: 30, 50000: 40, 100000: 50}
Sums = dict[str, tuple[int, int]]
Member = tuple[int, int | None, int | None, int]


def python(members: list[Member]) -> Sums:
    """Dictionaries and a loop."""
    by_no = {member[0]: member for member in members}
    children: dict[int, dict[int, Member]] = {}
    owed: dict[tuple[str, int, int], int] = {}
    for member in members:
        no, referrer, child_no, cents = member
        if referrer and child_no and cents:
            owed["referral", no, 0] = cents * 5 // 100
            children.setdefault(referrer, {})[child_no] = member
    for owner, paid in children.items():
        _, above, _, package = by_no[owner]
        rate = RATES.get(package, 0)
        for child_no, left in paid.items():
            right = paid.get(child_no + 1) if child_no % 2 else None
            if not right:
                continue
            volume = left[3] + right[3]
            if rate:
                owed["pairing", owner, child_no // 2] = volume * rate // 100
            if above:
                owed["override", owner, child_no // 2] = volume // 100
    sums = {"referral": [0, 0], "pairing": [0, 0], "override": [0, 0]}
    for (kind, _, _), cents in owed.items():
        sums[kind][0] += 1
        sums[kind][1] += cents
    return {kind: (rows, cents) for kind, (rows, cents) in sums.items()}


def numpy(columns: "Columns") -> Sums:
    """Arrays, sorted by referrer and position."""
    referrer, child_no, cents = columns.referrer, columns.child_no, columns.cents
    paid = (referrer > 0) & (cents > 0)
    referral = cents[paid] * 5 // 100
    left, right = paid & (child_no % 2 == 1), paid & (child_no % 2 == 0)
    key = referrer.astype(np.int64) << 32 | (child_no + 1) // 2
    left_at, right_at = np.flatnonzero(left), np.flatnonzero(right)
    left_at = left_at[np.argsort(key[left_at])]
    right_at = right_at[np.argsort(key[right_at])]
    _, in_left, in_right = np.intersect1d(
        key[left_at], key[right_at], assume_unique=True, return_indices=True
    )
    volume = cents[left_at[in_left]] + cents[right_at[in_right]]
    owner = referrer[left_at[in_left]]
    rate = np.zeros(100_001, dtype=np.int64)
    rate[list(RATES)] = list(RATES.values())
    share = rate[cents[owner - 1]]
    pairing = (volume * share // 100)[share > 0]
    override = (volume // 100)[referrer[owner - 1] > 0]
    found = {"referral": referral, "pairing": pairing, "override": override}
    return {kind: (len(rows), int(rows.sum())) for kind, rows in found.items()}


DUCKDB = """
with pairs as (
    select l.referrer_no as owner_no, l.cents + r.cents as volume
    from members as l
    inner join members as r on l.referrer_no = r.referrer_no and l.child_no + 1 = r.child_no
    where l.child_no % 2 = 1 and l.cents > 0 and r.cents > 0
)
select 'referral' as kind, count(*), sum(cents * 5 // 100)::bigint
from members where referrer_no is not null and cents > 0
union all
select 'pairing', count(*), sum(q.volume * k.rate // 100)::bigint
from pairs as q inner join members as o on q.owner_no = o.no inner join rates as k on o.cents = k.cents
union all
select 'override', count(*), sum(q.volume // 100)::bigint
from pairs as q inner join members as o on q.owner_no = o.no where o.referrer_no is not null
"""


class Columns:
    """The members as arrays; position i is member i + 1."""

    def __init__(self, members: list[Member]) -> None:
        self.no = np.array([m[0] for m in members], dtype=np.int32)
        self.referrer = np.array([m[1] or 0 for m in members], dtype=np.int32)
        self.child_no = np.array([m[2] or 0 for m in members], dtype=np.int32)
        self.cents = np.array([m[3] for m in members], dtype=np.int64)


def duck(columns: Columns) -> Callable[[], Sums]:
    """Return the timing of the query on tables in DuckDB's memory, with one thread per core."""
    connection = duckdb.connect()
    arrays: dict[str, Any] = {
        "no": columns.no,
        "referrer_no": columns.referrer,
        "child_no": columns.child_no,
        "cents": columns.cents,
    }
    connection.register("arrays", arrays)
    connection.execute(
        "create table members as select * replace (nullif(referrer_no, 0) as referrer_no) from arrays"
    )
    connection.execute("create table rates (cents bigint, rate bigint)")
    connection.executemany("insert into rates values (?, ?)", list(RATES.items()))
    return lambda: {kind: (rows, cents) for kind, rows, cents in connection.execute(DUCKDB).fetchall()}
