"""Which statements of the database's functions the pgTAP files run; `make coverage` prints it.

Every file runs in one session under the profiler of plpgsql_check, so that nothing has to be preloaded.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tests.mutations.guards import SCHEMAS
from tests.mutations.run import ROOT, copies
from tests.support.stack import Stack

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
RESULT = "## profile"


@dataclass(frozen=True)
class Statement:
    """A statement of a function: where it stands and how often it ran."""

    function: str
    line: int
    kind: str
    ran: int
    source: str


def measure(database: str) -> list[Statement]:
    """Run every pgTAP file in a copy of the database and return what its functions did."""
    files = "".join(
        f"\\i {path.relative_to(ROOT)}\n" for path in sorted((ROOT / "tests" / "db").glob("*.sql"))
    )
    query = PROFILE.format(schemas=", ".join(f"'{schema}'" for schema in SCHEMAS))
    profiler = "load 'plpgsql_check';\nset plpgsql_check.profiler = on;\n"
    script = f"{profiler}{files}set search_path = '';\n\\echo {RESULT}\n{query}"
    done = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", database],
        cwd=ROOT,
        env={**os.environ, "PGOPTIONS": "-c client_min_messages=error"},
        input=script,
        text=True,
        capture_output=True,
        check=True,
    )
    _, _, rows = done.stdout.partition(RESULT)
    return [Statement(**json.loads(row)) for row in rows.splitlines() if row]


def report(statements: Sequence[Statement]) -> str:
    """A line for each schema, then every statement that no pgTAP file ran."""
    lines = [f"  {'schema':10}{'functions':>10}{'statements':>12}{'not run':>9}{'covered':>9}"]
    for schema in SCHEMAS:
        inside = [s for s in statements if s.function.startswith(f"{schema}.")]
        missed = sum(not s.ran for s in inside)
        share = 100 * (1 - missed / len(inside)) if inside else 100
        functions = len({s.function for s in inside})
        lines.append(f"  {schema:10}{functions:10}{len(inside):12}{missed:9}{share:8.1f}%")
    lines.append("")
    lines += [f"  {s.function}, line {s.line}, {s.kind}: {s.source}" for s in statements if not s.ran]
    return "\n".join(lines)


def main() -> int:
    """Print the report of the stack that STACK_ENV names."""
    with copies(Stack.read().values["DATABASE_ADMIN_URL"], 1) as (database,):
        print(report(measure(database)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
