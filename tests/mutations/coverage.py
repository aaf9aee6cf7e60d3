"""Which statements of the database's functions the pgTAP files run; `make coverage` prints it."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import pgtap
from tests.support.pgtap import SCHEMAS, Statement

FILES = pgtap.ROOT / "tests" / "db"


def measured() -> list[Statement]:
    """Return the statements that the pgTAP files ran on this stack.

    Raises:
        FileNotFoundError: one of them has not run yet; `pytest tests/db` runs them.
    """
    return pgtap.profile(sorted(path.stem for path in FILES.glob("*.sql")))


def report(statements: Sequence[Statement]) -> str:
    """Return a line for each schema, then every statement that no pgTAP file ran."""
    lines = [f"  {'schema':10}{'functions':>10}{'statements':>12}{'not run':>9}{'covered':>9}"]
    for schema in SCHEMAS:
        inside = [s for s in statements if s.function.startswith(f"{schema}.")]
        not_run = sum(not s.ran for s in inside)
        share = 100 * (1 - not_run / len(inside)) if inside else 100
        functions = len({s.function for s in inside})
        lines.append(f"  {schema:10}{functions:10}{len(inside):12}{not_run:9}{share:8.1f}%")
    lines.append("")
    lines += [f"  {s.function}, line {s.line}, {s.kind}: {s.source}" for s in statements if not s.ran]
    return "\n".join(lines)


def main() -> int:
    """Run the pgTAP files on the stack that STACK_ENV names, and print the report."""
    status = pytest.main(["-q", "-n", "2", str(FILES.relative_to(Path.cwd()))])
    print(report(measured()))
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
