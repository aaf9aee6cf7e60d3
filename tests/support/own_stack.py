"""A stack that a test starts by the launcher's commands, with a state folder of its own, and removes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from launcher import settings as configuration
from launcher.backups import repository, restore
from launcher.backups.schedule import Backups
from tests.support import plain_http
from tests.support.stack import env_of

# What a wrong decision, or a lost one, changes.
SUMS = """
select (select count(*) from private.profiles),
    (select count(*) from public.deposits where status = 'approved'),
    (select sum(amount) from public.bonuses), (select count(*) from public.transactions),
    (select count(*) from storage.objects)
"""


@dataclass(frozen=True)
class OwnStack:
    """A stack of the test's own, and how it is called.

    Attributes:
        env: settings of each command.
        checkout: whose launcher is called.
    """

    state: Path
    env: dict[str, str]
    checkout: Path = configuration.ROOT

    def launch(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run the launcher for it."""
        command = [sys.executable, str(self.checkout / "supabase" / "stack"), *arguments]
        env = {**self.environment, **extra}
        return subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def up(self, **extra: str) -> subprocess.CompletedProcess[str]:
        """Start it, and require that it starts."""
        done = self.launch("up", **extra)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands: that of the tests, without what names another stack."""
        others = ("STACK_ENV", "PYTHONPATH")
        stored = {name: value for name, value in os.environ.items() if name not in others}
        own = {"STATE": str(self.state), "DEMO": "1", "STACK_PROFILE": "reference"}
        return {**stored, **own, **self.env}

    @property
    def values(self) -> dict[str, str]:
        """Its addresses and keys."""
        return env_of(self.state / "env")

    @property
    def settings(self) -> configuration.Settings:
        """What is stored of it."""
        return configuration.read(self.state)

    @property
    def backups(self) -> Backups:
        """Its backups."""
        return Backups(self.settings)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what a query of the superuser finds."""
        with psycopg.connect(self.values["DATABASE_ADMIN_URL"]) as connection:
            return connection.execute(query.encode()).fetchall()

    def ask(self, path: str, token: str, body: object) -> httpx.Response:
        """Send a request as an administrator."""
        headers = {"apikey": self.values["SUPABASE_ANON_KEY"], "authorization": f"Bearer {token}"}
        return plain_http.post(f"{self.values['SUPABASE_URL']}{path}", headers=headers, json=body)

    def administrator(self, role: str) -> str:
        """Return the token of one of the demo's administrators."""
        values = self.values
        given = {"email": values[f"DEMO_{role}_EMAIL"], "password": values[f"DEMO_{role}_PASSWORD"]}
        signed_in = self.ask(
            "/functions/v1/admin-auth", values["SUPABASE_ANON_KEY"], {"action": "login", **given}
        )
        return str(signed_in.raise_for_status().json()["access_token"])

    def approve(self, deposit: str) -> httpx.Response:
        """Approve a deposit."""
        body = {"depositId": deposit, "action": "approve"}
        return self.ask("/functions/v1/admin-approve-deposit", self.administrator("FINANCE"), body)

    def remove(self) -> None:
        """Stop it, and remove everything of it."""
        if (self.state / "settings.json").exists():
            self.launch("down")
            keys = repository.default_keys(self.settings.identity)
            restore.remove(self.state)
            shutil.rmtree(keys, ignore_errors=True)


def until(condition: Callable[[], object], seconds: float) -> None:
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.5)


@contextmanager
def with_backups(folder: Path, checkout: Path = configuration.ROOT, **given: str) -> Iterator[OwnStack]:
    """Run a demo stack with backups until the first ones are there."""
    env = {"BACKUP_REPOSITORY": str(folder / "repository"), **given}
    stack = OwnStack(folder / "stack", env, checkout)
    try:
        assert "shown this once" in stack.up().stdout
        until(lambda: stack.backups.report().database_at and stack.backups.report().files_at, 120)
        yield stack
    finally:
        stack.remove()
