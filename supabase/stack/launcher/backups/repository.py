"""Where the backups of a stack lie, with which key, and how the tools that read and write them are called.

The database is pgBackRest's: base backups and the archive of the WAL between them. The files around it
(receipts, keys, settings) are restic's. Both encrypt with one key, which lies outside the state folder.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from launcher import private_files
from launcher.host import system_user
from launcher.settings import BACKUP_ACCESS, Settings
from launcher.terminal import Stop

PROGRAMS = {"pgbackrest": "pgbackrest", "restic": "restic"}
STANZA = "harborline"
KEY, CONFIGURATION = "backup.key", "pgbackrest.conf"
DEFAULT_DAYS = "30"


@dataclass(frozen=True)
class Repository:
    """One repository, as a folder of this machine or a place on an S3 server.

    Attributes:
        location: `/folder` or `s3://bucket/prefix`.
        keys: folder of the key and of pgBackRest's configuration, which holds the key too.
        access: BACKUP_S3_* of an S3 server.
        days: how long backups are kept.
    """

    location: str
    keys: Path
    access: Mapping[str, str]
    days: str = DEFAULT_DAYS

    @property
    def key(self) -> str:
        """The key that both tools encrypt with."""
        return (self.keys / KEY).read_text().strip()

    @property
    def folder(self) -> Path | None:
        """The repository's folder on this machine; None on an S3 server."""
        return None if self.location.startswith("s3://") else Path(self.location)

    def make_key(self) -> str | None:
        """Make the key unless it is there; return a new one, which is shown to the person this once."""
        if not self.keys.parent.exists():
            self.keys.parent.mkdir(parents=True)
            # The stack's user passes through.
            self.keys.parent.chmod(0o755)
        private_files.make_folder(self.keys)
        made = None
        if not (self.keys / KEY).exists():
            made = secrets.token_hex(32)
            private_files.write(self.keys / KEY, f"{made}\n")
        system_user.hand_over(self.keys)
        return made

    def make_folders(self) -> None:
        """Make the folders of a repository on this machine, which are the stack's user's."""
        if not self.folder:
            return
        for part in ("database", "files"):
            (self.folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.hand_over()

    def hand_over(self) -> None:
        """Let the stack's user own what root or an earlier version wrote in a repository of this machine."""
        if self.folder:
            system_user.hand_over(self.folder / "database", self.folder / "files")

    def configure(self, data: Path, sockets: Path, port: int) -> None:
        """Write pgBackRest's configuration for a data directory, which only the stack's user reads."""
        private_files.write(self.keys / CONFIGURATION, self.configuration(data, sockets, port))

    def configuration(self, data: Path, sockets: Path, port: int) -> str:
        """Return pgBackRest's configuration for a data directory."""
        lines = {
            **self._place(),
            "repo1-cipher-type": "aes-256-cbc",
            "repo1-cipher-pass": self.key,
            "repo1-retention-full-type": "time",
            "repo1-retention-full": self.days,
            "repo1-bundle": "y",
            "compress-type": "zst",
            "process-max": "2",
            "start-fast": "y",
            # A copy of the log lies with the other logs of the stack.
            "log-level-file": "off",
            "log-level-console": "warn",
            "lock-path": str(sockets),
            "spool-path": str(sockets),
        }
        stanza = {
            "pg1-path": str(data),
            "pg1-port": str(port),
            "pg1-socket-path": str(sockets),
            "pg1-user": "supabase_admin",
        }
        text = "[global]\n" + "".join(f"{name}={value}\n" for name, value in lines.items())
        return text + f"\n[{STANZA}]\n" + "".join(f"{name}={value}\n" for name, value in stanza.items())

    def _place(self) -> dict[str, str]:
        if self.folder:
            return {"repo1-path": str(self.folder / "database")}
        bucket, prefix = self._bucket()
        endpoint = urlsplit(self.access["BACKUP_S3_ENDPOINT"])
        place = {
            "repo1-type": "s3",
            "repo1-path": f"/{prefix}database",
            "repo1-s3-bucket": bucket,
            "repo1-s3-endpoint": endpoint.hostname or "",
            "repo1-s3-region": self.access.get("BACKUP_S3_REGION", "us-east-1"),
            "repo1-s3-key": self.access["BACKUP_S3_KEY"],
            "repo1-s3-key-secret": self.access["BACKUP_S3_SECRET"],
            "repo1-s3-uri-style": "path",
            "repo1-storage-port": str(endpoint.port or 443),
        }
        if authority := self.access.get("BACKUP_S3_CA"):
            place["repo1-storage-ca-file"] = authority
        return place

    def _bucket(self) -> tuple[str, str]:
        bucket, _, prefix = self.location.removeprefix("s3://").strip("/").partition("/")
        return bucket, f"{prefix}/" if prefix else ""

    def pgbackrest(self, *arguments: str) -> list[str | Path]:
        """Return the command, for the stack's user."""
        options = (f"--config={self.keys / CONFIGURATION}", f"--stanza={STANZA}")
        return system_user.as_user(["pgbackrest", *options, *arguments], system_user.name())

    def archive_command(self) -> str:
        """Return what PostgreSQL runs for each finished segment of its WAL."""
        return f'pgbackrest "--config={self.keys / CONFIGURATION}" --stanza={STANZA} archive-push %p'

    def restore_command(self) -> str:
        """Return what PostgreSQL runs for a segment of WAL that it wants back.

        PostgreSQL takes a failure for the end of the archive and goes on without what came later. Only
        pgBackRest's 1 says that; on anything else, as a full disk or a network that is away, recovery ends.
        """
        get = f'pgbackrest "--config={self.keys / CONFIGURATION}" --stanza={STANZA} archive-get %f "%p"'
        return f"{get}; case $? in 0) exit 0;; 1) exit 1;; *) exit 255;; esac"

    def restic(self, *arguments: str) -> list[str | Path]:
        """Return the command, for the stack's user."""
        command: list[str | Path] = ["restic", "--no-cache", "--quiet"]
        if authority := self.access.get("BACKUP_S3_CA"):
            command += ["--cacert", authority]
        return system_user.as_user([*command, *arguments], system_user.name())

    def restic_environment(self) -> dict[str, str]:
        """Return where restic finds the repository and the key."""
        place = f"{self.folder}/files"
        access = {}
        if not self.folder:
            bucket, prefix = self._bucket()
            place = f"s3:{self.access['BACKUP_S3_ENDPOINT'].rstrip('/')}/{bucket}/{prefix}files"
            access = {
                "AWS_ACCESS_KEY_ID": self.access["BACKUP_S3_KEY"],
                "AWS_SECRET_ACCESS_KEY": self.access["BACKUP_S3_SECRET"],
                "AWS_DEFAULT_REGION": self.access.get("BACKUP_S3_REGION", "us-east-1"),
            }
        return {"RESTIC_REPOSITORY": place, "RESTIC_PASSWORD_FILE": str(self.keys / KEY), **access}


def programs(settings: Settings) -> dict[str, str]:
    """Return the tools of a stack's backups, by package: a database elsewhere is backed up there."""
    return {"restic": PROGRAMS["restic"]} if settings.database_elsewhere else PROGRAMS


def default_keys(identity: str) -> Path:
    """Return the folder for the key of a stack: the system's for root, else the user's own."""
    if os.geteuid() == 0:
        return Path("/etc/harborline") / identity
    return Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "harborline" / identity


def of(settings: Settings) -> Repository | None:
    """Return the repository of a stack; None while its backups are off."""
    location = settings.options.get("BACKUP_REPOSITORY")
    if not location:
        return None
    keys = Path(settings.options.get("BACKUP_KEYS", default_keys(settings.identity)))
    access = {name: settings.options[name] for name in BACKUP_ACCESS if name in settings.options}
    require_valid(location, keys, access, settings.state)
    return Repository(location, keys, access, settings.options.get("BACKUP_DAYS", DEFAULT_DAYS))


def require_valid(location: str, keys: Path, access: Mapping[str, str], state: Path) -> None:
    """Raise in words where a repository cannot be used."""
    if location.startswith("s3://"):
        missing = [
            name for name in ("BACKUP_S3_ENDPOINT", "BACKUP_S3_KEY", "BACKUP_S3_SECRET") if name not in access
        ]
        if missing:
            raise Stop(f"BACKUP_REPOSITORY is on an S3 server: name {', '.join(missing)} too.")
        if not access["BACKUP_S3_ENDPOINT"].startswith("https://"):
            raise Stop("BACKUP_S3_ENDPOINT is an https address, such as https://s3.example.org.")
    elif not location.startswith("/"):
        raise Stop("BACKUP_REPOSITORY is a whole path, /folder, or s3://bucket/prefix.")
    elif Path(location).resolve().is_relative_to(state):
        raise Stop(f"BACKUP_REPOSITORY lies in {state}, which it is to save. Name a folder elsewhere.")
    if keys.resolve().is_relative_to(state):
        raise Stop(
            f"BACKUP_KEYS lies in {state}: whoever took it would have key and data. Name another folder."
        )
