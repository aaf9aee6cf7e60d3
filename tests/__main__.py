"""The commands of `python3 supabase/stack run tests COMMAND`, which the Makefile names too."""

import argparse
import os
import shlex
import time
from collections.abc import Callable

from launcher.host import tools
from launcher.settings import SETUP_LOG
from launcher.terminal import ending_in_words
from tests.support import throwaway


def check() -> int:
    """Run every rule that a machine can judge, on throw-away databases."""
    throwaway.install_for_tests(SETUP_LOG)
    return throwaway.run_module("tests.checks")


def test() -> int:
    """Run checks, then tests on a throw-away stack; with ONLY="tests/db -k deposits" just these tests."""
    if only := shlex.split(os.environ.get("ONLY", "")):
        return throwaway.run_on_stack("pytest", *only)
    started = time.monotonic()
    code = check() or throwaway.run_on_stack("tests.runner", "usual")
    print(f"  in {time.monotonic() - started:.0f} s")
    return code


def test_long() -> int:
    """Run long histories, restore drills, upgrades, thousands of races, on a throw-away stack."""
    throwaway.install_for_tests(SETUP_LOG)
    tools.install_programs(tools.LONG_RUN_PROGRAMS, SETUP_LOG)
    return throwaway.run_on_stack("tests.runner", "long")


def cluster() -> int:
    """Start three PostgreSQL nodes under Patroni with a stack of two instances on them, until Ctrl-C."""
    tools.install(SETUP_LOG, for_tests=False)
    tools.install_programs(tools.LONG_RUN_PROGRAMS, SETUP_LOG)
    return throwaway.run_module("tests.cluster")


def mutations() -> int:
    """Remove each guard of database, services and gateway; ONLY=words for some, FIND=1 to find tests."""
    find = ["--find"] if os.environ.get("FIND") else []
    return throwaway.run_on_stack("tests.mutations", *shlex.split(os.environ.get("ONLY", "")), *find)


def coverage() -> int:
    """Print which statements of the database's functions its tests run."""
    return throwaway.run_on_stack("tests.mutations.coverage")


def bench() -> int:
    """Measure what is promised about time and memory; AUTH_BIN: a rival of the stack's auth."""
    rival = os.environ.pop("AUTH_BIN", "")
    # With the product's own signing key: PostgREST takes four times as long over the other one.
    return throwaway.run_on_stack("tests.bench", profile="benchmark", AUTH_BIN=rival)


def generate() -> int:
    """Write the files that are made from others: the web's row types and the e-mail templates."""
    return throwaway.run_module("tests.checks.generate")


def migration() -> int:
    """Write what sql/schema has and the migrations lack as the next migration, called NAME."""
    return throwaway.run_module("tests.checks.schema", os.environ.get("NAME", ""))


def audit() -> int:
    """Write the SBOM and ask the registries what is known against the locked packages."""
    return throwaway.run_module("tests.checks.sbom")


COMMANDS: tuple[Callable[[], int], ...] = (
    *(check, test, test_long, cluster, mutations, coverage, generate, migration, bench, audit),
)


def main() -> None:
    """Run the command that the argument names."""
    parser = argparse.ArgumentParser(prog="python3 supabase/stack run tests", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for function in COMMANDS:
        name = function.__name__.replace("_", "-")
        commands.add_parser(name, help=function.__doc__).set_defaults(function=function)
    ending_in_words(parser.parse_args().function)


if __name__ == "__main__":
    main()
