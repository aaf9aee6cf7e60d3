"""`make audit`: the SBOM of the locked packages, and what is known against them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from launcher.host.tools import VENV
from launcher.services import summary
from launcher.settings import ROOT

PYTHON_LOCK = Path("requirements.lock")
NODE_FOLDERS = tuple(map(Path, ("web", "supabase/stack", "tests/api/js", "tests/bench", "tests/e2e")))
# Parts of these are in what people run; the rest builds and tests it.
SHIPPED = (PYTHON_LOCK, Path("web/package-lock.json"))
PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)")
NOTHING = "nothing known"
# What would put the product itself under its terms, or may not be used at all.
COPYLEFT = re.compile(
    r"(?<!L)\bA?GPL|(?<!Lesser )General Public|SSPL|BUSL|UNLICENSED|Proprietary", re.IGNORECASE
)


@dataclass(frozen=True, order=True)
class Package:
    """One locked package; without a hash, its registry decides what it is.

    Attributes:
        license: as the package itself says it, in SPDX's words where it does; empty where it does not.
    """

    lock: Path
    kind: str
    name: str
    version: str
    hashed: bool
    license: str

    @property
    def purl(self) -> str:
        """Its name in SBOMs."""
        return f"pkg:{self.kind}/{self.name.replace('@', '%40')}@{self.version}"


def packages(root: Path = ROOT) -> list[Package]:
    """Return every locked package of every lock file."""
    return sorted({*_python_packages(root), *_node_packages(root)})


def _python_packages(root: Path) -> Iterator[Package]:
    for entry in re.split(r"\n(?=\S)", (root / PYTHON_LOCK).read_text()):
        if found := PINNED.match(entry):
            name, hashed = normalised(found[1]), "--hash=sha256:" in entry
            yield Package(PYTHON_LOCK, "pypi", name, found[2], hashed, _python_license(name))


def _python_license(name: str) -> str:
    """Return what the package of this environment says; the lock does not."""
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return ""
    classifiers = [text for text in said.get_all("Classifier", []) if text.startswith("License :: ")]
    named = " AND ".join(text.rpartition(" :: ")[2] for text in classifiers)
    ways = [*said.get_all("License-Expression", []), named, *said.get_all("License", [])]
    return str(next((way for way in ways if way), ""))


def _node_packages(root: Path) -> Iterator[Package]:
    for lock, place, entry in node_entries(root):
        if place and not entry.get("link"):
            name = entry.get("name") or place.rpartition("node_modules/")[2]
            # What lies in another package's archive has that one's hash.
            hashed = "integrity" in entry or "inBundle" in entry
            yield Package(lock, "npm", name, entry["version"], hashed, entry.get("license", ""))


def node_entries(root: Path) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield each entry of the Node locks, with its lock and its place there."""
    for lock in (folder / "package-lock.json" for folder in NODE_FOLDERS):
        for place, entry in json.loads((root / lock).read_text())["packages"].items():
            yield lock, place, entry


def normalised(name: str) -> str:
    """Return a Python package's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def cyclonedx(root: Path = ROOT) -> dict[str, Any]:
    """Return the SBOM, as CycloneDX; `required` is in what people run, `excluded` is not."""
    found = packages(root)
    shipped = {package.purl for package in found if package.lock in SHIPPED}
    components = [
        {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "scope": "required" if purl in shipped else "excluded",
            **({"licenses": [{"license": {"name": license_}}]} if license_ else {}),
        }
        for purl, name, version, license_ in sorted(
            {(package.purl, package.name, package.version, package.license) for package in found}
        )
    ]
    product = {
        "type": "application",
        "name": "harborline",
        "version": summary.version(),
        "bom-ref": "harborline",
    }
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": product}}
    return {**head, "components": components}


def unfit(root: Path = ROOT) -> list[str]:
    """Return what people run of which the license is not known, or asks for more than to be passed on."""
    return [
        f"{package.lock}: {package.name} {package.version} is under {package.license or 'an unknown license'}"
        for package in packages(root)
        if package.lock in SHIPPED and (not package.license or COPYLEFT.search(package.license))
    ]


def audit(target: Path) -> int:
    """Write the SBOM and ask about every lock file; return 0 when nothing serious is known of any."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(cyclonedx(), indent=1) + "\n")
    print(f"  SBOM: {target}, {len(cyclonedx()['components'])} packages")
    results = {str(folder / "package-lock.json"): _npm_audit(folder) for folder in NODE_FOLDERS}
    results[str(PYTHON_LOCK)] = _pip_audit()
    for lock, result in results.items():
        print(f"  {lock}: {result}")
    return 0 if set(results.values()) == {NOTHING} else 1


def _npm_audit(folder: Path) -> str:
    command = ["npm", "audit", "--json", "--package-lock-only"]
    result = subprocess.run(command, cwd=ROOT / folder, text=True, capture_output=True, check=False)
    return npm_result(result.stdout)


def npm_result(response: str) -> str:
    """Return in a line what `npm audit --json` says, or that the registry says nothing."""
    try:
        said = json.loads(response)
        counts = said["metadata"]["vulnerabilities"]
    except ValueError:
        return unknown("npm", "")
    except (KeyError, TypeError):
        return unknown("npm", str(said["message"]) if isinstance(said, dict) and "message" in said else "")
    serious = {level: counts.get(level, 0) for level in ("critical", "high") if counts.get(level)}
    return ", ".join(f"{count} {level}" for level, count in serious.items()) or NOTHING


def unknown(tool: str, said: str) -> str:
    """Return in a line that a registry told nothing about vulnerabilities, which never counts as none."""
    return f"NOT KNOWN: {tool} got no list of vulnerabilities: {said or 'the registry said nothing'}"


def _pip_audit() -> str:
    tool = shutil.which("pip-audit", path=f"{VENV / 'bin'}:{os.environ['PATH']}")
    if tool is None:
        return "NOT KNOWN: pip-audit is not installed: run make up first"
    # Without --strict a package that the registry does not know would count as one without vulnerabilities.
    command = [
        tool,
        "--requirement",
        str(ROOT / PYTHON_LOCK),
        "--require-hashes",
        "--disable-pip",
        "--strict",
    ]
    result = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    return pip_result(result.returncode, result.stderr)


def pip_result(status: int, said: str) -> str:
    """Return in a line what pip-audit says, or that the registry told it nothing."""
    last = said.strip().rpartition("\n")[2]
    if status and not re.match(r"Found \d+ known vulnerabilit", last):
        return unknown("pip-audit", last.removeprefix("ERROR:pip_audit._cli:"))
    return last if status else NOTHING


if __name__ == "__main__":
    sys.exit(audit(ROOT / ".stack-tools" / "sbom.json"))
