"""Backups: one encrypted file with the cluster, the receipts, the keys and the settings of a stack.

The copy of the cluster is physical and consistent (pg_basebackup with the WAL that belongs to it). The
receipts are copied after it: their bytes are written before their rows and never change, so every row has
its bytes.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, cast

from launcher import cluster, environment
from launcher import settings as configuration
from launcher.encryption import decrypt, encrypt
from launcher.keys import Keys
from launcher.settings import Settings
from launcher.terminal import Stop, run, step

KEY_NAME = "backup.key"


def make(settings: Settings, postgres: Path, log: Path) -> Path:
    """Write a backup while the stack runs, and return the file."""
    folder, state = settings.state / "backups", settings.state
    parts = [part for part in ("objects", "keys", "settings.json") if (state / part).exists()]
    _require_room(settings)
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.sealed"
    with tempfile.TemporaryDirectory(dir=folder) as name:
        draft = Path(name)
        with step("Database"):
            _copy_cluster(settings, postgres, draft / "cluster", log)
        title = "keys and settings" if store(settings) else "receipts, keys and settings"
        with step(f"Encrypting it, {title}"):
            # A stolen backup must not bring its own key.
            command: list[str | Path] = [
                "tar",
                "--create",
                f"--exclude=keys/{KEY_NAME}",
                "--directory",
                draft,
                "cluster",
            ]
            command += ["--directory", state, *parts]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tar:
                # Elsewhere first: every file in the folder of backups is whole.
                encrypt(state / "keys" / KEY_NAME, cast("BinaryIO", tar.stdout), draft / "encrypted")
            if tar.returncode:
                raise Stop("tar failed: a file changed or went while it was read. Run the command again.")
            (draft / "encrypted").replace(target)
    return target


def _require_room(settings: Settings) -> None:
    """Raise when the copy of the cluster and the encrypted file, side by side, would fill the disk."""
    copied = _size(settings.data_directory)
    needed = 2 * copied + (0 if store(settings) else _size(settings.state / "objects"))
    if needed > (free := shutil.disk_usage(settings.state).free):
        raise Stop(
            f"A backup needs {needed / 2**20:.0f} MB in {settings.state} while it is made; "
            f"{free / 2**20:.0f} MB are free.\n  Make room and run the command again."
        )


def _size(folder: Path) -> int:
    """Return the bytes in a folder; files may come and go meanwhile."""
    command: list[str | Path] = ["du", "--summarize", "--bytes", folder]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return int(listed.split()[0]) if listed else 0


def store(settings: Settings) -> str:
    """Return where the receipts lie when it is not the state folder; then no backup has them."""
    return settings.options.get("STORAGE_URL", "")


def restore(state: Path, source: Path, key: Path) -> str:
    """Extract a backup into a new state folder; `make up` then starts it.

    Returns where its receipts lay when that was not the state folder, else nothing.
    """
    if state.exists() and any(state.iterdir()):
        raise Stop(f"{state} is not empty. A backup is only restored into a new folder: STATE=.stack-new")
    if not source.is_file() or not key.is_file():
        raise Stop("Name the file and its key: make restore FROM=file.sealed KEY=backup.key STATE=.stack-new")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    archive = state / "all.tar"
    try:
        with step("Decrypting"):
            decrypt(key, source, archive)
        with step("Extracting"):
            run(["tar", "--extract", "--file", archive, "--directory", state], state / "logs" / "setup.log")
    finally:
        archive.unlink(missing_ok=True)
    settings = configuration.read(state)
    elsewhere = store(settings)
    _finalise(settings)
    shutil.copyfile(key, state / "keys" / KEY_NAME)
    (state / "keys" / KEY_NAME).chmod(0o600)
    return elsewhere


def _copy_cluster(settings: Settings, postgres: Path, target: Path, log: Path) -> None:
    url = f"postgresql://supabase_admin@{settings.address('postgres')}/postgres"
    command: list[str | Path] = [postgres / "pg_basebackup", f"--dbname={url}", f"--pgdata={target}"]
    password = {"PGPASSWORD": Keys(settings).values["PASSWORD_supabase_admin"]}
    run([*command, "--wal-method=stream", "--checkpoint=fast"], log, env={**environment.base(), **password})


def _finalise(settings: Settings) -> None:
    """Put the cluster where PostgreSQL's user can reach it; change the ports only if another has them now.

    The copy is a stack of its own, next to the one it was made of: it has another name, hence another place
    for its cluster, and does not tidy up where the other's receipts lie unless STORAGE_URL says so.
    """
    extracted, settings.cluster = settings.state / "cluster", ""
    settings.identity = configuration.new_identity()
    settings.options.pop("STORAGE_URL", None)
    if not all(configuration.is_free(port) for port in settings.ports.values()):
        settings.ports = {}
    place, user = cluster.place(settings), cluster.system_user()
    if place != extracted:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(extracted, place)
    if user:
        run(["chown", "--recursive", user, place], settings.log)
