"""Brings the database up to date: what Supabase has, what the services make, what the product adds."""

import hashlib
import os
from pathlib import Path

import environment
from keys import Keys
from settings import ROOT, Settings, write_private
from terminal import Stop, run, step
from tools import PYTHON, SUPABASE

BOOTSTRAP = ROOT / "supabase" / "bootstrap"
PASSWORDS_BEFORE = ("postgres", "authenticator", "supabase_auth_admin", "supabase_storage_admin")
PASSWORDS_AFTER = ("edge_functions", "worker")
SCHEMA = ROOT / "sql" / "schema"
HISTORY = "supabase_migrations.schema_migrations"
SOURCES = ("supabase/bootstrap", "functions/auth", "functions/storage", "sql/migrations")


class Database:
    """The stack's database as the launcher changes it."""

    def __init__(self, settings: Settings, keys: Keys, postgres: Path, log: Path) -> None:
        self.settings, self.keys, self.postgres, self.log = settings, keys, postgres, log
        # Where supabase/migrations lies, and the schema files: a test may name others.
        self.project, self.schema = ROOT, SCHEMA

    def prepare(self, *, authored: bool = False) -> None:
        """Everything up to the product's last migration; nothing when no source has changed since.

        With `authored` the product comes from its schema files instead, as a comparison needs it.

        Raises:
            Stop: a migration fails, or the database was made by another baseline.
        """
        stamp = self.settings.state / "run" / "migrated"
        digest = _digest(self.settings.options.get("AUTH_BIN", ""))
        if stamp.exists() and stamp.read_text() == digest:
            return
        self._require_baseline()
        with step("Database: what Supabase brings"):
            for file in sorted(BOOTSTRAP.glob("*.sql")):
                self.execute_file(file)
            self._set_passwords(PASSWORDS_BEFORE)
        with step("Database: auth and storage"):
            self._migrate_auth()
            self._python("functions.storage", environment.storage(self.settings, self.keys), "migrate")
            for file in sorted((BOOTSTRAP / "after_services").glob("*.sql")):
                self.execute_file(file)
        with step(f"Database: the product's {'schema files' if authored else 'migrations'}"):
            self.play_schema() if authored else self.push()
            self._set_passwords(PASSWORDS_AFTER)
            self._python("functions.worker", environment.worker(self.settings, self.keys), "migrate")
        stamp.write_text(digest)

    def seed_demo(self) -> None:
        """Seed the demo network once; it needs the services."""
        with step("Demo network"):
            env = environment.bootstrap(self.settings, self.keys)
            command: list[str | Path] = [PYTHON, "-m", "functions.edge.bootstrap", "demo"]
            answer = run(command, self.log, cwd=ROOT, env=env, confidential=True)
        # KEY=value lines with the demo's sign-ins; the seed is not run again once they are kept.
        write_private(self.settings.state / "keys" / "demo.env", answer)

    def play_schema(self) -> None:
        """The schema files in their order, as role postgres, in one transaction.

        Raises:
            Stop: one does not build; the text names file and line.
        """
        files = [part for file in sorted(self.schema.glob("*.sql")) for part in ("--file", file)]
        target = f"--dbname={self.keys.database_url('postgres')}"
        command: list[str | Path] = [
            self.postgres / "psql",
            target,
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-1",
        ]
        env = {
            **environment.base(),
            "PGOPTIONS": "-c client_min_messages=warning -c check_function_bodies=off",
        }
        hint = "Mend the schema file at the line named above; sql/README.md says in which order they build."
        run([*command, *files], self.log, cwd=ROOT, env=env, hint=hint)

    def push(self) -> None:
        """The product's migrations, by the stock Supabase CLI as role postgres."""
        command: list[str | Path] = [
            SUPABASE,
            "db",
            "push",
            "--db-url",
            self.keys.database_url("postgres"),
            "--include-all",
            "--yes",
        ]
        run(command, self.log, cwd=self.project, env=cli_environment())

    def _require_baseline(self) -> None:
        """A stack keeps the baseline that made it: the migrations after it build on nothing else."""
        begun = self.execute(f"select to_regclass('{HISTORY}')").strip()
        applied = self.execute(f"select version from {HISTORY}").split() if begun else []
        known = {
            path.name.partition("_")[0] for path in (self.project / "supabase" / "migrations").glob("*.sql")
        }
        if strange := sorted(set(applied) - known):
            state = self.settings.state
            raise Stop(
                f"The database in {state} was made by other migrations: {strange[0]} is not among these.\n"
                "  Until 1.0.0 the baseline is made anew at times, and no data are brought over. Start anew\n"
                f"  with STATE=.stack-new make up, or delete {state} if nobody needs it."
            )

    def execute_file(self, file: Path) -> None:
        """Run a file as superuser, in one transaction."""
        self._psql(["-1", "--file", file])

    def execute(self, sql: str, *, name: str = "postgres", transaction: bool = True) -> str:
        """Run statements as superuser; returns unaligned rows."""
        return self._psql(["-1"] if transaction else [], stdin=sql, name=name)

    def _psql(self, arguments: list[str | Path], stdin: str = "", name: str = "postgres") -> str:
        password = {
            "PGPASSWORD": self.keys.values["PASSWORD_supabase_admin"],
            "PGOPTIONS": "-c client_min_messages=warning",
        }
        target = f"--dbname=postgresql://supabase_admin@{self.settings.address('postgres')}/{name}"
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        command = [self.postgres / "psql", target, *options, *arguments]
        return run(command, self.log, env={**environment.base(), **password}, stdin=stdin)

    def _set_passwords(self, roles: tuple[str, ...]) -> None:
        # Generated hexadecimal text: nothing to quote.
        self.execute(
            "".join(
                f"alter role {role} password '{self.keys.values[f'PASSWORD_{role}']}';\n" for role in roles
            )
        )

    def _migrate_auth(self) -> None:
        values = environment.auth(self.settings, self.keys)
        if binary := self.settings.options.get("AUTH_BIN"):
            run([binary, "migrate"], self.log, cwd=ROOT, env=values)
        else:
            self._python("functions.auth", values, "migrate")

    def _python(self, module: str, env: dict[str, str], *arguments: str) -> str:
        return run([PYTHON, "-m", module, *arguments], self.log, cwd=ROOT, env=env)


def cli_environment() -> dict[str, str]:
    """The Supabase CLI asks nothing and reports nothing."""
    return {
        **environment.base(),
        "SUPABASE_TELEMETRY_DISABLED": "1",
        "DO_NOT_TRACK": "1",
        "CI": "true",
        "NO_COLOR": "1",
        "PGSSLMODE": "disable",
    }


def _digest(auth_binary: str) -> str:
    digest = hashlib.sha256(os.fsencode(ROOT) + os.fsencode(auth_binary))
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()
