"""An installation of the last release, with data, comes to the present schema with every row and cent."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import check
import settings as configuration
from functions.edge.bootstrap import demo
from generate import Generator
from keys import Keys
from migrate import Database
from tests.support.own_cluster import OwnCluster, settings_of_own

SQL = configuration.ROOT / "sql"
RELEASE = SQL / "releases" / "0.1.0.sha256"
SUMS = """
select
    (select sum(amount) from public.deposits) as claimed,
    (select sum(amount) from public.deposits where status = 'approved' and voided_at is null) as deposited,
    (select sum(amount) from public.withdrawals where status = 'approved' and voided_at is null) as withdrawn,
    (select sum(amount) from public.bonuses) as earned,
    (select sum(amount) from public.transactions where status = 'completed') as journal,
    (select sum(cash_in_amount) from private.profiles) as cash_in,
    (select sum(package_value) from private.profiles) as packages,
    (select sum(available_balance) from private.totals) as available
"""
# What a later migration may add rows to.
GROWING = {"private.settings", "private.counters"}
TABLES = """
select format('%I.%I', schemaname, tablename) as name from pg_catalog.pg_tables
where schemaname in ('public', 'private') order by 1
"""


class Released(Database):
    """The launcher's database as the release left it."""

    def __init__(self, own: OwnCluster, folder: Path) -> None:
        super().__init__(own.settings, own.keys, own.postgres, own.log)
        self.project = folder

    def push(self, project: Path | None = None) -> None:
        """The migrations of the release alone, by the same CLI."""
        super().push(project or self.project)


@pytest.fixture
def released(tmp_path: Path) -> Iterator[Released]:
    """A cluster with the release's migrations, brought there as the launcher does."""
    project = tmp_path / "project"
    (project / "supabase" / "migrations").mkdir(parents=True)
    for line in RELEASE.read_text().splitlines():
        shutil.copy(SQL / "migrations" / line.split()[1], project / "supabase" / "migrations")
    own = OwnCluster(settings_of_own(tmp_path / "stack"))
    own.create()
    with own.running():
        (own.settings.state / "run").mkdir()
        database = Released(own, project)
        database.prepare()
        yield database


def play_demo(connection: psycopg.Connection[dict[str, Any]]) -> None:
    """The sample network, with receipts that are rows only: no storage service runs here."""
    connection.execute(demo.script("story.sql"))
    for receipt in connection.execute(demo.script("receipts.sql")).fetchall():
        connection.execute(
            "insert into storage.objects (bucket_id, name, owner_id, metadata)"
            " values ('receipts', %s, %s, '{}')",
            [receipt["name"], str(receipt["user_id"])],
        )
    connection.execute(demo.script("demo.sql"))
    connection.execute(demo.script("coverage.sql"))


def state_of(connection: psycopg.Connection[dict[str, Any]]) -> tuple[dict[str, int], dict[str, Any]]:
    """Rows of each table, and the sums of money."""
    counts = {}
    for row in connection.execute(TABLES).fetchall():
        counted = connection.execute(f"select count(*) as n from {row['name']}").fetchone()
        counts[row["name"]] = counted["n"] if counted else 0
    return counts, connection.execute(SUMS).fetchone() or {}


def test_the_release_upgrades_with_its_data(released: Released, state: Path) -> None:
    keys = released.keys
    with psycopg.connect(
        keys.database_url("supabase_admin"), autocommit=True, row_factory=dict_row
    ) as connection:
        play_demo(connection)
        counts, sums = state_of(connection)
        assert counts["private.profiles"] > 100
        assert all(sums.values())
        released.push(configuration.ROOT)
        later_counts, later_sums = state_of(connection)
        assert later_sums == sums
        lost = {name: later_counts[name] - rows for name, rows in counts.items() if name not in GROWING}
        assert not any(lost.values())
        assert connection.execute("select * from private.check_books()").fetchall() == []
        assert connection.execute("select private.reconcile() as wrong").fetchone() == {"wrong": 0}
    fresh = configuration.read(state)
    from_zero = Generator(fresh, Keys(fresh), released.postgres, released.log).schema()
    assert Generator(released.settings, keys, released.postgres, released.log).schema() == from_zero


def test_a_changed_release_is_complained_of(tmp_path: Path) -> None:
    for folder in ("migrations", "releases"):
        (tmp_path / folder).mkdir()
    for name in ("0010_first.sql", "0030_third.sql", "0040_new.sql"):
        (tmp_path / "migrations" / name).write_text(name)
    lines = [f"{hashlib.sha256(n.encode()).hexdigest()}  {n}" for n in ("0010_first.sql", "0030_third.sql")]
    (tmp_path / "releases" / "0.1.0.sha256").write_text("\n".join(lines))
    assert check.released(tmp_path) == ""
    (tmp_path / "migrations" / "0010_first.sql").write_text("changed")
    (tmp_path / "migrations" / "0030_third.sql").unlink()
    (tmp_path / "migrations" / "0020_between.sql").write_text("late")
    assert check.released(tmp_path).splitlines()[:3] == [
        "0010_first.sql was released with 0.1.0 and has changed.",
        "0020_between.sql sorts before 0030_third.sql, which was released with 0.1.0.",
        "0030_third.sql was released with 0.1.0 and is gone.",
    ]
