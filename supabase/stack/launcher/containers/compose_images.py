"""The digests of the images that docker-compose.yml and the Dockerfiles name by their tags."""

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from launcher import private_files
from launcher.settings import ROOT
from launcher.terminal import Stop, step

BASE = re.compile(r"^FROM (\S+:\S+)", re.MULTILINE)
FILES = tuple(sorted(ROOT.glob("docker-compose*.yml")))


def lock(folder: Path) -> int:
    """Ask the registries for the digest of every image, and store them; return how many there are."""
    images = sorted({image for service in services(FILES).values() for image in images_of(service)})
    found = {}
    with step("Digests of the images"):
        for image in images:
            found[image] = _digest(image)
    folder.mkdir(parents=True, exist_ok=True)
    private_files.write(folder / "digests.json", json.dumps(found, indent=2) + "\n")
    return len(found)


def override(folder: Path, files: Iterable[Path]) -> Path | None:
    """Write a file that names the images of these files by their digests; None where they are not known."""
    stored = folder / "digests.json"
    if not stored.exists():
        return None
    digests, described = json.loads(stored.read_text()), services(files)
    if unknown := {image for service in described.values() for image in images_of(service)} - digests.keys():
        print(
            f"  No digest is known of {', '.join(sorted(unknown))}, so the tags alone say which images run.\n"
            "  Lock them again: python3 supabase/stack containers digests"
        )
        return None
    locked = {name: _locked(service, digests) for name, service in described.items()}
    path = folder / "digests.yml"
    path.write_text(yaml.safe_dump({"services": locked}))
    return path


def services(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return what these files together say of each service's image."""
    described: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, service in yaml.safe_load(file.read_text())["services"].items():
            named = {key: service[key] for key in ("image", "build") if key in service}
            described[name] = described.get(name, {}) | named
    return described


def images_of(service: dict[str, Any]) -> list[str]:
    """Return the images that are fetched for a service: its own, or those that its own is built on."""
    if "build" not in service:
        return [service["image"]]
    return BASE.findall((ROOT / service["build"]["dockerfile"]).read_text())


def _locked(service: dict[str, Any], digests: dict[str, str]) -> dict[str, Any]:
    if "build" not in service:
        return {"image": f"{service['image']}@{digests[service['image']]}"}
    bases = {image: f"docker-image://{image}@{digests[image]}" for image in images_of(service)}
    return {"build": {"additional_contexts": bases}}


def _digest(image: str) -> str:
    command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", image]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Stop("Docker is not installed here: run this where the containers are to run.") from error
    digest = asked.stdout.strip()
    if asked.returncode or not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        said = (asked.stderr or asked.stdout).strip().splitlines()[-1:]
        raise Stop(
            f"Docker did not say which image {image} is now; nothing was stored. It needs buildx and\n"
            f"  the internet.\n    {''.join(said)}"
        )
    return digest
