"""Remove one guard and run the test that must kill the mutant."""

import csv
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any, Protocol, TypeVar

import psycopg

from tests.mutations import guards as catalogue
from tests.mutations.guards import Guard
from tests.support import pgtap

S = TypeVar("S")
T = TypeVar("T")

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "guards.csv"
COLUMNS = ("guard", "test", "reason")
DATABASE_TESTS = "tests/db/"
PARALLEL = 2
REMOVED = "## the guard is removed"
TIMED_OUT = "canceling statement due to statement timeout"


@dataclass(frozen=True)
class Row:
    """A guard with the test that kills its mutant, or why no test can."""

    guard: str
    test: str
    reason: str


class Named(Protocol):
    """A guard of whatever kind: its name, and the test or the reason that need no row of the list."""

    @property
    def name(self) -> str: ...
    @property
    def test(self) -> str: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True)
class TrialResult:
    """Whether a test killed the mutant, and its output."""

    killed: bool
    output: str

    @property
    def is_sure(self) -> bool:
        """Whether the test killed the mutant, and did not only take too long."""
        return self.killed and TIMED_OUT not in self.output


def listed(path: Path = LIST) -> list[Row]:
    """Return the rows of a list: the guards whose test does not follow from their kind, noun or edit."""
    with path.open(newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def assigned(guards: Iterable[Named], rows: Iterable[Row]) -> list[Row]:
    """Return every guard with its test: its row's, or the one that it needs no row for."""
    own = {row.guard: row for row in rows}
    return [own.get(guard.name) or Row(guard.name, guard.test, guard.reason) for guard in guards]


@contextmanager
def catalogue_of(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to the migrated database without the demo, with every name schema-qualified."""
    with psycopg.connect(pgtap.database_of(url, pgtap.TEMPLATE)) as connection:
        connection.execute("set search_path = ''")
        yield connection


def guards_of(url: str) -> list[Guard]:
    """Return every guard of the migrated database."""
    with catalogue_of(url) as connection:
        return catalogue.read(connection)


def in_database(guard: Guard, test: str, database: str) -> TrialResult:
    """Run a pgTAP file without the guard, in one transaction that is rolled back at its end.

    Raises:
        RuntimeError: the guard could not be removed.
    """
    script = f"begin;\n{guard.removal};\n\\echo {REMOVED}\n\\i {test}\n"
    with subprocess.Popen(
        [*pgtap.PSQL, database],
        cwd=ROOT,
        env={**os.environ, "PGOPTIONS": pgtap.OPTIONS},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(script)
        process.stdin.close()
        said, killed = [], False
        for line in process.stdout:
            said.append(line)
            if line.startswith(("not ok", "# Looks like")):
                killed = True
                process.terminate()
    output = "".join(said)
    if REMOVED not in output:
        raise RuntimeError(f"{guard.name} could not be removed:\n{output}")
    return TrialResult(killed or process.returncode != 0, output)


def in_stack(guard: Guard, test: str, url: str) -> TrialResult:
    """Run a test of the running stack without the guard, and put the guard back.

    Raises:
        RuntimeError: the guard cannot be put back.
    """
    if not guard.restore:
        raise RuntimeError(f"{guard.name} cannot be put back: only a pgTAP test can run without it.")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(guard.removal)
        try:
            command = [sys.executable, "-m", "pytest", "-q", "-x", *test.split()]
            done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
        finally:
            connection.execute(guard.restore)
    # 1 is pytest's exit status for tests that ran and failed; 2 to 5 say that none did.
    if done.returncode > 1:
        raise RuntimeError(f"{test} did not run:\n{done.stdout}{done.stderr}")
    return TrialResult(done.returncode == 1, done.stdout)


def run_rows(guards: dict[str, Guard], rows: Sequence[Row], url: str) -> Iterator[tuple[Row, str]]:
    """Yield each row with a failure, empty when its test killed the mutant; pgTAP files two at a time."""
    inside = [row for row in rows if row.test.startswith(DATABASE_TESTS)]
    if inside:
        with pgtap.copies(url, PARALLEL) as databases:
            red = red_already({row.test for row in inside}, databases)

            def run_row(row: Row, database: str) -> str:
                if row.test in red:
                    return "red with the guard in its place"
                return failure_of(lambda: in_database(guards[row.guard], row.test, database))

            yield from zip(inside, spread(inside, databases, run_row), strict=True)
    # The stack has one database, so these go one after the other.
    for row in rows:
        if row not in inside:
            yield row, failure_of(partial(in_stack, guards[row.guard], row.test, url))


def red_already(tests: Iterable[str], databases: Sequence[str]) -> set[str]:
    """Return the pgTAP files that fail with every guard in place and so prove nothing."""
    nothing, files = Guard("nothing", "select 1"), sorted(tests)
    results = spread(files, databases, lambda test, database: in_database(nothing, test, database))
    return {test for test, result in zip(files, results, strict=True) if result.killed}


def failure_of(trial: Callable[[], TrialResult]) -> str:
    """Return why a mutant survived; empty when it was killed."""
    try:
        return "" if trial().killed else "still green"
    except RuntimeError as error:
        return str(error)


def spread(items: Sequence[S], databases: Sequence[str], work: Callable[[S, str], T]) -> Iterator[T]:
    """Do the work for each item, with one database a thread; the results in the order of the items."""
    free: Queue[str] = Queue()
    for database in databases:
        free.put(database)

    def one(item: S) -> T:
        database = free.get()
        try:
            return work(item, database)
        finally:
            free.put(database)

    with ThreadPoolExecutor(len(databases)) as pool:
        yield from pool.map(one, items)


def difference(guards: Sequence[Named], rows: Sequence[Row], path: Path = LIST) -> list[str]:
    """Return what is wrong with a list, a line each; a changed guard is offered the name that it has now."""
    own, known = {row.guard: row for row in rows}, {guard.name: guard for guard in guards}
    assert len(known) == len(guards), "two guards of one name"
    unlisted = [row.guard for row in assigned(guards, []) if not (row.test or row.reason or row.guard in own)]
    former, rowless = sorted(set(own) - set(known)), sorted(set(known) - set(own))
    return [
        *(f"no test kills: {name}" for name in sorted(unlisted)),
        *(f"in {path.name} and no longer a guard: {name}{_offer(name, rowless)}" for name in former),
        *(f"twice in {path.name}: {row.guard}" for row in rows if own[row.guard] is not row),
        *(f"neither a test nor a reason: {row.guard}" for row in rows if bool(row.test) == bool(row.reason)),
        *(
            f"needs no row in {path.name}: {row.guard}"
            for row in rows
            if row.guard in known and row.test and row.test == known[row.guard].test
        ),
    ]


def _offer(name: str, rowless: Sequence[str]) -> str:
    likely = get_close_matches(name, rowless, 1)
    return f"\n  Was it changed? Then its row begins with: {likely[0]}" if likely else ""


def save(rows: Sequence[Row], path: Path = LIST) -> None:
    """Write a list anew, in the order of the names."""
    with path.open("w", newline="") as file:
        writer: Any = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((row.guard, row.test, row.reason) for row in sorted(rows, key=lambda row: row.guard))
