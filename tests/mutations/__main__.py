"""Mutation tests: remove every guard of the database, one at a time, and report which mutants survive.

`python -m tests.mutations` runs guards.csv, or the rows whose guard contains one of the words given. With
--find it looks among the pgTAP files for a test that kills each guard without one and writes its row; rows of
guards that no longer exist are deleted. STACK_ENV names the stack.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutations import run
from tests.mutations.guards import Guard
from tests.mutations.run import Row
from tests.support import pgtap
from tests.support.stack import Stack

# The file that tests each kind of guard.
USUAL = {
    "ledger rule": "ledger_checks",
    "constraint": "constraints",
    "missing grant": "authz_matrix",
    "row security": "roles",
    "unique index": "constraints",
}


def main() -> int:
    """Run or complete the list; the exit status says whether every mutant is killed by its test."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--find", action="store_true", help="look for the tests of guards that have none")
    parser.add_argument("words", nargs="*", help="only guards whose name holds one of these")
    given = parser.parse_args()
    url = Stack.read().values["DATABASE_ADMIN_URL"]
    guards = {guard.name: guard for guard in run.guards_of(url)}
    if given.find:
        return find(guards, url, given.words)
    return report(guards, url, given.words)


def report(guards: dict[str, Guard], url: str, words: Sequence[str]) -> int:
    """Run the rows and print what survived."""
    rows = run.listed()
    wrong = run.difference(list(guards.values()), rows)
    chosen = [row for row in rows if row.guard in guards and wanted(row.guard, words)]
    proven = [row for row in chosen if row.test]
    started, survived = time.monotonic(), 0
    for row, failure in run.run_rows(guards, proven, url):
        if failure:
            survived += 1
            print(f"  SURVIVED {row.guard}\n    {row.test}: {failure}", flush=True)
    print("".join(f"  {line}\n" for line in wrong), end="")
    second = len(chosen) - len(proven)
    seconds = time.monotonic() - started
    print(f"  {len(proven)} guards removed in {seconds:.0f} s; {second} have a reason instead")
    print(f"\n{len(proven) - survived} passed, {survived + len(wrong)} failed", flush=True)
    return 1 if survived or wrong else 0


def wanted(guard: str, words: Sequence[str]) -> bool:
    """Whether one of the words is in the name, or there are none."""
    return not words or any(word in guard for word in words)


def find(guards: dict[str, Guard], url: str, words: Sequence[str]) -> int:
    """Look for a test for each guard without one, and write the list."""
    known = {row.guard: row for row in run.listed() if row.guard in guards}
    new = [Row(name, "", "") for name in guards if name not in known and wanted(name, words)]
    folder = run.ROOT / run.DATABASE_TESTS
    files = {str(path.relative_to(run.ROOT)) for path in folder.glob("*.sql")}

    def search(row: Row, database: str) -> Row:
        for test in sorted(files, key=lambda file: (-likeness(row.guard, file), file)):
            if run.in_database(guards[row.guard], test, database).killed:
                return Row(row.guard, test, "")
        return row

    found = 0
    with pgtap.copies(url, run.PARALLEL) as databases:
        files -= run.red_already(files, databases)
        for row in run.spread(new, databases, search):
            print(f"  {row.guard}: {row.test or 'NOT KILLED'}", flush=True)
            if row.test:
                found += 1
                known[row.guard] = row
                run.save(list(known.values()))
    print(f"\n{found} passed, {len(new) - found} failed")
    return 0 if found == len(new) else 1


def likeness(guard: str, file: str) -> int:
    """How often a test names what the guard is about: the likely ones are tried first."""
    if Path(file).stem == USUAL.get(guard.split(":")[0]):
        return sys.maxsize
    words = {word for part in guard.split() for word in part.split("(")[0].split(".") if len(word) > 4}
    text = (run.ROOT / file).read_text()
    return sum(text.count(word) for word in words) + 100 * sum(word in Path(file).stem for word in words)


if __name__ == "__main__":
    sys.exit(main())
