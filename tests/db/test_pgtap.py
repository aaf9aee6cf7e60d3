"""The pgTAP files of this folder, one test each, in a copy of the database that `make test` has prepared.

`pytest tests/db -k deposits` runs one; a second process (`-n 2`) has a copy of its own.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import pgtap
from tests.support.stack import Stack

FILES = sorted(path.stem for path in Path(__file__).parent.glob("*.sql"))


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """Yield a copy of the prepared database."""
    with pgtap.copies(Stack.read().values["DATABASE_ADMIN_URL"], 1) as (copy,):
        yield copy


@pytest.mark.parametrize("name", FILES)
def test_file(name: str, database: str, record_property: Callable[[str, object], None]) -> None:
    run = pgtap.run(f"tests/db/{name}.sql", database)
    record_property("assertions", run.passed + len(run.failures))
    assert not run.failures, "\n".join(run.failures)
    pgtap.store_profile(name, run.statements)


def test_what_is_red_in_a_part_stays_red(tmp_path: Path, database: str) -> None:
    """The parts of a file end with a rollback to a savepoint; no assertion and no number is lost by it."""
    file = tmp_path / "parts.sql"
    file.write_text(
        "begin;\n\\i tests/support/actors.sql\nselect * from no_plan();\nsavepoint start;\n"
        "select ok(true, 'one');\nselect ok(false, 'two');\nrollback to savepoint start;\n"
        "select ok(true, 'three');\nselect * from finish();\nrollback;\n"
    )
    run = pgtap.run(str(file), database)
    assert run.passed == 2
    assert [failure.splitlines()[0] for failure in run.failures] == ["not ok 2 - two"]
