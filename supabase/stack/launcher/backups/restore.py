"""Restores a stack from its backups, to any second, into a new state folder on this or another machine.

What comes out is a copy: it has ports, a name and a gateway of its own, sends no email, archives nothing into
the repository of its original, and makes no decision until a super administrator acknowledges it.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from launcher import options, private_files
from launcher import settings as configuration
from launcher.backups.repository import KEY, Repository, require_valid
from launcher.backups.schedule import Backups
from launcher.database import cluster, elsewhere
from launcher.host import environment, system_user, tools
from launcher.keys import Keys
from launcher.settings import BACKUP_ACCESS, MAIL_SETTINGS, RESTORE, SETUP_LOG, Settings
from launcher.terminal import SHOWN_LINES, Stop, run, step

# Settings that the copy must not share with its original.
LEFT_BEHIND = (
    *options.SITE_OPTIONS,
    *options.DATABASE_OPTIONS,
    *("STORAGE_URL", "BACKUP_REPOSITORY", "BACKUP_KEYS", "BACKUP_DAYS"),
    *BACKUP_ACCESS,
    *MAIL_SETTINGS,
)
SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Restored:
    """A restored stack.

    Attributes:
        at: when the last thing in it was done; None where nothing was done yet.
        violations: what the ledger checks found, by rule.
        receipts: where receipts lay that are not in the backups; empty when they are.
        servers: where the database was that is not in the backups; empty when it is.
    """

    at: datetime | None
    violations: dict[str, int]
    receipts: str
    servers: str = ""

    def __str__(self) -> str:
        if self.servers:
            return (
                f"\n  Receipts, keys and settings are restored. The database was at {self.servers}:\n"
                "  restore that by its own backups, let its owner run there: select private.mark_restored()\n"
                "  and name its servers in DATABASE_SERVER."
            )
        found = f"{self.violations} VIOLATIONS" if self.violations else "in order"
        last = f"The last thing in it is of {self.at:%Y-%m-%d %H:%M:%S} UTC" if self.at else "It is empty"
        text = f"\n  {last}. Its ledger is {found}."
        if self.receipts:
            text += (
                f"\n  Its receipts lay in {self.receipts}. Give it that as STORAGE_URL only when no other\n"
                "  stack uses the place: what has no row in a stack's own database is removed after a day."
            )
        return text


def named(environment: Mapping[str, str], state: Path) -> tuple[Repository, Path]:
    """Return the repository that FROM and BACKUP_S3_* name, and the file KEY."""
    location, key = environment.get("FROM", ""), Path(environment.get("KEY", ""))
    if not location or not key.is_file():
        raise Stop(f"Name the repository and its key: {RESTORE}")
    access = {name: environment[name] for name in BACKUP_ACCESS if name in environment}
    keys = Path("/tmp") / f"harborline-restore-{os.getpid()}"  # noqa: S108
    require_valid(location, keys, access, state)
    return Repository(location, keys, access), key


def source(environment: Mapping[str, str], state: Path) -> Repository:
    """Return the named repository with a copy of the key, which the stack's user reads while this takes."""
    repository, key = named(environment, state)
    private_files.make_folder(repository.keys)
    private_files.write(repository.keys / KEY, key.read_text())
    system_user.hand_over(repository.keys)
    return repository


def restore(state: Path, repository: Repository, postgres: Path, to: datetime | None) -> Restored:
    """Restore everything as it was at a moment, or as late as the archive goes; `make up` starts it then."""
    # Folders alone may be there: of a container the places of its volumes.
    if any(not path.is_dir() for path in state.rglob("*")):
        raise Stop(f"{state} is not empty. A backup is only restored into a new folder: STATE=.stack-new")
    private_files.make_folder(state)
    system_user.require_access([state.parent, *([repository.folder] if repository.folder else [])])
    system_user.hand_over(state)
    try:
        with step("Receipts, keys and settings"):
            _restore_files(state, repository, to)
        settings = configuration.read(state)
        receipts, servers = (settings.options.get(name, "") for name in ("STORAGE_URL", "DATABASE_SERVER"))
        identifier = settings.system_identifier
        _make_copy_of_its_own(settings)
        if servers:
            # So that neither an empty database nor another one takes the place of what is restored there.
            settings.system_identifier = identifier
            settings.save()
            return Restored(None, {}, receipts, servers)
        with step("Database"):
            _restore_database(settings, repository, to)
        postgres = _choose_postgres(settings, postgres)
        with step("Changes since the backup, and the ledger checks"):
            return _recover(settings, postgres, receipts)
    except BaseException:
        remove(state)
        raise
    finally:
        shutil.rmtree(repository.keys)


def drill(backups: Backups, postgres: Path) -> Restored:
    """Prove the backups of a stack: restore the newest beside it, run the ledger checks, remove it."""
    state = backups.settings.state.with_name(f"{backups.settings.state.name}-drill")
    place = {"FROM": backups.repository.location, "KEY": str(backups.repository.keys / KEY)}
    restored = restore(state, source({**backups.repository.access, **place}, state), postgres, None)
    remove(state)
    if not restored.violations:
        backups.note_proof()
    return restored


def drill_elsewhere(backups: Backups, server: str) -> Restored:
    """Run the ledger checks in a copy that whoever runs the database restored at a server of its own."""
    settings = backups.settings
    if not server:
        raise Stop(
            "The database is elsewhere. Restore a backup of it at a server of its own, with its engine's\n"
            "  tools, and name that: RESTORED=10.0.0.9:5432 make restore-drill"
        )
    host, port = options.servers(server)[0]
    if (host, port) in options.servers(settings.options["DATABASE_SERVER"]):
        raise Stop(f"RESTORED={server} is the stack's own database, which proves nothing of its backups.")
    with psycopg.connect(elsewhere.url_of_server(Keys(settings), host, port)) as connection:
        connection.read_only = True
        row = connection.execute("select system_identifier::text from pg_control_system()").fetchone()
        if row != (settings.system_identifier,):
            raise Stop(
                f"RESTORED={server} is no copy of the stack's database: its system identifier is another."
            )
        restored = _checked(connection, "")
    if not restored.violations:
        backups.note_proof()
    return restored


def _checked(connection: psycopg.Connection[tuple[Any, ...]], receipts: str) -> Restored:
    """Return what the ledger checks find in a restored database."""
    found = connection.execute("select rule, count(*) from private.check_ledger() group by rule").fetchall()
    row = connection.execute("select private.last_moment()").fetchone()
    assert row
    return Restored(row[0], dict(found), receipts)


def moment(text: str) -> datetime:
    """Return the moment that a text names; without a zone it is UTC."""
    try:
        named = datetime.fromisoformat(text)
    except ValueError as error:
        raise Stop(f"TO is a time such as '2026-03-14 18:04:59', in UTC; this is {text!r}.") from error
    return named if named.tzinfo else named.replace(tzinfo=UTC)


def _restore_files(state: Path, repository: Repository, to: datetime | None) -> None:
    """Restore the first snapshot that has all files of that moment: later ones only have more."""
    env = {**environment.base(), **repository.restic_environment()}
    listed = run(
        repository.restic("snapshots", "--no-lock", "--host=harborline", "--json"),
        SETUP_LOG,
        cwd=state,
        env=env,
    )
    snapshots = sorted(json.loads(listed) or [], key=lambda entry: entry["time"])
    if not snapshots:
        raise Stop("The repository has no files yet: a backup was never finished.")
    later = [entry for entry in snapshots if to and _time_of(entry) >= to]
    chosen = later[0] if later else snapshots[-1]
    run(
        repository.restic("restore", "--no-lock", chosen["id"], f"--target={state}"),
        SETUP_LOG,
        cwd=state,
        env=env,
    )


def _time_of(snapshot: Mapping[str, Any]) -> datetime:
    # restic writes nanoseconds, which are more than Python reads.
    day, _, rest = snapshot["time"].partition("T")
    seconds, zone = rest[:8], rest[-6:] if rest[-1] != "Z" else "+00:00"
    return datetime.fromisoformat(f"{day}T{seconds}{zone}")


def _make_copy_of_its_own(settings: Settings) -> None:
    settings.identity, settings.cluster = configuration.new_identity(), ""
    settings.options = {name: value for name, value in settings.options.items() if name not in LEFT_BEHIND}
    settings.ports, settings.system_identifier = {}, ""
    configuration.choose_ports(settings)


def _restore_database(settings: Settings, repository: Repository, to: datetime | None) -> None:
    folder = cluster.place(settings)
    private_files.make_folder(folder)
    system_user.hand_over(folder)
    repository.configure(folder, settings.database_sockets, settings.ports["postgres"])
    wanted: tuple[str, ...] = ("--type=default",)
    if to:
        wanted = ("--type=time", f"--target={to.isoformat(sep=' ')}", "--target-action=promote")
    fetch = f"--recovery-option=restore_command={repository.restore_command()}"
    command = repository.pgbackrest("restore", fetch, *wanted)
    run(
        command,
        SETUP_LOG,
        cwd=Path("/"),
        env=environment.base(),
        hint="Does the archive reach back that far?",
    )


def _choose_postgres(settings: Settings, postgres: Path) -> Path:
    """Return the programs of the version that made the backup, and store which they are.

    What is stored may be the folder of a later version, or of another machine.
    """
    version = cluster.version(settings.data_directory)
    settings.options.pop("PG_BIN", None)
    found = tools.find_postgres(tools.EXTENSIONS, settings)
    if not found and options.major_version(postgres) == version:
        found, settings.options["PG_BIN"] = postgres, str(postgres)
    if not found:
        raise Stop(f"The backup is of PostgreSQL {version}. Name its bin folder: PG_BIN=/folder {RESTORE}")
    settings.save()
    return found


def _recover(settings: Settings, postgres: Path, receipts: str) -> Restored:
    """Let PostgreSQL replay the archive, mark the copy as one, and run every ledger check."""
    command = system_user.as_user([postgres / "postgres", "-D", settings.data_directory], system_user.name())
    alone = {
        "listen_addresses": "127.0.0.1",
        "port": str(settings.ports["postgres"]),
        "archive_mode": "off",
        "unix_socket_directories": "",
        "hot_standby": "off",
    }
    command += [part for name, value in alone.items() for part in ("-c", f"{name}={value}")]
    private_files.make_folder(settings.state / "logs")
    with private_files.open_log(settings.state / "logs" / "postgres.log") as log:
        server = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, env=environment.base())
    try:
        with _connect(settings, server) as connection:
            # Settings of the recovery: the copy has no repository.
            for name in (
                "restore_command",
                "recovery_target_time",
                "recovery_target_action",
                "recovery_target",
            ):
                connection.execute(f"alter system reset {name}".encode())
            connection.execute("select private.mark_restored()")
            return _checked(connection, receipts)
    finally:
        server.terminate()
        server.wait(120)


def _connect(settings: Settings, server: subprocess.Popen[bytes]) -> psycopg.Connection[tuple[Any, ...]]:
    """Wait as long as recovery takes, and connect."""
    url = Keys(settings).database_url("supabase_admin")
    while server.poll() is None:
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            time.sleep(SECONDS_BETWEEN_LOOKS)
    # The log goes with the copy.
    said = (settings.state / "logs" / "postgres.log").read_text().splitlines()[-SHOWN_LINES:]
    raise Stop("\n    ".join(["The database could not be recovered:", *said]))


def remove(state: Path) -> None:
    """Remove a restored stack that does not run, wherever its database lies."""
    if (state / "settings.json").exists():
        settings = configuration.read(state)
        for folder in (settings.data_directory, settings.database_sockets):
            shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(state, ignore_errors=True)
