"""`make up` on a newer checkout with backups: a way back first, and a failure leaves all as it was."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from launcher import settings as configuration
from tests.stack.test_upgrade import HISTORY, MIGRATIONS, git, landed
from tests.support.own_stack import SUMS, OwnStack, with_backups

# Each migration writes its own row, at its end.
BREAK = """
create function extensions.reject_migrations() returns trigger language plpgsql as $$
begin
    raise exception 'not today';
end
$$;
create trigger reject_migrations before insert on supabase_migrations.schema_migrations
for each row execute function extensions.reject_migrations()
"""
MEND = "drop function extensions.reject_migrations() cascade"
SAME_USER = "/system_user.py"
PENDING = "select id::text from public.deposits where status = 'pending' order by created_at limit 1"


@contextmanager
def older_checkout(folder: Path) -> Iterator[Path]:
    """Yield the files of the newest commit from whose migrations this checkout goes on.

    What runs as another user than this version's cannot take its state folder again: of a commit from before
    that are the migrations alone.
    """
    commit, migrations = next(landed())
    tree = commit if SAME_USER in git("ls-tree", "-r", "--name-only", commit) else "HEAD"
    folder.mkdir()
    archive = ["git", "-C", str(configuration.ROOT), "archive", "--format=tar", tree]
    files = subprocess.run(archive, capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract", f"--directory={folder}"], input=files, check=True)
    shutil.rmtree(folder / MIGRATIONS)
    (folder / MIGRATIONS).mkdir()
    for name, text in migrations.items():
        (folder / MIGRATIONS / name).write_text(text)
    # What can be copied need not be fetched; it is checked against the lock files.
    for name in (".stack-tools/bin", "supabase/stack/node_modules", "web/node_modules", "web/dist"):
        shutil.copytree(configuration.ROOT / name, folder / name, symlinks=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def processes(stack: OwnStack) -> dict[str, str]:
    """Return the process id of each program."""
    lines = stack.launch("status").stdout.splitlines()
    found = [line.split() for line in lines if " pid " in line]
    return {fields[0]: fields[fields.index("pid") + 1].rstrip(",") for fields in found}


def execute(stack: OwnStack, statements: str) -> None:
    """Run statements as superuser."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as connection:
        connection.execute(statements.encode())


def approve(stack: OwnStack) -> None:
    """Make a decision."""
    ((deposit,),) = stack.rows(PENDING)
    assert stack.approve(deposit).status_code == 200


def way_back(words: str) -> str:
    """Return the command that is printed."""
    (command,) = re.findall(r"^ +(make restore .*)$", words, re.MULTILINE)
    return str(command)


@contextmanager
def typed(command: str, stack: OwnStack, older: Path) -> Iterator[OwnStack]:
    """Type the printed command in the former version's folder, start what comes out, and yield it."""
    env = {name: value for name, value in stack.environment.items() if name not in ("STATE", *stack.env)}
    for line in (command, "STATE=.stack-new make up"):
        done = subprocess.run(line, shell=True, cwd=older, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    copy = OwnStack(older / ".stack-new", {}, older)
    try:
        yield copy
    finally:
        copy.remove()


def state_of(stack: OwnStack) -> list[list[tuple[Any, ...]]]:
    """Return what money and migrations there are."""
    return [stack.rows(SUMS), stack.rows(HISTORY)]


@pytest.mark.long
def test_an_upgrade_has_a_way_back_and_a_failed_one_changes_nothing(place: Path) -> None:
    with (
        older_checkout(place / "older") as older,
        with_backups(place, checkout=older) as stack,
    ):
        newer = OwnStack(stack.state, stack.env)
        approve(stack)
        before, running = state_of(stack), processes(stack)
        made = len(stack.backups.list())

        execute(stack, BREAK)
        failed = newer.launch("up")
        assert failed.returncode == 1, failed.stdout
        # By the CLI, or where the baseline takes the place of 0.9.
        assert re.search(r"(supabase|postgres\.sql) failed", failed.stderr)
        # What is shown of a program's output may end before.
        assert "not today" in failed.stderr + (stack.state / "logs" / "setup.log").read_text()
        assert "Ledger checks before the upgrade" in failed.stdout
        assert "Services" not in failed.stdout
        assert len(stack.backups.list()) == made + 1
        assert state_of(stack) == before
        assert processes(stack) == running
        # It goes on, and what comes now is not in what is restored.
        approve(stack)
        with typed(way_back(failed.stderr), stack, older) as copy:
            assert state_of(copy) == before

        execute(stack, MEND)
        later = state_of(stack)
        assert later != before
        done = newer.up()
        assert re.search(
            r"Ledger checks before the upgrade.*Database, diff.*Database: the product"
            r".*Ledger checks after the upgrade.*Services",
            done.stdout,
            re.DOTALL,
        )
        assert len(stack.backups.list()) == made + 2
        assert newer.rows(SUMS) == later[0]
        names = {path.name.partition("_")[0] for path in (configuration.ROOT / MIGRATIONS).glob("*.sql")}
        assert {version for (version,) in newer.rows(HISTORY)} == names
        approve(newer)
        with typed(way_back(done.stdout), stack, older) as copy:
            assert state_of(copy) == later
        assert newer.rows("select * from private.check_ledger()") == []
