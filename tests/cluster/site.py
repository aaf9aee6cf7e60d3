"""A stack with two instances of each service on three PostgreSQL nodes, as docs/growing.md says."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.cluster.workload import Workload
from tests.support.own_stack import OwnStack, until
from tests.support.patroni_cluster import DOCUMENTED_TTL, Node, PatroniCluster


@dataclass(frozen=True)
class Site:
    """The stack and its cluster.

    Attributes:
        referrer: profile id of the root member.
    """

    stack: OwnStack
    cluster: PatroniCluster
    referrer: str

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return what the superuser finds at the primary."""
        with psycopg.connect(self.cluster.superuser_url()) as connection:
            return connection.execute(query.encode()).fetchall()

    def primary(self) -> Node:
        """Return the primary once there is one with a synchronous replica."""
        until(lambda: self.cluster.primary() is not None and self.cluster.synchronous() is not None, 60)
        primary = self.cluster.primary()
        assert primary
        return primary

    def require_nothing_lost(self, work: Workload) -> None:
        """Raise unless all that was acknowledged is there, once, and the ledger is in order."""
        assert not work.wrong, work.wrong[:5]
        approved = self._texts("select id::text from public.deposits where status = 'approved'")
        assert not work.approved.keys() - approved, "an acknowledged decision is lost"
        assert not self.rows(
            "select reference_id from public.transactions"
            " where transaction_type = 'deposit' and reference_id is not null"
            " group by reference_id having count(*) > 1"
        ), "a decision was carried out twice"
        stored = self._texts("select name from storage.objects where bucket_id = 'receipts'")
        assert not set(work.uploaded) - stored, "an acknowledged receipt is lost"
        people = self._texts("select user_id::text from private.profiles")
        assert not set(work.people) - people, "an acknowledged sign-up is lost"
        assert not self.rows("select rule, object from private.check_ledger()")

    def _texts(self, query: str) -> set[str]:
        return {str(value) for (value,) in self.rows(query)}


@contextmanager
def running(near: Path, ttl: int = DOCUMENTED_TTL, *, backups: bool = False) -> Iterator[Site]:
    """Run one near a state folder; it is removed in the end.

    Args:
        ttl: as for PatroniCluster.
        backups: back up receipts, keys and settings into a repository of their own.
    """
    name = secrets.token_hex(2)
    cluster = PatroniCluster(near.with_name(f"{near.name}-cluster-{name}"), ttl)
    options = {"DATABASE_SERVER": cluster.servers, "INSTANCES": "2"}
    if backups:
        options["BACKUP_REPOSITORY"] = str(cluster.folder / "files")
    stack = OwnStack(near.with_name(f"{near.name}-site-{name}"), options)
    try:
        cluster.start()
        printed = stack.launch("prepare-database")
        assert printed.returncode == 0, printed.stderr
        psql = [cluster.postgres / "psql", "-X", "-q", f"--dbname={cluster.superuser_url()}"]
        subprocess.run(psql, input=printed.stdout, text=True, check=True, capture_output=True)
        stack.up()
        with psycopg.connect(cluster.superuser_url()) as connection:
            query = "select id::text from private.profiles where referrer_id is null"
            ((referrer,),) = connection.execute(query).fetchall()
        yield Site(stack, cluster, referrer)
    finally:
        stack.remove()
        cluster.remove()
