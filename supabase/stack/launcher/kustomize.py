"""Writes kustomizations: folders with the files that kubectl makes ConfigMaps and Secrets of."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from launcher import private_files
from launcher.containers.compose_files import CONTROL
from launcher.terminal import Stop

CONFIG_MAP, SECRET = "configMapGenerator", "secretGenerator"


@dataclass(frozen=True)
class Generated:
    """A ConfigMap or a Secret.

    Attributes:
        generator: CONFIG_MAP or SECRET.
        name: its name, to which kubectl adds a digest of its content: whoever reads it is replaced with it.
        texts: what is in it.
        are_variables: it is read as an environment, not as files.
        is_fixed: the name stays as it is, for who cannot be given another.
        kind: the type of a Secret.
    """

    generator: str
    name: str
    texts: Mapping[str, str]
    are_variables: bool = False
    is_fixed: bool = False
    kind: str = ""


@dataclass
class Overlay:
    """A kustomization of one base.

    Attributes:
        base: the folder whose resources it takes.
        generated: its ConfigMaps and Secrets.
        images: by the name in the base, the one to use, with its tag.
        resources: further resources, by the name of their file.
        patches: as kustomize has them.
    """

    base: Path
    generated: list[Generated]
    images: Mapping[str, str]
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    patches: list[dict[str, Any]] = field(default_factory=list)

    def write(self, folder: Path, namespace: str) -> None:
        """Write it into a new folder, which no other user enters."""
        private_files.make_folder(folder)
        for name, resource in self.resources.items():
            private_files.write(folder / name, yaml.safe_dump(resource, sort_keys=False))
        # kustomize takes no absolute path.
        base = os.path.relpath(self.base.resolve(), folder.resolve())
        written: dict[str, Any] = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": namespace,
            "resources": [base, *self.resources],
            "images": [_image(name, image) for name, image in self.images.items()],
            CONFIG_MAP: [_write(folder, each) for each in self.generated if each.generator == CONFIG_MAP],
            SECRET: [_write(folder, each) for each in self.generated if each.generator == SECRET],
            "patches": self.patches,
        }
        filled = {key: value for key, value in written.items() if value}
        private_files.write(folder / "kustomization.yaml", yaml.safe_dump(filled, sort_keys=False))


def json_patch(
    kind: str, name: str, operations: Sequence[Mapping[str, Any]], **options: bool
) -> dict[str, Any]:
    """Return a patch of one resource, as kustomize has them."""
    text = yaml.safe_dump([*map(dict, operations)], sort_keys=False)
    made: dict[str, Any] = {"target": {"kind": kind, "name": name}, "patch": text}
    return {**made, "options": options} if options else made


def _image(name: str, image: str) -> dict[str, str]:
    place, _, tag = image.rpartition(":")
    return {"name": name, "newName": place, "newTag": tag}


def _write(folder: Path, item: Generated) -> dict[str, Any]:
    """Write the files of a ConfigMap or a Secret; return its generator."""
    entry: dict[str, Any] = {"name": item.name}
    if item.kind:
        entry["type"] = item.kind
    if item.is_fixed:
        entry["options"] = {"disableNameSuffixHash": True}
    if item.are_variables:
        lines = "".join(f"{name}={_line(name, text)}\n" for name, text in item.texts.items())
        private_files.write(folder / f"{item.name}.env", lines)
        return {**entry, "envs": [f"{item.name}.env"]}
    private_files.make_folder(folder / item.name)
    for name, text in item.texts.items():
        private_files.write(folder / item.name / name, text)
    return {**entry, "files": [f"{name}={item.name}/{name}" for name in item.texts]}


def _line(name: str, text: str) -> str:
    """Return a value as kustomize reads it: what follows `=` as it is, to the end of the line."""
    if CONTROL.search(text):
        raise Stop(f"{name} holds a line break or another control character. Give it another value.")
    return text
