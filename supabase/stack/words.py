"""The words that names in SQL no longer use, as CONTRIBUTING.md lists them."""

import re
from collections.abc import Iterator
from pathlib import Path

from settings import ROOT

GLOSSARY = ROOT / "CONTRIBUTING.md"
# Names that the specification fixes or that are stored or sent.
ALLOWED = ROOT / "sql" / "allowed-words.txt"
PLACES = ("sql/schema/*.sql", "sql/seed/*.sql", "tests/db/*.sql", "tests/support/*.sql")
ROW = re.compile(r"^\| (`.+?`) \| (.+?) \|$", re.MULTILINE)
# What a name is not: comments, texts, and the bodies' texts inside them.
PROSE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
NAME = re.compile(r"\b[a-z][a-z0-9_]*\b")


def glossary() -> dict[str, str]:
    """The words by what to say instead."""
    rows = ROW.findall(GLOSSARY.read_text())
    return {word: instead for words, instead in rows for word in re.findall(r"`([a-z]+)`", words)}


def retired() -> str:
    """File, line, name and the word to use of each name that has a retired part; empty when none has."""
    words, allowed = glossary(), set(ALLOWED.read_text().split())
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}: not '{part}' but {words[part]}"
        for pattern in PLACES
        for path in sorted(ROOT.glob(pattern))
        for line, name in _names(path)
        if name not in allowed
        for part in name.split("_")
        if part in words
    ]
    return "\n".join(found) and "\n".join([*found, "CONTRIBUTING.md has the words to use."])


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Each name of a file, with its line; the file's own first."""
    yield 0, path.stem
    # Line ends stay, so that lines can be counted.
    text = PROSE.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())
    for number, line in enumerate(text.splitlines(), 1):
        for name in NAME.findall(line):
            yield number, name
