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

import cluster
import environment
import settings as configuration
from keys import Keys
from settings import ROOT, Settings
from terminal import Stop, run, step
from tools import PYTHON

KEY_NAME = "backup.key"
SEALER = ROOT / "supabase" / "stack" / "seal.py"


def make(settings: Settings, postgres: Path, log: Path) -> Path:
    """Write a backup while the stack runs; returns the file.

    Raises:
        Stop: the database is not there, or the disk is full.
    """
    folder = settings.state / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.sealed"
    with tempfile.TemporaryDirectory(dir=folder) as name:
        draft = Path(name)
        with step("Database"):
            _copy_cluster(settings, postgres, draft / "cluster", log)
        with step("Keys and settings" if store(settings) else "Receipts, keys and settings"):
            archive = draft / "all.tar"
            with tarfile.open(archive, "w") as tar:
                tar.add(draft / "cluster", "cluster")
                for part in ("objects", "keys", "settings.json"):
                    if (settings.state / part).exists():
                        tar.add(settings.state / part, part, filter=_without_backup_key)
            shutil.rmtree(draft / "cluster")
        with step("Sealing"):
            # Beside it first: what stands among the backups is whole.
            run([PYTHON, SEALER, "seal", _key(settings), archive, draft / "sealed"], log)
            (draft / "sealed").replace(target)
    return target


def store(settings: Settings) -> str:
    """Where the receipts lie when it is not the state folder; then no backup has them."""
    return settings.options.get("STORAGE_URL", "")


def restore(state: Path, source: Path, key: Path, log: Path) -> str:
    """Lay a backup into a new state folder; `make up` then starts it.

    Returns where its receipts lay when that was not the state folder, else nothing.

    Raises:
        Stop: the folder is not empty, or the key does not open the file.
    """
    if state.exists() and any(state.iterdir()):
        raise Stop(f"{state} is not empty. A backup is only restored into a new folder: STATE=.stack-new")
    if not source.is_file() or not key.is_file():
        raise Stop("Name the file and its key: make restore FROM=file.sealed KEY=backup.key STATE=.stack-new")
    state.mkdir(parents=True, exist_ok=True)
    archive = state / "all.tar"
    try:
        with step("Opening"):
            run([PYTHON, SEALER, "open", key, source, archive], log, hint="Is it the key of this backup?")
        with step("Laying out"):
            run(["tar", "--extract", "--file", archive, "--directory", state], log)
    finally:
        archive.unlink(missing_ok=True)
    settings = configuration.read(state)
    elsewhere = store(settings)
    _settle(settings)
    shutil.copyfile(key, state / "keys" / KEY_NAME)
    (state / "keys" / KEY_NAME).chmod(0o600)
    return elsewhere


def _key(settings: Settings) -> Path:
    return settings.state / "keys" / KEY_NAME


def _without_backup_key(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """A stolen backup must not bring its own key."""
    return None if Path(entry.name).name == KEY_NAME else entry


def _copy_cluster(settings: Settings, postgres: Path, target: Path, log: Path) -> None:
    url = f"postgresql://supabase_admin@{settings.address('postgres')}/postgres"
    command: list[str | Path] = [postgres / "pg_basebackup", f"--dbname={url}", f"--pgdata={target}"]
    password = {"PGPASSWORD": Keys(settings).values["PASSWORD_supabase_admin"]}
    run([*command, "--wal-method=stream", "--checkpoint=fast"], log, env={**environment.base(), **password})


def _settle(settings: Settings) -> None:
    """Put the cluster where PostgreSQL's user can reach it; keep the ports unless another has them now.

    The copy is a stack of its own, beside the one it was made of: it has another name, hence another place
    for its cluster, and does not tidy up where the other's receipts lie unless it is told to use them.
    """
    laid, settings.cluster = settings.state / "cluster", ""
    settings.identity = configuration.new_identity()
    settings.options.pop("STORAGE_URL", None)
    if not all(configuration.is_free(port) for port in settings.ports.values()):
        settings.ports = {}
    place, user = cluster.place(settings), cluster.system_user()
    if place != laid:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(laid, place)
    if user:
        run(["chown", "--recursive", user, place], settings.state / "logs" / "setup.log")
