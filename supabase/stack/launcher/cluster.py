"""The stack's own PostgreSQL cluster: made once, never one that was there before, never a second one."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from string import Template

from launcher.settings import FILES, INSIDE, RESTORE, Settings
from launcher.terminal import Stop, run

ELSEWHERE = Path("/var/lib/harborline")


def system_user() -> str | None:
    """Return the unprivileged user that PostgreSQL runs as when the launcher is root, else None."""
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name for entry in pwd.getpwall()}
    if name := next((name for name in ("postgres", "harborline") if name in users), None):
        return name
    options = ("--system", "--no-create-home", "--shell", "/usr/sbin/nologin")
    subprocess.run(["useradd", *options, "harborline"], check=True)
    return "harborline"


def as_user(command: list[str | Path], user: str | None) -> list[str | Path]:
    """Return the command, run by another user when there is one."""
    switch: list[str | Path] = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"]
    return [*switch, *command] if user else command


def place(settings: Settings) -> Path:
    """Return the data directory: in the state folder unless PostgreSQL's user cannot get there."""
    if not settings.cluster:
        user, settings.cluster = system_user(), INSIDE
        if user and not _can_enter(settings.state.parent, user):
            ELSEWHERE.mkdir(parents=True, exist_ok=True)
            ELSEWHERE.chmod(0o711)
            settings.cluster = str(ELSEWHERE / settings.identity)
        settings.save()
    _close(settings)
    return settings.data_directory


def _close(settings: Settings) -> None:
    """Let no other user into the state folder but PostgreSQL's, and that one only through to its data."""
    if settings.cluster == INSIDE and (user := system_user()):
        if not _can_enter(settings.state.parent, user):
            raise Stop(
                f"PostgreSQL's user, {user}, cannot enter {settings.state.parent}. Move the stack back."
            )
        shutil.chown(settings.state, group=pwd.getpwnam(user).pw_gid)
        settings.state.chmod(0o710)
    else:
        settings.state.chmod(0o700)


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
    # The first field of the file, of every version of PostgreSQL.
    identifier = str(int.from_bytes(control.read_bytes()[:8], sys.byteorder))
    if settings.system_identifier not in ("", identifier):
        raise Stop(f"{found} and what lies there now is another one.\n  {way_out}")
    if not keys.exists():
        raise Stop(f"{found} and the keys that open it are not in {keys}.\n  {way_out}")
    settings.system_identifier = identifier
    settings.save()


def _can_enter(folder: Path, user: str) -> bool:
    # From outside, because another user's rights may also come from groups and access lists.
    command = as_user(["test", "-x", folder], user)
    return subprocess.run(command, check=False, cwd="/", stderr=subprocess.DEVNULL).returncode == 0


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
    sockets = _make_sockets(settings) if archive_command else ""
    # PostgreSQL's own pages, and what it may count on in all, of a machine that it shares.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    configuration = Template((FILES / "postgresql.conf").read_text()).substitute(
        port=settings.ports["postgres"],
        connections=connections(settings.profile),
        buffers=min(max(memory // 4, 128), 8192),
        cache=max(memory // 2, 512),
        sync=crash_sync_method(postgres),
        sockets=sockets,
        archive_mode="on" if archive_command else "off",
        archive_command=archive_command.replace("'", "''"),
    )
    rules = (FILES / "pg_hba.conf").read_text()
    return any([_write(folder / "harborline.conf", configuration), _write(folder / "pg_hba.conf", rules)])


def _make_sockets(settings: Settings) -> Path:
    folder, user = settings.database_sockets, system_user()
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = pwd.getpwnam(user).pw_uid if user else os.geteuid()
    if folder.is_symlink() or folder.stat().st_uid not in (owner, os.geteuid()):
        raise Stop(f"{folder} belongs to another user. Remove it and run the command again.")
    if user:
        shutil.chown(folder, user)
    return folder


def connections(profile: str) -> int:
    """Return how many connections the server takes: 37 are the services', and tests have their own."""
    return 60 if profile == "product" else 120


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


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    path.write_text(text)
    path.chmod(0o644)
    return True


def _initdb(folder: Path, postgres: Path, password: str, log: Path) -> None:
    """Make the cluster under another name first: a half-made one is never taken for a finished one."""
    draft, secret, user = folder.with_suffix(".new"), folder.with_suffix(".password"), system_user()
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    secret.touch(mode=0o600)
    secret.write_text(f"{password}\n")
    if user:
        shutil.chown(draft, user)
        shutil.chown(secret, user)
    access = ("--username=supabase_admin", f"--pwfile={secret}", "--auth=scram-sha-256")
    storage = ("--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8")
    try:
        run(as_user([postgres / "initdb", f"--pgdata={draft}", *access, *storage], user), log, cwd=Path("/"))
    finally:
        secret.unlink()
    with (draft / "postgresql.conf").open("a") as file:
        file.write("include 'harborline.conf'\n")
    draft.rename(folder)


def _require_version(folder: Path, postgres: Path) -> None:
    made_by = (folder / "PG_VERSION").read_text().strip()
    asked = subprocess.run([postgres / "postgres", "--version"], capture_output=True, text=True, check=True)
    if f"PostgreSQL) {made_by}." not in asked.stdout:
        raise Stop(
            f"The cluster in {folder} was made by PostgreSQL {made_by}; found is {asked.stdout.strip()}.\n"
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
