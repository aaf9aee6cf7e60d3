"""A stack for tests: a state folder and ports of its own beside whatever runs, gone afterwards."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import lifecycle
import settings as configuration
import tools
from migrate import Database
from settings import ROOT, Settings
from terminal import Stop, step

BARE_DATABASE = "bare"
PGTAP = ROOT / "tests" / "support" / "pgtap.sql"
PREFIX = ".stack-test-"
# What the last one said, for whoever looks into a failure.
LOGS = ROOT / ".stack-tools" / "test-logs"


def _set_aside(database: Database) -> None:
    """A copy of the migrated database without the demo, with pgTAP, for the database's own tests."""
    database.execute(f"create database {BARE_DATABASE} template postgres", transaction=False)
    database.execute(PGTAP.read_text(), name=BARE_DATABASE)


@contextmanager
def stack(log: Path, profile: str = "reference") -> Iterator[tuple[Settings, Path]]:
    """A healthy stack with the demo; yields its settings and the folder of PostgreSQL's programs.

    It is removed when the block is left, also after a failure or an interruption.
    """
    with _settings(log, profile) as (settings, postgres):
        lifecycle.bring_up(settings, postgres, log, _set_aside)
        yield settings, postgres


@contextmanager
def database(log: Path, *, authored: bool = False) -> Iterator[Database]:
    """A database alone, as the migrations make it or, `authored`, as the schema files do."""
    with _settings(log, "reference") as (settings, postgres):
        yield lifecycle.bring_up_database(settings, postgres, log, authored=authored)


@contextmanager
def _settings(log: Path, profile: str) -> Iterator[tuple[Settings, Path]]:
    _remove_leftovers()
    postgres = tools.install(log, for_tests=True)
    state = ROOT / f"{PREFIX}{os.getpid()}-{secrets.token_hex(2)}"
    own = {"STATE": str(state), "DEMO": "1", "STACK_PROFILE": profile}
    settings = configuration.load_or_create({**os.environ, **own})
    try:
        yield settings, postgres
    finally:
        with step("Removing the test stack"):
            lifecycle.take_down(settings)
            shutil.rmtree(LOGS, ignore_errors=True)
            # There are none yet after an early failure, which is what is to be told.
            with suppress(OSError):
                shutil.copytree(settings.state / "logs", LOGS)
            remove(settings)


def remove(settings: Settings) -> None:
    """Stop a stack and delete everything of it."""
    lifecycle.take_down(settings)
    if settings.cluster:
        shutil.rmtree(settings.cluster, ignore_errors=True)
    shutil.rmtree(settings.state, ignore_errors=True)
    if settings.sockets != settings.state / "run":
        shutil.rmtree(settings.sockets, ignore_errors=True)


def _remove_leftovers() -> None:
    """Stacks whose test run was killed."""
    for state in ROOT.glob(f"{PREFIX}*"):
        pid = int(state.name.removeprefix(PREFIX).split("-")[0])
        if not Path(f"/proc/{pid}").exists():
            with suppress(Stop, OSError):
                remove(configuration.read(state))
            shutil.rmtree(state, ignore_errors=True)
