"""A person can hold a schema file and a function: their lengths, and a number for each file."""

import re
from collections.abc import Iterator
from pathlib import Path

from launcher.settings import ROOT

SCHEMA = Path("sql/schema")
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 600, 70
FUNCTION = re.compile(r"^create function ([\w.]+)\(.*?\$\$(.*?)^\$\$;$", re.MULTILINE | re.DOTALL)
COMMENT_OR_TEXT = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
# A query of named parts reads from part to part, however many there are.
QUERY = re.compile(
    r"\s*(?:(?:declare\b.*?)?\bbegin\s+return query\s+)?with\b[^;]*;?\s*(?:end)?\s*", re.DOTALL
)
CORRECTION = "sql/README.md says how to split one: How a schema file is written."


def failure(root: Path = ROOT) -> str:
    """Return file, line and what to do of each file or function that is too long; empty without one."""
    found = [*_problems(root)]
    return "\n".join([*found, CORRECTION]) if found else ""


def _problems(root: Path) -> Iterator[str]:
    numbers: dict[str, Path] = {}
    for file in sorted((root / SCHEMA).glob("*.sql")):
        path, text = file.relative_to(root), file.read_text()
        number = file.name.partition("_")[0]
        if number in numbers:
            yield f"{path}:1: {numbers[number]} has the number {number}, too: take the next free one"
        numbers.setdefault(number, path)
        lines = text.count("\n")
        if lines > LINES_OF_A_FILE:
            yield f"{path}:{lines}: more than {LINES_OF_A_FILE} lines: give its second subject a file"
        for function in FUNCTION.finditer(text):
            length = function[0].count("\n") + 1
            if length > LINES_OF_A_FUNCTION and not QUERY.fullmatch(COMMENT_OR_TEXT.sub("", function[2])):
                line = text.count("\n", 0, function.start()) + 1
                yield (
                    f"{path}:{line}: {function[1]} has {length} lines, more than {LINES_OF_A_FUNCTION}: "
                    "split it, or make it one query whose parts are named by `with`"
                )
