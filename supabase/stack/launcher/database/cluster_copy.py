"""Copies what one cluster holds into another of a newer PostgreSQL, and proves that all of it is there."""

import os
from pathlib import Path

import psycopg
from psycopg import sql

from launcher import private_files
from launcher.database import cluster_facts
from launcher.database.schema import Database
from launcher.host import environment, system_user
from launcher.keys import Keys
from launcher.settings import Settings
from launcher.terminal import Stop, run, step

SUPERUSER, DATABASE, TEMPLATE = "supabase_admin", "postgres", "template1"
# Key of the roles' facts among those of the databases.
ROLES = ""
# An extension that only `make check` runs.
DISPENSABLE = "plpgsql_check"
# Columns that name transactions of the server that wrote them.
TRANSACTION_COLUMNS = {"private.audit_state.seen_until", "private.corrections.confirmed_in"}
PURGE_TRANSACTIONS = """
update private.audit_state set seen_until = null;
update private.corrections set confirmed_in = '0' where confirmed_in is not null
"""
FIND_TRANSACTIONS = """
select format('%s.%s', a.attrelid::regclass, a.attname)
from pg_attribute as a
inner join pg_class as c on a.attrelid = c.oid and c.relkind = 'r'
where a.atttypid in ('xid'::regtype, 'xid8'::regtype) and a.attnum > 0
    and c.relnamespace::regnamespace::text !~ '^pg_'
"""
# Up to PostgreSQL 15 role postgres may change every role; from 16 on only those of which it has the admin
# option, as it has of roles that it makes. supabase_auth_admin a superuser made.
LAST_WITH_POWER_OVER_ALL = 15
ROLES_TO_ADMINISTER = """
select r.rolname from pg_roles as r
where r.rolname !~ '^pg_' and not r.rolsuper and r.rolname not in ('postgres', 'supabase_auth_admin')
    and not exists (
        select from pg_auth_members as m
        where m.roleid = r.oid and m.member = 'postgres'::regrole and m.admin_option
    )
"""
JOBS = f"--jobs={min(os.cpu_count() or 1, 4)}"


class ClusterCopy:
    """The old cluster's data on its way into the new one; only one of them is served at a time.

    Attributes:
        before: what the roles are, and what is in each database, by its name.
        violations: what the ledger checks found before.
        is_schema_sound: whether the schema was what the last migration left.
        without: an extension that the new PostgreSQL lacks and no service needs; else empty.
    """

    def __init__(self, settings: Settings, programs: Path, folder: Path) -> None:
        self._settings, self._keys = settings, Keys(settings)
        self._programs, self._folder = programs, folder
        self._database = Database(settings, self._keys, settings.log)
        self.before: dict[str, set[str]] = {}
        self.violations: set[str] = set()
        self.is_schema_sound = False
        self.without = ""

    def read(self) -> None:
        """Read the old cluster, and write it to the folder by the new version's programs."""
        with step("What is in it, and the ledger checks"):
            self.before, self.violations = self._facts(), self._database.violations()
            self.is_schema_sound = not self._database.rows("select from private.schema_discrepancies limit 1")
        with step("Dump"):
            private_files.make_folder(self._folder)
            system_user.hand_over(self._folder)
            self._run("pg_dumpall", "--globals-only", f"--file={self._roles}")
            for name in self._databases():
                self._run(
                    "pg_dump", "--format=directory", JOBS, "--create", f"--file={self._dump(name)}", name
                )

    def write(self, *, grant_administration: bool) -> None:
        """Restore it into the new cluster and prove it.

        Args:
            grant_administration: the old version let role postgres change every role, the new one does not.
        """
        with step("Restore"):
            self._restore_roles()
            self.without = self._missing_extension()
            for name in self.before.keys() - {ROLES}:
                self._restore_database(name)
        with step("Proof: everything is as it was"):
            after = self._facts()
            for name, before in self.before.items():
                self._require_equal(before - self._left_out(before), after[name])
        with step("Ledger checks"):
            self._purge_transactions()
            if grant_administration:
                self._grant_administration()
            if broken := sorted(self._database.violations() - self.violations):
                raise Stop(f"The new cluster breaks the ledger: {', '.join(broken[:5])}.")
            if self.is_schema_sound:
                # Another version may print the same definitions in other words.
                self._database.execute("select private.record_schema()")
        with step("Statistics"):
            self._run("vacuumdb", "--all", "--analyze-only", "--quiet")

    def counts(self) -> tuple[int, int]:
        """Return how many tables were copied, and how many rows."""
        rows = [
            int(line.split()[-2]) for facts in self.before.values() for line in facts if line[:5] == "rows "
        ]
        return len(rows), sum(rows)

    @property
    def _roles(self) -> Path:
        return self._folder / "roles.sql"

    def _dump(self, database: str) -> Path:
        return self._folder / f"{database}.dump"

    def _databases(self) -> list[str]:
        found = self._database.rows(
            "select datname from pg_database where datallowconn and not datistemplate"
        )
        return [name for (name,) in found]

    def _facts(self) -> dict[str, set[str]]:
        facts = {}
        for name in self._databases():
            with psycopg.connect(self._keys.database_url(SUPERUSER, name)) as connection:
                facts[name] = cluster_facts.of_database(connection)
                facts[ROLES] = cluster_facts.of_roles(connection)
        return facts

    def _run(self, program: str, *arguments: str) -> str:
        place = ("--host=127.0.0.1", f"--port={self._settings.ports['postgres']}", f"--username={SUPERUSER}")
        password = {"PGPASSWORD": self._keys.values[f"PASSWORD_{SUPERUSER}"]}
        command: list[str | Path] = [self._programs / program, *place, *arguments]
        command = system_user.as_user(command, system_user.name())
        return run(command, self._settings.log, cwd=Path("/"), env={**environment.base(), **password})

    def _restore_roles(self) -> None:
        # initdb made this one.
        lines = self._roles.read_text().replace(f"CREATE ROLE {SUPERUSER};\n", "")
        private_files.write(self._roles, lines)
        self._run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", f"--file={self._roles}", TEMPLATE)

    def _grant_administration(self) -> None:
        for (role,) in self._database.rows(ROLES_TO_ADMINISTER):
            grant = sql.SQL("grant {} to postgres with admin option, inherit false, set false")
            self._database.execute(grant.format(sql.Identifier(role)).as_string())

    def _missing_extension(self) -> str:
        """Return the extension that the new version may lack, if it does; raise when it lacks another."""
        available = {name for (name,) in self._database.rows("select name from pg_available_extensions")}
        lines = (line for facts in self.before.values() for line in facts if line.startswith("extension "))
        missing = {line.split()[1] for line in lines} - available
        if needed := missing - {DISPENSABLE}:
            raise Stop(f"The new PostgreSQL has no {', '.join(sorted(needed))}, which the database uses.")
        return DISPENSABLE if missing else ""

    def _left_out(self, facts: set[str]) -> set[str]:
        return {line for line in facts if self.without and line.startswith(f"extension {self.without} ")}

    def _restore_database(self, name: str) -> None:
        dump, chosen = self._dump(name), self._folder / f"{name}.list"
        listed = self._run("pg_restore", "--list", "--create", str(dump)).splitlines(keepends=True)
        words = (f" EXTENSION - {self.without} ", f" COMMENT - EXTENSION {self.without} ")
        skipped = [line for line in listed if self.without and any(word in line for word in words)]
        private_files.write(chosen, "".join(line for line in listed if line not in skipped))
        # The cluster was made with this database, without what is set for it.
        clean = ("--clean", "--if-exists") if name == DATABASE else ()
        options = (
            "--create",
            *clean,
            "--exit-on-error",
            JOBS,
            f"--use-list={chosen}",
            f"--dbname={TEMPLATE}",
        )
        self._run("pg_restore", *options, str(dump))

    def _require_equal(self, before: set[str], after: set[str]) -> None:
        if before == after:
            return
        lines = [f"only before: {line}" for line in sorted(before - after)]
        lines += [f"only after: {line}" for line in sorted(after - before)]
        private_files.append(self._settings.log, "\n".join(lines) + "\n")
        shown = "\n    ".join(line[:200] for line in lines[:5])
        raise Stop(
            f"The new cluster is not as the old one in {len(lines)} things:\n    {shown}\n"
            f"  All of them are in {self._settings.log}."
        )

    def _purge_transactions(self) -> None:
        """Let nothing name a transaction of the old server: another one of the new will have its number."""
        found = {name for (name,) in self._database.rows(FIND_TRANSACTIONS)}
        if unknown := found - TRANSACTION_COLUMNS:
            raise Stop(f"{', '.join(sorted(unknown))} names transactions of the old server.")
        self._database.execute(PURGE_TRANSACTIONS)
