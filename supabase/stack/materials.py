"""What the product is made of: locked packages, their bill of materials, what is known against them."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from settings import ROOT
from terminal import Stop
from tools import VENV

PYTHON_LOCK = Path("requirements.lock")
NODE_FOLDERS = tuple(map(Path, ("web", "supabase/stack", "tests/api/js", "tests/bench", "tests/e2e")))
# Parts of these are in what people run; the rest builds and tests it.
SHIPPED = (PYTHON_LOCK, Path("web/package-lock.json"))
PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)")
NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")
NOTHING = "nothing known"
MEND_LOCK = (
    "To mend it: `npm install --package-lock-only` in that folder. What is lacking even then "
    "is not published: take a version of which `npm view` finds the packages of every platform."
)


@dataclass(frozen=True, order=True)
class Part:
    """One locked package; without a hash, whoever serves it decides what it is."""

    lock: Path
    kind: str
    name: str
    version: str
    hashed: bool

    @property
    def purl(self) -> str:
        """Its name in bills of materials."""
        name = self.name.replace("@", "%40") if self.kind == "npm" else _plain(self.name)
        return f"pkg:{self.kind}/{name}@{self.version}"


def parts(root: Path = ROOT) -> list[Part]:
    """Every locked package of every lock file."""
    return sorted({*_python_parts(root), *(p for folder in NODE_FOLDERS for p in _node_parts(root, folder))})


def _python_parts(root: Path) -> Iterator[Part]:
    entries = re.split(r"\n(?=\S)", (root / PYTHON_LOCK).read_text())
    for entry in entries:
        if found := PINNED.match(entry):
            yield Part(PYTHON_LOCK, "pypi", found[1], found[2], "--hash=sha256:" in entry)


def _node_parts(root: Path, folder: Path) -> Iterator[Part]:
    lock = folder / "package-lock.json"
    for place, entry in json.loads((root / lock).read_text())["packages"].items():
        if place and not entry.get("link"):
            name = entry.get("name") or place.rpartition("node_modules/")[2]
            # What lies in another package's archive has that one's hash.
            hashed = "integrity" in entry or entry.get("inBundle", False)
            yield Part(lock, "npm", name, entry["version"], hashed)


def complaint(root: Path = ROOT) -> str:
    """What the lock files lack: a package that is asked for and not locked, or locked without a hash."""
    locked = parts(root)
    lines = [f"{part.lock}: {part.name} {part.version} has no hash" for part in locked if not part.hashed]
    names = {(part.lock, part.name if part.kind == "npm" else _plain(part.name)) for part in locked}
    lines += [f"{lock}: {name} is not locked" for lock, name in sorted({*_asked_for(root)} - names)]
    return "\n".join(lines)


def _asked_for(root: Path) -> Iterator[tuple[Path, str]]:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    groups = [project["project"]["dependencies"], *project.get("dependency-groups", {}).values()]
    for requirement in (text for group in groups for text in group):
        found = NAME.match(requirement)
        yield PYTHON_LOCK, _plain(found[0] if found else requirement)
    for folder in NODE_FOLDERS:
        manifest = json.loads((root / folder / "package.json").read_text())
        for field in ("dependencies", "devDependencies"):
            yield from ((folder / "package-lock.json", name) for name in manifest.get(field, {}))


def incomplete(root: Path = ROOT) -> str:
    """What the Node lock files lack for other machines: `npm ci` installs nothing that they do not name."""
    lines = []
    for folder in NODE_FOLDERS:
        lock = folder / "package-lock.json"
        packages = json.loads((root / lock).read_text())["packages"]
        for place, entry in packages.items():
            for name in entry.get("optionalDependencies", {}):
                if not any(f"{above}node_modules/{name}" in packages for above in _upwards(place)):
                    who = f"{place.rpartition('node_modules/')[2]} {entry.get('version', '')}"
                    lines.append(f"{lock}: {who.strip() or 'package.json'} lacks {name}")
    return "\n".join(lines and [*lines, MEND_LOCK])


def _upwards(place: str) -> Iterator[str]:
    """The folders where Node looks for what a package asks for, its own first."""
    while place:
        yield f"{place}/"
        place = place.rpartition("node_modules/")[0].rstrip("/")
    yield ""


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bill(root: Path = ROOT) -> dict[str, Any]:
    """The bill of materials, as CycloneDX; `required` is in what people run, `excluded` is not."""
    components: dict[str, dict[str, Any]] = {}
    for part in parts(root):
        component = components.setdefault(
            part.purl,
            {
                "type": "library",
                "bom-ref": part.purl,
                "name": part.name,
                "version": part.version,
                "purl": part.purl,
                "scope": "excluded",
            },
        )
        if part.lock in SHIPPED:
            component["scope"] = "required"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "harborline", "bom-ref": "harborline"}},
        "components": list(components.values()),
    }


def audit(target: Path) -> bool:
    """Write the bill and ask about every lock file; true when all answered and nothing serious is known."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill(), indent=1) + "\n")
    print(f"  bill of materials: {target}, {len(bill()['components'])} packages")
    clean = True
    auditors: list[tuple[Path, Callable[[], str]]] = [
        *((folder / "package-lock.json", lambda folder=folder: _npm(folder)) for folder in NODE_FOLDERS),
        (PYTHON_LOCK, _pip),
    ]
    for lock, ask in auditors:
        try:
            verdict = ask()
        except Stop as refusal:
            verdict = f"NOT KNOWN: {refusal}"
        clean = clean and verdict == NOTHING
        print(f"  {lock}: {verdict}")
    return clean


def _npm(folder: Path) -> str:
    command = ["npm", "audit", "--json", "--package-lock-only"]
    result = subprocess.run(command, cwd=ROOT / folder, text=True, capture_output=True, check=False)
    return judge_npm(result.stdout)


def judge_npm(answer: str) -> str:
    """What `npm audit --json` says, in a line; Stop when the registry did not answer."""
    try:
        counts = json.loads(answer)["metadata"]["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        raise Stop("the registry does not answer audits here") from None
    serious = {level: counts.get(level, 0) for level in ("critical", "high") if counts.get(level)}
    return ", ".join(f"{count} {level}" for level, count in serious.items()) or NOTHING


def _pip() -> str:
    tool = shutil.which("pip-audit", path=f"{VENV / 'bin'}:{os.environ['PATH']}")
    if tool is None:
        raise Stop("pip-audit is not installed")
    command = [tool, "--requirement", str(ROOT / PYTHON_LOCK), "--require-hashes", "--disable-pip"]
    result = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    if result.returncode not in (0, 1) or (result.returncode and "vulnerabilit" not in result.stderr):
        raise Stop("the registry does not answer audits here")
    return result.stderr.strip().splitlines()[-1] if result.returncode else NOTHING
