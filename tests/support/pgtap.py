"""Runs a pgTAP file in a copy of the prepared database; reads what it says and which statements it ran."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg

from tests.support.stack import stack_state

ROOT = Path(__file__).parents[2]
# The migrated database without the demo, as tests/support/pgtap.sql has prepared it.
TEMPLATE = "bare"
SCHEMAS = ("public", "private", "pre_request", "hooks", "edge", "jobs")
# A test that no longer ends is red too.
OPTIONS = "-c client_min_messages=warning -c statement_timeout=60s -c synchronous_commit=off"
PSQL = ("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
# What is not run is there too, with no run counted.
PROFILE = """
select json_build_object(
    'function', p.oid::regprocedure::text, 'line', s.lineno, 'kind', s.stmtname,
    'ran', coalesce(s.exec_stmts, 0), 'source', btrim(split_part(p.prosrc, E'\\n', s.lineno))
)
from pg_catalog.pg_proc as p
inner join pg_catalog.pg_language as l on l.oid = p.prolang and l.lanname = 'plpgsql'
cross join lateral extensions.plpgsql_profiler_function_statements_tb(p.oid) as s
where p.pronamespace::regnamespace::text in ({schemas})
order by p.pronamespace::regnamespace::text, p.oid::regprocedure::text, s.lineno;
"""
SEPARATOR = "## profile"
PROFILES = "profile"


@dataclass(frozen=True)
class Statement:
    """A statement of a function: where it stands and how often it ran."""

    function: str
    line: int
    kind: str
    ran: int
    source: str


@dataclass(frozen=True)
class Run:
    """What one file said: its assertions, what was red, and the statements that it ran."""

    passed: int
    failures: list[str]
    output: str
    statements: list[Statement]


def database_of(url: str, name: str) -> str:
    """Return the URL of another database on the same server."""
    return f"{url.rsplit('/', 1)[0]}/{name}"


@contextmanager
def copies(url: str, count: int) -> Iterator[list[str]]:
    """Yield copies of the prepared database, dropped afterwards."""
    names = [f"pgtap_{os.getpid()}_{number}" for number in range(count)]
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            for name in names:
                connection.execute(f"create database {name} template {TEMPLATE}")
            yield [database_of(url, name) for name in names]
        finally:
            for name in names:
                connection.execute(f"drop database if exists {name} with (force)")


def run(file: str, database: str) -> Run:
    """Run a file, named from the root of the repository, under the profiler of plpgsql_check.

    The profiler keeps what one session does, so nothing has to be preloaded.
    """
    query = PROFILE.format(schemas=", ".join(f"'{schema}'" for schema in SCHEMAS))
    script = (
        "set client_min_messages = error;\nload 'plpgsql_check';\nset plpgsql_check.profiler = on;\n"
        f"\\i {file}\nset search_path = '';\n\\echo {SEPARATOR}\n{query}"
    )
    done = subprocess.run(
        [*PSQL, database],
        cwd=ROOT,
        env={**os.environ, "PGOPTIONS": OPTIONS},
        input=script,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output, _, rows = done.stdout.partition(SEPARATOR)
    statements = [Statement(**json.loads(row)) for row in rows.splitlines() if row.startswith("{")]
    return Run(
        len(re.findall(r"^ok \d", output, re.M)), _failures(output, done.returncode), output, statements
    )


def _failures(output: str, code: int) -> list[str]:
    """Return each failed assertion with its diagnostics; a file must end with its plan."""
    found = re.findall(r"^not ok .*(?:\n#.*)*", output, re.M)
    found += re.findall(r"^# Looks like .*", output, re.M)
    if code:
        found.append(f"psql ended with status {code}:\n{output[-2000:]}")
    planned, ran = re.search(r"^1\.\.(\d+)$", output, re.M), len(re.findall(r"^(?:not )?ok \d", output, re.M))
    if not planned or int(planned[1]) != ran:
        found.append(f"{ran} assertions ran; the plan says {planned[1] if planned else 'nothing'}.")
    return found


def store_profile(name: str, statements: list[Statement]) -> None:
    """Keep what a file ran, in the state folder of the stack."""
    folder = stack_state() / PROFILES
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps([asdict(statement) for statement in statements]))


def profile(names: Iterable[str]) -> list[Statement]:
    """Return the statements that the files ran, with their counts added up.

    Raises:
        FileNotFoundError: one of them has not run on this stack; `pytest tests/db` runs them.
    """
    total: dict[tuple[str, int, str, str], int] = {}
    for name in names:
        for row in json.loads((stack_state() / PROFILES / f"{name}.json").read_text()):
            statement = Statement(**row)
            key = (statement.function, statement.line, statement.kind, statement.source)
            total[key] = total.get(key, 0) + statement.ran
    return [
        Statement(function, line, kind, ran, source) for (function, line, kind, source), ran in total.items()
    ]
