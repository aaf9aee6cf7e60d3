"""Finds or installs what the stack runs on: PostgreSQL, the Python environment, Node tools.

Everything but the operating system's packages lives in the checkout; nothing is installed globally.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from settings import ROOT
from terminal import Stop, run, step

UV_VERSION = "0.13.9"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = ROOT / ".stack-tools" / "bin" / "uv"
NODE_TOOLS = ROOT / "supabase" / "stack" / "node_modules"
SUPABASE = NODE_TOOLS / ".bin" / "supabase"
MINIMUM_POSTGRES = 15
EXTENSIONS = ("plpgsql_check", "pg_trgm")
# What only the tests run: the browser without a window for each change, the whole one for the long run.
TEST_PROGRAMS = ("chromium-headless-shell", "chromium")
CLUSTER_SWITCH = Path("/etc/postgresql-common/createcluster.d/harborline.conf")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two launchers of one checkout take turns when they install."""
    with (ROOT / "requirements.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(log: Path, *, for_tests: bool) -> Path:
    """Install what is missing and return the folder of PostgreSQL's programs.

    Raises:
        Stop: something cannot be installed from here; the text has the command to type.
    """
    _require_node()
    extensions = (*EXTENSIONS, "pgtap") if for_tests else EXTENSIONS
    with one_at_a_time():
        # All at once: who is not root has one line to type.
        missing = [*_missing_postgres(extensions, log), *_missing_venv()]
        if for_tests:
            missing += [program for program in TEST_PROGRAMS if not shutil.which(program)]
        if missing:
            with step("The system's packages"):
                _apt(missing, log)
        postgres = find_postgres(extensions)
        if not postgres:
            raise Stop(f"PostgreSQL with {', '.join(extensions)} was not found after installing it.")
        python_environment(log)
        node_packages(NODE_TOOLS.parent, "Node tools", log)
    return postgres


def _require_node() -> None:
    if not shutil.which("node") or not shutil.which("npm"):
        raise Stop("Node.js 20.19 or newer with npm is needed. Install it and run this again.")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, version.strip().lstrip("v").split(".")[:2])
    if (major, minor) < (20, 19):
        raise Stop(f"Node.js 20.19 or newer is needed; this one is {version.strip()}.")


def _missing_postgres(extensions: tuple[str, ...], log: Path) -> list[str]:
    if find_postgres(extensions):
        return []
    version = _packaged_version(log)
    # The server comes with them; pg_trgm is part of it.
    return [f"postgresql-{version}-{name.replace('_', '-')}" for name in extensions if name != "pg_trgm"]


def _missing_venv() -> list[str]:
    """Debian keeps what makes an environment in a package of its own."""
    return [] if UV.exists() or importlib.util.find_spec("ensurepip") else ["python3-venv"]


def find_postgres(extensions: tuple[str, ...]) -> Path | None:
    """The newest installed PostgreSQL that has these extensions; PG_BIN names one to prefer."""
    folders = [Path(os.environ["PG_BIN"])] if os.environ.get("PG_BIN") else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    if server := shutil.which("postgres"):
        folders.append(Path(server).resolve().parent)
    return next((folder for folder in folders if _is_suitable(folder, extensions)), None)


def _is_suitable(folder: Path, extensions: tuple[str, ...]) -> bool:
    if not (folder / "initdb").exists() or not (folder / "pg_config").exists():
        return False
    answer = subprocess.run(
        [folder / "pg_config", "--version", "--sharedir"], capture_output=True, text=True, check=False
    )
    version, share = re.search(r"PostgreSQL (\d+)", answer.stdout), answer.stdout.strip().splitlines()[-1:]
    if not version or int(version[1]) < MINIMUM_POSTGRES or not share:
        return False
    return all((Path(share[0]) / "extension" / f"{name}.control").exists() for name in extensions)


def _packaged_version(log: Path) -> str:
    """Of the newest packaged PostgreSQL; `*`, which apt understands, when its lists are empty."""
    if not shutil.which("apt-get"):
        raise Stop(
            f"PostgreSQL {MINIMUM_POSTGRES} or newer with plpgsql_check and pgTAP is needed, "
            "and this system has no apt. Install it and name its bin folder in PG_BIN."
        )
    search = ["apt-cache", "search", "--names-only", r"^postgresql-[0-9]+-plpgsql-check$"]
    found = run(search, log)
    if not found and os.geteuid() == 0:
        run(["apt-get", "update"], log)
        found = run(search, log)
    versions = re.findall(r"^postgresql-(\d+)-", found, re.MULTILINE)
    return max(versions, default="*", key=int)


def _apt(packages: list[str], log: Path) -> None:
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        raise Stop(
            "Some system packages are missing. Type this, then run the command again:\n"
            f"  sudo apt-get update && sudo {shlex.join(command)}"
        )
    # Debian's package starts a cluster of its own on install; ours is the only one wanted.
    switch = any(name.startswith("postgresql") for name in packages)
    if switch:
        CLUSTER_SWITCH.parent.mkdir(parents=True, exist_ok=True)
        CLUSTER_SWITCH.write_text("create_main_cluster = false\n")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        try:
            run(command, log, env=environment)
        except Stop:
            run(["apt-get", "update"], log, env=environment)
            run(command, log, env=environment, hint=f"Try by hand: {shlex.join(command)}")
    finally:
        if switch:
            CLUSTER_SWITCH.unlink(missing_ok=True)


def python_environment(log: Path) -> None:
    """The environment that requirements.lock names, unless it is there."""
    lock = ROOT / "requirements.lock"
    stamp, digest = VENV / ".lock-digest", hashlib.sha256(lock.read_bytes()).hexdigest()
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == digest:
        return
    with step("Python environment"):
        if not UV.exists():
            _make_uv(log)
        if not PYTHON.exists():
            run([UV, "venv", "--python", sys.executable, VENV], log)
        sync: list[str | Path] = [
            UV,
            "pip",
            "sync",
            "--require-hashes",
            "--compile-bytecode",
            "--python",
            PYTHON,
            lock,
        ]
        run(sync, log, cwd=ROOT, hint="Is PyPI reachable? Run the command again to go on.")
        stamp.write_text(digest)


def benchmark_packages(log: Path) -> Path:
    """What only the benchmarks need, in a folder of its own for PYTHONPATH."""
    lock, folder = ROOT / "tests" / "bench" / "requirements.lock", UV.parents[1] / "bench-packages"
    stamp, digest = folder / ".lock-digest", hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        with step("Benchmark packages"):
            shutil.rmtree(folder, ignore_errors=True)
            command: list[str | Path] = [UV, "pip", "install", "--require-hashes", "--python", PYTHON]
            run([*command, "--target", folder, "-r", lock], log, cwd=ROOT, hint="Is PyPI reachable?")
            stamp.write_text(digest)
    node_packages(lock.parent, "Benchmark packages for Node", log)
    return folder


def _make_uv(log: Path) -> None:
    tools = UV.parents[1]
    if missing := _missing_venv():
        _apt(missing, log)
    run([sys.executable, "-m", "venv", "--clear", tools], log)
    run([UV.parent / "pip", "install", "--quiet", f"uv=={UV_VERSION}"], log, hint="Is PyPI reachable?")


def node_packages(folder: Path, title: str, log: Path) -> None:
    """Install exactly what a folder's lock file names, unless it was installed last."""
    digest = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules" / ".lock-digest"
    if stamp.exists() and stamp.read_text() == digest:
        return
    with step(title):
        command = ["npm", "ci", "--no-audit", "--no-fund"]
        run(command, log, cwd=folder, hint="Is the npm registry reachable?")
        stamp.write_text(digest)
