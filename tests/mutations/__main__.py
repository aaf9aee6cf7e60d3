"""Mutation tests: remove every guard, one at a time, and report which mutants survive.

`python -m tests.mutations` runs the guards of the database, then those of services and gateway, or those
whose name contains one of the words given. With --find it looks for tests instead: for guards without one,
and with words for those whose usual test lets their mutant live. It writes their rows, and deletes rows of
guards that no longer exist. STACK_ENV names the stack.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.mutations import run, services, sources
from tests.mutations.guards import Guard
from tests.mutations.run import Named, Row
from tests.mutations.sources import SourceEdit
from tests.support import pgtap
from tests.support.stack import Stack


def main() -> int:
    """Run or complete the list; the exit status says whether every mutant is killed by its test."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--find", action="store_true", help="look for the tests of guards that have none")
    parser.add_argument("words", nargs="*", help="only guards whose name holds one of these")
    given = parser.parse_args()
    url = Stack.read().values["DATABASE_ADMIN_URL"]
    guards = {guard.name: guard for guard in run.guards_of(url)}
    edits = {guard.name: guard for guard in sources.read()}
    if given.find:
        return max(find(guards, url, given.words), find_in_services(edits, given.words))
    in_database = report(run.LIST, guards, lambda rows: run.run_rows(guards, rows, url), given.words)
    in_services = report(services.LIST, edits, lambda rows: run_in_services(edits, rows), given.words)
    return max(in_database, in_services)


def report(
    path: Path,
    guards: Mapping[str, Named],
    run_rows: Callable[[Sequence[Row]], Iterator[tuple[Row, str]]],
    words: Sequence[str],
) -> int:
    """Run every guard with its test and print what survived."""
    rows = run.listed(path)
    wrong = run.difference(list(guards.values()), rows, path)
    chosen = [row for row in run.assigned(guards.values(), rows) if wanted(row.guard, words)]
    proven = [row for row in chosen if row.test]
    started, survived = time.monotonic(), 0
    for row, failure in run_rows(proven):
        if failure:
            survived += 1
            print(f"  SURVIVED {row.guard}\n    {row.test}: {failure}", flush=True)
    print("".join(f"  {line}\n" for line in wrong), end="")
    untested = sum(row.reason == services.UNTESTED for row in chosen)
    second = len(chosen) - len(proven) - untested
    seconds = time.monotonic() - started
    print(f"  {path.name}: {len(proven)} guards removed in {seconds:.0f} s; {second} have a reason instead")
    if untested:
        print(f"  {untested} have no test yet")
    print(f"\n{len(proven) - survived} passed, {survived + len(wrong)} failed", flush=True)
    return 1 if survived or wrong else 0


def run_in_services(edits: dict[str, SourceEdit], rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """Run the rows of services and gateway, whose tests must be green before."""
    yield from services.run_rows(edits, rows, services.red_already(sorted({row.test for row in rows})))


def wanted(guard: str, words: Sequence[str]) -> bool:
    """Whether one of the words is in the name, or there are none."""
    return not words or any(word in guard for word in words)


def find(guards: Mapping[str, Guard], url: str, words: Sequence[str]) -> int:
    """Look for a test for each guard without one, with words also where the usual one is wrong."""
    known = {row.guard: row for row in run.listed() if row.guard in guards}
    new = [
        row
        for row in run.assigned(guards.values(), [])
        if row.guard not in known and not row.reason and wanted(row.guard, words) and (words or not row.test)
    ]
    folder = run.ROOT / run.DATABASE_TESTS
    files = {str(path.relative_to(run.ROOT)) for path in folder.glob("*.sql")}

    def search(row: Row, database: str) -> Row:
        for test in sorted(files, key=lambda file: (file != row.test, -likeness(row.guard, file), file)):
            # Twice, and not by a time-out: a busy machine makes any test red once.
            if all(run.in_database(guards[row.guard], test, database).is_sure for _ in range(2)):
                return Row(row.guard, test, "")
        return Row(row.guard, "", "")

    with pgtap.copies(url, run.PARALLEL) as databases:
        files -= run.red_already(files, databases)
        return note(run.spread(new, databases, search), guards, known, run.LIST)


def find_in_services(guards: Mapping[str, SourceEdit], words: Sequence[str]) -> int:
    """Look for a test for each guard of the services without one among those that reach it."""
    known = {row.guard: row for row in run.listed(services.LIST) if row.guard in guards}
    new = [
        row.guard
        for row in run.assigned(guards.values(), known.values())
        if wanted(row.guard, words) and (not (row.test or row.reason) or row.reason == services.UNTESTED)
    ]
    return note(services.search([guards[name] for name in new]), guards, known, services.LIST)


def note(found: Iterator[Row], guards: Mapping[str, Named], known: dict[str, Row], path: Path) -> int:
    """Print each row that was found and write those that need one; an edit carries its test itself."""
    sought = killed = 0
    run.save(list(known.values()), path)
    for row in found:
        print(f"  {row.guard}: {row.test or 'NOT KILLED'}", flush=True)
        sought, killed = sought + 1, killed + bool(row.test)
        if not row.test or row.test == guards[row.guard].test:
            continue
        if row.guard.startswith("condition: "):
            print(f"    write into its edit: test = {json.dumps(row.test)}")
            continue
        known[row.guard] = row
        run.save(list(known.values()), path)
    print(f"\n{killed} passed, {sought - killed} failed")
    return 0 if killed == sought else 1


def likeness(guard: str, file: str) -> int:
    """How often a test names what the guard is about: the likely ones are tried first."""
    words = {word for part in guard.split() for word in part.split("(")[0].split(".") if len(word) > 4}
    text = (run.ROOT / file).read_text()
    return sum(text.count(word) for word in words) + 100 * sum(word in Path(file).stem for word in words)


if __name__ == "__main__":
    sys.exit(main())
