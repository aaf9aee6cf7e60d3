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


def bring_up(
    settings: Settings, postgres: Path, log: Path, after_migrations: Callable[[Database], None] | None = None
) -> None:
    """Make what is missing and start what does not run; run again it changes nothing.

    `after_migrations` may still use the database while no service is connected and the demo is not there.

    Raises:
        Stop: a step failed; run again to go on from there.
    """
    keys, supervisor = Keys(settings), Supervisor(settings)
    if not supervisor.is_running():
        require_ports(settings)
    reconfigured = _lay_foundation(settings, keys, postgres, log)
    web.build(log)
    wanted = services.describe(settings, keys)
    database = Database(settings, keys, postgres, log)
    supervisor.configure(wanted, postgres)
    with step("PostgreSQL"):
        if not supervisor.start() and reconfigured:
            supervisor.restart_postgres()
        cluster.wait(settings, postgres)
    database.prepare()
    if after_migrations:
        after_migrations(database)
    with step("Services"):
        supervisor.run_services(wanted)
        health.wait(settings, keys)
    summary.write_env(settings, keys)
    if settings.demo and not (settings.state / "keys" / "demo.env").exists():
        database.seed_demo()
        summary.write_env(settings, keys)


def _lay_foundation(settings: Settings, keys: Keys, postgres: Path, log: Path) -> bool:
    with step("Keys and cluster") if not settings.cluster else nullcontext():
        keys.make(log)
        return cluster.create(settings, postgres, keys.values["PASSWORD_supabase_admin"], log)


def take_down(settings: Settings) -> None:
    """Stop everything, PostgreSQL last; the data stays."""
    Supervisor(settings).stop()


def require_ports(settings: Settings) -> None:
    """Refuse to start beside somebody else's server.

    Raises:
        Stop: a port of this stack is taken.
    """
    for service, port in settings.ports.items():
        if not configuration.is_free(port):
            raise Stop(
                f"Port {port}, which this stack uses for its {service}, is taken by another program.\n"
                f"  Stop that one, or change the number in {settings.state / 'settings.json'}."
            )
