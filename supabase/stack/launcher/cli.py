"""The commands of `python3 supabase/stack COMMAND`, which the Makefile names too."""

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from launcher import kubernetes as manifests
from launcher import lifecycle, limits
from launcher import postgres_upgrade as upgrading
from launcher import settings as configuration
from launcher.backups import repository
from launcher.backups import restore as restoring
from launcher.backups.schedule import Backups, keep
from launcher.containers import compose, compose_backups, compose_images
from launcher.database import audit_log, elsewhere
from launcher.database.schema import Database
from launcher.host import environment, system_user, tools, unit
from launcher.host.tools import PYTHON
from launcher.keys import ADMINISTRATORS, MEMBERS, Keys
from launcher.services import health, monitoring, rolling
from launcher.services.summary import show
from launcher.services.supervisor import Supervisor
from launcher.settings import ROOT, Settings
from launcher.terminal import Stop, ending_in_words, step


def up() -> int:
    """Install what is missing, build, migrate, seed the demo, start; return when everything is healthy."""
    started = time.monotonic()
    settings = configuration.load_or_create()
    if not settings.as_root:
        # Said before minutes of building.
        system_user.require_access([ROOT, settings.state.parent])
    postgres = _install(settings)
    lifecycle.bring_up(settings, postgres, settings.log)
    show(settings, Keys(settings))
    prefix = configuration.command_prefix(settings.state)
    if not settings.demo:
        print(f"  Next: {prefix}python3 supabase/stack bootstrap first-administrator --email ... --name ...")
    print(f"  Up after {time.monotonic() - started:.1f} s. Stop it with: {prefix}make down")
    return 0


def _install(settings: Settings) -> Path | None:
    """Install what a stack needs; return the folder of PostgreSQL's programs, None where it is elsewhere."""
    postgres = None
    if settings.database_elsewhere:
        tools.install_node_tools(settings.log)
    else:
        postgres = tools.install(settings.log, for_tests=False, settings=settings)
    if repository.of(settings):
        tools.install_programs(repository.programs(settings), settings.log)
    return postgres


def prepare_database() -> int:
    """Print what the superuser of DATABASE_SERVER runs once, by psql, before `up` may use that database."""
    settings = configuration.load_or_create()
    if not settings.database_elsewhere:
        raise Stop(
            "Name the database's servers: DATABASE_SERVER=db1,db2 python3 supabase/stack prepare-database"
        )
    keys = Keys(settings)
    keys.make()
    # psql goes on after an error otherwise; what the rest is, other clients may run too.
    print("\\set ON_ERROR_STOP on")
    print(elsewhere.preparation(settings, keys))
    return 0


def down() -> int:
    """Stop everything; the data stays."""
    settings = configuration.load()
    with step("Stopping"):
        Supervisor(settings).stop()
    return 0


def status() -> int:
    """Print each service's state and health, and what an operator must do something about."""
    settings = configuration.load()
    keys, supervisor = Keys(settings), Supervisor(settings)
    if not supervisor.is_running():
        raise Stop(f"The stack in {settings.state} is down. Start it with: make up")
    requests, well = health.requests(settings, keys), True
    for name, process in supervisor.states().items():
        healthy = health.is_healthy(requests[name]) if name in requests else process["statename"] == "RUNNING"
        well = well and healthy
        result = "healthy" if healthy else "NOT HEALTHY"
        print(f"  {name:10} {process['statename']!s:9} {result:12} {process['description']}")
    database = Database(settings, keys, settings.log)
    results = {"sign-in": health.sign_in(settings, keys)}
    if settings.database_elsewhere:
        results |= {"servers": health.servers(settings, keys), "disk": health.disk(settings.state)}
    else:
        results["disk"] = health.disk(settings.data_directory)
    results |= {"ledger": health.database(database), "clock": health.clock(database)}
    results |= health.operations(settings)
    for name, (_, result) in results.items():
        print(f"  {name:10} {result}")
    show(settings, keys)
    return 0 if well and all(fine for fine, _ in results.values()) else 1


def restart() -> int:
    """Restart SERVICE, as `status` names it, with its instances in turn; wait until everything is healthy."""
    settings, name = configuration.load(), os.environ.get("SERVICE", "")
    supervisor = Supervisor(settings)
    if not supervisor.is_running():
        raise Stop(f"The stack in {settings.state} is down. Start it with: make up")
    if name not in (states := supervisor.states()):
        raise Stop(f"Name one in SERVICE: {', '.join(sorted(states))}.")
    keys = Keys(settings)
    with step(f"Restarting {name}"):
        rolling.restart(settings, keys, supervisor, name)
        health.wait(settings, keys)
    return 0


def systemd() -> int:
    """Print the unit that starts this stack with the machine and stops it in order."""
    print(unit.text(configuration.load()), end="")
    return 0


def logs() -> int:
    """Follow every log."""
    folder = configuration.load().state / "logs"
    os.execvp("tail", ["tail", "-n", "20", "-F", *map(str, sorted(folder.glob("*.log")))])  # noqa: S606


def backup() -> int:
    """Back up the running stack now; a schedule does so by itself."""
    backups = _running_backups()
    backups.make()
    print(f"\n  Repository: {backups.repository.location}")
    print(f"  Key:        {backups.repository.keys / repository.KEY}  (keep it elsewhere too)")
    if elsewhere := backups.settings.options.get("STORAGE_URL"):
        print(f"  The receipts are not in it: back up {elsewhere} too.")
    if servers := backups.settings.options.get("DATABASE_SERVER"):
        print(f"  The database is not in it: whoever runs {servers} backs it up, with its WAL.")
    return 0


def _running_backups() -> Backups:
    settings = configuration.load()
    if not Supervisor(settings).is_running():
        raise Stop("The stack is down. A backup is made while it runs: make up")
    return Backups(settings)


def keep_backups() -> int:
    """Make backups whenever they are due, until stopped; `up` starts it."""
    keep(Backups(configuration.load()))


def restore() -> int:
    """Restore the repository FROM, opened with KEY, into the new folder STATE, as it was at the time TO."""
    state, postgres = configuration.state_folder(), tools.install(configuration.SETUP_LOG, for_tests=False)
    tools.install_programs(repository.PROGRAMS, configuration.SETUP_LOG)
    to = restoring.moment(os.environ["TO"]) if os.environ.get("TO") else None
    result = restoring.restore(state, restoring.source(os.environ, state), postgres, to)
    print(result)
    print(
        f"\n  Start it with: {configuration.command_prefix(state)}make up\n"
        "  It sends no email and makes no decision until a super administrator acknowledges, under Alarms,\n"
        "  that it takes over. It has no domain, mail server and backups until `make up` is given them."
    )
    return 1 if result.violations else 0


def restore_drill() -> int:
    """Prove the backups: restore the newest into a folder of its own, run the ledger checks, remove it."""
    backups = _running_backups()
    if backups.settings.database_elsewhere:
        return _drill_elsewhere(backups)
    postgres = tools.install(backups.settings.log, for_tests=False, settings=backups.settings)
    started = time.monotonic()
    result = restoring.drill(backups, postgres)
    print(result)
    print(f"  Restored and checked in {time.monotonic() - started:.0f} s")
    return 1 if result.violations else 0


def _drill_elsewhere(backups: Backups) -> int:
    result = restoring.drill_elsewhere(backups, os.environ.get("RESTORED", ""))
    print(result)
    return 1 if result.violations else 0


def postgres_upgrade() -> int:
    """Take the stack's database to the newer PostgreSQL in folder PG_BIN; the old one stays, the way back."""
    settings, new = configuration.load(), Path(os.environ.get("PG_BIN", ""))
    if not new.is_absolute():
        raise Stop("Name the new one: make postgres-upgrade PG_BIN=/usr/lib/postgresql/17/bin")
    done = upgrading.upgrade(settings, new)
    prefix = configuration.command_prefix(settings.state)
    print(
        f"\n  The database is of PostgreSQL {done.new}: {done.tables} tables with {done.rows} rows,\n"
        "  roles, rights and settings are what they were, and the ledger checks find what they found."
    )
    if done.without:
        print(f"  It has no {done.without}, which `make check` alone would need.")
    print(
        f"  Start it with: {prefix}make up\n"
        f"  The cluster of PostgreSQL {done.old} is as it was, in {done.left}.\n"
        f"  The way back, without what is written from now on: {prefix}make down postgres-back up\n"
        f"  Once nobody will go back, remove it: rm -r {shlex.quote(str(done.left))}"
    )
    if repository.of(settings):
        print("  `make up` gives the backups the new cluster, and begins with a full one.")
    return 0


def postgres_back() -> int:
    """Take back postgres-upgrade: the cluster that it left is the stack's again, without what came since."""
    settings = configuration.load()
    left = upgrading.go_back(settings)
    prefix = configuration.command_prefix(settings.state)
    print(
        f"  The database is in {settings.data_directory} again. Start it with: {prefix}make up\n"
        f"  What was written since the upgrade is in {left} alone. Remove it: rm -r {shlex.quote(str(left))}"
    )
    return 0


def audit_log_check() -> int:
    """Compare what LOG says of the audit log with the database: a missing or different entry shows."""
    settings = configuration.load()
    named = audit_log.read(Path(os.environ.get("LOG", "")))
    if not Supervisor(settings).is_running():
        raise Stop(f"The stack in {settings.state} is down. Start it with: make up")
    found = audit_log.differences(Database(settings, Keys(settings), settings.log), named)
    for line in found:
        print(f"  {line}")
    print(f"  {len(named.entries)} entries and {len(named.links)} links compared, {len(found)} differences")
    return 1 if found else 0


def print_monitoring() -> int:
    """Print the prometheus.yml that reads every figure of this stack."""
    print(monitoring.scrape_configuration(configuration.load()), end="")
    return 0


def containers(action: str | None = None) -> int:
    """Make the keys and the env files that docker-compose.yml needs, and print the commands."""
    if action == "restore":
        return _containers_restore()
    state = configuration.state_folder()
    if action == "digests":
        print(f"  {compose_images.lock(state / 'containers')} images are named by their digests from now on:")
    restored = compose_backups.take_restored(state)
    settings = configuration.load_or_create()
    keys = Keys(settings)
    keys.make()
    commands = compose.commands(compose.prepare(settings, keys), settings)
    # A restored stack has its people.
    for command in commands[:1] if restored else commands:
        print(f"  {command}")
    print(f"  Web app: {settings.origin}")
    if settings.own_mail:
        print(f"  Mail catcher: http://127.0.0.1:{settings.ports['mail']}{keys.mail_path}")
    return 0


def _containers_restore() -> int:
    env_file, settings = compose.prepare_restore()
    print(f"  {compose.command(env_file, 'run --rm --build restore')}")
    print(f"  {configuration.command_prefix(settings.state)}python3 supabase/stack containers")
    print(
        "  The latter takes the copy's keys and settings, and options of its own, such as SMTP_HOST.\n"
        "  It sends no email and makes no decision until a super administrator acknowledges, under Alarms,\n"
        "  that it takes over."
    )
    return 0


def kubernetes() -> int:
    """Write what supabase/kubernetes needs of this stack's keys and settings, and print the commands."""
    settings = configuration.load_or_create()
    keys = Keys(settings)
    keys.make()
    written = manifests.Manifests(settings, keys)
    written.write()
    for title, lines in written.commands():
        print(f"  {title}:", *(f"    {line}" for line in lines), sep="\n")
    return 0


def show_limits() -> int:
    """Print the limits that an operator may raise, with what each limits."""
    stored = (configuration.state_folder() / "settings.json").exists()
    print(limits.table(configuration.load().options if stored else {}))
    return 0


def change_keys(action: str, administrators: bool, now: bool = False) -> int:
    """Let a new key sign members' or administrators' tokens (`new`), or trust no former one (`retire`)."""
    settings = configuration.load()
    keys, whose = Keys(settings), ADMINISTRATORS if administrators else MEMBERS
    running = Supervisor(settings).is_running()
    if action == "new":
        new = keys.publish(whose)
        # One alone learns of it before it signs: auth is replaced after those who verify.
        if running and settings.instances * settings.machines > 1:
            lifecycle.start_services(settings, keys, _install(settings))
        if settings.machines > 1:
            _wait_for_machines(keys)
        keys.sign_with(whose, new)
    else:
        keys.retire(whose, now=now)
    if running:
        lifecycle.start_services(settings, keys, _install(settings))
    return 0


def _wait_for_machines(keys: Keys) -> None:
    print(
        f"The new key is trusted here and does not sign yet. Copy {keys.folder}\n"
        "to every other machine and run `make up` there. Then press Enter here.\n"
        "When this has ended, copy the folder once more.",
        flush=True,
    )
    if not sys.stdin.readline():
        raise Stop("Nobody pressed Enter: the new key signs nothing. Run it again when somebody can.")


def bootstrap(arguments: list[str]) -> int:
    """Make the first administrator or the root member, or let an administrator in again."""
    settings = configuration.load()
    command: list[str | Path] = [PYTHON, "-m", "functions.edge.bootstrap", *arguments]
    env = environment.bootstrap(settings, Keys(settings))
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def run_module(module: str, arguments: list[str]) -> NoReturn:
    """Run a module in the project's environment: `run tests check` is a developer's command."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'supabase' / 'stack'}"}
    os.execve(PYTHON, [str(PYTHON), "-m", module, *arguments], env)  # noqa: S606


COMMANDS = (
    up,
    prepare_database,
    down,
    status,
    restart,
    logs,
    systemd,
    backup,
    keep_backups,
    restore,
    restore_drill,
    postgres_upgrade,
    postgres_back,
    audit_log_check,
    kubernetes,
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 supabase/stack", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for function in COMMANDS:
        name = function.__name__.replace("_", "-")
        commands.add_parser(name, help=function.__doc__).set_defaults(function=function)
    commands.add_parser("monitoring", help=print_monitoring.__doc__).set_defaults(function=print_monitoring)
    images = commands.add_parser("containers", help=containers.__doc__)
    images.add_argument(
        "action",
        nargs="?",
        choices=("digests", "restore"),
        help="Name images by their digests too; restore FROM with KEY into a new STATE",
    )
    images.set_defaults(function=containers)
    commands.add_parser("limits", help=show_limits.__doc__).set_defaults(function=show_limits)
    passed_on = commands.add_parser("bootstrap", help=bootstrap.__doc__)
    passed_on.add_argument("arguments", nargs=argparse.REMAINDER)
    passed_on.set_defaults(function=bootstrap)
    module = commands.add_parser("run", help=run_module.__doc__)
    module.add_argument("module")
    module.add_argument("arguments", nargs=argparse.REMAINDER)
    module.set_defaults(function=run_module)
    keys = commands.add_parser("keys", help=change_keys.__doc__)
    keys.set_defaults(function=change_keys)
    actions = keys.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="A new key signs from now on; the former ones go on verifying")
    retire = actions.add_parser("retire", help="Former keys verify no longer")
    for action in (new, retire):
        action.add_argument("--administrators", action="store_true", help="Their key instead of members'")
    retire.add_argument("--now", action="store_true", help="Also while their tokens are still in use")
    return parser


def main() -> None:
    """Run the command that the arguments name."""
    given = vars(_parser().parse_args())
    ending_in_words(given.pop("function"), **given)
