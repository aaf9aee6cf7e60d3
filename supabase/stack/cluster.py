"""The stack's own PostgreSQL cluster: made once, never one that was there before."""

import getpass
import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path

from settings import Settings
from terminal import Stop, run

# How much of the budget of 60 connections each service may take is in environment.py.
HOST_RULES = """\
# The password is always asked.
host all all 127.0.0.1/32 scram-sha-256
host replication supabase_admin 127.0.0.1/32 scram-sha-256
"""
CONFIGURATION = """\
# Written by the launcher at every start.
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
max_connections = 60
superuser_reserved_connections = 3
password_encryption = scram-sha-256
# Taken only as far as pages are read: a small installation stays small.
shared_buffers = {buffers}MB
effective_cache_size = {cache}MB
maintenance_work_mem = 64MB
max_wal_size = 1GB
checkpoint_completion_target = 0.9
random_page_cost = 1.1
jit = off
fsync = on
full_page_writes = on
synchronous_commit = on
# Page images are most of the WAL: the default method takes longer over them than all else in an approval.
wal_compression = lz4
# A member's data never reaches the log: not through the parameters of a failed or slow statement, not through
# the detail ("Failing row contains") or the context ("JSON data, line 1") of an error.
log_parameter_max_length_on_error = 0
log_parameter_max_length = 0
log_error_verbosity = terse
log_min_duration_statement = 1s
log_line_prefix = '%m [%p] %q%u@%d/%a '
log_lock_waits = on
track_functions = none
timezone = 'UTC'
log_timezone = 'UTC'
"""


def system_user() -> str | None:
    """The unprivileged user that PostgreSQL runs as when the launcher is root; None when it is not."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "harborline"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    subprocess.run(
        ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "harborline"], check=True
    )
    return "harborline"


def as_user(command: list[str | Path], user: str | None) -> list[str | Path]:
    """The command, run by another user when there is one."""
    return (
        ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--", *command]
        if user
        else command
    )


def place(settings: Settings) -> Path:
    """The data directory: in the state folder, or elsewhere when PostgreSQL's user cannot get there."""
    user = system_user()
    if settings.cluster:
        return Path(settings.cluster)
    folder = settings.state / "cluster"
    if user and not _can_enter(settings.state, user):
        folder = Path("/var/lib/harborline") / settings.identity
    settings.cluster = str(folder)
    settings.save()
    return folder


def _can_enter(folder: Path, user: str) -> bool:
    # From outside, because another user's rights may also come from groups and access lists.
    command = as_user(["test", "-x", folder], user)
    return subprocess.run(command, check=False, cwd="/", stderr=subprocess.DEVNULL).returncode == 0


def create(settings: Settings, postgres: Path, password: str, log: Path) -> bool:
    """Make the cluster unless it is there, and write its configuration; returns whether that has changed.

    Raises:
        Stop: the disk is full, or the programs do not fit the data.
    """
    folder = place(settings)
    if not folder.exists():
        _require_disk(folder.parent)
        _initdb(folder, postgres, password, log)
    _require_version(folder, postgres)
    buffers, cache = _caches(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20)
    configuration = CONFIGURATION.format(port=settings.ports["postgres"], buffers=buffers, cache=cache)
    written = [_write(folder / "harborline.conf", configuration), _write(folder / "pg_hba.conf", HOST_RULES)]
    return any(written)


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    path.write_text(text)
    path.chmod(0o644)
    return True


def _initdb(folder: Path, postgres: Path, password: str, log: Path) -> None:
    """Under another name first, so that a half-made cluster is never taken for a finished one."""
    draft, secret, user = folder.with_suffix(".new"), folder.with_suffix(".password"), system_user()
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    secret.touch(mode=0o600)
    secret.write_text(f"{password}\n")
    if user:
        shutil.chown(draft, user)
        shutil.chown(secret, user)
    command: list[str | Path] = [
        postgres / "initdb",
        f"--pgdata={draft}",
        "--username=supabase_admin",
        f"--pwfile={secret}",
        "--auth=scram-sha-256",
        "--data-checksums",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
    ]
    try:
        run(as_user(command, user), log, cwd=Path("/"))
    finally:
        secret.unlink()
    with (draft / "postgresql.conf").open("a") as file:
        file.write("include 'harborline.conf'\n")
    draft.rename(folder)


def _caches(memory: int) -> tuple[int, int]:
    """Megabytes for PostgreSQL's own pages, and what it may count on in all, of a machine that it shares."""
    return min(max(memory // 4, 128), 8192), max(memory // 2, 512)


def _require_disk(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free // 2**20
    if free < 1024:
        raise Stop(
            f"Only {free} MB are free in {folder}; 1 GB is needed. Make room or set STATE to another disk."
        )


def _require_version(folder: Path, postgres: Path) -> None:
    made_by = (folder / "PG_VERSION").read_text().strip()
    if f"PostgreSQL) {made_by}." not in _version(postgres):
        raise Stop(
            f"The cluster in {folder} was made by PostgreSQL {made_by}; found is {_version(postgres)}.\n"
            f"  Name the bin folder of PostgreSQL {made_by} in PG_BIN."
        )


def _version(postgres: Path) -> str:
    return subprocess.run(
        [postgres / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def command(settings: Settings, postgres: Path) -> str:
    """The server's command line for the supervisor."""
    # Should the supervisor be killed, nothing it started may be left behind with its ports.
    return f"setpriv --pdeathsig INT -- {postgres / 'postgres'} -D {settings.cluster}"


def owner() -> str:
    """The user whom the supervisor runs PostgreSQL as."""
    return system_user() or getpass.getuser()


def wait(settings: Settings, postgres: Path, seconds: int = 120) -> None:
    """Wait until the server accepts connections.

    Raises:
        Stop: it did not in time.
    """
    deadline = time.monotonic() + seconds
    ask: list[str | Path] = [
        postgres / "pg_isready",
        "-q",
        "-h",
        "127.0.0.1",
        "-p",
        str(settings.ports["postgres"]),
    ]
    while subprocess.run(ask, check=False).returncode != 0:
        if time.monotonic() > deadline:
            raise Stop(f"PostgreSQL did not start. See {settings.state / 'logs' / 'postgres.log'}")
        time.sleep(0.1)
