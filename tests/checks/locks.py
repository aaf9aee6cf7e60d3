"""The lock files install everywhere what was tested: `python -m tests.checks.locks` says what they lack."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from launcher.settings import ROOT
from tests.checks.sbom import PYTHON_LOCK, node_entries, normalised, packages, unfit

CORRECTION = (
    "To correct it: `npm install --package-lock-only` in that folder. What is lacking even then "
    "is not published: take a version of which `npm view` finds the packages of every platform."
)


def unlocked(root: Path = ROOT) -> list[str]:
    """Return packages that are required and not locked, or locked without a hash."""
    locked = packages(root)
    lines = [
        f"{found.lock}: {found.name} {found.version} has no hash" for found in locked if not found.hashed
    ]
    names = {(found.lock, found.name) for found in locked}
    return lines + [f"{lock}: {name} is not locked" for lock, name in sorted({*_required(root)} - names)]


def _required(root: Path) -> Iterator[tuple[Path, str]]:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    groups = [project["project"]["dependencies"], *project.get("dependency-groups", {}).values()]
    for requirement in (text for group in groups for text in group):
        yield PYTHON_LOCK, normalised(re.split(r"[^A-Za-z0-9._-]", requirement)[0])
    for lock, place, entry in node_entries(root):
        if not place:
            for name in {**entry.get("dependencies", {}), **entry.get("devDependencies", {})}:
                yield lock, name


def registries(root: Path = ROOT) -> list[str]:
    """Return lock files that name a registry: every machine installs from its own."""
    locks = {lock for lock, _, _ in node_entries(root)}
    named = sorted(lock for lock in locks if '"resolved"' in (root / lock).read_text())
    options = re.search(
        r"^\s*--?(i|f|index|extra|find)\b|://", (root / PYTHON_LOCK).read_text(), re.MULTILINE
    )
    return [f"{lock} names a registry" for lock in [*named, *([PYTHON_LOCK] if options else [])]]


def missing_platforms(root: Path = ROOT) -> list[str]:
    """Return what the Node locks lack for other machines: `npm ci` installs nothing that they do not name."""
    entries, lines = list(node_entries(root)), []
    places = {(lock, place) for lock, place, _ in entries}
    for lock, place, entry in entries:
        for name in entry.get("optionalDependencies", {}):
            if not any((lock, f"{above}node_modules/{name}") in places for above in _upwards(place)):
                who = f"{place.rpartition('node_modules/')[2]} {entry.get('version', '')}"
                lines.append(f"{lock}: {who.strip() or 'package.json'} lacks {name}")
    return lines and [*lines, CORRECTION]


def _upwards(place: str) -> Iterator[str]:
    """Yield the folders where Node looks for what a package asks for, its own first."""
    while place:
        yield f"{place}/"
        place = place.rpartition("node_modules/")[0].rstrip("/")
    yield ""


if __name__ == "__main__":
    sys.exit("\n".join([*unlocked(), *registries(), *missing_platforms(), *unfit()]) or None)
