"""A journal of a hundred million rows on a table of its own: seconds, bytes, its first and last page.

    STACK_ENV=.stack/env python -m tests.bench.journal 100m

The table has the columns and indexes of public.transactions, in the database of the smallest network. It is
unlogged and dropped at the end: this is about reading.
"""

import argparse
import random
import re
import sys
import time

import psycopg

from tests.bench.measure import best_of
from tests.bench.network import gigabytes, make, require_free, size
from tests.bench.report import record

ROWS_AT_ONCE = 1_000_000
ROWS_A_MEMBER = 10
# With what sorting for an index takes meanwhile; 354 stay.
BYTES_A_ROW = 480
MEMORY_BYTES = 2 * 10**9
ROUNDS = 7
MAKE = """
    drop schema if exists journal cascade;
    create schema journal;
    create unlogged table journal.transactions (like public.transactions including defaults);
    set maintenance_work_mem = '1GB';
"""
FILL = """
    insert into journal.transactions (
        user_id, amount, transaction_type, status, reference_id, created_at, decision_no
    )
    select
        md5('user' || floor(random() * %(members)s))::uuid, 12.5,
        (array['bonus', 'bonus', 'deposit', 'withdrawal'])[1 + i %% 4]::public.transaction_type, 'completed',
        gen_random_uuid(), timestamptz '2020-01-01 00:00Z' + i * interval '1 second', i
    from generate_series(%(first)s, %(last)s) as i
"""
INDEXES = """
    select pg_get_indexdef(i.indexrelid) from pg_index as i where i.indrelid = 'public.transactions'::regclass
"""
PAGES = {
    "first page": "order by created_at desc, id desc",
    "last page": "order by created_at, id",
    "first page of bonuses": "where transaction_type = 'bonus' order by created_at desc, id desc",
    "first page of a member": (
        "where user_id = md5('user' || %(member)s)::uuid order by created_at desc, id desc"
    ),
    "by its reference": "where reference_id = %(reference)s",
}


def fill(connection: psycopg.Connection, rows: int) -> None:
    """Make the table and its indexes."""
    connection.execute(MAKE)
    for first in range(1, rows + 1, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE - 1, rows)
        connection.execute(FILL, {"first": first, "last": last, "members": rows // ROWS_A_MEMBER})
    for (definition,) in connection.execute(INDEXES).fetchall():
        connection.execute(re.sub(r" INDEX \S+ ON public\.", " INDEX ON journal.", definition, count=1))
    connection.execute("vacuum (analyze) journal.transactions")


def read(connection: psycopg.Connection, rows: int, text: str) -> None:
    """Record how long each page takes."""
    found = connection.execute("select reference_id from journal.transactions order by id limit 1").fetchone()
    assert found
    for what, page in PAGES.items():
        asked = {"reference": found[0], "member": random.randrange(rows // ROWS_A_MEMBER)}
        query = f"select * from journal.transactions {page} limit 25"
        took = best_of(ROUNDS, lambda query=query, asked=asked: connection.execute(query, asked).fetchall())
        record("P13", f"journal of {text} rows, {what}", took, "ms")


def main() -> int:
    """Make the table, record its figures, drop it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", help="number of rows: 1m, 100m")
    text = parser.parse_args().rows
    rows, disk = size(text), size(text) * BYTES_A_ROW
    print(f"  {rows:,} rows take {gigabytes(disk)} of disk while they are made", flush=True)
    require_free(disk, MEMORY_BYTES)
    with psycopg.connect(make("10k"), autocommit=True) as connection:
        try:
            started = time.monotonic()
            fill(connection, rows)
            record("P13", f"journal of {text} rows, made with its indexes", time.monotonic() - started, "s")
            bytes_of = connection.execute("select pg_total_relation_size('journal.transactions')").fetchone()
            assert bytes_of
            record("P13", f"journal of {text} rows, on disk", bytes_of[0] / rows, "B a row")
            read(connection, rows, text)
        finally:
            connection.execute("drop schema if exists journal cascade")
    return 0


if __name__ == "__main__":
    sys.exit(main())
