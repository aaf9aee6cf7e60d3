"""`make check`: every rule that a machine can judge, one line each."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from launcher.database.schema import Database, cli_environment
from launcher.host.tools import SUPABASE, VENV
from launcher.settings import ROOT
from launcher.terminal import TITLE_WIDTH, Stop, ending_in_words
from tests.checks import citations, email_templates, released, runbooks, sql_files
from tests.checks.generate import FROM_DATABASE
from tests.checks.sbom import NODE_FOLDERS
from tests.checks.schema import Comparison
from tests.support import throwaway

AT_ONCE = 2
# The CLI runs each migration in one transaction on an installation that is closed meanwhile, so rules for
# changes under traffic do not apply. Narrow integers are measured; domain constraints stay.
SQUAWK_OFF = (
    "--exclude=prefer-robust-stmts,require-concurrent-index-creation,require-lock-timeout,"
    "require-statement-timeout,prefer-bigint-over-int,ban-create-domain-with-constraint"
)
LINT = ("db", "lint", "--schema=public,private,pre_request,hooks,edge,jobs", "--fail-on=error")
ADVISORS = ("db", "advisors", "--type=all", "--level=warn", "--fail-on=error")
PRETTIER = ("web/node_modules/.bin/prettier", "--config=web/.prettierrc.json", "--check")
SCRIPTS = ("tests/api/js/*.js", "tests/bench/*.mjs", "tests/e2e/*.ts", "tests/e2e/journeys/*.ts")


@dataclass(frozen=True)
class Check:
    """One rule: a title and what returns the failure, empty when there is none."""

    title: str
    failure: Callable[[], str]


def without_database() -> list[Check]:
    """Return the checks of sources alone. The long ones start first, behind those that fail at once."""
    return [
        Check("ruff", _tool("ruff", "check", ".")),
        Check("ruff format", _tool("ruff", "format", "--check", ".", fix="ruff format .")),
        Check("e-mail templates", email_templates.failure),
        Check("rules of Prometheus", runbooks.failure_of_rules),
        Check("released migrations", released.failure),
        Check("lengths of schema files", sql_files.failure),
        Check("citations and links", citations.failure),
        Check("retired words", _tool("python", "-m", "tests.checks.words")),
        Check("locked packages", _tool("python", "-m", "tests.checks.locks")),
        Check("deptry", _tool("deptry", "functions", "supabase/stack")),
        Check("npm ci", _npm_ci),
        Check("eslint", _web("lint")),
        Check("mypy", _tool("mypy")),
        Check("tsc", _web("types")),
        Check("sqlfluff", _tool("sqlfluff", "lint", "sql/schema", "sql/seed")),
        Check("vitest", _web("test")),
        Check("knip", _web("unused")),
        Check("prettier", _web("format")),
        Check("test scripts", _command(*PRETTIER, *_files(*SCRIPTS), fix="the same with --write")),
        Check("squawk", _tool("squawk", SQUAWK_OFF, *_files("sql/migrations/*.sql"))),
        Check("import-linter", _tool("lint-imports")),
        Check("vulture", _tool("vulture")),
    ]


def of_database(migrated: Database, authored: throwaway.AuthoredDatabase) -> list[Check]:
    """Return the checks of two databases: one that the migrations made, one that the schema files made."""
    url = f"--db-url={migrated.keys.database_url('postgres')}"

    def cli(*arguments: str) -> Callable[[], str]:
        return _command(str(SUPABASE), *arguments, url, "--yes", env=cli_environment())

    def plpgsql() -> str:
        found = migrated.rows(Path(__file__).with_name("plpgsql_check.sql").read_text())
        return "\n".join(line for (line,) in found)

    return [
        Check("schema files and migrations", Comparison(migrated, authored).failure),
        *(Check(each.FILE.name, partial(each.failure, migrated)) for each in FROM_DATABASE),
        Check("runbooks", lambda: runbooks.failure(migrated)),
        Check("supabase db lint", cli(*LINT)),
        Check("supabase db advisors", cli(*ADVISORS)),
        Check("plpgsql_check", plpgsql),
    ]


def run_all(listed: Sequence[Check], out: TextIO = sys.stdout) -> int:
    """Run checks, two at a time, and print a line for each and each failure; return how many there are."""
    failed, pool = 0, ThreadPoolExecutor(AT_ONCE)
    try:
        running = {pool.submit(_timed, check): check for check in listed}
        for done in as_completed(running):
            title, (failure, seconds) = running[done].title, done.result()
            result = f"{'FAILED' if failure else 'ok'} {seconds:.1f} s"
            print(f"  {title} ".ljust(TITLE_WIDTH, "."), result, file=out, flush=True)
            if failure:
                print("\n    " + failure.strip().replace("\n", "\n    ") + "\n", file=out, flush=True)
                failed += 1
    finally:
        pool.shutdown(cancel_futures=True)
    return failed


def _timed(check: Check) -> tuple[str, float]:
    started = time.monotonic()
    try:
        return check.failure(), time.monotonic() - started
    except Stop as failure:
        return str(failure), time.monotonic() - started


def _files(*globs: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for glob in globs for path in sorted(ROOT.glob(glob))]


def _tool(name: str, *arguments: str, fix: str = "") -> Callable[[], str]:
    return _command(str(VENV / "bin" / name), *arguments, fix=f".venv/bin/{fix}" if fix else "")


def _web(script: str) -> Callable[[], str]:
    return _command("npm", "run", "--silent", script, cwd=ROOT / "web")


def _command(
    *command: str, cwd: Path = ROOT, env: dict[str, str] | None = None, fix: str = ""
) -> Callable[[], str]:
    """Return a check that a command exits with 0; its output is the failure."""

    def failure() -> str:
        result = subprocess.run(
            command, cwd=cwd, env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if result.returncode == 0:
            return ""
        hint = f"\nTo correct it: {fix}" if fix else ""
        return (result.stdout + result.stderr).strip() + hint or f"exit status {result.returncode}"

    return failure


def _npm_ci() -> str:
    """Return what a fresh machine could not install because a lock differs from package.json."""
    command = ("npm", "ci", "--dry-run", "--fetch-retries=0", "--no-audit", "--no-fund")
    fix = "npm install --package-lock-only"
    failures = {folder: _command(*command, cwd=ROOT / folder, fix=fix)() for folder in NODE_FOLDERS}
    return "\n".join(f"{folder}: {failure}" for folder, failure in failures.items() if failure)


def main() -> int:
    """Run the checks of sources, and when they hold those of two databases."""
    listed = without_database()
    failed, count = run_all(listed), len(listed)
    # What a machine sees in a minute is corrected before more is spent.
    if not failed:
        with throwaway.both_databases() as (migrated, authored):
            listed = of_database(migrated, authored)
            failed, count = run_all(listed), count + len(listed)
    print(f"\n{count - failed} checks passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    ending_in_words(main)
