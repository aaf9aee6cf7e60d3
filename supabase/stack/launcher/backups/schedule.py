"""Backups of a running stack: what is made when, and what is known of it.

The WAL is archived by PostgreSQL itself, at the latest a minute after it was written. The receipts' bytes are
written before their rows and never change: the first snapshot after a moment has those of all its rows.

A database elsewhere is backed up by whoever runs it; here are the files then.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from launcher import private_files
from launcher.backups.repository import KEY, default_keys, of
from launcher.database import cluster
from launcher.host import environment
from launcher.keys import Keys
from launcher.settings import Settings
from launcher.terminal import Stop, run, step

FULL_EVERY, OTHERS_EVERY = timedelta(days=7), timedelta(days=1)
LOOK_EVERY_SECONDS = 30
OFF = (
    "Backups are off. Switch them on with a folder on another disk, or an S3 server:\n"
    "  BACKUP_REPOSITORY=/mnt/backups make up"
)


@dataclass
class Report:
    """The state of a stack's backups; times are ISO texts in UTC.

    Attributes:
        at: when this was written.
        location: the repository that was prepared; none is made in its place.
        database_at: end of the newest backup of the database.
        files_at: when the files were last found to be in the repository.
        proven_at: when a backup was last restored and found in order.
        database_elsewhere: the database is not among what is backed up here.
        failures: what went wrong last, by what was to be done.
    """

    at: str = ""
    location: str = ""
    database_at: str | None = None
    files_at: str | None = None
    proven_at: str | None = None
    database_elsewhere: bool = False
    failures: dict[str, str] = field(default_factory=dict)


class Backups:
    """The backups of one stack.

    Args:
        logged: what commands say is added to the stack's log; else only their failures are known.
    """

    def __init__(self, settings: Settings, *, logged: bool = True) -> None:
        repository = of(settings)
        if not repository:
            raise Stop(OFF)
        self.settings, self.repository = settings, repository
        self.log = settings.state / "logs" / "backups.log" if logged else None
        self.report_file = settings.state / "run" / "backups.json"
        self._has_backup = False
        self._has_database = not settings.database_elsewhere

    def prepare(self) -> None:
        """Make what both tools need, once: an empty folder later may be a disk that is not mounted.

        The archive of a cluster that PostgreSQL's upgrade left ends, that of the new one begins.
        """
        if self.is_prepared():
            if self.repository.folder and not (self.repository.folder / "files").exists():
                raise Stop(
                    f"The repository of the backups is not in {self.repository.folder}. Mount its disk,\n"
                    "  or name another place in BACKUP_REPOSITORY."
                )
            self._restic("cat", "config")
            if self._has_database and self._is_of_another_cluster():
                self._pgbackrest("stanza-upgrade")
            return
        if self._has_database:
            self._pgbackrest("stanza-create")
        if self._restic_fails("cat", "config"):
            self._restic("init")
        report = self.report()
        report.location = self.repository.location
        self._store(report)

    def _is_of_another_cluster(self) -> bool:
        return str(self._stanza()["db"][-1]["system-id"]) != self.settings.system_identifier

    def is_prepared(self) -> bool:
        """Return whether this repository was made what the tools need."""
        return self.report().location == self.repository.location

    def make(self) -> None:
        """Back up database and files now."""
        self.require_room()
        self.unlock()
        if self._has_database:
            kind = self.kind()
            with step(f"Database, {kind}"):
                self.back_up_database(kind)
        with step("Receipts, keys and settings"):
            self.back_up_files()

    def unlock(self) -> None:
        """Remove what a process that was killed left locked; what another one is at stays so."""
        self._restic("unlock")

    def kind(self) -> str:
        """Return `full` when a full backup is due, else `diff`: what has changed since the last full one."""
        newest = _newest([entry for entry in self.list() if entry["type"] == "full"])
        return "full" if newest is None or datetime.now(UTC) - newest >= FULL_EVERY else "diff"

    def list(self) -> list[dict[str, Any]]:
        """Return the backups of this cluster in the repository, oldest first."""
        stanza = self._stanza()
        # It is a new one to pgBackRest, too, when the way back from PostgreSQL's upgrade leads to it again.
        newest = stanza["db"][-1]
        if str(newest["system-id"]) != self.settings.system_identifier:
            return []
        backups = [entry for entry in stanza["backup"] if entry["database"]["id"] == newest["id"]]
        return [entry for entry in backups if not entry.get("error")]

    def back_up_database(self, kind: str) -> None:
        """Make a backup of the database; those that are too old go."""
        self._pgbackrest("backup", f"--type={kind}")
        report = self.report()
        report.database_at = _text(_newest(self.list()))
        self._store(report)

    def back_up_files(self) -> None:
        """Make a snapshot of receipts, keys and settings, which holds the key of the repository not."""
        parts = [
            part for part in ("objects", "keys", "settings.json") if (self.settings.state / part).exists()
        ]
        # A file that arrives while it runs may not be in it.
        started = datetime.now(UTC)
        # Relative paths: a snapshot is restored into another folder. What only arrives may be gone meanwhile.
        self._restic("backup", "--host=harborline", "--exclude=objects/uploads", *parts)
        self._note("files_at", started)

    def keep_files(self) -> None:
        """Back up the files if one is new; else all of them are in the repository, if that is there."""
        looked = datetime.now(UTC)
        if self.have_files_changed():
            self.back_up_files()
        else:
            self._restic("cat", "config")
            self._note("files_at", looked)

    def keep_database(self) -> None:
        """Back up the database once a day, and at once where PostgreSQL's upgrade made a new cluster."""
        if not self._has_database:
            return
        newest = self.report().database_at
        self._has_backup = self._has_backup or bool(self.list())
        is_recent = newest and datetime.now(UTC) - datetime.fromisoformat(newest) < OTHERS_EVERY
        if is_recent and self._has_backup:
            return
        self.require_room()
        self.back_up_database(self.kind())

    def prune_files(self) -> None:
        """Keep all snapshots of a day and then one a day, remove what none needs, and check what is left.

        A later one has all files of an earlier one, so that a moment between two that stay can be restored.
        """
        self._restic(
            "forget", "--host=harborline", "--keep-within=1d", f"--keep-daily={self.repository.days}"
        )
        self._restic("prune")
        self._restic("check")

    def have_files_changed(self) -> bool:
        """Return whether a file is newer than the last snapshot, or nothing is known of one."""
        report = self.report()
        if not report.files_at:
            return True
        since = datetime.fromisoformat(report.files_at).timestamp() - 2
        state = self.settings.state
        paths = [state / "settings.json", *(state / "keys").glob("*")]
        if any(path.stat().st_mtime > since for path in paths if path.exists()):
            return True
        command = ["find", str(state / "objects"), "-newermt", f"@{since}", "-print", "-quit"]
        return bool(subprocess.run(command, capture_output=True, check=False).stdout)

    def require_room(self) -> None:
        """Raise when a backup would fill the repository's disk, which may be the database's."""
        folder = self.repository.folder
        if not folder:
            return
        database = _size(self.settings.data_directory) if self._has_database else 0
        needed = database // 2 + _size(self.settings.state / "objects") // 4
        if needed > (free := shutil.disk_usage(folder).free):
            raise Stop(
                f"A backup may need {needed / 2**20:.0f} MB in {folder}; {free / 2**20:.0f} MB are free.\n"
                "  Make room, or keep backups for fewer days (BACKUP_DAYS), and run the command again."
            )

    def report(self) -> Report:
        """Return what was stored last."""
        if not self.report_file.exists():
            return Report()
        return Report(**json.loads(self.report_file.read_text()))

    def note(self, what: str, failure: str | None) -> None:
        """Store how a part of the work ended."""
        report = self.report()
        report.failures.pop(what, None)
        if failure:
            report.failures[what] = failure
        self._store(report)

    def note_proof(self) -> None:
        """Store that a backup was restored and is in order."""
        self._note("proven_at", datetime.now(UTC))

    def _note(self, what: str, moment: datetime) -> None:
        report = self.report()
        setattr(report, what, _text(moment))
        self._store(report)

    def _store(self, report: Report) -> None:
        report.at = _text(datetime.now(UTC)) or ""
        report.database_elsewhere = not self._has_database
        private_files.write(self.report_file, json.dumps(asdict(report)))

    def _stanza(self) -> dict[str, Any]:
        """Return what pgBackRest knows: the clusters (`db`), the newest last, and their backups."""
        (stanza,) = json.loads(self._pgbackrest("info", "--output=json"))
        return dict(stanza)

    def _pgbackrest(self, *arguments: str) -> str:
        password = {"PGPASSWORD": Keys(self.settings).values["PASSWORD_supabase_admin"]}
        env = {**environment.base(), **password}
        return run(self.repository.pgbackrest(*arguments), self.log, cwd=Path("/"), env=env)

    def _restic(self, *arguments: str) -> str:
        env = {**environment.base(), **self.repository.restic_environment()}
        return run(self.repository.restic(*arguments), self.log, cwd=self.settings.state, env=env)

    def _restic_fails(self, *arguments: str) -> bool:
        env = {**environment.base(), **self.repository.restic_environment()}
        command = self.repository.restic(*arguments)
        return subprocess.run(command, env=env, capture_output=True, check=False).returncode != 0


def switch_on(settings: Settings) -> None:
    """Make the key and the configuration, before PostgreSQL starts with them; show a new key, once."""
    if "BACKUP_REPOSITORY" not in settings.options:
        return
    # Chosen once, by whoever starts the stack: it may run as another user.
    settings.options.setdefault("BACKUP_KEYS", str(default_keys(settings.identity)))
    settings.save()
    repository = Backups(settings).repository
    made = repository.make_key()
    if Backups(settings).is_prepared():
        repository.hand_over()
    else:
        repository.make_folders()
    if not settings.database_elsewhere:
        cluster.place(settings)
        repository.configure(settings.data_directory, settings.database_sockets, settings.ports["postgres"])
    show_once(made, repository.keys)


def show_once(made: str | None, keys: Path) -> None:
    """Print a new key of the backups."""
    if made:
        print(
            f"\n  The key of the backups, shown this once: {made}\n"
            f"  It lies in {keys / KEY} too. Without it no backup can be restored, and\n"
            "  whoever has it reads them: keep it where neither this machine nor the repository is.\n"
        )


def keep(backups: Backups) -> NoReturn:
    """Make what is due, for ever: the files whenever one is new, the database each day."""
    day = None
    if backups.is_prepared():
        _attempt(backups, "unlock", backups.unlock)
    while True:
        if not backups.is_prepared():
            _attempt(backups, "repository", backups.prepare)
        _attempt(backups, "files", backups.keep_files)
        _attempt(backups, "database", backups.keep_database)
        if day != (day := datetime.now(UTC).date()):
            _attempt(backups, "prune", backups.prune_files)
        time.sleep(LOOK_EVERY_SECONDS)


def _attempt(backups: Backups, what: str, work: Callable[[], None]) -> None:
    try:
        work()
    except (Stop, OSError, ValueError) as failure:
        print(f"{what}: {failure}", flush=True)
        backups.note(what, str(failure)[:500])
    else:
        backups.note(what, None)


def _newest(backups: list[dict[str, Any]]) -> datetime | None:
    stops = [entry["timestamp"]["stop"] for entry in backups]
    return datetime.fromtimestamp(max(stops), UTC) if stops else None


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


def _size(folder: Path) -> int:
    """Return the bytes in a folder; files may come and go meanwhile."""
    command: list[str | Path] = ["du", "--summarize", "--bytes", folder]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return int(listed.split()[0]) if listed else 0
