"""Files and settings that docker-compose.backups.yml and docker-compose.restore.yml need."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from launcher import private_files
from launcher import settings as configuration
from launcher.backups import restore
from launcher.backups.repository import CONFIGURATION, KEY, Repository, default_keys, of
from launcher.backups.schedule import show_once
from launcher.containers.compose_files import write_env, write_mounted
from launcher.host import tools
from launcher.keys import Keys
from launcher.settings import Settings
from launcher.terminal import Stop

# PostgreSQL's user in its image, as whom the database, the backups and the services run.
USER = 999
# Paths in the image of supabase/stack/database.Dockerfile.
DATA, SOCKETS = Path("/var/lib/postgresql/data"), Path("/var/run/postgresql")
SECRETS = Path("/run/secrets")
AUTHORITY = "authority.pem"
RESTORED = "restored"


def prepare(settings: Settings, keys: Keys, folder: Path) -> tuple[dict[str, str], str]:
    """Write what the containers back up and with which key; return variables and the archive command.

    Both are empty while backups are off.
    """
    repository = of(settings)
    if not repository:
        return {}, ""
    show_once(repository.make_key(), repository.keys)
    _require_owned(repository)
    access = _access(repository)
    inside = replace(repository, keys=SECRETS, access=access)
    with_key = replace(repository, access=access)
    secrets = _write_secrets(
        repository, repository.keys, {CONFIGURATION: with_key.configuration(DATA, SOCKETS, 5432)}
    )
    # The stack as the container `backups` sees it: what a snapshot holds.
    view = replace(
        settings,
        state=folder / "state",
        cluster=str(DATA),
        ports={**settings.ports, "postgres": 5432},
        options={**settings.options, **access, "BACKUP_KEYS": str(SECRETS)},
    )
    write_mounted(view.state / "keys", {path.name: path.read_text() for path in keys.folder.iterdir()})
    view.save()
    (view.state / "settings.json").chmod(0o644)
    internal = "true" if repository.folder else "false"
    variables = {**_place(repository), "BACKUP_SECRETS": str(secrets), "BACKUP_INTERNAL": internal}
    return variables, inside.archive_command()


def digest(settings: Settings, folder: Path) -> str:
    """Return what changes with the key and the configuration of the backups."""
    repository = of(settings)
    return tools.content_digest("", folder / "state", repository.keys / "containers") if repository else ""


def prepare_restore(environment: Mapping[str, str]) -> tuple[Settings, dict[str, str]]:
    """Write what the container `restore` reads; return the settings of the new stack and the variables.

    Args:
        environment: with FROM, KEY, BACKUP_S3_* and TO, as for a restore without containers.
    """
    state = configuration.state_folder(environment)
    named, key = restore.named(environment, state)
    if (state / "keys").exists():
        raise Stop(f"{state} has a stack. A backup is only restored into a new one: STATE=.stack-new")
    if environment.get("TO"):
        restore.moment(environment["TO"])
    # No option is for the copy yet: those of the repository are its original's.
    settings = configuration.load_or_create({"STATE": str(state)})
    _require_owned(named)
    keys, folder = default_keys(settings.identity), settings.state / "containers"
    private_files.make_folder(keys)
    private_files.write(keys / KEY, key.read_text())
    secrets = _write_secrets(replace(named, keys=keys), keys, {})
    (folder / RESTORED).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    # The container's user writes here, and nobody else comes through the folder around it.
    (folder / RESTORED).chmod(0o777)
    given = {"FROM": named.location, "TO": environment.get("TO", ""), **_access(named)}
    write_env(folder / "restore.env", given)
    return settings, {**_place(named), "BACKUP_SECRETS": str(secrets)}


def take_restored(state: Path) -> bool:
    """Take the keys and settings that the container `restore` left; return whether there were any."""
    folder = state / "containers" / RESTORED
    if not (folder / "settings.json").exists():
        return False
    own, copy = configuration.read(state), configuration.read(folder)
    private_files.make_folder(state / "keys")
    for path in (folder / "keys").iterdir():
        private_files.write(state / "keys" / path.name, path.read_text())
    replace(own, demo=copy.demo, profile=copy.profile, options=copy.options | own.options).save()
    shutil.rmtree(folder)
    # The copy has no repository; the key of its original's stays where it came from.
    shutil.rmtree(default_keys(own.identity))
    return True


def _place(repository: Repository) -> dict[str, str]:
    # A folder is at the same place in a container; with an S3 server an empty volume takes it.
    mount = f"{repository.folder}:{repository.folder}" if repository.folder else "repository:/repository"
    return {"BACKUP_FOLDER": mount}


def _access(repository: Repository) -> dict[str, str]:
    """Return BACKUP_S3_* as a container has them."""
    authority = {"BACKUP_S3_CA": str(SECRETS / AUTHORITY)} if "BACKUP_S3_CA" in repository.access else {}
    return {**repository.access, **authority}


def _write_secrets(repository: Repository, keys: Path, texts: Mapping[str, str]) -> Path:
    """Write the key as containers read it, beside itself: never into the state folder."""
    authority = repository.access.get("BACKUP_S3_CA")
    known = Path(authority).read_text() if authority else ""
    folder = keys / "containers"
    write_mounted(folder, {KEY: f"{repository.key}\n", AUTHORITY: known, **texts})
    return folder


def _require_owned(repository: Repository) -> None:
    """Make the repository's folders for the containers' user, or say who can."""
    if not repository.folder:
        return
    parts = [repository.folder / part for part in ("database", "files")]
    if os.geteuid() == 0:
        for part in parts:
            if not part.exists():
                part.mkdir(mode=0o700, parents=True)
                os.chown(part, USER, USER)
    if any(not part.exists() or part.stat().st_uid != USER for part in parts):
        raise Stop(
            f"The containers run as user number {USER}, to whom {repository.folder} must belong:\n"
            f"  sudo install -d -o {USER} -m 700 {' '.join(map(str, parts))}\n"
            f"  and, where a stack of processes wrote it: sudo chown -R {USER} {repository.folder}"
        )
