"""The words that names and prose no longer use, as CONTRIBUTING.md lists them."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from launcher.settings import ROOT

GLOSSARY = ROOT / "CONTRIBUTING.md"
# Names of libraries, and those that are stored or sent: a name, or a file and a word of its prose.
ALLOWED = Path(__file__).with_name("allowed-words.txt")
PLACES = (
    *("sql/schema/*.sql", "sql/seed/*.sql", "tests/db/*.sql", "tests/support/*.sql"),
    *("supabase/stack/*.py", "supabase/stack/launcher/**/*", "supabase/services/*", "supabase/gateway/*"),
    *("functions/**/*.py", "functions/**/*.md", "tests/**/*.py", "tests/**/*.md", "*.md", "docs/*.md"),
    *("sql/*.md", "supabase/*.md", "supabase/templates/*.md", "supabase/kubernetes/**/*"),
    *("docker-compose*.yml", "Makefile"),
)
ROW = re.compile(r"^\| ([`*].+?) \| (.+?) \|$", re.MULTILINE)
# What is neither code nor prose of a file, such as a literal text, and in group 1 what is prose.
LITERAL = r'"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'"
PARTS = {
    ".sql": re.compile(r"(--[^\n]*)|'(?:[^']|'')*'"),
    ".py": re.compile(r'("""(?s:.*?)"""|#[^\n]*)|' + LITERAL),
    ".md": re.compile(r"`[^`\n]*`|((?s:.)+?(?=`|\Z))"),
}
OTHER_PARTS = re.compile(r"(#[^\n]*)")
NAME = re.compile(r"\b[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def glossary() -> tuple[dict[str, str], set[str]]:
    """Return the words by what to say instead, and those (bold) that prose does not use either."""
    rows = [(words, instead) for words, instead in ROW.findall(GLOSSARY.read_text())]
    words = {word: instead for cell, instead in rows for word in re.findall(r"`([a-z_]+)`", cell)}
    return words, {word for cell, _ in rows for word in re.findall(r"\*\*`([a-z_]+)`\*\*", cell)}


def failure() -> str:
    """Return file, line, name and the word to use of each retired word; empty when there is none."""
    words, of_prose = glossary()
    allowed = {line.strip() for line in ALLOWED.read_text().splitlines()}
    found = [
        f"{path}:{line}: {name}: not '{word}' but {words[word]}"
        for place in PLACES
        for path in sorted(file.relative_to(ROOT) for file in ROOT.glob(place) if file.is_file())
        if "node_modules" not in path.parts
        for line, name, is_prose in _names(path)
        if name not in allowed
        for word in map(str.lower, WORD.findall(name))
        if word in (of_prose if is_prose else words) and f"{path} {word}" not in allowed
    ]
    return "\n".join(found) and "\n".join([*found, "CONTRIBUTING.md has the words to use."])


def _names(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield a file's name, each name of its code and each word of its prose, with its line."""
    yield 0, path.stem, False
    if "__pycache__" in path.parts:
        return
    prose: list[tuple[int, str]] = []
    text = (ROOT / path).read_text()

    def blank(match: re.Match[str]) -> str:
        prose.append((text.count("\n", 0, match.start()) + 1, match[1] or ""))
        # Line ends stay, so that lines can be counted.
        return "\n" * match[0].count("\n")

    code = PARTS.get(path.suffix, OTHER_PARTS).sub(blank, text)
    for first, part in [(1, code), *prose]:
        for number, line in enumerate(part.splitlines(), first):
            for name in NAME.findall(line):
                yield number, name, part is not code


if __name__ == "__main__":
    sys.exit(failure() or None)
