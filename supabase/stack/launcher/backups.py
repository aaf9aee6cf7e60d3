"""Backups: one encrypted file with the cluster, the receipts, the keys and the settings of a stack.

The copy of the cluster is physical and consistent (pg_basebackup with the WAL that belongs to it). The
receipts are copied after it: their bytes are written before their rows and never change, so every row has
its bytes.
"""

import shutil
import tarfile
import tempfile
import time
from pathlib import Path

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
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.sealed"
    with tempfile.TemporaryDirectory(dir=folder) as name:
        draft = Path(name)
        with step("Database"):
            _copy_cluster(settings, postgres, draft / "cluster", log)
        with step("Keys and settings" if store(settings) else "Receipts, keys and settings"):
            with tarfile.open(draft / "all.tar", "w") as tar:
                tar.add(draft / "cluster", "cluster")
                for part in ("objects", "keys", "settings.json"):
                    if (state / part).exists():
                        tar.add(state / part, part, filter=_without_backup_key)
            shutil.rmtree(draft / "cluster")
        with step("Encrypting"):
            # Elsewhere first: every file in the folder of backups is whole.
            encrypt(state / "keys" / KEY_NAME, draft / "all.tar", draft / "encrypted")
            (draft / "encrypted").replace(target)
    return target


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
    state.mkdir(parents=True, exist_ok=True)
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


def _without_backup_key(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave the key out: a stolen backup must not bring its own."""
    return None if Path(entry.name).name == KEY_NAME else entry


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
