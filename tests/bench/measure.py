"""What every benchmark of the database counts with: times, growth, pending work."""

import json
import math
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from tests.bench.network import size

PENDING = Path(__file__).with_name("pending.sql")
REQUESTED = os.environ.get("SIZES", "10k,100k,1m").lower().split(",")
# The client in JavaScript holds no more; what is larger has rows of its own (bench_growth.py).
SIZES = [text for text in REQUESTED if size(text) <= 1_000_000]
LARGER = [text for text in REQUESTED if text not in SIZES]


def milliseconds(work: Callable[[], object]) -> float:
    """How long one call took."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def best_of(rounds: int, work: Callable[[], object]) -> float:
    """Return the fastest of several calls in milliseconds: the least disturbed by other load."""
    return min(milliseconds(work) for _ in range(rounds))


def exponent(by_size: dict[str, float]) -> float:
    """Least-squares slope of log(value) over log(members)."""
    points = [(math.log(size(text)), math.log(max(value, 1e-9))) for text, value in by_size.items()]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def on_processor(backend: int) -> float:
    """Milliseconds that a server process has computed so far, without its waits."""
    return int(Path(f"/proc/{backend}/schedstat").read_text().split()[0]) / 1e6


def warm(connection: psycopg.Connection) -> None:
    """Read tables and indexes into memory, where a server that has run for a while has them."""
    connection.execute("create extension if not exists pg_prewarm")
    connection.execute(
        """
        select pg_prewarm(c.oid) from pg_class as c
        where c.relnamespace in ('public'::regnamespace, 'private'::regnamespace) and c.relkind in ('r', 'i')
        order by pg_relation_size(c.oid) desc
        """
    )


def flush(folder: str) -> float:
    """Median of fdatasync on the data directory's disk, in milliseconds."""
    path = Path(folder) / "bench_fdatasync"
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    times = []
    try:
        for _ in range(200):
            os.pwrite(file, b"x" * 8192, 0)
            times.append(milliseconds(lambda: os.fdatasync(file)))
    finally:
        os.close(file)
        path.unlink()
    return statistics.median(times)


def as_administrator(connection: psycopg.Connection) -> None:
    """From here on the session is the network's administrator, as PostgREST would set it."""
    found = connection.execute("select a.id from private.admin_users as a").fetchone()
    assert found
    session = connection.execute(
        "select session_token from edge.start_admin_session(%s, null, null, sha256('bench'))", [found[0]]
    ).fetchone()
    assert session
    claims = json.dumps(
        {
            "sub": str(found[0]),
            "sid": str(session[0]),
            "jti": "bench",
            "role": "platform_admin",
            "aud": "authenticated",
        }
    )
    connection.execute("select set_config('request.jwt.claims', %s, false)", [claims])
    connection.execute("set role platform_admin")


def pend(connection: psycopg.Connection, nos: list[int]) -> list[str]:
    """Request the next package of each member; return the ids of the deposits.

    Members with the largest package are skipped.
    """
    with connection.transaction():
        connection.execute("set local session_replication_role = replica")
        found = connection.execute(PENDING.read_text(), [nos]).fetchall()
    return [row[0] for row in found]


def strangers(members: int, count: int, seed: int) -> list[int]:
    """Random members, each once."""
    return random.Random(seed).sample(range(10, members + 1), min(count, members - 10))
