"""The stack's own PostgreSQL cluster: made once, never one that was there before, never a second one."""

import getpass
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from string import Template

from launcher import private_files
from launcher.host import system_user
from launcher.options import major_version
from launcher.settings import FILES, INSIDE, RESTORE, Settings
from launcher.terminal import Stop, run

ELSEWHERE = Path("/var/lib/harborline")
# The most that one instance of each service takes.
SET_CONNECTIONS = 38
INCLUDE = "include 'harborline.conf'\n"


@dataclass(frozen=True)
class Listener:
    """Where a server listens.

    Attributes:
        listen: the addresses, as `listen_addresses`.
        port: the port, and the name of its socket.
        sockets: folder of the socket; empty for none.
        clients: from where passwords are asked for, as in pg_hba.conf; from elsewhere nobody connects.
        sync: see crash_sync_method.
    """

    listen: str
    port: int
    sockets: str
    clients: str
    sync: str


def place(settings: Settings) -> Path:
    """Return the data directory: in the state folder, or a link there to where PostgreSQL's user gets."""
    user = system_user.name()
    if not settings.cluster:
        settings.cluster = INSIDE
        if user and not system_user.can_enter(settings.state.parent, user):
            ELSEWHERE.mkdir(parents=True, exist_ok=True)
            ELSEWHERE.chmod(0o711)
            settings.cluster = str(ELSEWHERE / settings.identity)
        settings.save()
    if Path(settings.cluster).is_absolute():
        _link(settings)
    _close(settings, user)
    return settings.data_directory


def _link(settings: Settings) -> None:
    link = settings.state / INSIDE
    if link.is_symlink() and link.readlink() == settings.data_directory:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(settings.data_directory)


def _close(settings: Settings, user: str | None) -> None:
    """Let no other user into the state folder; where root runs the services, PostgreSQL's goes through."""
    if not (user and settings.as_root):
        settings.state.chmod(0o700)
        system_user.hand_over(settings.state, settings.data_directory)
        return
    is_inside = not Path(settings.cluster).is_absolute()
    if is_inside:
        shutil.chown(settings.state, group=pwd.getpwnam(user).pw_gid)
    settings.state.chmod(0o710 if is_inside else 0o700)
    system_user.hand_over(settings.data_directory)


def require_own(settings: Settings, keys: Path) -> None:
    """Raise unless what the stack once had is there, whole: nothing empty may take its place."""
    folder, control = settings.data_directory, settings.data_directory / "global" / "pg_control"
    # Earlier versions stored no identifier; this file was written once the cluster was there.
    had = settings.system_identifier or (settings.state / "supervisord.conf").exists()
    if not had and not folder.exists():
        return
    found = f"The stack in {settings.state} has its database in {folder},"
    way_out = (
        f"No other is made in its place. Put it back, or restore a backup into a new folder:\n  {RESTORE}"
    )
    if not control.exists():
        raise Stop(f"{found} and it is not there.\n  {way_out}")
    found_identifier = identifier(folder)
    if settings.system_identifier not in ("", found_identifier):
        raise Stop(f"{found} and what lies there now is another one.\n  {way_out}")
    if not keys.exists():
        raise Stop(f"{found} and the keys that open it are not in {keys}.\n  {way_out}")
    settings.system_identifier = found_identifier
    settings.save()


def identifier(folder: Path) -> str:
    """Return which cluster lies in a data directory."""
    # The first field of the file, of every version of PostgreSQL.
    return str(int.from_bytes((folder / "global" / "pg_control").read_bytes()[:8], sys.byteorder))


def version(folder: Path) -> int:
    """Return the major version of the PostgreSQL that made a data directory."""
    return int((folder / "PG_VERSION").read_text())


def create(settings: Settings, postgres: Path, password: str, log: Path, archive_command: str = "") -> bool:
    """Make the cluster unless it is there, and write its configuration; return whether that has changed.

    Args:
        archive_command: what stores a finished segment of the WAL; empty while backups are off.
    """
    folder = place(settings)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(folder.parent).free // 2**20) < 1024:
            raise Stop(
                f"Only {free} MB are free in {folder.parent}; 1 GB is needed. Make room or move STATE."
            )
        _initdb(folder, postgres, password, log)
    _require_version(folder, postgres)
    sockets = str(_make_sockets(settings)) if archive_command else ""
    listener = Listener(
        "127.0.0.1", settings.ports["postgres"], sockets, "127.0.0.1/32", crash_sync_method(postgres)
    )
    included = _include(folder / "postgresql.conf")
    written = [
        _write(folder / "harborline.conf", configuration(settings, listener, archive_command)),
        _write(folder / "pg_hba.conf", rules(listener)),
    ]
    return included or any(written)


def configuration(settings: Settings, listener: Listener, archive_command: str) -> str:
    """Return what PostgreSQL reads, as a process and in a container."""
    memory = memory_megabytes()
    # PostgreSQL's own pages, and what it may count on in all, of a machine that it shares.
    return Template((FILES / "postgresql.conf").read_text()).substitute(
        listen=listener.listen,
        port=listener.port,
        connections=connections(settings),
        buffers=min(max(memory // 4, 128), 8192),
        cache=max(memory // 2, 512),
        sync=listener.sync,
        sockets=listener.sockets,
        archive_mode="on" if archive_command else "off",
        archive_command=archive_command.replace("'", "''"),
    )


def rules(listener: Listener) -> str:
    """Return pg_hba.conf: who may connect from where."""
    return Template((FILES / "pg_hba.conf").read_text()).substitute(clients=listener.clients)


def memory_megabytes() -> int:
    """Return how much memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def _make_sockets(settings: Settings) -> Path:
    folder = settings.database_sockets
    folder.mkdir(mode=0o700, exist_ok=True)
    system_user.hand_over(folder)
    if folder.is_symlink() or folder.owner() != (system_user.name() or getpass.getuser()):
        raise Stop(f"{folder} belongs to another user. Remove it and run the command again.")
    return folder


def connections(settings: Settings) -> int:
    """Return how many connections the server takes: those of the services, some more, and tests' own."""
    return (22 if settings.profile == "product" else 82) + SET_CONNECTIONS * settings.instances


def crash_sync_method(postgres: Path | None = None) -> str:
    """Return `recovery_init_sync_method`: how all files are made durable before recovery from a crash.

    One `syncfs` instead of opening thousands of files: on a busy disk seconds instead of half a minute. Linux
    before 5.8 does not report a write that failed in it.

    Args:
        postgres: whose server is asked whether it has the method; those of containers do.
    """
    system = os.uname()
    version = tuple(int(part) for part in re.findall(r"\d+", system.release)[:2])
    if system.sysname != "Linux" or version < (5, 8):
        return "fsync"
    if not postgres:
        return "syncfs"
    setting = "recovery_init_sync_method"
    ask: list[str | Path] = [postgres / "postgres", "-C", setting, "-D", "/", "-c", "config_file=/dev/null"]
    found = subprocess.run([*ask, "-c", f"{setting}=syncfs"], check=False, capture_output=True, cwd="/")
    return "fsync" if found.returncode else "syncfs"


def _include(path: Path) -> bool:
    """Let the cluster read the stack's configuration; one that containers made is given theirs elsewhere."""
    if INCLUDE in path.read_text():
        return False
    private_files.append(path, INCLUDE)
    return True


def _write(path: Path, text: str) -> bool:
    """Write a file that PostgreSQL's user reads; return whether that changed it."""
    if path.exists() and path.read_text() == text:
        return False
    private_files.write(path, text, 0o644)
    return True


def _initdb(folder: Path, postgres: Path, password: str, log: Path) -> None:
    """Make the cluster under another name first: a half-made one is never taken for a finished one."""
    draft, secret, user = folder.with_suffix(".making"), folder.with_suffix(".password"), system_user.name()
    shutil.rmtree(draft, ignore_errors=True)
    private_files.make_folder(draft)
    private_files.write(secret, f"{password}\n")
    system_user.hand_over(draft, secret)
    access = ("--username=supabase_admin", f"--pwfile={secret}", "--auth=scram-sha-256")
    storage = ("--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8")
    try:
        command: list[str | Path] = [postgres / "initdb", f"--pgdata={draft}", *access, *storage]
        run(system_user.as_user(command, user), log, cwd=Path("/"))
    finally:
        secret.unlink()
    draft.rename(folder)


def _require_version(folder: Path, postgres: Path) -> None:
    made_by, found = version(folder), major_version(postgres)
    if found != made_by:
        raise Stop(
            f"The cluster in {folder} was made by PostgreSQL {made_by}; found is {found}, in {postgres}.\n"
            f"  Name the bin folder of PostgreSQL {made_by} in PG_BIN."
        )


def wait(settings: Settings, postgres: Path, seconds: int = 120) -> None:
    """Wait until the server accepts connections."""
    deadline = time.monotonic() + seconds
    port = str(settings.ports["postgres"])
    while subprocess.run(
        [postgres / "pg_isready", "-q", "-h", "127.0.0.1", "-p", port], check=False
    ).returncode:
        if time.monotonic() > deadline:
            raise Stop(f"PostgreSQL did not start. See {settings.state / 'logs' / 'postgres.log'}")
        time.sleep(0.1)
