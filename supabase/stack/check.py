"""`make check`: every rule that a machine can judge, one line each."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import email_templates
import generate
import materials
import schema
import words
from migrate import Database, cli_environment
from results import Counts
from settings import ROOT
from terminal import TITLE_WIDTH, Stop
from tools import SUPABASE, VENV

AT_ONCE = 2
PRODUCT_SCHEMAS = ("public", "private", "pre_request", "hooks", "edge", "jobs")
# They put SQL together from fragments that stand in the schema files, never from input; values are passed.
TRUSTED_TO_COMPOSE = ("member_page", "search_page", "page_ids", "request_page")
PLPGSQL_CHECK = """
select format('%s: %s', p.oid::regprocedure, c.message)
from pg_catalog.pg_proc as p
inner join pg_catalog.pg_language as l on l.oid = p.prolang and l.lanname = 'plpgsql'
left join pg_catalog.pg_trigger as t on t.tgfoid = p.oid and not t.tgisinternal
cross join lateral extensions.plpgsql_check_function_tb(
    p.oid, coalesce(t.tgrelid, 0), oldtable => t.tgoldtable, newtable => t.tgnewtable,
    other_warnings => true, extra_warnings => false, security_warnings => true
) as c
where p.pronamespace::regnamespace::text in ({schemas})
    and (p.prorettype <> 'trigger'::regtype or t.oid is not null)
    and not (c.level = 'security' and p.proname in ({trusted}))
group by p.oid, c.message
order by 1;
"""


@dataclass(frozen=True)
class Check:
    """One rule: a title and what returns the complaint, empty when there is none."""

    title: str
    complaint: Callable[[], str]


def without_database() -> list[Check]:
    """The checks of sources alone. The long ones start first, behind those that fail at once."""
    return [
        Check("ruff", _tool("ruff", "check", ".")),
        Check("ruff format", _tool("ruff", "format", "--check", ".", fix="ruff format .")),
        Check("retired words", words.retired),
        Check("e-mail templates", email_templates.drift),
        Check("locked packages", materials.complaint),
        Check("npm ci", _npm_ci),
        Check("eslint", _web("lint")),
        Check("mypy", _tool("mypy")),
        Check("tsc", _web("types")),
        Check("sqlfluff", _tool("sqlfluff", "lint", "sql/schema", "sql/seed")),
        Check("vitest", _web("test")),
        Check("knip", _web("unused")),
        Check("prettier", _web("format")),
        Check("test scripts", _command(*PRETTIER, *_scripts(), cwd=ROOT, fix="the same with --write")),
        Check("squawk", _tool("squawk", f"--exclude={','.join(SQUAWK_OFF)}", *_migrations())),
        Check("import-linter", _tool("lint-imports")),
        Check("vulture", _tool("vulture")),
    ]


def of_database(migrated: Database, authored: Database) -> list[Check]:
    """The checks of two databases: one that the migrations made, one that the schema files made."""
    owner = migrated.keys.database_url("postgres")
    return [
        Check("schema files and migrations", schema.Comparison(migrated, authored).complaint),
        Check("generated files", lambda: generate.drift(migrated)),
        Check("supabase db lint", _cli("db", "lint", *LINT, url=owner)),
        Check("supabase db advisors", _cli("db", "advisors", *ADVISORS, url=owner)),
        Check("plpgsql_check", lambda: _plpgsql(migrated)),
    ]


# The CLI runs each migration in one transaction on an installation that is closed meanwhile, so rules for
# changes beside running traffic do not apply. Narrow integers are measured; domain constraints stay.
SQUAWK_OFF = (
    "prefer-robust-stmts",
    "require-concurrent-index-creation",
    "require-lock-timeout",
    "require-statement-timeout",
    "prefer-bigint-over-int",
    "ban-create-domain-with-constraint",
)
LINT = (f"--schema={','.join(PRODUCT_SCHEMAS)}", "--fail-on=error")
PRETTIER = ("web/node_modules/.bin/prettier", "--config=web/.prettierrc.json", "--check")
ADVISORS = ("--type=all", "--level=warn", "--fail-on=error")


def run_all(listed: Sequence[Check], out: TextIO = sys.stdout) -> Counts:
    """Run checks, two at a time, and print a line for each and the complaint of those that fail."""
    failures: list[str] = []
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        running = {pool.submit(_timed, check): check for check in listed}
        for done in as_completed(running):
            check, (complaint, seconds) = running[done], done.result()
            verdict = f"{'FAILED' if complaint else 'ok'} {seconds:.1f} s"
            print(f"  {check.title} ".ljust(TITLE_WIDTH, "."), verdict, file=out, flush=True)
            if complaint:
                print("\n    " + complaint.strip().replace("\n", "\n    ") + "\n", file=out, flush=True)
                failures.append(f"{check.title}\n{complaint.strip()}")
    finally:
        pool.shutdown(cancel_futures=True)
    return Counts(len(listed) - len(failures), len(failures), failures=tuple(failures))


def _timed(check: Check) -> tuple[str, float]:
    started = time.monotonic()
    try:
        return check.complaint(), time.monotonic() - started
    except Stop as failure:
        return str(failure), time.monotonic() - started


def _migrations() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in sorted((ROOT / "sql" / "migrations").glob("*.sql"))]


def _scripts() -> list[str]:
    folders = ("api/js/*.js", "bench/*.mjs", "e2e/*.ts", "e2e/journeys/*.ts")
    return [str(path.relative_to(ROOT)) for glob in folders for path in sorted(ROOT.glob(f"tests/{glob}"))]


def _tool(name: str, *arguments: str, fix: str = "") -> Callable[[], str]:
    return _command(str(VENV / "bin" / name), *arguments, cwd=ROOT, fix=f".venv/bin/{fix}" if fix else "")


def _web(script: str) -> Callable[[], str]:
    return _command("npm", "run", "--silent", script, cwd=ROOT / "web")


def _cli(*arguments: str, url: str) -> Callable[[], str]:
    return _command(str(SUPABASE), *arguments, f"--db-url={url}", "--yes", cwd=ROOT, env=cli_environment())


def _command(*command: str, cwd: Path, env: dict[str, str] | None = None, fix: str = "") -> Callable[[], str]:
    """A check that a command exits with 0; its output is the complaint."""

    def complaint() -> str:
        result = subprocess.run(
            command, cwd=cwd, env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if result.returncode == 0:
            return ""
        hint = f"\nTo mend it: {fix}" if fix else ""
        return (result.stdout + result.stderr).strip() + hint or f"exit status {result.returncode}"

    return complaint


def _npm_ci() -> str:
    """What a fresh machine could not install: a lock that lacks a platform, or differs from package.json."""
    command = ("npm", "ci", "--dry-run", "--fetch-retries=0", "--no-audit", "--no-fund")
    refused = (
        f"{folder}: {said}"
        for folder in materials.NODE_FOLDERS
        if (said := _command(*command, cwd=ROOT / folder, fix="npm install --package-lock-only")())
    )
    return "\n".join(filter(None, (materials.incomplete(), *refused)))


def _plpgsql(database: Database) -> str:
    schemas, trusted = (", ".join(f"'{n}'" for n in names) for names in (PRODUCT_SCHEMAS, TRUSTED_TO_COMPOSE))
    return database.execute(PLPGSQL_CHECK.format(schemas=schemas, trusted=trusted))
