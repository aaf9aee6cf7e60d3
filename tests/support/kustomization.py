"""Kustomizations as kubectl builds them: as much of kustomize as supabase/kubernetes uses."""

import base64
import re
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

Resource = dict[str, Any]
KNOWN = {
    *("apiVersion", "kind", "namespace", "resources", "components", "patches", "images"),
    *("configMapGenerator", "secretGenerator"),
}
# By what the items of a list are merged, in this order.
LIST_KEYS = ("mountPath", "topologyKey", "name")


def built(folder: Path) -> list[Resource]:
    """Return the resources of a folder; names of what is generated have no digest here."""
    described = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert described.keys() <= KNOWN, f"{folder}: {described.keys() - KNOWN}"
    found = [resource for name in described.get("resources", []) for resource in _read(folder / name)]
    found += [_generated(folder, entry, "ConfigMap") for entry in described.get("configMapGenerator", [])]
    found += [_generated(folder, entry, "Secret") for entry in described.get("secretGenerator", [])]
    for place in [folder, *(folder / name for name in described.get("components", []))]:
        whole = yaml.safe_load((place / "kustomization.yaml").read_text())
        for patch in whole.get("patches", []):
            _apply(patch, place, found)
    for image in described.get("images", []):
        _rename_image(found, image["name"], f"{image['newName']}:{image['newTag']}")
    for resource in found:
        if resource["kind"] != "Namespace":
            resource["metadata"]["namespace"] = described["namespace"]
    return found


def _read(path: Path) -> list[Resource]:
    return built(path) if path.is_dir() else [*yaml.safe_load_all(path.read_text())]


def _generated(folder: Path, entry: dict[str, Any], kind: str) -> Resource:
    texts = {}
    for named in entry.get("files", []):
        key, _, name = named.partition("=")
        texts[key] = (folder / name).read_text()
    for name in entry.get("envs", []):
        texts |= dict(line.split("=", 1) for line in (folder / name).read_text().splitlines())
    made: Resource = {"apiVersion": "v1", "kind": kind, "metadata": {"name": entry["name"]}, "data": texts}
    if kind == "Secret":
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        made |= {"type": entry.get("type", "Opaque"), "data": encoded}
    return made


def _apply(patch: dict[str, Any], folder: Path, resources: Iterable[Resource]) -> None:
    """Change what a patch is for: by a list of operations, or by what is laid over it."""
    target = patch["target"]
    content = yaml.safe_load(patch["patch"] if "patch" in patch else (folder / patch["path"]).read_text())
    matching = [
        resource
        for resource in resources
        if re.fullmatch(target["kind"], resource["kind"])
        and re.fullmatch(target.get("name", ".*"), resource["metadata"]["name"])
    ]
    assert matching, f"{folder}: nothing is {target}"
    for resource in matching:
        if isinstance(content, list):
            for operation in content:
                _operate(resource, operation)
        else:
            over = {
                key: value for key, value in content.items() if key not in ("apiVersion", "kind", "metadata")
            }
            resource.update(_merged(resource, over))


def _operate(resource: Resource, operation: dict[str, Any]) -> None:
    *way, last = operation["path"].strip("/").split("/")
    place: Any = resource
    for part in way:
        place = place[int(part) if isinstance(place, list) else part]
    if last == "-":
        place.append(operation["value"])
        return
    key = int(last) if isinstance(place, list) else last
    assert operation["op"] == "add" or key in place or isinstance(place, list), operation
    place[key] = operation["value"]


def _merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return first | {key: _merged(first.get(key), value) for key, value in second.items()}
    if isinstance(first, list) and isinstance(second, list):
        items = [*first, *second]
        for key in LIST_KEYS:
            if all(isinstance(item, dict) and key in item for item in items):
                found: dict[str, Any] = {}
                for item in items:
                    found[item[key]] = _merged(found.get(item[key]), item)
                return [*found.values()]
    return deepcopy(second)


def _rename_image(node: Any, name: str, image: str) -> None:
    if isinstance(node, list):
        for item in node:
            _rename_image(item, name, image)
    elif isinstance(node, dict):
        if re.fullmatch(f"{re.escape(name)}:.+", str(node.get("image"))):
            node["image"] = image
        for value in node.values():
            _rename_image(value, name, image)
