"""Later migrations: written by the tool, and applied to data without losing a row or a cent."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from functions.edge.bootstrap import demo
from launcher import settings as configuration
from launcher.database.schema import Database, replaced_versions
from launcher.terminal import Stop
from tests.checks import schema
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.throwaway import SCHEMA, AuthoredDatabase

MIGRATIONS = "sql/migrations"
NO_HISTORY = "A copy without the whole history of git has nothing that it could be upgraded from."
HISTORY = "select version from supabase_migrations.schema_migrations order by version"
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
# What a later migration may add rows to: entries of the audit log are backfilled, too. Keys of references
# are made anew, with those of payouts, and a rule of the ledger compares them.
GROWING = {
    "private.settings",
    "private.counters",
    "private.audit_log",
    "private.audit_log_1",
    "private.mail_topics",
    "private.deposit_keys",
    # A migration that completes rows of the journal notes whose they are.
    "private.ledger_changes",
    # What it adds is recorded.
    "private.schema_objects",
}
RENAMED = {"private.mail_opt_outs": "private.mail_choices"}
TABLES = """
select format('%I.%I', schemaname, tablename) as name from pg_catalog.pg_tables
where schemaname in ('public', 'private') order by 1
"""
# A change of every kind that once went missing between a schema file and its migration.
CHANGE = """
alter table public.deposits add column tracking text check (length(tracking) <= 40);
comment on column public.deposits.tracking is 'A note of the member.';
grant insert (tracking) on public.deposits to authenticated;
create policy select_tracked on public.deposits for select to service_role using (tracking is not null);
"""


class Project(Database):
    """The launcher's database with migrations and schema files of the test's own."""

    def __init__(self, own: OwnCluster, folder: Path, migrations: dict[str, str]) -> None:
        super().__init__(own.settings, own.keys, own.log)
        self.project, self.schema = folder, folder / "schema"
        self.folder = folder / "supabase" / "migrations"
        self.give(migrations)

    def give(self, migrations: dict[str, str]) -> None:
        """Put migrations where the CLI looks for them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in migrations.items():
            (self.folder / name).write_text(text)


class AuthoredProject(Project, AuthoredDatabase):
    """The same with the product from its schema files."""


@contextmanager
def cluster(folder: Path, migrations: dict[str, str], kind: type[Project] = Project) -> Iterator[Project]:
    """Yield a new, empty cluster."""
    own = OwnCluster(settings_of_own(folder / "stack"))
    own.create()
    with own.running():
        (own.settings.state / "run").mkdir()
        yield kind(own, folder, migrations)


def make_owner(database: Database) -> None:
    """Create the role that owns the product, without what bootstrap prepares."""
    database.execute_file(configuration.ROOT / "supabase" / "bootstrap" / "10_roles.sql")
    database.execute(f"alter role postgres password '{database.keys.values['PASSWORD_postgres']}'")


def play_demo(connection: psycopg.Connection[dict[str, Any]], commit: str) -> None:
    """Load the sample network as of a commit, or of the checkout where it has none.

    Its receipts are rows only, because no storage service runs here.
    """

    def script(name: str) -> bytes:
        earlier = git("show", f"{commit}:sql/seed/{name}") if commit else ""
        return earlier.encode() or demo.script(name)

    connection.execute(script("story.sql"))
    for receipt in connection.execute(script("receipts.sql")).fetchall():
        connection.execute(
            "insert into storage.objects (bucket_id, name, owner_id, metadata)"
            " values ('receipts', %s, %s, '{}')",
            [receipt["name"], str(receipt["user_id"])],
        )
    connection.execute(script("demo.sql"))
    connection.execute(script("published.sql"))


def state_of(connection: psycopg.Connection[dict[str, Any]]) -> tuple[dict[str, int], dict[str, Any]]:
    """Rows of each table, and the sums of money."""
    counts = {}
    for row in connection.execute(TABLES).fetchall():
        row_counts = connection.execute(f"select count(*) as n from {row['name']}").fetchone()
        counts[row["name"]] = row_counts["n"] if row_counts else 0
    return counts, connection.execute(SUMS).fetchone() or {}


@contextmanager
def nothing_lost(database: Database, commit: str = "") -> Iterator[None]:
    """Play the demo; afterwards each row and each sum is there, and the ledger agrees."""
    url = database.keys.database_url("supabase_admin")
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        play_demo(connection, commit)
        counts, sums = state_of(connection)
        assert counts["private.profiles"] > 100
        assert all(sums.values())
        yield
        later_counts, later_sums = state_of(connection)
        assert later_sums == sums
        lost = {
            name: later_counts[RENAMED.get(name, name)] - rows
            for name, rows in counts.items()
            if name not in GROWING
        }
        assert {name: rows for name, rows in lost.items() if rows} == {}
        assert connection.execute("select * from private.check_ledger()").fetchall() == []
        assert connection.execute("select private.reconcile() as wrong").fetchone() == {"wrong": 0}


def present() -> dict[str, str]:
    """Return the migrations of this checkout."""
    return {path.name: path.read_text() for path in sorted(schema.MIGRATIONS.glob("*.sql"))}


def git(*arguments: str) -> str:
    """Return git's output, empty where there is no repository."""
    command = ["git", "-C", str(configuration.ROOT), *arguments]
    return subprocess.run(command, text=True, capture_output=True, check=False).stdout


def landed() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the commits from which this checkout goes on, and their migrations: the newest, and 0.9.

    A copy without the whole history has none and skips the test; a history without 0.9 fails it.
    """
    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip(NO_HISTORY)
    now, newest = present(), True
    for commit in git("log", "--format=%H", "--", MIGRATIONS).split():
        paths = git("ls-tree", "--name-only", commit, f"{MIGRATIONS}/").split()
        earlier = {Path(path).name: git("show", f"{commit}:{path}") for path in paths}
        is_replaced = {name.partition("_")[0] for name in earlier} == replaced_versions()
        if is_replaced or (newest and earlier and earlier.items() < now.items()):
            yield commit, earlier
            newest = False
        if is_replaced:
            return
    pytest.fail("No commit has all the migrations that the baseline stands for.")


def test_what_landed_before_upgrades_with_its_data(tmp_path: Path) -> None:
    for commit, earlier in landed():
        with cluster(tmp_path / commit, earlier) as database:
            database.prepare()
            with nothing_lost(database, commit):
                for name in earlier.keys() - present().keys():
                    (database.folder / name).unlink()
                database.give(present())
                (database.settings.state / "run" / "migrated").unlink()
                database.prepare()
            assert [version for (version,) in database.rows(HISTORY)] == [
                name.partition("_")[0] for name in present()
            ]


@pytest.mark.long
def test_a_change_of_the_schema_files_reaches_an_installation_with_data(tmp_path: Path) -> None:
    shutil.copytree(SCHEMA, tmp_path / "authored" / "schema")
    with (tmp_path / "authored" / "schema" / "140_deposits.sql").open("a") as file:
        file.write(CHANGE)
    with (
        cluster(tmp_path / "migrated", present()) as migrated,
        cluster(tmp_path / "authored", {}, AuthoredProject) as authored,
    ):
        migrated.prepare()
        assert isinstance(authored, AuthoredProject)
        authored.prepare()
        comparison = schema.Comparison(migrated, authored)
        assert "140_deposits.sql:" in comparison.failure()
        with nothing_lost(migrated):
            now = datetime.now(UTC)
            schema.write_migration("track", comparison.statements(), [], now, migrated.folder)
            migrated.push()
            assert comparison.statements() == ""
        # What no diff writes is named.
        authored.execute("alter role anon set lock_timeout = '4s'")
        assert "role settings: only in the schema files: alter role anon set lock_timeout=4s" in (
            comparison.failure()
        )


def test_a_schema_file_that_does_not_build_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "010_roles.sql").write_text("select 1;\n\ncreate tabel private.x ();\n")
    with cluster(tmp_path, {}, AuthoredProject) as database:
        make_owner(database)
        with pytest.raises(Stop, match=r"010_roles\.sql:3: ERROR"):
            database.push()


@pytest.mark.parametrize("version", ["20200101000000", min(replaced_versions())])
def test_a_stack_from_before_is_rejected_in_words(tmp_path: Path, version: str) -> None:
    with cluster(tmp_path, {f"{version}_baseline.sql": "create table public.old ();"}) as database:
        make_owner(database)
        database.push()
        (database.folder / f"{version}_baseline.sql").unlink()
        database.give(present())
        with pytest.raises(Stop, match=r"STATE=\.stack-new make up"):
            database.prepare()
        assert database.rows("select to_regclass('public.old')::text") == [("old",)]
