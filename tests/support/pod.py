"""Runs containers of a pod as supabase/kubernetes says, without a cluster.

As tests/support/container.py does for Compose: in namespaces of the kernel, on this machine's root,
read-only, with the volumes of the pod; as its user, without any capability. What the images hold is this
checkout's. The network is this machine's, with a name that leads to it.
"""

import base64
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from launcher.settings import ROOT
from tests.support.children import ending_with_parent
from tests.support.kustomization import Resource

# By the part of its name before the tag, where an image works and what lies there.
IMAGES: dict[str, tuple[str, dict[str, Path]]] = {
    "postgres": ("/", {}),
    "functions": (
        "/app",
        {"/app/functions": ROOT / "functions", "/packages": Path(sysconfig.get_path("purelib"))},
    ),
    "migrations": (
        "/app",
        {
            "/app/supabase/stack/node_modules": ROOT / "supabase" / "stack" / "node_modules",
            "/app/supabase/config.toml": ROOT / "supabase" / "config.toml",
            "/app/supabase/migrations": ROOT / "sql" / "migrations",
        },
    ),
}
ENVIRONMENT = {
    "PATH": "/app/supabase/stack/node_modules/.bin:/usr/local/bin:/usr/bin:/bin",
    "PYTHONPATH": "/packages",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/tmp",
}


class Pod:
    """The containers of one pod.

    Args:
        spec: what it is.
        resources: with the ConfigMaps and Secrets that it names.
        host: a name that leads to this machine.
        folder: an empty folder for its volumes and roots.
    """

    def __init__(self, spec: Resource, resources: list[Resource], host: str, folder: Path) -> None:
        self._spec, self._host, self._folder = spec, host, folder
        self._data = {
            (each["kind"], each["metadata"]["name"]): each["data"] for each in resources if "data" in each
        }
        self._volumes = {volume["name"]: volume for volume in spec["volumes"]}

    def run(self, container: Resource) -> subprocess.CompletedProcess[str]:
        """Run a container to its end."""
        command = ending_with_parent(self._command(container), "KILL")
        return subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False
        )

    def _command(self, container: Resource) -> list[str]:
        root = self._folder / container["name"]
        root.mkdir(parents=True, exist_ok=True)
        image = container["image"].rpartition(":")[0].rpartition("/")[2]
        place, parts = IMAGES[image]
        prepare = [*self._root(root, parts), *self._mounts(root, container), f"mount -o remount,ro {root}"]
        words = ["env", "--ignore-environment", f"--chdir={place}"]
        words += [f"{name}={text}" for name, text in (ENVIRONMENT | self._environment(container)).items()]
        user = self._spec["securityContext"]
        rights = ["--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
        inside = ["setpriv", f"--reuid={user['runAsUser']}", f"--regid={user['runAsGroup']}", *rights]
        command = ["chroot", str(root), *inside, *words, *container["command"], *container.get("args", [])]
        script = "\n".join(["set -e", *prepare, f"exec {shlex.join(command)}"])
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", script]

    def _root(self, root: Path, parts: dict[str, Path]) -> Iterator[str]:
        """Yield what lays a layer over this machine's root, with the folders of the image."""
        layer = f"{root}.layer"
        yield f"mkdir -p {layer} && mount -t tmpfs tmpfs {layer} && mkdir {layer}/upper {layer}/work"
        yield f"mount -t overlay overlay -o lowerdir=/,upperdir={layer}/upper,workdir={layer}/work {root}"
        for path in ("/proc", "/dev"):
            yield f"mount --rbind {path} {root}{path}"
        yield f"echo 127.0.0.1 {self._host} > {root}/etc/hosts"
        yield f"rm -rf {root}/run/secrets && ln -sf /usr/bin/python3 {root}/usr/local/bin/python"
        for target, source in parts.items():
            inside = f"{root}{target}"
            yield (
                f"mkdir -p {inside}"
                if source.is_dir()
                else f"mkdir -p {inside.rpartition('/')[0]} && touch {inside}"
            )
            yield f"mount --bind {source} {inside} && mount -o remount,bind,ro {inside}"

    def _mounts(self, root: Path, container: Resource) -> Iterator[str]:
        for mount in container["volumeMounts"]:
            volume, target = self._volumes[mount["name"]], f"{root}{mount['mountPath']}"
            yield f"mkdir -p {target}"
            source = self._shared(volume) if "emptyDir" in volume else self._files(volume)
            yield f"mount --bind {source} {target}"
            if mount.get("readOnly"):
                yield f"mount -o remount,bind,ro {target}"

    def _shared(self, volume: dict[str, Any]) -> Path:
        """Return the folder of a volume that all containers of the pod write to."""
        folder: Path = self._folder / "volumes" / volume["name"]
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o1777)
        return folder

    def _files(self, volume: dict[str, Any]) -> Path:
        """Write what is in the ConfigMap or the Secret of a volume; return the folder."""
        kind, name = (
            ("Secret", volume["secret"]["secretName"])
            if "secret" in volume
            else ("ConfigMap", volume["configMap"]["name"])
        )
        folder: Path = self._folder / "volumes" / volume["name"]
        folder.mkdir(parents=True, exist_ok=True)
        for key, text in self._data[kind, name].items():
            (folder / key).write_bytes(base64.b64decode(text) if kind == "Secret" else text.encode())
            (folder / key).chmod(0o644)
        return folder

    def _environment(self, container: Resource) -> dict[str, str]:
        given: dict[str, str] = {}
        for source in container.get("envFrom", []):
            given |= self._data["ConfigMap", source["configMapRef"]["name"]]
        return given | {each["name"]: each["value"] for each in container.get("env", [])}
