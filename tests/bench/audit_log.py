"""An audit log on tables of its own, whole and in partitions: how long an entry takes to find and to write.

    STACK_ENV=.stack/env python -m tests.bench.audit_log 30m

The tables have the columns and indexes of private.audit_log, in the database of the smallest network, and are
dropped at the end. The partitions are twenty, as the product has them with a billion entries.
"""

import argparse
import random
import re
import statistics
import sys
import time

import psycopg

from tests.bench.journal import MEMORY_BYTES, ROWS_AT_ONCE
from tests.bench.measure import milliseconds
from tests.bench.network import gigabytes, make, require_free, size
from tests.bench.report import record

PARTITIONS = 20
ENTRIES_A_MEMBER, ENTRIES_AN_OBJECT = 14, 3
# With what sorting for an index takes meanwhile; 552 stay.
BYTES_AN_ENTRY = 800
ROUNDS = 400
TABLE = "audit.audit_log"
MAKE = f"""
    drop schema if exists audit cascade;
    create schema audit;
    create table {TABLE} (like private.audit_log including defaults including identity)
"""
MAKE_PARTITION = f"create table {TABLE}_%s partition of {TABLE} for values from (%s) to (%s)"
FILL = f"""
    insert into {TABLE} (at, actor, action, object_type, object_id, payload, hash)
    select
        timestamptz '2020-01-01 00:00Z' + i * interval '1 second',
        'member:' || md5('user' || floor(random() * %(members)s))::uuid,
        (array['deposit.requested', 'deposit.approved', 'withdrawal.requested', 'bot.cancelled'])[1 + i %% 4],
        'deposit', md5('object' || floor(random() * %(objects)s))::uuid,
        jsonb_build_object(
            'amount', '50.00', 'decision_no', i, 'user_id', gen_random_uuid(), 'request_id', gen_random_uuid()
        ),
        sha256(i::text::bytea)
    from generate_series(%(first)s, %(last)s) as i
"""
INDEXES = """
    select pg_get_indexdef(i.indexrelid) from pg_index as i where i.indrelid = 'private.audit_log'::regclass
"""
# Of what a new entry is written into: all of it, or the newest partition.
WRITTEN_INDEXES = f"""
    select pg_indexes_size(coalesce(max(i.inhrelid), '{TABLE}'::regclass))
    from pg_inherits as i where i.inhparent = '{TABLE}'::regclass
"""
ON_DISK = """
    select sum(pg_total_relation_size(c.oid)) from pg_class as c
    where c.relnamespace = 'audit'::regnamespace and c.relkind = 'r'
"""
PAGES = {
    "entries of an object": "where object_id = md5('object' || %(object)s)::uuid order by id desc",
    "entries of an actor": "where actor = 'member:' || md5('user' || %(member)s)::uuid order by id desc",
    "an entry by its id": "where id = %(id)s",
    "newest page": "order by id desc",
    "newest page of an action": "where action collate \"C\" = 'deposit.approved' order by id desc",
}


def fill(connection: psycopg.Connection, entries: int, partitions: int) -> None:
    """Make the table, its partitions and its indexes."""
    connection.execute(f"{MAKE} {'partition by range (id)' if partitions else ''}")
    for no in range(partitions):
        until = "maxvalue" if no == partitions - 1 else entries * (no + 1) // partitions + 1
        connection.execute(MAKE_PARTITION % (no, entries * no // partitions + 1, until))
    for first in range(1, entries + 1, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE - 1, entries)
        connection.execute(FILL, {"first": first, "last": last, **among(entries)})
    connection.execute("set maintenance_work_mem = '1GB'")
    for (definition,) in connection.execute(INDEXES).fetchall():
        on = re.sub(r" ON (ONLY )?private\.audit_log ", f" ON {TABLE} ", definition, count=1)
        connection.execute(re.sub(r" INDEX \S+ ON ", " INDEX ON ", on, count=1))
    connection.execute("vacuum (analyze) audit.audit_log")


def among(entries: int) -> dict[str, int]:
    """Return how many members and objects so many entries are of."""
    return {"members": entries // ENTRIES_A_MEMBER, "objects": entries // ENTRIES_AN_OBJECT}


def measure(connection: psycopg.Connection, entries: int, what: str) -> None:
    """Record bytes, how long each page takes, and how long one more entry."""
    for name, query in (("on disk", ON_DISK), ("indexes that a new entry is written into", WRITTEN_INDEXES)):
        row = connection.execute(query).fetchone()
        assert row
        record("P13", f"{what}, {name}", float(row[0]) / 10**9, "GB")
    for name, page in PAGES.items():
        query = f"select * from {TABLE} {page} limit 25"
        record("P13", f"{what}, {name}", median(connection, query, entries), "ms")
    # Until it is durable it takes what the disk takes.
    connection.execute("set synchronous_commit = off")
    record("P13", f"{what}, one more", median(connection, FILL, entries), "ms")


def median(connection: psycopg.Connection, query: str, entries: int) -> float:
    """Return how long a query takes, each time about another object, member and id."""
    of = among(entries)

    def run() -> None:
        asked = {
            "object": random.randrange(of["objects"]),
            "member": random.randrange(of["members"]),
            "id": random.randrange(entries) + 1,
        }
        one_more = {"first": entries + 1, "last": entries + 1, **of}
        connection.execute(query, {**asked, **one_more})

    return statistics.median(milliseconds(run) for _ in range(ROUNDS))


def main() -> int:
    """Make the log twice, record its figures, drop it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("entries", help="number of entries: 1m, 30m")
    text = parser.parse_args().entries
    entries, disk = size(text), size(text) * BYTES_AN_ENTRY
    print(f"  {entries:,} entries take {gigabytes(disk)} of disk while they are made", flush=True)
    require_free(disk, MEMORY_BYTES)
    with psycopg.connect(make("10k"), autocommit=True) as connection:
        try:
            for partitions in (0, PARTITIONS):
                what = f"{text} entries, {f'in {partitions} partitions' if partitions else 'whole'}"
                started = time.monotonic()
                fill(connection, entries, partitions)
                record("P13", f"{what}, made with its indexes", time.monotonic() - started, "s")
                measure(connection, entries, what)
        finally:
            connection.execute("drop schema if exists audit cascade")
    return 0


if __name__ == "__main__":
    sys.exit(main())
