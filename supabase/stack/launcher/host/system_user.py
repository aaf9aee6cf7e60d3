"""The system user that everything of a stack runs as when root starts it, and what that user must reach."""

import os
import pwd
import subprocess
from collections.abc import Iterable
from pathlib import Path

from launcher.terminal import Stop

NAME = "harborline"
# The user that PostgreSQL ran as in earlier versions.
FORMER = "postgres"
# To listen at the ports 80 and 443, which the gateway needs of root's rights.
LOW_PORTS = "net_bind_service"
BETTER_PLACE = "/opt/harborline"


def name() -> str | None:
    """Return the user, made if it is missing, when the launcher is root; None: all runs as the caller."""
    if os.geteuid() != 0:
        return None
    if NAME not in _users():
        options = ("--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin")
        subprocess.run(["useradd", *options, NAME], check=True)
    return NAME


def _users() -> set[str]:
    return {entry.pw_name for entry in pwd.getpwall()}


def as_user(command: list[str | Path], user: str | None, *rights: str) -> list[str | Path]:
    """Return the command, run by another user when there is one, with these of root's rights alone."""
    if not user:
        return command
    switch = [f"--reuid={user}", f"--regid={user}", "--init-groups", "--no-new-privs"]
    if rights:
        listed = ",".join(f"+{right}" for right in rights)
        switch += [f"--inh-caps=-all,{listed}", f"--ambient-caps=-all,{listed}"]
    return ["setpriv", *switch, "--", *command]


def require_access(paths: Iterable[Path]) -> None:
    """Raise unless the user can read all of them; where it cannot, nothing is run as root instead."""
    user = name()
    if not user:
        return
    script = 'for path; do test -r "$path" -a "(" -f "$path" -o -x "$path" ")" || echo "$path"; done'
    # From outside, because another user's rights may also come from groups and access lists.
    command = as_user(["sh", "-c", script, "sh", *paths], user)
    done = subprocess.run(command, check=True, cwd="/", capture_output=True, text=True)
    if not done.stdout:
        return
    closed = Path(done.stdout.splitlines()[0]).resolve()
    folders = [*reversed(closed.parents), *([closed] if closed.is_dir() else [])]
    around = next((folder for folder in folders if not can_enter(folder, user)), None)
    if around:
        raise Stop(
            f"What root starts runs as the user {user}, who may not enter {around}.\n"
            f"  Use a place that every user may enter, such as {BETTER_PLACE}."
        )
    raise Stop(
        f"What root starts runs as the user {user}, who may not read {closed}.\n"
        f"  Type this, then run the command again: chmod --recursive go+rX {closed}"
    )


def can_enter(folder: Path, user: str) -> bool:
    """Return whether the user may pass through a folder."""
    command = as_user(["test", "-x", folder], user)
    return subprocess.run(command, check=False, cwd="/", stderr=subprocess.DEVNULL).returncode == 0


def hand_over(*paths: Path) -> None:
    """Let the user own what root, or the user of an earlier version, made in these folders."""
    user, there = name(), [path for path in paths if path.exists()]
    if not user or not there:
        return
    for former in ("root", *({FORMER} & _users())):
        # Its own walk follows no link, whoever changes the folder meanwhile.
        whose = (f"--from={former}", "--no-dereference", "--recursive", f"{user}:{user}")
        subprocess.run(["chown", *whose, "--", *there], check=True)
