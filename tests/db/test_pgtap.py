"""The pgTAP files of this folder, one test each, in a copy of the database that `make test` has prepared.

`pytest tests/db -k deposits` runs one; a second process (`-n 2`) has a copy of its own.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import pgtap
from tests.support.stack import Stack

FILES = sorted(path.stem for path in Path(__file__).parent.glob("*.sql"))


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The copy."""
    with pgtap.copies(Stack.read().values["DATABASE_ADMIN_URL"], 1) as (copy,):
        yield copy


@pytest.mark.parametrize("name", FILES)
def test_file(name: str, database: str, record_property: pytest.FixtureRequest) -> None:
    run = pgtap.run(f"tests/db/{name}.sql", database)
    record_property("assertions", run.passed + len(run.failures))
    assert not run.failures, "\n".join(run.failures)
    pgtap.keep_profile(name, run.statements)
