"""A network to measure on, up to ten million members, in the product's own schema, the same every time.

New members choose a referrer by preferential attachment. One hub has 2.29% of them as direct
referrals (22,900 of a million), one chain is 1,050 deep, members join three in the same
microsecond, 70% have a package, and a quarter of those reached it by upgrades. Deposits, journal,
bonuses, withdrawals and counters are what the product would have written; `private.reconcile()`
must find nothing to repair.

    STACK_ENV=.stack/env python -m tests.bench.network 300k

makes the database bench_300k on that stack's cluster, `--drop` removes it. `pg_dump` must be found in PATH.
What it takes is said first, and where disk or memory is short nothing is begun.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.support.stack import Stack

SEED = 20
ROOTS = 5
TOP_REFERRER_SHARE = 0.0229
CHAIN = 1050
FUNDED_SHARE = 0.7
PACKAGES = (50, 100, 250, 500, 1000)
WEIGHTS = (30, 28, 20, 14, 8)
DAYS = 700
GIVEN = [
    "Ada",
    "Ben",
    "Cleo",
    "Dina",
    "Egon",
    "Fay",
    "Gino",
    "Hana",
    "Ivo",
    "Jana",
    "Kofi",
    "Lena",
    "Milo",
    "Nora",
    "Omar",
    "Pia",
]
SURNAMES = [
    "Adler",
    "Bakari",
    "Castro",
    "Dvorak",
    "Eriksen",
    "Fischer",
    "Gomez",
    "Haddad",
    "Ivanov",
    "Jansen",
    "Keller",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
]
LOAD = Path(__file__).with_name("load.sql")
# Measured with 10k to 6 million members. On disk: WAL, and for each member the database with what is there
# only while it is made. In memory: the tree here, and as much in the server. Seconds on a free processor.
WAL_BYTES, PEAK_BYTES, STORED_BYTES, MEMORY_BYTES = 1_500_000_000, 9_500, 7_600, 400
SECONDS = 0.0006
# What stays free for whatever else runs.
SPARE_BYTES = 2 * 10**9


def _column() -> "array[int]":
    """Return what holds a number for each member in eight bytes; the first place is nobody's."""
    return array("q", [0])


@dataclass
class Tree:
    """Members 1 to n in the order in which they joined; index 0 is unused."""

    referrer: "array[int]" = field(default_factory=_column)
    child_no: "array[int]" = field(default_factory=_column)
    children: "array[int]" = field(default_factory=_column)
    depth: "array[int]" = field(default_factory=_column)
    jump: "array[int]" = field(default_factory=_column)
    joined: "array[int]" = field(default_factory=_column)

    def add(self, referrer: int, tick: int) -> None:
        """Place one member as the sign-up would: numbered under the referrer, after all siblings."""
        no = len(self.referrer)
        self.referrer.append(referrer)
        self.children.append(0)
        if not referrer:
            self.child_no.append(0)
            self.depth.append(0)
            self.jump.append(no)
            self.joined.append(tick)
            return
        self.children[referrer] += 1
        self.child_no.append(self.children[referrer])
        depth, far = self.depth, self.jump[referrer]
        self.depth.append(depth[referrer] + 1)
        farther = self.jump[far]
        self.jump.append(farther if depth[referrer] - depth[far] == depth[far] - depth[farther] else referrer)
        self.joined.append(tick)


def grow(members: int, rng: random.Random) -> Tree:
    """Return the tree; ticks are microseconds since the first member joined."""
    tree = Tree()
    youngest = array("q", [0]) * (members + 1)
    top_referrer, ends = ROOTS + 1, array("q", range(1, ROOTS + 1))
    chain = set(range(members // 50 + 10, members, max(1, (members - members // 50) // (CHAIN + 20))))
    last, length = 1, 0
    step = DAYS * 86_400_000_000 // members
    for no in range(1, members + 1):
        tick = no // 3 * 3 * step
        if no <= ROOTS:
            tree.add(0, tick + no)
            continue
        if no == top_referrer:
            referrer = 1
        elif no in chain and length < CHAIN:
            referrer, last, length = last, no, length + 1
        elif rng.random() < TOP_REFERRER_SHARE:
            referrer = top_referrer
        else:
            referrer = ends[int(rng.random() * len(ends))]
        tick = max(tick, tree.joined[referrer] + 1, youngest[referrer] + 1)
        youngest[referrer] = tick
        tree.add(referrer, tick)
        # Each member once for being there and once for each child: the more children, the more come.
        ends.append(no)
        if referrer != top_referrer:
            ends.append(referrer)
    return tree


def packages(rng: random.Random) -> list[int]:
    """Return the packages a member bought in order; three in ten members have none."""
    if rng.random() >= FUNDED_SHARE:
        return []
    bought = [rng.choices(PACKAGES, WEIGHTS)[0]]
    while rng.random() < 0.25 and bought[-1] < PACKAGES[-1]:
        bought.append(rng.choice(PACKAGES[PACKAGES.index(bought[-1]) + 1 :]))
    return bought


def rows(tree: Tree, rng: random.Random) -> Iterator[tuple[object, ...]]:
    """One row a member for the table that load.sql reads."""
    for no in range(1, len(tree.referrer)):
        given, surname = rng.choice(GIVEN), rng.choice(SURNAMES)
        bought = [500] if no <= ROOTS + 1 else packages(rng)
        yield (
            no,
            tree.referrer[no] or None,
            tree.child_no[no] or None,
            tree.children[no],
            tree.depth[no],
            tree.jump[no],
            tree.joined[no],
            f"{given}_{surname}_{no}",
            f"{given} {surname}",
            bought,
            # Cash-in below a package, a pending deposit, a rejected one.
            rng.random() < 0.05 and bool(bought),
            rng.random() < 0.04,
            rng.random() < 0.02,
        )


def sums_below(connection: psycopg.Connection, tree: Tree) -> list["array[int]"]:
    """Add up members, packages and bonuses over each member's downline; children have the higher numbers."""
    query = """
        select 1, o.package_cents, (t.referral_amount * 100)::bigint, (t.pairing_amount * 100)::bigint,
            (t.override_amount * 100)::bigint
        from private.positions as o inner join private.totals as t on o.user_id = t.user_id order by o.no
    """
    sums = [_column() for _ in range(5)]
    with connection.cursor(name="sums") as cursor:
        cursor.itersize = 10_000
        for row in cursor.execute(query):
            for column, value in zip(sums, row, strict=True):
                column.append(value)
    for no in range(len(tree.referrer) - 1, 0, -1):
        if referrer := tree.referrer[no]:
            for column in sums:
                column[referrer] += column[no]
    return sums


def load(connection: psycopg.Connection, members: int) -> None:
    """Fill a migrated database; triggers and foreign keys are off, so load.sql writes what they would."""
    rng = random.Random(SEED)
    tree = grow(members, rng)
    tables, money, network, figures = LOAD.read_text().split("-- then\n")
    connection.execute(tables)
    with connection.cursor().copy("copy members from stdin") as copy:
        for row in rows(tree, rng):
            copy.write_row(row)
    connection.execute("analyze members")
    indexes = _without_indexes(connection)
    connection.execute(money)
    connection.execute(network)
    sums = sums_below(connection, tree)
    with connection.cursor().copy(
        "copy private.networks (no, members, package_cents, referral, pairing, override) from stdin"
    ) as copy:
        for no in range(1, members + 1):
            count, cents, *earned = (column[no] for column in sums)
            copy.write_row((no, count, cents, *(f"{value // 100}.{value % 100:02}" for value in earned)))
    for definition in indexes:
        connection.execute(definition)
    connection.execute(figures)


def _without_indexes(connection: psycopg.Connection) -> list[str]:
    """Drop the indexes that no constraint needs, and return what makes them again."""
    query = """
        select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
        from pg_index as i
        inner join pg_class as c on i.indrelid = c.oid
        where c.oid = any(array[
                'auth.users', 'storage.objects', 'private.profiles', 'private.positions', 'private.totals',
                'public.deposits', 'private.transfer_keys', 'private.deposit_receipts', 'public.withdrawals',
                'private.request_texts', 'public.bonuses', 'public.transactions', 'public.notifications'
            ]::regclass[])
            and not exists (select 1 from pg_constraint as k where k.conindid = i.indexrelid)
    """
    found = connection.execute(query).fetchall()
    for name, _ in found:
        connection.execute(f"drop index {name}")
    return [str(definition) for _, definition in found]


def size(text: str) -> int:
    """Return the number of members that "10k" or "1m" means."""
    match = re.fullmatch(r"(\d+)([km]?)", text.lower())
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is no size: write 10k, 300k or 1m")
    return int(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2]]


def database_url(name: str) -> str:
    """Return the superuser's address of another database on the stack's cluster."""
    return urlunsplit(urlsplit(Stack.read().values["DATABASE_ADMIN_URL"])._replace(path=f"/{name}"))


def require_room(members: int) -> None:
    """Say what a network of so many members takes, and exit where disk or memory is short."""
    peak, memory = WAL_BYTES + members * PEAK_BYTES, members * MEMORY_BYTES
    print(
        f"  {members:,} members take {gigabytes(peak)} of disk while they are made and"
        f" {gigabytes(members * STORED_BYTES)} then, {gigabytes(memory)} of memory and about"
        f" {members * SECONDS / 60:,.0f} minutes",
        flush=True,
    )
    require_free(peak, memory)


def require_free(disk: float, memory: float) -> None:
    """Exit unless so many bytes are free in memory and on the disk of the stack's cluster, this machine's."""
    with psycopg.connect(database_url("postgres")) as connection:
        [[folder]] = connection.execute("select current_setting('data_directory')").fetchall()
    available = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    free = {
        f"the disk of {folder}": (shutil.disk_usage(folder).free, disk),
        "memory": (int(available[1]) * 1024 if available else 0, memory),
    }
    for what, (there, needed) in free.items():
        if there < needed + SPARE_BYTES:
            short = f"{what} has {gigabytes(there)} free, {gigabytes(needed + SPARE_BYTES)} are needed"
            sys.exit(f"Nothing was begun: {short}.")


def gigabytes(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 10**9:,.1f} GB"


def drop(name: str) -> None:
    """Remove a benchmark database."""
    with psycopg.connect(database_url("postgres"), autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")


def make(text: str) -> str:
    """Make the database for a size such as "10k" unless it is there; returns its superuser's address."""
    members, name = size(text), f"bench_{text.lower()}"
    url = database_url(name)
    with psycopg.connect(database_url("postgres"), autocommit=True) as connection:
        if connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            return url
        require_room(members)
        connection.execute(f"create database {name} owner postgres template template0")
    started = time.monotonic()
    try:
        _copy_schema(url)
        with psycopg.connect(url) as connection:
            load(connection, members)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum (analyze, freeze)")
            repaired = connection.execute("select jobs.reconcile()").fetchone()
            connection.execute("checkpoint")
    except BaseException:
        drop(name)
        raise
    if repaired != (0,):
        raise RuntimeError(f"The network of {name} is wrong: {repaired} bonuses had to be repaired")
    print(f"  {name}: {members:,} members in {time.monotonic() - started:.0f} s", flush=True)
    return url


def _copy_schema(url: str) -> None:
    """Everything the stack's own database has; load.sql empties it of members."""
    dump = subprocess.Popen(["pg_dump", database_url("postgres")], stdout=subprocess.PIPE)
    restore = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", url]
    try:
        subprocess.run(restore, stdin=dump.stdout, check=True)
    finally:
        if dump.stdout:
            dump.stdout.close()
        if dump.wait():
            raise RuntimeError("pg_dump failed")


def main() -> int:
    """Make or drop one network by hand."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("size", help="number of members: 10k, 300k, 1m")
    parser.add_argument("--drop", action="store_true", help="remove that network")
    arguments = parser.parse_args()
    if arguments.drop:
        drop(f"bench_{arguments.size.lower()}")
    else:
        make(arguments.size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
