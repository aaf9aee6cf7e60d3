"""The native launcher: `python3 supabase/stack COMMAND`. The Makefile names the same commands."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0])

import cluster
import health
import services
import settings as configuration
import summary
import tools
import web
from keys import Keys
from migrate import Database
from terminal import Stop, step


def up() -> None:
    """Install, make, migrate, start; return when everything is healthy."""
    started = time.monotonic()
    settings = configuration.load_or_create()
    log = settings.state / "logs" / "setup.log"
    postgres = tools.install(log, for_tests=False)
    bring_up(settings, postgres, log)
    summary.show(settings, Keys(settings))
    print(f"  Up after {time.monotonic() - started:.1f} s. Stop it with: make down")


def bring_up(settings: configuration.Settings, postgres: Path, log: Path) -> None:
    """Everything of `up` that is not installing."""
    keys = Keys(settings)
    keys.make(log)
    cluster.create(settings, postgres, keys.values["PASSWORD_supabase_admin"], log)
    try:
        web.build(log)
    except (Stop, OSError) as error:
        print(f"  ! web: {error}")
    supervisor, wanted = services.Supervisor(settings), services.describe(settings, keys)
    wanted = [
        s
        for s in wanted
        if s.command[1:2] != ["-m"] or (configuration.ROOT / s.command[2].replace(".", "/") / "__main__.py").exists()
    ]
    database = Database(settings, keys, postgres, log)
    if not supervisor.is_running():
        require_ports(settings)
    supervisor.configure(wanted, postgres)
    with step("PostgreSQL"):
        supervisor.start()
        cluster.wait(settings, postgres)
    database.prepare()
    with step("Services"):
        supervisor.run_services(wanted)
        try:
            health.wait(settings, keys, 20)
        except Stop as error:
            print(f"  ! {error}")
    if settings.demo and not (settings.state / "keys" / "demo.json").exists():
        try:
            database.seed_demo()
        except (Stop, OSError, ValueError) as error:
            print(f"  ! seed: {error}")
    summary.write_env(settings, keys)


def require_ports(settings: configuration.Settings) -> None:
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


def down() -> None:
    """Stop everything; the data stays."""
    settings = configuration.load()
    with step("Stopping"):
        services.Supervisor(settings).stop()


def status() -> None:
    """Print each service's state and health."""
    settings = configuration.load()
    keys, supervisor = Keys(settings), services.Supervisor(settings)
    if not supervisor.is_running():
        raise Stop(f"The stack in {settings.state} is down. Start it with: make up")
    asked = health.questions(settings, keys)
    for name, process in supervisor.states().items():
        healthy = "" if name not in asked else "healthy" if health.answers(*asked[name]) else "NOT HEALTHY"
        print(f"  {name:10} {process['statename']!s:9} {healthy:12} {process['description']}")
    summary.show(settings, keys)


def logs() -> None:
    """Follow every log."""
    import os

    folder = configuration.load().state / "logs"
    os.execvp("tail", ["tail", "-n", "20", "-F", *map(str, sorted(folder.glob("*.log")))])


COMMANDS: dict[str, Callable[[], None]] = {"up": up, "down": down, "status": status, "logs": logs}


def main() -> int:
    """Run one command; a failure the person can act on is one line, not a traceback."""
    parser = argparse.ArgumentParser(prog="python3 supabase/stack", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    command = parser.parse_args().command
    try:
        COMMANDS[command]()
    except Stop as refusal:
        print(f"\n  {refusal}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n  {error.filename or command}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n  Interrupted. Run the command again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
