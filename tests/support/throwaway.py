"""A stack for tests: a state folder and ports of its own next to whatever runs, deleted afterwards."""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from launcher import lifecycle
from launcher import settings as configuration
from launcher.database.schema import Database
from launcher.host import environment, tools
from launcher.host.tools import PYTHON
from launcher.options import DATABASE_OPTIONS, SITE_OPTIONS
from launcher.services.supervisor import Supervisor
from launcher.settings import ROOT, SETUP_LOG, Settings
from launcher.terminal import Stop, run, step

BARE_DATABASE = "bare"
SCHEMA = ROOT / "sql" / "schema"
JS_TESTS, BROWSER_TESTS = ROOT / "tests" / "api" / "js", ROOT / "tests" / "e2e"
PREPARED = [ROOT / "tests" / "support" / name for name in ("wallet.sql", "pgtap.sql")]
PREFIX = ".stack-test-"
# The logs of the last one, for looking into a failure.
LOGS = ROOT / ".stack-tools" / "test-logs"
# A shell that has read the env file of a stack names its site: tests would ask there.
OF_ANOTHER_STACK = ("STATE", *SITE_OPTIONS, *DATABASE_OPTIONS)


class AuthoredDatabase(Database):
    """A database whose product comes from its schema files instead of the migrations."""

    schema = SCHEMA

    def push(self) -> None:
        """Run the schema files in their order, as role postgres, in one transaction."""
        files = [part for file in sorted(self.schema.glob("*.sql")) for part in ("--file", file)]
        postgres = tools.find_postgres(tools.EXTENSIONS, self.settings)
        assert postgres
        psql: list[str | Path] = [postgres / "psql", f"--dbname={self.keys.database_url('postgres')}"]
        options = "-c client_min_messages=warning -c check_function_bodies=off"
        env = {**environment.base(), "PGOPTIONS": options}
        hint = (
            "Correct the schema file at the line named above; sql/README.md says in which order they build."
        )
        run([*psql, "-X", "-q", "-1", "-vON_ERROR_STOP=1", *files], self.log, cwd=ROOT, env=env, hint=hint)


def _copy_bare(database: Database) -> None:
    """Copy the migrated database without the demo, with pgTAP, for the database's own tests."""
    database.execute(f"create database {BARE_DATABASE} template postgres", transaction=False)
    database.execute("".join(file.read_text() for file in PREPARED), name=BARE_DATABASE)


def install_for_tests(log: Path) -> None:
    """Install what checks and tests need in addition to the stack's own packages."""
    tools.install(log, for_tests=True)
    with tools.one_at_a_time():
        for folder in (tools.WEB, JS_TESTS, BROWSER_TESTS):
            tools.node_packages(folder, f"Packages of {folder.relative_to(ROOT)}", log)


@contextmanager
def stack(log: Path = SETUP_LOG, profile: str = "reference") -> Iterator[tuple[Settings, Path]]:
    """Yield the settings of a healthy stack with the demo, and the folder of PostgreSQL's programs.

    It is removed when the block is left, also after a failure or an interruption.
    """
    with _settings(log, profile) as (settings, postgres):
        lifecycle.bring_up(settings, postgres, log, _copy_bare)
        yield settings, postgres


def run_on_stack(name: str, *arguments: str, profile: str = "reference", **own: str) -> int:
    """Run a module of the tests against a throw-away stack; return its exit status."""
    with stack(profile=profile) as (settings, postgres):
        path = f"{postgres}:{os.environ['PATH']}"
        return run_module(
            name, *arguments, STACK_ENV=str(settings.state / "env"), PATH=path, CI="true", **own
        )


def run_module(name: str, *arguments: str, **own: str) -> int:
    """Run a module of the tests to its end, which an interruption asks for; return its exit status."""
    env = _environment()
    # Each process would compile everything anew.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'supabase' / 'stack'}", **own}
    # In a group of its own: Ctrl-C reaches it once, from here.
    process = subprocess.Popen([PYTHON, "-m", name, *arguments], cwd=ROOT, env=env, process_group=0)
    try:
        return process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        process.wait(60)


@contextmanager
def database() -> Iterator[Database]:
    """Yield a database alone, as the migrations make it."""
    with _settings(SETUP_LOG, "reference") as (settings, postgres):
        yield lifecycle.bring_up_database(settings, postgres, SETUP_LOG)


@contextmanager
def authored_database() -> Iterator[AuthoredDatabase]:
    """Yield a database alone, as the schema files make it."""
    with _settings(SETUP_LOG, "reference") as (settings, postgres):
        made = lifecycle.bring_up_database(settings, postgres, SETUP_LOG, AuthoredDatabase)
        yield cast("AuthoredDatabase", made)


@contextmanager
def both_databases() -> Iterator[tuple[Database, AuthoredDatabase]]:
    """Yield a database that the migrations make, and one that the schema files make."""
    with database() as migrated, authored_database() as authored:
        yield migrated, authored


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in OF_ANOTHER_STACK}


@contextmanager
def _settings(log: Path, profile: str) -> Iterator[tuple[Settings, Path]]:
    _remove_leftovers()
    postgres = tools.install(log, for_tests=True)
    state = ROOT / f"{PREFIX}{os.getpid()}-{secrets.token_hex(2)}"
    own = {"STATE": str(state), "DEMO": "1", "STACK_PROFILE": profile}
    settings = configuration.load_or_create({**_environment(), **own})
    try:
        lifecycle.require_access(settings)
    except Stop:
        # Tests run in every folder, also in a closed one that a service of integration made for them.
        settings = configuration.load_or_create({**_environment(), **own, "SERVICES_AS_ROOT": "1"})
    try:
        yield settings, postgres
    finally:
        with step("Removing the test stack"):
            Supervisor(settings).stop()
            shutil.rmtree(LOGS, ignore_errors=True)
            # There are none yet after an early failure, which is the one to report.
            with suppress(OSError):
                shutil.copytree(settings.state / "logs", LOGS)
            _remove(settings)


def _remove(settings: Settings) -> None:
    """Stop a stack and delete everything of it."""
    Supervisor(settings).stop()
    shutil.rmtree(settings.data_directory, ignore_errors=True)
    shutil.rmtree(settings.sockets, ignore_errors=True)
    shutil.rmtree(settings.state, ignore_errors=True)


def _remove_leftovers() -> None:
    """Remove stacks whose test run was killed."""
    for state in ROOT.glob(f"{PREFIX}*"):
        pid = int(state.name.removeprefix(PREFIX).split("-")[0])
        if not Path(f"/proc/{pid}").exists():
            with suppress(Stop, OSError):
                _remove(configuration.read(state))
            shutil.rmtree(state, ignore_errors=True)
