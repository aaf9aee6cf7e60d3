"""Starting and stopping one stack."""

import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from launcher import settings as configuration
from launcher.backups import repository, schedule
from launcher.backups.repository import KEY
from launcher.backups.schedule import Backups
from launcher.database import cluster, elsewhere
from launcher.database.schema import Database
from launcher.host import system_user, tools
from launcher.keys import Keys
from launcher.services import health, monitoring, processes, rolling, summary
from launcher.services.supervisor import Supervisor
from launcher.settings import ROOT, Settings
from launcher.terminal import Stop, step

# HTTPS, and HTTP for redirects to it.
DOMAIN_PORTS = (80, 443)


def bring_up(
    settings: Settings,
    postgres: Path | None,
    log: Path,
    after_migrations: Callable[[Database], None] | None = None,
) -> None:
    """Make what is missing and start what does not run; run again it changes nothing.

    `after_migrations` may still use the database while no service is connected and the demo is not there.
    """
    built = tools.build_web(log)
    database = bring_up_database(settings, postgres, log)
    # Not before: where the database stays as it was, its pages do.
    if built:
        tools.serve_web(built)
    tools.write_site_pages(settings.origin, log)
    if after_migrations:
        after_migrations(database)
    if monitoring.is_on(settings):
        monitoring.prepare(database, log)
    start_services(settings, database.keys, postgres)
    summary.write_env(settings, database.keys)
    if settings.demo and not (settings.state / "keys" / "demo.env").exists():
        database.seed_demo()
        summary.write_env(settings, database.keys)


def start_services(settings: Settings, keys: Keys, postgres: Path | None) -> None:
    """Start what does not run and replace what has changed; return when everything is healthy."""
    with step("Services"):
        require_access(settings)
        listed, supervisor = processes.describe(settings, keys), Supervisor(settings)
        supervisor.configure(listed, postgres)
        rolling.update(settings, keys, supervisor, listed)
        health.wait(settings, keys)


def bring_up_database(
    settings: Settings, postgres: Path | None, log: Path, kind: type[Database] = Database
) -> Database:
    """Start PostgreSQL alone, with the product's database; no service runs yet.

    Without the programs of one it is elsewhere: what is there is looked at, and its migrations are run.
    """
    keys, supervisor = Keys(settings), Supervisor(settings)
    if supervisor.is_running() and not supervisor.is_of_its_user():
        with step("Stopping what ran as another user"):
            supervisor.stop()
    if not supervisor.is_running():
        require_ports(settings)
    database = kind(settings, keys, log)
    if not postgres:
        _use_database_elsewhere(database, supervisor)
        return database
    cluster.require_own(settings, keys.secrets)
    if supervisor.is_running():
        # Before anything of what runs is touched; the database may have been left stopped.
        with suppress(psycopg.OperationalError):
            database.require_history()
    first, store = not settings.cluster, repository.of(settings)
    schedule.switch_on(settings)
    with step("Keys and cluster") if first else nullcontext():
        keys.make()
        archive_command = store.archive_command() if store else ""
        password = keys.values["PASSWORD_supabase_admin"]
        reconfigured = cluster.create(settings, postgres, password, log, archive_command)
    cluster.require_own(settings, keys.secrets)
    supervisor.configure(processes.describe(settings, keys), postgres)
    with step("PostgreSQL"):
        started = supervisor.start()
        if reconfigured and not started:
            supervisor.restart("postgres")
        cluster.wait(settings, postgres)
    try:
        if store:
            _prepare_with_a_way_back(database)
        else:
            database.prepare()
    except Stop:
        if started:
            supervisor.stop()
        raise
    return database


def _use_database_elsewhere(database: Database, supervisor: Supervisor) -> None:
    settings, keys = database.settings, database.keys
    keys.make()
    try:
        with step("Database server"):
            settings.system_identifier = elsewhere.require_suitable(settings, keys)
    except Stop:
        # A stack that has a database keeps it.
        settings.restore_database_options()
        raise
    finally:
        settings.save()
    schedule.switch_on(settings)
    supervisor.configure(processes.describe(settings, keys), None)
    started = supervisor.start()
    try:
        if repository.of(settings):
            _prepare_repository(Backups(settings), is_needed=False)
        if database.is_behind():
            print("  The way back is a backup of the database, which whoever runs it has made.")
            _prepare_and_prove(database, database.violations())
        else:
            database.prepare()
    except Stop:
        if started:
            supervisor.stop()
        raise


def _prepare_and_prove(database: Database, before: set[str]) -> None:
    """Change what an earlier version made, and raise when the ledger checks then find more than before."""
    database.prepare()
    with step("Ledger checks after the upgrade"):
        if broken := sorted(database.violations() - before):
            raise Stop(f"The upgrade broke the ledger: {', '.join(broken[:5])}.")


def _prepare_with_a_way_back(database: Database) -> None:
    """Back up what an earlier version made before it is changed, and prove the ledger afterwards."""
    settings = database.settings
    backups, is_behind = Backups(settings), database.is_behind()
    # Nothing is changed without a way back.
    _prepare_repository(backups, is_needed=is_behind)
    if not is_behind:
        database.prepare()
        return
    with step("Ledger checks before the upgrade"):
        before = database.violations()
    backups.make()
    way_back = _way_back(backups)
    try:
        _prepare_and_prove(database, before)
    except Stop as failure:
        raise Stop(f"{failure}\n  No service was started or replaced. {way_back}") from failure
    finally:
        with suppress(psycopg.Error):
            database.archive()
    print(f"  {way_back}")


def _prepare_repository(backups: Backups, *, is_needed: bool) -> None:
    try:
        with step("Repository of the backups"):
            backups.prepare()
    except Stop as failure:
        # Members are served without it; an alarm says so.
        if is_needed:
            raise
        print(f"  The stack starts without its backups: {failure}")


def _way_back(backups: Backups) -> str:
    """Return how to restore what is there now, as a sentence with a command to type.

    Called after a backup, whose end lies in an earlier second: so pgBackRest finds it by the time.
    """
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    time.sleep((moment - datetime.now(UTC)).total_seconds())
    repository = backups.repository
    place = {"FROM": repository.location, "KEY": str(repository.keys / KEY), "STATE": ".stack-new"}
    words = [*(f"{name}={shlex.quote(value)}" for name, value in place.items()), f"TO='{moment:%F %T}'"]
    access = "" if repository.folder else ", and the BACKUP_S3_* of this stack"
    return f"The way back, with the former version's files{access}:\n    make restore {' '.join(words)}"


def require_access(settings: Settings) -> None:
    """Stop where the user that everything runs as could not read what it needs."""
    if settings.as_root:
        return
    programs = [Path(found) for name in ("node", "sh") if (found := shutil.which(name))]
    code = [ROOT / name for name in ("functions", "supabase", "supabase/gateway/Caddyfile")]
    built = [tools.PYTHON, tools.NODE_TOOLS, tools.WEB / "dist" / "index.html"]
    system_user.require_access(
        path for path in (settings.state.parent, *code, *built, *programs) if path.exists()
    )


def require_ports(settings: Settings) -> None:
    """Stop unless this stack can have its ports."""
    used = list(settings.ports.items())
    if settings.options.get("SITE_DOMAIN"):
        # Instead of a port that may have been chosen before there was a domain.
        used = [entry for entry in used if entry[0] != "gateway"]
        used += [("gateway", port) for port in DOMAIN_PORTS]
    for service, port in used:
        use = f"Port {port}, which this stack uses for its {service},"
        try:
            configuration.take_port(port)
        except PermissionError as error:
            raise Stop(
                f"{use} is for root alone. Run this as root, or open it to all users:\n"
                f"  sudo sysctl --write net.ipv4.ip_unprivileged_port_start={port}"
            ) from error
        except OSError as error:
            file = settings.state / "settings.json"
            change = "" if port in DOMAIN_PORTS else f", or change the number in {file}"
            raise Stop(f"{use} is taken by another program.\n  Stop that one{change}.") from error
