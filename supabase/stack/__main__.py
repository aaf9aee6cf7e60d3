"""The native launcher: `python3 supabase/stack COMMAND`. The Makefile names the same commands."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0])

import backup
import bench
import check
import commands
import containers
import email_templates
import environment
import generate
import health
import lifecycle
import materials
import results
import schema
import services
import settings as configuration
import suites
import summary
import throwaway
import tools
from keys import ADMINISTRATORS, MEMBERS, Keys
from migrate import Database
from settings import ROOT
from supervisor import Supervisor
from terminal import Stop, step
from tools import PYTHON

SETUP_LOG = ROOT / ".stack-tools" / "setup.log"


def up() -> int:
    """Install what is missing, build, migrate, seed the demo, start; return when everything is healthy."""
    started = time.monotonic()
    settings = configuration.load_or_create()
    log = settings.state / "logs" / "setup.log"
    postgres = tools.install(log, for_tests=False)
    lifecycle.bring_up(settings, postgres, log)
    summary.show(settings, Keys(settings))
    if not settings.demo:
        print("  Next: python3 supabase/stack bootstrap first-administrator --email ... --name ...")
    print(f"  Up after {time.monotonic() - started:.1f} s. Stop it with: make down")
    return 0


def down() -> int:
    """Stop everything; the data stays."""
    settings = configuration.load()
    with step("Stopping"):
        lifecycle.take_down(settings)
    return 0


def status() -> int:
    """Print each service's state and health, and whether the books are in order."""
    settings = configuration.load()
    keys, supervisor = Keys(settings), Supervisor(settings)
    if not supervisor.is_running():
        raise Stop(f"The stack in {settings.state} is down. Start it with: make up")
    asked = health.questions(settings, keys)
    well = True
    for name, process in supervisor.states().items():
        answer = health.answers(*asked[name]) if name in asked else process["statename"] == "RUNNING"
        well = well and answer
        verdict = "healthy" if answer else "NOT HEALTHY"
        print(f"  {name:10} {process['statename']!s:9} {verdict:12} {process['description']}")
    if well and (postgres := tools.find_postgres(tools.EXTENSIONS)):
        log = settings.state / "logs" / "setup.log"
        well, verdict = health.books(Database(settings, keys, postgres, log))
        print(f"  {'books':10} {verdict}")
    summary.show(settings, keys)
    return 0 if well else 1


def logs() -> int:
    """Follow every log."""
    folder = configuration.load().state / "logs"
    os.execvp("tail", ["tail", "-n", "20", "-F", *map(str, sorted(folder.glob("*.log")))])  # noqa: S606


@contextmanager
def both_databases() -> Iterator[tuple[Database, Database]]:
    """A database as the migrations make it, and one as the schema files do, in clusters of their own."""
    with throwaway.database(SETUP_LOG) as migrated, throwaway.database(SETUP_LOG, authored=True) as authored:
        yield migrated, authored


def checked() -> results.Counts:
    """The checks: of sources alone first, and of two databases when these held."""
    counts = check.run_all(check.without_database())
    # What a machine sees in a minute is mended before more is spent.
    if not counts.failed:
        with both_databases() as (migrated, authored):
            counts += check.run_all(check.of_database(migrated, authored))
    return counts


def run_checks() -> int:
    """Every rule that a machine can judge, on throw-away databases."""
    suites.install_packages(SETUP_LOG)
    counts = checked()
    print(f"\n{counts.passed} passed, {counts.failed} failed")
    return 1 if counts.failed else 0


def run_tests() -> int:
    """Checks and, when they hold, tests on a throw-away stack, with one summary at the end."""
    suites.install_packages(SETUP_LOG)
    started = time.monotonic()
    counts = checked()
    found = [results.Result("Checks", counts, time.monotonic() - started)]
    if not counts.failed:
        with throwaway.stack(SETUP_LOG) as (settings, postgres):
            found += suites.Suites(settings, postgres, SETUP_LOG).usual()
    passed = results.print_table(found)
    print(f"  in {time.monotonic() - started:.0f} s, installing not counted")
    return 0 if passed else 1


def run_long_tests() -> int:
    """Long histories, restore drills, upgrades, thousands of races, on a throw-away stack."""
    suites.install_packages(SETUP_LOG)
    started = time.monotonic()
    with throwaway.stack(SETUP_LOG) as (settings, postgres):
        found = suites.Suites(settings, postgres, SETUP_LOG).long()
    passed = results.print_table(found)
    print(f"  in {time.monotonic() - started:.0f} s, installing not counted")
    return 0 if passed else 1


def run_mutations() -> int:
    """Take each guard of the database away; ONLY=word for some, FIND=1 to look for the tests of new ones."""
    arguments = os.environ.get("ONLY", "").split()
    if os.environ.get("FIND"):
        arguments.append("--find")
    with throwaway.stack(SETUP_LOG) as (settings, postgres):
        return suites.Suites(settings, postgres, SETUP_LOG).module("tests.mutations", *arguments)


def run_coverage() -> int:
    """Which statements of the database's functions its tests run."""
    with throwaway.stack(SETUP_LOG) as (settings, postgres):
        return suites.Suites(settings, postgres, SETUP_LOG).module("tests.mutations.coverage")


def run_bench() -> int:
    """What is promised about time and memory, on a throw-away stack; AUTH_BIN: a rival of its auth."""
    rival = os.environ.pop("AUTH_BIN", "")
    # With the product's own signing key: PostgREST takes four times as long over the other one.
    with throwaway.stack(SETUP_LOG, "benchmark") as (settings, postgres):
        kept, missed = bench.run(settings, postgres, rival, SETUP_LOG)
    print(f"\n{kept} passed, {missed} failed")
    return 1 if missed else 0


def run_generate() -> int:
    """Write the file that is made from the database: the web's row types."""
    with throwaway.database(SETUP_LOG) as database:
        generate.TYPES_FILE.write_text(generate.row_types(database))
    print(f"  wrote {generate.TYPES_FILE.relative_to(ROOT)}")
    email_templates.write()
    print(f"  wrote {email_templates.FOLDER.relative_to(ROOT)}")
    return 0


def run_migration() -> int:
    """Write what sql/schema has and the migrations lack as the next migration, called NAME."""
    name = schema.checked_name(os.environ.get("NAME", ""))
    with both_databases() as (migrated, authored):
        comparison = schema.Comparison(migrated, authored)
        statements, by_hand = comparison.statements(), comparison.unseen()
        if not statements and not by_hand:
            print("\n  The migrations already make what sql/schema says.")
            return 0
        path = schema.write_migration(name, statements, by_hand, datetime.now(UTC), schema.MIGRATIONS)
        print(f"\n  wrote {path.relative_to(ROOT)}\n  Read it, and say above it why.")
        migrated.push()
        left = comparison.complaint()
    if left:
        print(f"\n  What it does not bring about, and you write into it by hand:\n{left}")
    return 1 if left else 0


def run_baseline() -> int:
    """Before 1.0.0: replace all migrations by one that is the schema files."""
    print(f"  wrote {schema.write_baseline(datetime.now(UTC)).relative_to(ROOT)}")
    return 0


def run_audit() -> int:
    """Write the bill of materials and ask the registries what is known against the locked packages."""
    with tools.one_at_a_time():
        tools.python_environment(SETUP_LOG)
    return 0 if materials.audit(ROOT / ".stack-tools" / "bill-of-materials.json") else 1


def run_backup() -> int:
    """Write an encrypted backup of the running stack."""
    settings = configuration.load()
    if not Supervisor(settings).is_running():
        raise Stop("The stack is down. A backup is made while it runs: make up")
    log = settings.state / "logs" / "setup.log"
    target = backup.make(settings, tools.install(log, for_tests=False), log)
    print(f"\n  Backup: {target}\n  Key:    {settings.state / 'keys' / backup.KEY_NAME}  (keep it elsewhere)")
    if elsewhere := backup.store(settings):
        print(f"  The receipts are not in it: back up {elsewhere} too.")
    return 0


def run_restore() -> int:
    """Lay the backup FROM, opened with KEY, into the new folder STATE."""
    source, key = (Path(os.environ.get(name, "")).absolute() for name in ("FROM", "KEY"))
    state = configuration.state_folder()
    with tools.one_at_a_time():
        tools.python_environment(SETUP_LOG)
    elsewhere = backup.restore(state, source, key, SETUP_LOG)
    print(f"\n  Start it with: STATE={state} make up")
    if elsewhere:
        print(
            f"  Its receipts lay in {elsewhere}. Add STORAGE_URL={elsewhere} only when no other stack uses\n"
            "  that place: what has no row in a stack's own database is removed from its store after a day."
        )
    return 0


def run_containers() -> int:
    """Make the keys and the env file that docker-compose.yml needs, and print the commands."""
    settings = configuration.load_or_create()
    log = settings.state / "logs" / "setup.log"
    with tools.one_at_a_time():
        tools.python_environment(log)
    keys = Keys(settings)
    keys.make(log)
    for command in containers.commands(settings, containers.prepare(settings, keys)):
        print(f"  {command}")
    print(f"  Web app: {settings.origin}")
    return 0


COMMANDS: dict[str, Callable[[], int]] = {
    "up": up,
    "down": down,
    "status": status,
    "logs": logs,
    "check": run_checks,
    "test": run_tests,
    "test-long": run_long_tests,
    "mutations": run_mutations,
    "coverage": run_coverage,
    "generate": run_generate,
    "migration": run_migration,
    "baseline": run_baseline,
    "bench": run_bench,
    "audit": run_audit,
    "backup": run_backup,
    "restore": run_restore,
    "containers": run_containers,
}


def change_keys(arguments: list[str]) -> int:
    """Let a new key sign members' or administrators' tokens (`new`); trust no former one (`retire`)."""
    parser = argparse.ArgumentParser(prog="python3 supabase/stack keys")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="A new key signs from now on; the former ones go on verifying")
    retire = actions.add_parser("retire", help="Former keys verify no longer")
    for action in (new, retire):
        action.add_argument("--administrators", action="store_true", help="Their key instead of members'")
    retire.add_argument("--now", action="store_true", help="Also while their tokens are still in use")
    given = parser.parse_args(arguments)
    whose = ADMINISTRATORS if given.administrators else MEMBERS
    settings = configuration.load()
    log, keys = settings.state / "logs" / "setup.log", Keys(settings)
    if given.action == "new":
        keys.sign_with_a_new_one(log, whose)
    else:
        keys.retire_former(log, whose, now=given.now)
    if Supervisor(settings).is_running():
        with step("Services"):
            Supervisor(settings).run_services(services.describe(settings, keys))
            health.wait(settings, keys)
    return 0


def bootstrap(arguments: list[str]) -> int:
    """Run one of functions/edge/bootstrap's commands as the database's owner, and show its answer."""
    settings = configuration.load()
    command: list[str | Path] = [PYTHON, "-m", "functions.edge.bootstrap", *arguments]
    env = environment.bootstrap(settings, Keys(settings))
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def main() -> int:
    """Run one command; a failure that a person can act on is a line or two, not a traceback."""
    commands.treat_termination_as_interrupt()
    parser = argparse.ArgumentParser(prog="python3 supabase/stack", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in COMMANDS.items():
        subparsers.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
    passed_on = subparsers.add_parser(
        "bootstrap", help="The first administrator or the root member of a new stack"
    )
    passed_on.add_argument("arguments", nargs=argparse.REMAINDER)
    key_change = subparsers.add_parser("keys", help="A new key for tokens; an end to former ones")
    key_change.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    try:
        if given.command in ("bootstrap", "keys"):
            return (bootstrap if given.command == "bootstrap" else change_keys)(given.arguments)
        return COMMANDS[given.command]()
    except Stop as refusal:
        print(f"\n  {refusal}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n  {error.filename or Path(sys.argv[0])}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n  Interrupted. Run the command again to go on.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
