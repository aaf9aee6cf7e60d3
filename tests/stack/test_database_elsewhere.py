"""A whole stack on a database elsewhere, two instances of each service: set up, restarted, backed up."""

import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from launcher.backups.repository import KEY
from launcher.database import elsewhere
from launcher.keys import Keys
from tests.support.clients import (
    OF_A_MEMBER,
    OF_AN_ADMINISTRATOR,
    asking,
    member_token,
    require_all_served,
)
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.own_stack import OwnStack

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server(state: Path) -> Iterator[OwnCluster]:
    """Make the cluster that somebody else runs."""
    made = OwnCluster(settings_of_own(state.with_name(f"{state.name}-server-{secrets.token_hex(2)}")))
    made.create()
    with made.running():
        yield made
    shutil.rmtree(made.settings.state, ignore_errors=True)


@pytest.fixture(scope="module")
def stack(state: Path, server: OwnCluster) -> Iterator[OwnStack]:
    """Start one on it, as the documents say."""
    name = secrets.token_hex(2)
    repository = state.with_name(f"{state.name}-repository-{name}")
    own = OwnStack(
        state.with_name(f"{state.name}-elsewhere-{name}"),
        {
            "DATABASE_SERVER": f"127.0.0.1:{server.settings.ports['postgres']}",
            "INSTANCES": "2",
            "BACKUP_REPOSITORY": str(repository),
        },
    )
    printed = own.launch("prepare-database")
    assert printed.returncode == 0, printed.stderr
    psql = [server.postgres / "psql", "-X", "-q", f"--dbname={server.url()}"]
    subprocess.run(psql, input=printed.stdout, text=True, check=True, capture_output=True)
    try:
        own.up()
        yield own
    finally:
        own.remove()
        shutil.rmtree(repository, ignore_errors=True)


def test_nothing_of_postgresql_runs_here(stack: OwnStack) -> None:
    said = stack.launch("status").stdout
    assert "postgres " not in said
    assert f"servers    {stack.settings.options['DATABASE_SERVER']} primary" in said
    assert {"auth-2", "postgrest-2", "worker-2"} <= {
        line.split()[0] for line in said.splitlines() if line.strip()
    }
    assert "DATABASE_ADMIN_URL" not in stack.values
    assert not (stack.state / "cluster").exists()
    upgrade = stack.launch("postgres-upgrade", PG_BIN="/usr/lib/postgresql/15/bin")
    assert "whoever runs it upgrades it" in upgrade.stderr


def test_up_again_changes_nothing(stack: OwnStack) -> None:
    before = stack.launch("status").stdout.count("RUNNING")
    started = time.monotonic()
    stack.up()
    assert time.monotonic() - started < 20
    assert stack.launch("status").stdout.count("RUNNING") == before


def test_instances_are_replaced_without_an_error_that_a_client_sees(stack: OwnStack) -> None:
    with asking(stack, lambda: member_token(stack), OF_A_MEMBER) as seen:
        for name in ("postgrest", "auth", "storage", "gateway"):
            done = stack.launch("restart", SERVICE=name)
            assert done.returncode == 0, done.stdout + done.stderr
    require_all_served(seen, OF_A_MEMBER)


def test_a_new_key_of_members_is_known_to_all_instances_before_it_signs(stack: OwnStack) -> None:
    with asking(stack, lambda: member_token(stack), OF_A_MEMBER) as seen:
        done = stack.launch("keys", "new")
        assert done.returncode == 0, done.stdout + done.stderr
    require_all_served(seen, OF_A_MEMBER)


def test_a_new_key_of_administrators_is_known_to_all_instances_before_it_signs(stack: OwnStack) -> None:
    with asking(stack, lambda: stack.administrator("FINANCE"), OF_AN_ADMINISTRATOR) as seen:
        done = stack.launch("keys", "new", "--administrators")
        assert done.returncode == 0, done.stdout + done.stderr
    require_all_served(seen, OF_AN_ADMINISTRATOR)


def test_what_is_backed_up_is_said(stack: OwnStack) -> None:
    done = stack.launch("backup")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Receipts, keys and settings" in done.stdout
    assert f"whoever runs {stack.settings.options['DATABASE_SERVER']} backs it up" in done.stdout
    assert "\n  Database, " not in done.stdout
    assert stack.backups.report().database_elsewhere


def test_it_starts_without_a_repository_that_is_away(stack: OwnStack) -> None:
    there = Path(stack.settings.options["BACKUP_REPOSITORY"])
    away = there.rename(there.with_name(f"{there.name}-away"))
    try:
        stack.launch("down")
        assert "The stack starts without its backups" in stack.up().stdout
    finally:
        shutil.rmtree(there, ignore_errors=True)
        away.rename(there)


def test_a_drill_reads_a_copy_that_is_not_the_database_itself(stack: OwnStack) -> None:
    assert "RESTORED=10.0.0.9:5432 make restore-drill" in stack.launch("restore-drill").stderr
    own = stack.launch("restore-drill", RESTORED=stack.settings.options["DATABASE_SERVER"])
    assert "is the stack's own database" in own.stderr


def test_a_drill_checks_the_ledger_of_a_restored_copy(
    stack: OwnStack, server: OwnCluster, place: Path
) -> None:
    copy = OwnCluster(settings_of_own(place / "copy"))
    copy.copy(server.settings)
    with copy.running():
        done = stack.launch("restore-drill", RESTORED=f"127.0.0.1:{copy.settings.ports['postgres']}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Its ledger is in order" in done.stdout
    assert stack.backups.report().proven_at


def test_what_was_backed_up_comes_back_without_a_database(stack: OwnStack, place: Path) -> None:
    assert stack.launch("backup").returncode == 0
    repository = stack.backups.repository
    copy = OwnStack(place / "copy", {})
    done = copy.launch("restore", FROM=repository.location, KEY=str(repository.keys / KEY))
    assert done.returncode == 0, done.stdout + done.stderr
    servers = stack.settings.options["DATABASE_SERVER"]
    assert f"The database was at {servers}" in done.stdout
    assert (copy.state / "keys" / "credentials.json").read_bytes() == (
        stack.state / "keys" / "credentials.json"
    ).read_bytes()
    assert "DATABASE_SERVER" not in copy.settings.options, "nothing leads to the original's by itself"
    alone = copy.launch("up")
    assert alone.returncode == 1
    assert "No other is made in its place" in alone.stderr
    assert not (copy.state / "cluster").exists()


def test_another_server_is_rejected_and_what_is_stored_stays(stack: OwnStack) -> None:
    stored = stack.settings.options["DATABASE_SERVER"]
    rejected = stack.launch("up", DATABASE_SERVER="127.0.0.1:1")
    assert rejected.returncode == 1
    assert "127.0.0.1:1 NOT REACHED" in rejected.stderr
    assert stack.settings.options["DATABASE_SERVER"] == stored


def test_the_ledger_is_in_order(stack: OwnStack) -> None:
    settings = stack.settings
    elsewhere.require_suitable(settings, Keys(settings))
    with psycopg.connect(Keys(settings).database_url("postgres")) as connection:
        assert connection.execute("select count(*) from private.check_ledger()").fetchone() == (0,)
