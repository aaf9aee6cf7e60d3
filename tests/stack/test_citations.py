"""The gate finds a cited rule that is not there, one that stands twice, and a link that leads nowhere."""

from pathlib import Path

import pytest

from tests.checks import citations

SPECIFICATION = "### S1 Money\n\n- **S1.1** Exact.\n- **S1.2** As text, see S1.1.\n"
DECISIONS = "### D1 One queue\n\n[Rules](specification.md#s1-money)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a repository of the two pages."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "specification.md").write_text(SPECIFICATION)
    (tmp_path / "docs" / "decisions.md").write_text(DECISIONS)
    return tmp_path


def test_this_repository_has_none() -> None:
    assert citations.failure() == ""


# Each text is formatted with a number that is not there, so that this file itself cites nothing wrong.
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "sql/schema/a.sql",
            "-- one\n-- specification S1.{}",
            "sql/schema/a.sql:2: there is no S1.{}: cite",
        ),
        ("functions/a.py", "# specification S1.1 and S1.2, S{}", "functions/a.py:1: there is no S{}"),
        ("web/src/a.tsx", "/** specification S{}. */", "web/src/a.tsx:1: there is no S9"),
        (
            "tests/a.ts",
            "// decision D{}",
            "tests/a.ts:1: there is no D9: cite one that is in docs",
        ),
        ("README.md", "the{}specification says", "README.md:1: name the rule"),
        (
            "docs/a.md",
            "\n[a](b{}.md)",
            "docs/a.md:2: there is no b9.md: name a file as it",
        ),
        ("docs/a.md", "[a](decisions.md#d{})", "docs/a.md:1: decisions.md has no heading #d9"),
        (".github/a.md", "[a](#b{})\n# b", ".github/a.md:1: a.md has no heading #b9"),
        ("docs/a.md", "`tests/a{}.py`", "docs/a.md:1: there is no tests/a9.py"),
        ("docs/decisions.md", "### D1 One\nlike D{}", "docs/decisions.md:2: there is no D9"),
    ],
)
def test_what_is_cited_is_there(tree: Path, name: str, text: str, problem: str) -> None:
    assert citations.failure(tree) == ""
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text.format(" " if "specification says" in text else 9))
    (found,) = citations.failure(tree).splitlines()
    assert found.startswith(problem.format(9))


def test_a_number_stands_once(tree: Path) -> None:
    (tree / "docs" / "specification.md").write_text(SPECIFICATION + "- **S1.1** Again.\n")
    assert "S1.1 stands 2 times" in citations.failure(tree)


def test_code_addresses_and_second_headings_are_no_links_that_fail(tree: Path) -> None:
    page = "# One-way `x`\n# One-way `x`\n[a](#one-way-x-1) [b](https://x.org/y) `[c](d)`\n```\n[e](f)\n```\n"
    (tree / "README.md").write_text(page)
    assert citations.failure(tree) == ""
