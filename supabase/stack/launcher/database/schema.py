"""Brings the database up to date: what Supabase has, what the services make, what the product adds."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from launcher import private_files
from launcher.host import environment
from launcher.host.tools import PYTHON, SUPABASE, content_digest
from launcher.keys import Keys
from launcher.settings import ROOT, WAY_BACK, Settings
from launcher.terminal import Stop, run, step

BOOTSTRAP = ROOT / "supabase" / "bootstrap"
PASSWORDS_BEFORE = ("postgres", "authenticator", "supabase_auth_admin", "supabase_storage_admin")
PASSWORDS_AFTER = ("edge_functions", "worker")
HISTORY = "supabase_migrations.schema_migrations"
# The migration history that a database with every migration of 0.9 receives.
REPLACEMENT = BOOTSTRAP / "after_services" / "postgres.sql"
SOURCES = (
    BOOTSTRAP,
    ROOT / "functions" / "auth",
    ROOT / "functions" / "storage",
    ROOT / "sql" / "migrations",
)


class Database:
    """The stack's database as the launcher changes it."""

    def __init__(self, settings: Settings, keys: Keys, log: Path) -> None:
        self.settings, self.keys, self.log = settings, keys, log
        # The launcher knows no superuser of a database elsewhere.
        self.role = "postgres" if settings.database_elsewhere else "supabase_admin"
        # Where supabase/migrations lies: a test may name another.
        self.project = ROOT

    def prepare(self) -> None:
        """Apply everything up to the product's last migration; nothing when no source has changed since."""
        self.require_history()
        stamp = self.settings.state / "run" / "migrated"
        where = f"{ROOT} {self.settings.options.get('AUTH_BIN')} {self.settings.system_identifier}"
        digest = content_digest(where, *SOURCES)
        if stamp.exists() and stamp.read_text() == digest:
            return
        with self._alone():
            self._migrate()
        private_files.write(stamp, digest)

    def _migrate(self) -> None:
        if not self.settings.database_elsewhere:
            with step("Database: what Supabase brings"):
                for file in bootstrap_files():
                    self.execute_file(file)
                self._set_passwords(PASSWORDS_BEFORE)
        with step("Database: auth and storage"):
            self._migrate_service("auth")
            self._migrate_service("storage")
            for file in sorted((BOOTSTRAP / "after_services").glob("*.sql")):
                self.execute_file(file, file.stem)
        with step("Database: the product"):
            self.push()
            self._set_passwords(PASSWORDS_AFTER)
            self._migrate_service("worker")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let the launchers of several machines migrate one after the other."""
        with psycopg.connect(self.keys.database_url(self.role), autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(hashtext('harborline migrations'))")
            yield

    def seed_demo(self) -> None:
        """Seed the demo network once; it needs the services."""
        with step("Demo network"):
            env = environment.bootstrap(self.settings, self.keys)
            command: list[str | Path] = [PYTHON, "-m", "functions.edge.bootstrap", "demo"]
            sign_ins = run(command, self.log, cwd=ROOT, env=env, confidential=True)
        # KEY=value lines; the seed is not run again once they are stored.
        private_files.write(self.settings.state / "keys" / "demo.env", sign_ins)

    def push(self) -> None:
        """Apply the product's migrations by the stock Supabase CLI, as role postgres."""
        server = self._primary() if self.settings.database_elsewhere else ""
        target = f"--db-url={self.keys.database_url('postgres', server=server)}"
        command: list[str | Path] = [SUPABASE, "db", "push", target, "--include-all", "--yes"]
        env = cli_environment()
        if self.settings.database_elsewhere:
            del env["PGSSLMODE"]
        run(command, self.log, cwd=self.project, env=env)

    def _primary(self) -> str:
        """Return the server that takes writes now."""
        with psycopg.connect(self.keys.database_url("postgres")) as connection:
            host, port = connection.info.host, connection.info.port
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def require_history(self) -> None:
        """Raise unless these migrations go on from what was applied: they build on nothing else."""
        begun = self.rows(f"select to_regclass('{HISTORY}')") != [(None,)]
        rows = self.rows(f"select version from {HISTORY} order by version") if begun else []
        applied = [version for (version,) in rows]
        files = (self.project / "supabase" / "migrations").glob("*.sql")
        known = {path.name.partition("_")[0] for path in files}
        if (replaced := replaced_versions()) <= set(applied):
            known |= replaced
        if strange := [version for version in applied if version not in known]:
            words = (
                f"The database in {self.settings.state} has migration {strange[0]}, which is not among these"
            )
            if strange[0] > max(known, default=""):
                raise Stop(f"{words}: a later version made it. Nothing was changed.\n  {WAY_BACK}")
            raise Stop(
                f"{words}: it is from before 1.0.0.\n"
                "  Nothing was changed. docs/upgrade-notes.md says how its data are brought over;"
                " without them start anew with STATE=.stack-new make up"
            )

    def is_behind(self) -> bool:
        """Return whether this version will change a database that an earlier one made."""
        if self.rows(f"select to_regclass('{HISTORY}')") == [(None,)]:
            return False
        applied = {version for (version,) in self.rows(f"select version from {HISTORY}")}
        files = (self.project / "supabase" / "migrations").glob("*.sql")
        return any(path.name.partition("_")[0] not in applied for path in files)

    def violations(self) -> set[str]:
        """Return what the ledger checks find now."""
        found = self.rows("select rule || ' ' || object from private.check_ledger()")
        return {name for (name,) in found}

    def archive(self) -> None:
        """Let the archive of the WAL reach to now at once: a moment before can be restored then."""
        # Recovery to a time ends at the first commit after it.
        self.execute("select pg_current_xact_id()")
        self.execute("select pg_switch_wal()")

    def execute_file(self, file: Path, role: str = "") -> None:
        """Run a file as superuser, or as a role, in one transaction."""
        try:
            self.execute(bootstrap_text(file, self.settings), role=role)
        except psycopg.Error as error:
            raise Stop(f"{file.relative_to(ROOT)} failed:\n    {error}") from error

    def execute(self, sql: str, *, name: str = "", role: str = "", transaction: bool = True) -> None:
        """Run statements in one transaction unless it says otherwise.

        Args:
            role: as whom; else as superuser, and where that is not the launcher's as the owner.
        """
        url = self.keys.database_url(role or self.role, name)
        with psycopg.connect(url, autocommit=not transaction) as connection:
            connection.execute(sql.encode())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query, read as superuser or as the owner."""
        with psycopg.connect(self.keys.database_url(self.role)) as connection:
            return connection.execute(sql.encode()).fetchall()

    def _set_passwords(self, roles: tuple[str, ...]) -> None:
        self.execute(password_statements(self.keys, roles))

    def _migrate_service(self, name: str) -> None:
        binary = self.settings.options.get("AUTH_BIN") if name == "auth" else None
        command: list[str | Path] = [binary] if binary else [PYTHON, "-m", f"functions.{name}"]
        env = environment.service(name, self.settings, self.keys)
        run([*command, "migrate"], self.log, cwd=ROOT, env=env)


def replaced_versions() -> set[str]:
    """Return the migrations of 0.9 that the baseline of 1.0.0 stands for."""
    declared, _, _ = REPLACEMENT.read_text().partition("begin\n")
    return set(re.findall(r"'(\d{14})'", declared))


def bootstrap_files() -> list[Path]:
    """Return what a superuser runs before the first migration."""
    return sorted(BOOTSTRAP.glob("*.sql"))


def bootstrap_text(file: Path, settings: Settings) -> str:
    """Return a file of the bootstrap, for this owner."""
    return re.sub(r"\bpostgres\b", settings.database_owner, file.read_text())


def password_statements(keys: Keys, roles: tuple[str, ...]) -> str:
    """Return what sets the passwords of these roles."""
    # Generated hexadecimal text: nothing to quote.
    passwords = ((role, keys.values[f"PASSWORD_{role}"]) for role in roles)
    return "".join(f"alter role {role} password '{password}';\n" for role, password in passwords)


def cli_environment() -> dict[str, str]:
    """Return an environment in which the Supabase CLI asks nothing and reports nothing."""
    quiet = {"SUPABASE_TELEMETRY_DISABLED": "1", "DO_NOT_TRACK": "1", "CI": "true", "NO_COLOR": "1"}
    return {**environment.base(), **quiet, "PGSSLMODE": "disable"}
