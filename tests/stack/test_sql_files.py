"""The gate says where a schema file or a function is too long, and where two files share a number."""

from pathlib import Path

import pytest

from tests.checks import sql_files

QUERY = "    return query\n    with rows as (\n        select 1{}\n    )\n    select * from rows;\n"
# Each stands in a function of 71 lines or more.
TOO_LONG = {
    "statements": "    perform 1;\n" * 66,
    "a query without names": "    return query\n    select 1" + "\n" * 64 + ";\n",
    "a query and another statement": QUERY.format("\n" * 61) + "    perform 1;\n",
}
FITTING = {
    "seventy lines": "    perform 1;\n" * 65,
    "a query of named parts": QUERY.format("\n-- a; b\n" * 99),
}


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """Make an empty folder of schema files."""
    folder = tmp_path / sql_files.SCHEMA
    folder.mkdir(parents=True)
    return folder


def function(body: str) -> str:
    return f"create function private.f() returns void\nlanguage plpgsql as $$\nbegin\n{body}end\n$$;\n"


@pytest.mark.parametrize("body", TOO_LONG.values(), ids=TOO_LONG)
def test_a_function_is_too_long(schema: Path, tmp_path: Path, body: str) -> None:
    (schema / "010_a.sql").write_text("-- Why.\n\n" + function(body))
    found, _ = sql_files.failure(tmp_path).splitlines()
    assert found.startswith("sql/schema/010_a.sql:3: private.f has 7")
    assert "split it" in found


@pytest.mark.parametrize("body", FITTING.values(), ids=FITTING)
def test_a_function_may_be_as_long(schema: Path, tmp_path: Path, body: str) -> None:
    (schema / "010_a.sql").write_text(function(body))
    assert not sql_files.failure(tmp_path)


def test_a_file_is_too_long_or_has_the_number_of_another(schema: Path, tmp_path: Path) -> None:
    (schema / "010_a.sql").write_text("\n" * 600)
    (schema / "010_b.sql").write_text("\n" * 601)
    assert sql_files.failure(tmp_path).splitlines()[:2] == [
        "sql/schema/010_b.sql:1: sql/schema/010_a.sql has the number 010, too: take the next free one",
        "sql/schema/010_b.sql:601: more than 600 lines: give its second subject a file",
    ]
