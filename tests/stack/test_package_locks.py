"""Every package is pinned, hashed and listed in the SBOM; an auditor's silence is no good news."""

import json
import re
import shutil
from pathlib import Path

import pytest

from launcher.services import summary
from launcher.settings import ROOT
from tests.checks import locks, sbom

SCOPES = {"required", "excluded"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the manifests and lock files alone, to be spoilt."""
    for folder in sbom.NODE_FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    for name in ("pyproject.toml", sbom.PYTHON_LOCK):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.threat("T132")
def test_every_package_is_locked_with_its_hash() -> None:
    assert locks.unlocked() == []


@pytest.mark.threat("T132")
def test_a_package_without_hash_or_lock_is_found(copy: Path) -> None:
    lock = copy / "web" / "package-lock.json"
    packages = json.loads(lock.read_text())
    del packages["packages"]["node_modules/react"]["integrity"]
    lock.write_text(json.dumps(packages))
    python = copy / sbom.PYTHON_LOCK
    text = python.read_text()
    start = text.index("\nfastapi==")
    python.write_text(text[:start] + text[text.index("\n", text.index("    # via", start)) :])
    found = locks.unlocked(copy)
    assert any(line.startswith("web/package-lock.json: react ") for line in found)
    assert "requirements.lock: fastapi is not locked" in found


def test_what_people_run_asks_no_more_than_to_be_passed_on(copy: Path) -> None:
    assert sbom.unfit() == []
    lock = copy / "web" / "package-lock.json"
    packages = json.loads(lock.read_text())
    packages["packages"]["node_modules/react"]["license"] = "AGPL-3.0-only"
    del packages["packages"]["node_modules/clsx"]["license"]
    lock.write_text(json.dumps(packages))
    unfit = [line.partition(": ")[2] for line in sbom.unfit(copy)]
    assert [line.split(" ", 2)[2] for line in unfit] == [
        "is under an unknown license",
        "is under AGPL-3.0-only",
    ]
    known = {part["name"]: part.get("licenses") for part in sbom.cyclonedx()["components"]}
    assert known["psycopg"] == [{"license": {"name": "LGPL-3.0-only"}}]


def test_the_version_is_the_newest_of_changelog_and_upgrade_notes() -> None:
    headings = re.compile(r"^## \[?(\d+\.\d+\.\d+)", re.MULTILINE)
    for file in ("CHANGELOG.md", "docs/upgrade-notes.md"):
        assert headings.findall((ROOT / file).read_text())[0] == summary.version()


def test_a_lock_that_lacks_a_platform_is_found(copy: Path) -> None:
    assert locks.missing_platforms() == []
    lock = copy / "web" / "package-lock.json"
    packages = json.loads(lock.read_text())
    version = packages["packages"]["node_modules/unrs-resolver"]["version"]
    del packages["packages"]["node_modules/@unrs/resolver-binding-darwin-arm64"]
    lock.write_text(json.dumps(packages))
    found, remedy = locks.missing_platforms(copy)
    assert found == (
        f"web/package-lock.json: unrs-resolver {version} lacks @unrs/resolver-binding-darwin-arm64"
    )
    assert "npm install --package-lock-only" in remedy


def test_a_nested_package_counts_where_node_would_look(copy: Path) -> None:
    lock = copy / "tests" / "bench" / "package-lock.json"
    packages = json.loads(lock.read_text())
    packages["packages"]["node_modules/pg"]["optionalDependencies"] = {"a": "1", "b": "1", "c": "1"}
    packages["packages"]["node_modules/pg/node_modules/a"] = {"version": "1.0.0", "integrity": "sha512-"}
    packages["packages"]["node_modules/b"] = {"version": "1.0.0", "integrity": "sha512-"}
    packages["packages"]["node_modules/pg-pool/node_modules/c"] = {"version": "1.0.0"}
    lock.write_text(json.dumps(packages))
    found, _ = locks.missing_platforms(copy)
    assert found.endswith(" lacks c")


@pytest.mark.threat("T132")
def test_the_sbom_names_every_package_once() -> None:
    document = sbom.cyclonedx()
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    names = [component["purl"] for component in document["components"]]
    assert len(names) == len(set(names)) > 500
    scopes = {
        component["purl"].rpartition("@")[0]: component["scope"] for component in document["components"]
    }
    assert set(scopes.values()) == SCOPES
    assert scopes["pkg:npm/react"] == scopes["pkg:pypi/fastapi"] == "required"
    assert scopes["pkg:npm/%40playwright/test"] == "excluded"


@pytest.mark.threat("T132")
def test_what_auditors_report() -> None:
    def report(**counts: int) -> str:
        return json.dumps({"metadata": {"vulnerabilities": counts}})

    assert sbom.npm_result(report(high=0, low=3)) == sbom.NOTHING
    assert sbom.npm_result(report(high=2, critical=1)) == "1 critical, 2 high"
    for silence in ("", "npm error", '{"message": "405 Method Not Allowed"}', "[]"):
        assert sbom.npm_result(silence).startswith("NOT KNOWN: npm got no list")
    assert "405 Method Not Allowed" in sbom.npm_result('{"message": "405 Method Not Allowed"}')
    assert sbom.pip_result(0, "No known vulnerabilities found") == sbom.NOTHING
    found = "Found 2 known vulnerabilities in 1 package"
    assert sbom.pip_result(1, f"WARNING: slow\n{found}\n") == found
    absent = "aiofiles: Dependency not found on PyPI and could not be audited"
    assert sbom.pip_result(1, f"ERROR:pip_audit._cli:{absent}\n").endswith(f"vulnerabilities: {absent}")
    assert sbom.pip_result(2, "").startswith("NOT KNOWN: pip-audit got no list")


@pytest.mark.threat("T132")
def test_a_lock_that_names_a_registry_is_found(copy: Path) -> None:
    assert locks.registries() == []
    python = copy / sbom.PYTHON_LOCK
    python.write_text("--index-url https://registry.example/simple\n" + python.read_text())
    lock = copy / "web" / "package-lock.json"
    packages = json.loads(lock.read_text())
    packages["packages"]["node_modules/react"]["resolved"] = "https://registry.example/react.tgz"
    lock.write_text(json.dumps(packages))
    assert locks.registries(copy) == [
        f"{name} names a registry" for name in ("web/package-lock.json", sbom.PYTHON_LOCK)
    ]
