"""Which test is about which threat. `python -m tests.support.threats` writes tests/api/THREATS.md anew.

A test in Python has the mark `@pytest.mark.threat("T35")`; a file in SQL or TypeScript a comment line
`threats: T44 T47`, which speaks for the whole file.
"""

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CATALOGUE = TESTS / "api" / "threats.csv"
TABLE = TESTS / "api" / "THREATS.md"
FOLDERS = ("api", "db", "e2e/journeys", "faults", "money", "stack", "../web/src/lib")
COMMENT = re.compile(r"^(?:--|//|\s*\*) threats: (T\d[\dT ]*)$", re.MULTILINE)
HEAD = """# Threats and the tests about them

Written by `python -m tests.support.threats` from threats.csv and the tests' own marks; a test compares.

| | where | threat | tests |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Threat:
    """One line of the catalogue; `where` is how it is best tested."""

    id: str
    where: str
    text: str


def catalogue() -> list[Threat]:
    """All threats, in order."""
    with CATALOGUE.open(newline="") as file:
        return [Threat(row["id"], row["where"], row["threat"]) for row in csv.DictReader(file)]


def marked() -> dict[str, list[str]]:
    """Return the tests by their threat, as `folder/file::test` or `folder/file`."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).glob("*")):
            name = f"{folder.removeprefix('../')}/{path.name}"
            if path.suffix == ".py":
                for test, threat in _marks(ast.parse(path.read_text())):
                    found[threat].append(f"{name}::{test}")
            elif path.suffix in (".sql", ".ts"):
                for line in COMMENT.findall(path.read_text()):
                    for threat in line.split():
                        found[threat].append(name)
    return {threat: list(dict.fromkeys(tests)) for threat, tests in found.items()}


def _marks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and threat of each test that has the mark, on itself or on one of its parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            for call in (call for mark in node.decorator_list for call in ast.walk(mark)):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.threat":
                    yield from ((node.name, ast.literal_eval(argument)) for argument in call.args)


def uncovered() -> list[Threat]:
    """Threats without a test."""
    tests = marked()
    return [threat for threat in catalogue() if threat.id not in tests]


def table() -> str:
    """Return the table as Markdown."""
    tests = marked()
    rows = (
        f"| {threat.id} | {threat.where} | {threat.text} | {'<br>'.join(tests.get(threat.id, ['none']))} |\n"
        for threat in catalogue()
    )
    return HEAD + "".join(rows)


if __name__ == "__main__":
    TABLE.write_text(table())
    for missing in uncovered():
        print(f"{missing.id} ({missing.where}): {missing.text}")
