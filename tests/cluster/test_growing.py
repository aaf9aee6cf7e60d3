"""docs/growing.md followed step by step: from one machine to a cluster of three, with its data."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from launcher.host import system_user
from launcher.keys import Keys
from tests.support.clients import member_token
from tests.support.own_stack import SUMS, OwnStack
from tests.support.patroni_cluster import REPLICATOR, REWINDER, PatroniCluster
from tests.support.plain_server import serving

pytestmark = [pytest.mark.long, pytest.mark.alone]
# What a node that comes back reads of the new primary.
OF_REWIND = ("pg_ls_dir(text, boolean, boolean)", "pg_stat_file(text, boolean)", "pg_read_binary_file(text)")
OF_REWIND_IN_PARTS = "pg_read_binary_file(text, bigint, bigint, boolean)"


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Print how long a step took."""
    started = time.monotonic()
    yield
    print(f"\n{step}: {time.monotonic() - started:.1f} s")


def move(stack: OwnStack, to: Path) -> None:
    """Copy the data directory of a stack that is down to that of a server."""
    shutil.copytree(stack.state / "cluster", to, symlinks=True)
    configuration = to / "postgresql.conf"
    lines = configuration.read_text().splitlines(keepends=True)
    configuration.write_text("".join(line for line in lines if "harborline.conf" not in line))
    (to / "pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")
    system_user.hand_over(to.parent)


def sums(url: str) -> list[tuple[object, ...]]:
    """Return what must be the same at each step."""
    with psycopg.connect(url) as connection:
        return connection.execute(SUMS.encode()).fetchall()


def test_from_one_machine_to_a_cluster(state: Path) -> None:
    stack = OwnStack(state.with_name(f"{state.name}-grows"), {})
    with timed("one machine"):
        stack.up()
    keys = Keys(stack.settings)
    password = keys.values["PASSWORD_supabase_admin"]
    before = sums(stack.values["DATABASE_ADMIN_URL"])
    cluster = PatroniCluster(state.with_name(f"{state.name}-grown"), password=password)
    first = cluster.nodes[0]
    try:
        with timed("1. the database elsewhere, its files copied"):
            assert stack.launch("down").returncode == 0
            first.folder.mkdir(mode=0o755)
            move(stack, first.data)
        with serving(first.data, first.port, cluster.postgres):
            server = f"127.0.0.1:{first.port}"
            with timed("1. the database elsewhere, started"):
                printed = stack.launch("prepare-database", DATABASE_SERVER=server)
                psql = [cluster.postgres / "psql", "-X", "-q", f"--dbname={cluster.url(first)}"]
                subprocess.run(psql, input=printed.stdout, text=True, check=True, capture_output=True)
                stack.up(DATABASE_SERVER=server)
            assert member_token(stack)
            with timed("2. two instances"):
                stack.up(INSTANCES="2")
            assert member_token(stack)
            with psycopg.connect(cluster.url(first), autocommit=True) as connection:
                for statement in roles_of_patroni(password):
                    connection.execute(statement.encode())
        with timed("3. three servers under Patroni"):
            cluster.start()
            stack.up(DATABASE_SERVER=cluster.servers)
        assert member_token(stack)
        assert sums(cluster.superuser_url()) == before
        with psycopg.connect(cluster.superuser_url()) as connection:
            assert not connection.execute("select rule, object from private.check_ledger()").fetchall()
        assert len(cluster.replicas()) == 2
    finally:
        stack.remove()
        cluster.remove()


def roles_of_patroni(password: str) -> Iterator[str]:
    """Yield what makes the roles that Patroni makes by itself in a cluster of its own."""
    yield f"create role {REPLICATOR} login replication password '{password}'"
    yield f"create role {REWINDER} login password '{password}'"
    for function in (*OF_REWIND, OF_REWIND_IN_PARTS):
        yield f"grant execute on function pg_catalog.{function} to {REWINDER}"
