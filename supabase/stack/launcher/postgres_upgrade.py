"""Takes a stack's database to a newer major version of PostgreSQL, by dump and restore, and back.

The new cluster is made next to the old one and proved equal before the settings name it, in one step. The old
one is only read and stays as it was. `make up` then gives its backups the new cluster.
"""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from launcher import options, private_files
from launcher.backups import repository
from launcher.database import cluster
from launcher.database.cluster_copy import LAST_WITH_POWER_OVER_ALL, ClusterCopy
from launcher.host import environment, system_user, tools
from launcher.keys import Keys
from launcher.services.supervisor import Supervisor
from launcher.settings import INSIDE, Settings, is_free
from launcher.terminal import Stop, step

# So long a start is tried again: a server that was killed is in the way until its last process has ended.
STARTING_SECONDS = 30


@dataclass(frozen=True)
class Former:
    """The cluster that an upgrade left, as the settings named it.

    Attributes:
        pg_bin: the option PG_BIN of then; empty when there was none.
        version: its major version.
    """

    cluster: str
    system_identifier: str
    pg_bin: str
    version: int


@dataclass(frozen=True)
class Upgraded:
    """A finished upgrade: the folder that was left, the versions, and the comparison."""

    left: Path
    old: int
    new: int
    tables: int
    rows: int
    without: str


def upgrade(settings: Settings, new: Path) -> Upgraded:
    """Make a cluster of the PostgreSQL in folder `new` of the stack's, and let the settings name it.

    Run again after an interruption it begins anew.
    """
    old = _require_possible(settings, new)
    versions = cluster.version(settings.data_directory), options.major_version(new)
    target = settings.data_directory.with_name(f"{_base(settings)}-{versions[1]}")
    if target.exists():
        raise Stop(
            f"{target} is there: an earlier upgrade left it. Remove it and run the command again:\n"
            f"  rm -r '{target}'"
        )
    named = target if Path(settings.cluster).is_absolute() else Path(target.name)
    draft = replace(settings, cluster=f"{named}.draft", options={**settings.options, "PG_BIN": str(new)})
    dump = target.with_suffix(".dump")
    for left in (draft.data_directory, dump):
        shutil.rmtree(left, ignore_errors=True)
    _require_room(settings)
    copy = ClusterCopy(settings, new, dump)
    try:
        with step(f"A cluster of PostgreSQL {versions[1]}"):
            cluster.create(draft, new, Keys(settings).values["PASSWORD_supabase_admin"], settings.log)
            _require_backups(draft, versions[1])
        with _serving(settings, old, default_transaction_read_only="on"):
            copy.read()
        with _serving(draft, new, archive_mode="off"):
            copy.write(grant_administration=versions[0] <= LAST_WITH_POWER_OVER_ALL < versions[1])
        draft.data_directory.rename(target)
    except BaseException:
        shutil.rmtree(draft.data_directory, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(dump, ignore_errors=True)
    left, pg_bin = settings.data_directory, settings.options.get("PG_BIN", "")
    former = Former(settings.cluster, settings.system_identifier, pg_bin, versions[0])
    private_files.write(_record(settings), json.dumps(asdict(former)))
    _switch(settings, str(named), str(new))
    return Upgraded(left, *versions, *copy.counts(), copy.without)


def go_back(settings: Settings) -> Path:
    """Let the settings name the cluster that the last upgrade left; return the folder of the one left now."""
    _require_stopped(settings)
    if not _record(settings).exists():
        raise Stop("No upgrade of PostgreSQL was made here, or the way back was taken already.")
    former, left = Former(**json.loads(_record(settings).read_text())), settings.data_directory
    folder = settings.state / former.cluster
    if not (folder / "PG_VERSION").exists() or cluster.identifier(folder) != former.system_identifier:
        raise Stop(f"The cluster of PostgreSQL {former.version} is no longer in {folder}.")
    _switch(settings, former.cluster, former.pg_bin)
    _record(settings).unlink()
    return left


def _record(settings: Settings) -> Path:
    return settings.state / "former-cluster.json"


def _base(settings: Settings) -> str:
    return settings.identity if Path(settings.cluster).is_absolute() else INSIDE


def _switch(settings: Settings, named: str, pg_bin: str) -> None:
    settings.cluster = named
    settings.system_identifier = cluster.identifier(settings.data_directory)
    settings.options.pop("PG_BIN", None)
    if pg_bin:
        settings.options["PG_BIN"] = pg_bin
    settings.save()
    # The superuser's preparations are repeated in this cluster.
    (settings.state / "run" / "migrated").unlink(missing_ok=True)


def _require_stopped(settings: Settings) -> None:
    cluster.require_own(settings, Keys(settings).secrets)
    if Supervisor(settings).is_running():
        raise Stop("The stack runs. Stop it first: make down")
    if not is_free(settings.ports["postgres"]):
        raise Stop(
            f"Port {settings.ports['postgres']}, which its database uses, is taken by another program."
        )


def _require_possible(settings: Settings, new: Path) -> Path:
    """Return the programs of the old version; raise unless the new ones are newer and all there."""
    if settings.database_elsewhere:
        raise Stop("The database is elsewhere: whoever runs it upgrades it.")
    _require_stopped(settings)
    # In an earlier version PostgreSQL ran as another user.
    cluster.place(settings)
    made_by, found = cluster.version(settings.data_directory), options.major_version(new)
    if found == made_by:
        raise Stop(f"The database in {settings.data_directory} is of PostgreSQL {made_by} already.")
    if found < made_by:
        raise Stop(f"PostgreSQL {found} in {new} is older than {made_by}, which made the database.")
    programs = ("initdb", "postgres", "pg_dump", "pg_dumpall", "pg_restore", "pg_isready", "psql", "vacuumdb")
    if missing := [name for name in programs if not (new / name).exists()]:
        raise Stop(f"{new} has no {', '.join(missing)}. Install all of PostgreSQL {found}.")
    old = tools.find_postgres(tools.EXTENSIONS, settings)
    if not old:
        raise Stop(f"PostgreSQL {made_by}, which made the database, was not found. It is needed to read it.")
    return old


def _require_room(settings: Settings) -> None:
    """Raise unless another cluster and a dump have room next to the cluster."""
    folder = settings.data_directory
    listed = subprocess.run(["du", "--summarize", "--bytes", folder], capture_output=True, check=True).stdout
    needed, free = int(listed.split()[0]) * 3 // 2, shutil.disk_usage(folder.parent).free
    if needed > free:
        raise Stop(
            f"The upgrade may need {needed / 2**20:.0f} MB in {folder.parent};"
            f" {free / 2**20:.0f} MB are free.\n  Make room and run the command again."
        )


def _require_backups(draft: Settings, version: int) -> None:
    """Raise when pgBackRest does not know this version, by a repository that is thrown away."""
    if not repository.of(draft):
        return
    with tempfile.TemporaryDirectory() as folder:
        system_user.hand_over(Path(folder))
        given = {"pg1-path": draft.data_directory, "repo1-path": folder, "lock-path": folder}
        command = [
            "pgbackrest",
            "--config=/dev/null",
            "--stanza=trial",
            "--log-level-file=off",
            "--no-online",
        ]
        command += [f"--{name}={value}" for name, value in given.items()]
        done = subprocess.run(
            system_user.as_user([*command, "stanza-create"], system_user.name()),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        known = subprocess.run(["pgbackrest", "version"], capture_output=True, text=True, check=True).stdout
        raise Stop(
            f"{known.strip()}, which makes the backups, does not take PostgreSQL {version}:\n"
            f"    {(done.stdout + done.stderr).strip()[:500]}\n"
            "  Install a newer pgBackRest (apt.postgresql.org has it), or switch the backups off first:\n"
            "  BACKUP_REPOSITORY= make up"
        )


@contextmanager
def _serving(settings: Settings, postgres: Path, **given: str) -> Iterator[None]:
    """Run a cluster's server for this alone, at the stack's port; it ends with this process."""
    values = {"port": str(settings.ports["postgres"]), "unix_socket_directories": "", **given}
    command: list[str | Path] = ["setpriv", "--pdeathsig", "INT", "--", postgres / "postgres"]
    command += ["-D", settings.data_directory]
    command += [part for name, value in values.items() for part in ("-c", f"{name}={value}")]
    command = system_user.as_user(command, system_user.name())
    log = settings.state / "logs" / "postgres.log"
    server = _start(command, log)
    deadline = time.monotonic() + STARTING_SECONDS
    try:
        while not _responds(settings, postgres) or server.poll() is not None:
            if server.poll() is not None:
                if time.monotonic() > deadline:
                    raise Stop(f"PostgreSQL did not start. See {log}")
                server = _start(command, log)
            time.sleep(0.5)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(120)


def _start(command: list[str | Path], log: Path) -> subprocess.Popen[bytes]:
    with private_files.open_log(log) as file:
        return subprocess.Popen(command, cwd="/", stdout=file, stderr=file, env=environment.base())


def _responds(settings: Settings, postgres: Path) -> bool:
    place = ("-h", "127.0.0.1", "-p", str(settings.ports["postgres"]))
    return subprocess.run([postgres / "pg_isready", "-q", *place], check=False).returncode == 0
