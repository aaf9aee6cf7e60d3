"""pgBackRest for the nodes of a cluster: one repository for all, and a configuration for each."""

import secrets
import shlex
import subprocess
from datetime import datetime
from pathlib import Path

from launcher import private_files
from launcher.backups.repository import CONFIGURATION, KEY, STANZA, Repository
from launcher.host import environment, system_user
from launcher.settings import ROOT
from launcher.terminal import run

ARCHIVE_WAL = ROOT / "supabase" / "patroni" / "archive_wal.py"


class ClusterBackups:
    """The repository of a cluster's database.

    Attributes:
        place: folder of the repository, which every node reaches.
    """

    def __init__(self, folder: Path) -> None:
        self.place = folder / "repository"
        self._key = secrets.token_hex(32)
        self._log = folder / "pgbackrest.log"

    def make(self) -> None:
        """Make the folder that the repository lies in."""
        self.place.mkdir(mode=0o755, exist_ok=True)
        Repository(str(self.place), self.place, {}).make_folders()

    def configure(self, folder: Path, data: Path, port: int) -> None:
        """Write the configuration of a node, or of a place to restore to, in its folder."""
        private_files.write(folder / KEY, self._key)
        self._of(folder).configure(data, folder, port)

    def _of(self, folder: Path) -> Repository:
        return Repository(str(self.place), folder, {})

    def archive_command(self, folder: Path) -> str:
        """Return what PostgreSQL of a node runs for each finished segment of its WAL."""
        return shlex.join(self._archiver(folder)) + " %p"

    def push(self, folder: Path, segment: Path) -> subprocess.CompletedProcess[str]:
        """Run what PostgreSQL of a node runs for a segment."""
        command = system_user.as_user([*self._archiver(folder), segment], system_user.name())
        return subprocess.run(
            command, cwd="/", env=environment.base(), capture_output=True, text=True, check=False
        )

    def _archiver(self, folder: Path) -> list[str]:
        options = (f"--config={folder / CONFIGURATION}", f"--stanza={STANZA}")
        return [str(ARCHIVE_WAL), *options, "archive-push"]

    def run(self, folder: Path, *arguments: str) -> str:
        """Run pgBackRest with the configuration in a folder."""
        return run(self._of(folder).pgbackrest(*arguments), self._log, cwd=Path("/"), env=environment.base())

    def restore(self, folder: Path, port: int, to: datetime) -> Path:
        """Restore the database as it was at a moment into a new folder; return the data directory."""
        data = folder / "data"
        private_files.make_folder(data)
        self.configure(folder, data, port)
        system_user.hand_over(folder)
        fetch = f"--recovery-option=restore_command={self._of(folder).restore_command()}"
        target = ("--type=time", f"--target={to.isoformat(sep=' ')}", "--target-action=promote")
        self.run(folder, "restore", fetch, *target)
        return data
