"""Starting and stopping one stack."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import cluster
import health
import services
import settings as configuration
import summary
import web
from keys import Keys
from migrate import Database
from settings import Settings
from supervisor import Supervisor
from terminal import Stop, step

# HTTPS, and HTTP for redirects to it.
DOMAIN_PORTS = (80, 443)


def bring_up(
    settings: Settings, postgres: Path, log: Path, after_migrations: Callable[[Database], None] | None = None
) -> None:
    """Make what is missing and start what does not run; run again it changes nothing.

    `after_migrations` may still use the database while no service is connected and the demo is not there.

    Raises:
        Stop: a step failed; run again to go on from there.
    """
    web.build(log)
    keys = Keys(settings)
    database = bring_up_database(settings, postgres, log)
    if after_migrations:
        after_migrations(database)
    with step("Services"):
        Supervisor(settings).run_services(services.describe(settings, keys))
        health.wait(settings, keys)
    summary.write_env(settings, keys)
    if settings.demo and not (settings.state / "keys" / "demo.env").exists():
        database.seed_demo()
        summary.write_env(settings, keys)


def bring_up_database(settings: Settings, postgres: Path, log: Path, *, authored: bool = False) -> Database:
    """Only PostgreSQL, with the product's migrations or schema files; no service runs yet.

    Raises:
        Stop: a step failed; run again to go on from there.
    """
    keys, supervisor = Keys(settings), Supervisor(settings)
    if not supervisor.is_running():
        require_ports(settings)
    reconfigured = _lay_foundation(settings, keys, postgres, log)
    supervisor.configure(services.describe(settings, keys), postgres)
    with step("PostgreSQL"):
        if not supervisor.start() and reconfigured:
            supervisor.restart_postgres()
        cluster.wait(settings, postgres)
    database = Database(settings, keys, postgres, log)
    database.prepare(authored=authored)
    return database


def _lay_foundation(settings: Settings, keys: Keys, postgres: Path, log: Path) -> bool:
    with step("Keys and cluster") if not settings.cluster else nullcontext():
        keys.make(log)
        return cluster.create(settings, postgres, keys.values["PASSWORD_supabase_admin"], log)


def take_down(settings: Settings) -> None:
    """Stop everything, PostgreSQL last; the data stays."""
    Supervisor(settings).stop()


def require_ports(settings: Settings) -> None:
    """Refuse to start beside somebody else's server, or where only root may.

    Raises:
        Stop: a port of this stack is taken, or out of reach.
    """
    used = list(settings.ports.items())
    if settings.options.get("SITE_DOMAIN"):
        # Instead of a port that may have been chosen before there was a domain.
        used = [entry for entry in used if entry[0] != "gateway"]
        used += [("gateway", port) for port in DOMAIN_PORTS]
    for service, port in used:
        use = f"Port {port}, which this stack uses for its {service},"
        try:
            configuration.try_port(port)
        except PermissionError as refusal:
            raise Stop(
                f"{use} is for root alone. Run this as root, or open it to everybody:\n"
                f"  sudo sysctl --write net.ipv4.ip_unprivileged_port_start={port}"
            ) from refusal
        except OSError as refusal:
            file = settings.state / "settings.json"
            change = "" if port in DOMAIN_PORTS else f", or change the number in {file}"
            raise Stop(f"{use} is taken by another program.\n  Stop that one{change}.") from refusal
