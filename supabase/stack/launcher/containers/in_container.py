"""The commands of the containers `backups` and `restore`, on the paths of their image."""

import argparse
import os
import shutil
from pathlib import Path

from launcher import settings as configuration
from launcher.backups import restore as restoring
from launcher.backups.schedule import Backups, keep
from launcher.database import cluster
from launcher.terminal import Stop, ending_in_words


def keep_backups() -> int:
    """Make backups whenever they are due, until stopped."""
    keep(_backups())


def backup() -> int:
    """Back up the running stack now."""
    _backups().make()
    return 0


def restore_drill() -> int:
    """Prove the backups: restore the newest, run the ledger checks, remove it."""
    result = restoring.drill(_backups(), _postgres())
    print(result)
    return 1 if result.violations else 0


def restore() -> int:
    """Restore the repository FROM into the volumes, and keys and settings into the folder RESTORED."""
    state, target = configuration.state_folder(), Path(os.environ["RESTORED"])
    to = restoring.moment(os.environ["TO"]) if os.environ.get("TO") else None
    result = restoring.restore(state, restoring.source(os.environ, state), _postgres(), to)
    # The folder around it is closed to others; who takes them is another user than this container's.
    shutil.copytree(state / "keys", target / "keys", copy_function=shutil.copyfile, dirs_exist_ok=True)
    shutil.copyfile(state / "settings.json", target / "settings.json")
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    print(result)
    return 1 if result.violations else 0


def _backups() -> Backups:
    settings = configuration.load()
    # The image made the cluster.
    settings.system_identifier = cluster.identifier(settings.data_directory)
    # Failures are in the container's log, which is rotated; a file would fill the memory that it lies in.
    return Backups(settings, logged=False)


def _postgres() -> Path:
    server = shutil.which("postgres")
    if not server:
        raise Stop("No PostgreSQL is in PATH.")
    return Path(server).parent


COMMANDS = (keep_backups, backup, restore_drill, restore)


def main() -> None:
    """Run the command that the argument names."""
    named = {function.__name__.replace("_", "-"): function for function in COMMANDS}
    parser = argparse.ArgumentParser(prog="python3 -m launcher.containers.in_container", description=__doc__)
    parser.add_argument("command", choices=named)
    ending_in_words(named[parser.parse_args().command])


if __name__ == "__main__":
    main()
