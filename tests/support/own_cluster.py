"""A PostgreSQL cluster that a test starts, may break and throws away: a copy of the stack's, or an empty one.

Killing one backend makes PostgreSQL end all sessions, so no other client may be connected.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from launcher import private_files
from launcher import settings as configuration
from launcher.database import cluster
from launcher.host import system_user, tools
from launcher.keys import Keys
from launcher.settings import Settings
from tests.support.children import ending_with_parent

PLAIN = "plain"
# Crashes of PostgreSQL lose nothing that the operating system has: the disk need not be waited for.
OPTIONS = {
    "fsync": "off",
    "max_connections": "150",
    "deadlock_timeout": "200ms",
    "log_lock_waits": "off",
    # A server that stops waits so long for a client that has connected and says nothing.
    "authentication_timeout": "10s",
}


class OwnCluster:
    """A data directory and the server on it."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.keys = settings, Keys(settings)
        postgres = tools.find_postgres(tools.EXTENSIONS)
        assert postgres
        self.postgres = postgres
        self.log = settings.state / "launcher.log"

    def copy(self, original: Settings) -> None:
        """Take over the data of a running stack, with its keys and passwords."""
        shutil.copytree(original.state / "keys", self.settings.state / "keys")
        folder = cluster.place(self.settings)
        private_files.make_folder(folder)
        system_user.hand_over(folder)
        source = ["-h", "127.0.0.1", "-p", str(original.ports["postgres"]), "-U", "supabase_admin"]
        options: list[str | Path] = ["-D", folder, "--checkpoint=fast", "--no-sync", *source]
        command: list[str | Path] = [self.postgres / "pg_basebackup", *options]
        env = {**os.environ, "PGPASSWORD": self.keys.values["PASSWORD_supabase_admin"]}
        subprocess.run(system_user.as_user(command, system_user.name()), check=True, cwd="/", env=env)

    def create(self) -> None:
        """Make an empty one with keys of its own."""
        self.keys.make()
        cluster.create(self.settings, self.postgres, self.keys.values["PASSWORD_supabase_admin"], self.log)

    def start(self, **options: str) -> None:
        """Start the server and wait until it accepts connections."""
        given = {**OPTIONS, "port": str(self.settings.ports["postgres"]), **options}
        command = ending_with_parent([self.postgres / "postgres"], "INT")
        command += ["-D", cluster.place(self.settings)]
        command += [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        with (self.settings.state / "postgres.log").open("a") as log:
            self._process = subprocess.Popen(
                system_user.as_user(command, system_user.name()), cwd="/", stdout=log, stderr=log
            )
        cluster.wait(self.settings, self.postgres)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server; SIGQUIT cuts every connection, and the next start recovers as from a crash."""
        self._process.send_signal(how)
        self._process.wait(60)

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended by itself."""
        return self._process.poll() is not None

    @contextmanager
    def running(self, **options: str) -> Iterator[None]:
        """Run the server; the data are removed in the end."""
        try:
            self.start(**options)
            yield
        finally:
            self.stop()
            shutil.rmtree(self.settings.data_directory, ignore_errors=True)

    def set_aside(self) -> None:
        """Keep a copy of the database as it is, for tests that want one of their own."""
        with psycopg.connect(make_conninfo(self.url(), dbname="template1"), autocommit=True) as connection:
            connection.execute(f"create database {PLAIN} template postgres")

    def url(self, role: str = "supabase_admin") -> str:
        """Libpq URL of a database role."""
        return self.keys.database_url(role)


def settings_of_own(state: Path) -> Settings:
    """Return the settings of a stack in a new folder, with free ports."""
    own = {"STATE": str(state), "DEMO": "1", "STACK_PROFILE": "reference"}
    return configuration.load_or_create({**os.environ, **own})
