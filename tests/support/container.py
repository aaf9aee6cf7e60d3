"""Runs services of supabase/stack/database.Dockerfile as docker-compose.yml says, without an engine.

In namespaces of the kernel: the root is this machine's, read-only, with the volumes, secrets and folders in
memory of the service; the user is the image's, without any capability; the network has nothing but itself.
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from launcher.containers.compose_backups import USER
from launcher.settings import ROOT
from tests.support.children import ending_with_parent
from tests.support.compose_project import described, read_env

POSTGRES = "/usr/lib/postgresql/15/bin"
PACKAGES = Path(sysconfig.get_path("purelib"))
# What the image sets, and which of its folders belong to its user.
ENVIRONMENT = {
    "PATH": f"{POSTGRES}:/usr/local/bin:/usr/bin:/bin",
    "PGDATA": "/var/lib/postgresql/data",
    "PYTHONPATH": "/packages:/app/supabase/stack",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "STATE": "/state",
}
OWN_FOLDERS = ("/state", "/state/cluster", "/state/objects", "/state/run", "/state-drill")


class Containers:
    """The services of one env file of the launcher.

    Attributes:
        volumes: the folder of the named volumes.
    """

    def __init__(self, env_file: Path, volumes: Path) -> None:
        self.volumes = volumes
        self._variables = read_env(env_file)
        files = self._variables["COMPOSE_FILE"].split(":")
        names = [re.fullmatch(r".*/docker-compose\.(?:(\w+)\.)?yml", file)[1] or "" for file in files]  # type: ignore[index]
        self._services = described(*names)

    @contextmanager
    def started(self, name: str, *command: str) -> Iterator[subprocess.Popen[str]]:
        """Run a service, or another command in it, until the end of the block."""
        process = subprocess.Popen(
            ending_with_parent(self._command(name, [*command]), "INT"),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=60)

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a service, or another command in it, to its end."""
        return subprocess.run(self._command(name, [*command]), capture_output=True, text=True, check=False)

    def _command(self, name: str, command: list[str]) -> list[str]:
        service = self._filled(self._services[name])
        root = self.volumes / f"{name}.root"
        root.mkdir(parents=True, exist_ok=True)
        prepare = [*_own_root(root), *self._mounts(root, service), f"mount -o remount,ro {root}"]
        given = ENVIRONMENT | service.get("environment", {})
        for path in service.get("env_file", []):
            given |= read_env(Path(path))
        words = ["env", "--ignore-environment", *(f"{key}={value}" for key, value in given.items())]
        rights = ["--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", *rights]
        inside = ["chroot", str(root), *user, *words, *(command or service["command"])]
        script = "\n".join(["set -e", "ip link set lo up", *prepare, f"exec {shlex.join(inside)}"])
        return ["unshare", "--mount", "--net", "--propagation=private", "sh", "-c", script]

    def _mounts(self, root: Path, service: dict[str, Any]) -> Iterator[str]:
        for mounted in service["tmpfs"]:
            target, _, options = mounted.partition(":")
            yield f"mkdir -p {root}{target}"
            yield f"mount -t tmpfs -o {options} tmpfs {root}{target}"
        for volume in sorted(service.get("volumes", []), key=lambda volume: volume.split(":")[1]):
            source, target, *read_only = volume.split(":")
            if not source.startswith("/"):
                source = str(self._volume(source))
            yield from _bound(Path(source), f"{root}{target}", bool(read_only))
        for secret in service.get("secrets", []):
            name = secret if isinstance(secret, str) else secret["source"]
            target = secret if isinstance(secret, str) else secret["target"]
            yield from _bound(self._secret(name), f"{root}/run/secrets/{target}", True)

    def _volume(self, name: str) -> Path:
        folder = self.volumes / name
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
            os.chown(folder, USER, USER)
        return folder

    def _secret(self, name: str) -> Path:
        folders = (self._variables.get("BACKUP_SECRETS"), f"{self._variables['CONTAINERS']}/secrets")
        return next(path for folder in folders if folder and (path := Path(folder) / name).exists())

    def _filled(self, described_here: Any) -> Any:
        if isinstance(described_here, dict):
            return {key: self._filled(value) for key, value in described_here.items()}
        if isinstance(described_here, list):
            return [self._filled(value) for value in described_here]
        if not isinstance(described_here, str):
            return described_here
        return re.sub(r"\$\{(\w+)[^}]*\}|\$(\$)", lambda m: m[2] or self._variables[m[1]], described_here)


def _own_root(root: Path) -> Iterator[str]:
    """Yield what lays a layer over this machine's root, with the folders of the image."""
    layer = f"{root}.layer"
    yield f"mkdir -p {layer} && mount -t tmpfs tmpfs {layer} && mkdir {layer}/upper {layer}/work"
    yield f"mount -t overlay overlay -o lowerdir=/,upperdir={layer}/upper,workdir={layer}/work {root}"
    for path in ("/proc", "/dev"):
        yield f"mount --rbind {path} {root}{path}"
    yield f"rm -rf {root}/run/secrets"
    for path in OWN_FOLDERS:
        yield f"install -d -o {USER} -g {USER} -m 0700 {root}{path}"
    yield from _bound(PACKAGES, f"{root}/packages", True)
    yield from _bound(ROOT / "supabase" / "stack" / "launcher", f"{root}/app/supabase/stack/launcher", True)


def _bound(source: Path, target: str, read_only: bool) -> Iterator[str]:
    # A link to the root, which would be this machine's.
    target = target.replace("/var/run/", "/run/")
    if source.is_dir():
        yield f"mkdir -p {target}"
    else:
        yield f"mkdir -p {Path(target).parent} && touch {target}"
    yield f"mount --bind {source} {target}"
    if read_only:
        yield f"mount -o remount,bind,ro {target}"


def take_over(data: Path, volume: Path) -> None:
    """Make a data directory that of a volume."""
    volume.parent.mkdir(exist_ok=True)
    shutil.move(data, volume)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", volume], check=True)
