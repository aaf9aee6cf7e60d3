"""Rules and decisions that are cited exist, each once; links and paths in Markdown lead somewhere."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from launcher.settings import ROOT

SPECIFICATION, DECISIONS = "docs/specification.md", "docs/decisions.md"
FOLDERS = (".github", "docs", "functions", "sql", "supabase", "tests", "web")
KINDS = {".css", ".env", ".js", ".md", ".mjs", ".py", ".sh", ".sql", ".toml", ".ts", ".tsx", ".yaml", ".yml"}
# Folders without sources: installed, made, or as it was when it shipped.
SKIPPED = {"node_modules", "__pycache__", "dist", ".output", "migrations"}

RULE = re.compile(r"^(?:### |- \*\*)(S\d+(?:\.\d+)?)\b", re.MULTILINE)
DECISION = re.compile(r"^### (D\d+)\b", re.MULTILINE)
# `specification S4.2`, `specification S4 and S8.3`, `decision D7`; a rule also by its number alone.
CITED = re.compile(r"\b(?:specification|decision)\s+(?:[SD]\d+(?:\.\d+)?(?:,\s+|\s+and\s+)?)+|\bS\d+\.\d+\b")
NUMBER = re.compile(r"\b[SD]\d+(?:\.\d+)?\b")
UNNAMED = re.compile(r"\bthe\s+specification\b", re.IGNORECASE)

CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
PATH = re.compile(rf"`((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./-]+\.(?:csv|md|py|sql|toml|ts))`")


def failure(root: Path = ROOT) -> str:
    """Return file, line and what to do for each wrong citation, link and path; empty when there is none."""
    return "\n".join(_problems(root))


def _problems(root: Path) -> Iterator[str]:
    known: set[str] = set()
    for home, definition in ((SPECIFICATION, RULE), (DECISIONS, DECISION)):
        numbers = Counter(definition.findall((root / home).read_text()))
        known |= numbers.keys()
        for number, times in numbers.items():
            if times > 1:
                yield f"{home}: {number} stands {times} times: give all but the first the next free number"
    for path in _sources(root):
        name, text = path.relative_to(root), path.read_text()
        problems = [*_wrong_citations(str(name), text, known)]
        if path.suffix == ".md":
            problems += _lost(root, path, text)
        for position, problem in sorted(problems):
            yield f"{name}:{text.count(chr(10), 0, position) + 1}: {problem}"


def _wrong_citations(name: str, text: str, known: set[str]) -> Iterator[tuple[int, str]]:
    at_home = name in {SPECIFICATION, DECISIONS}
    for match in (NUMBER if at_home else CITED).finditer(text):
        for number in NUMBER.findall(match[0]):
            if number not in known:
                home = DECISIONS if number.startswith("D") else SPECIFICATION
                yield match.start(), f"there is no {number}: cite one that is in {home}, or add it there"
    for match in () if at_home else UNNAMED.finditer(text):
        yield match.start(), "name the rule, as 'specification S4.2', or say it without"


def _sources(root: Path) -> Iterator[Path]:
    files = [*root.glob("*"), *(path for folder in FOLDERS for path in (root / folder).rglob("*"))]
    for path in sorted(files):
        is_source = path.suffix in KINDS or path.name in {"Makefile", "Caddyfile"}
        if is_source and path.is_file() and not SKIPPED & set(path.relative_to(root).parts):
            yield path


def _lost(root: Path, page: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the links and the paths of a page that lead nowhere, with their positions."""
    # Blanks instead of code, so that positions stay.
    prose = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for match in LINK.finditer(prose):
        file, _, anchor = match[1].partition("#")
        target = page.parent / file if file else page
        if ":" in file:
            continue
        if not target.exists():
            yield match.start(), f"there is no {file}: name a file as it is seen from {page.parent.name}/"
        elif anchor and anchor not in _anchors(target.read_text()):
            yield match.start(), f"{target.name} has no heading #{anchor}: correct one of them"
    for match in PATH.finditer(text):
        if not (root / match[1]).exists():
            yield match.start(), f"there is no {match[1]}: name a file as it is seen from the root"


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them; a second heading of a name has `-1`."""
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in HEADING.findall(text):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


if __name__ == "__main__":
    sys.exit(failure() or None)
