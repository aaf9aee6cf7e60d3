"""Finds, installs or builds what the stack runs on: PostgreSQL, Node tools, the web app.

Everything but the operating system's packages lies in the checkout; nothing is installed globally.
"""

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from launcher.settings import ROOT, Settings
from launcher.terminal import Stop, run, step

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = ROOT / ".stack-tools" / "bin" / "uv"
NODE_TOOLS = ROOT / "supabase" / "stack" / "node_modules"
SUPABASE = NODE_TOOLS / ".bin" / "supabase"
WEB = ROOT / "web"
# The served build, the next build, and the digest of the served one's sources.
SERVED, DRAFT, BUILD = WEB / "dist", WEB / "node_modules" / ".build", WEB / "node_modules" / ".build-digest"
NOT_BUILT_FROM = {"node_modules", "dist", ".vite", "coverage"}
MINIMUM_POSTGRES, MINIMUM_NODE = 15, (20, 19)
EXTENSIONS = ("plpgsql_check", "pg_trgm")
# Programs of the tests alone: the browser without a window for each change, the whole one for the long run.
TEST_PROGRAMS = ("chromium-headless-shell", "chromium")
# Programs of the long run alone, by package: other browsers, a display for the one that cannot do without,
# what makes backups and watches, and what a cluster is made of.
LONG_RUN_PROGRAMS = {
    **{"firefox-esr": "firefox-esr", "webkit2gtk-driver": "WebKitWebDriver", "xvfb": "Xvfb"},
    **{"pgbackrest": "pgbackrest", "restic": "restic"},
    **{"prometheus": "promtool", "prometheus-postgres-exporter": "prometheus-postgres-exporter"},
    **{"patroni": "patroni", "etcd-server": "etcd", "pgbouncer": "pgbouncer"},
}
CLUSTER_SWITCH = Path("/etc/postgresql-common/createcluster.d/harborline.conf")
# Debian's packages ask this file before they start a daemon.
DAEMON_SWITCH = Path("/usr/sbin/policy-rc.d")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let two launchers of one checkout take turns when they install."""
    with (ROOT / "requirements.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(log: Path, *, for_tests: bool, settings: Settings | None = None) -> Path:
    """Install what is missing and return the folder of PostgreSQL's programs, those that a stack needs."""
    install_node_tools(log)
    extensions = (*EXTENSIONS, "pgtap") if for_tests else EXTENSIONS
    with one_at_a_time():
        # All at once: who is not root has one line to type.
        found = find_postgres(extensions, settings)
        if not found and (version := _made_by(settings)):
            raise Stop(
                f"The stack's database is of PostgreSQL {version}, which was not found. Install it, or name\n"
                "  its bin folder: PG_BIN=/folder make up"
            )
        missing = [] if found else _postgres_packages(extensions, log)
        if for_tests:
            missing += [program for program in TEST_PROGRAMS if not shutil.which(program)]
        if missing:
            with step("The system's packages"):
                _apt(missing, log)
        postgres = find_postgres(extensions, settings)
        if not postgres:
            raise Stop(f"PostgreSQL with {', '.join(extensions)} was not found after installing it.")
    return postgres


def install_node_tools(log: Path) -> None:
    """Install what of Node a stack needs: all that it needs where its database is elsewhere."""
    _require_node()
    with one_at_a_time():
        node_packages(NODE_TOOLS.parent, "Node tools", log)


def install_programs(programs: Mapping[str, str], log: Path) -> None:
    """Install the packages of those programs that are missing."""
    missing = [package for package, program in programs.items() if not shutil.which(program)]
    if missing:
        with one_at_a_time(), step("The system's packages"):
            _apt(missing, log)
            # Some bring a daemon, which would start with the machine from now on.
            daemons = {*missing, *(programs[package] for package in missing)}
            for name in daemons if shutil.which("systemctl") else ():
                subprocess.run(["systemctl", "disable", "--quiet", name], check=False, capture_output=True)


def _require_node() -> None:
    wanted = f"Node.js {'.'.join(map(str, MINIMUM_NODE))} or newer with npm is needed"
    if not shutil.which("node") or not shutil.which("npm"):
        raise Stop(f"{wanted}. Install it and run this again.")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(map(int, version.lstrip("v").split(".")[:2])) < MINIMUM_NODE:
        raise Stop(f"{wanted}; this one is {version}.")


def find_postgres(extensions: tuple[str, ...], settings: Settings | None = None) -> Path | None:
    """Return the newest installed PostgreSQL that has these extensions; PG_BIN names one to prefer.

    For a stack it is the version that made its cluster, and the PG_BIN that is stored.
    """
    named = settings.options.get("PG_BIN", "") if settings else os.environ.get("PG_BIN", "")
    version = _made_by(settings)
    if settings and (named or version):
        # The operator's own may lack what `make check` alone needs.
        extensions = tuple(name for name in extensions if name != "plpgsql_check")
    folders = [Path(named)] if named else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    if server := shutil.which("postgres"):
        folders.append(Path(server).resolve().parent)
    return next((folder for folder in folders if _is_suitable(folder, extensions, version)), None)


def _made_by(settings: Settings | None) -> int | None:
    """Return the major version of PostgreSQL that made a stack's cluster, if it has one."""
    made_by = settings.data_directory / "PG_VERSION" if settings else None
    return int(made_by.read_text()) if made_by and made_by.exists() else None


def _is_suitable(folder: Path, extensions: tuple[str, ...], wanted: int | None) -> bool:
    if not (folder / "initdb").exists() or not (folder / "pg_config").exists():
        return False
    command: list[str | Path] = [folder / "pg_config", "--version", "--sharedir"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found, share = re.search(r"PostgreSQL (\d+)", said), said.strip().splitlines()[-1:]
    if not found or int(found[1]) < MINIMUM_POSTGRES or not share:
        return False
    if wanted and int(found[1]) != wanted:
        return False
    return all((Path(share[0]) / "extension" / f"{name}.control").exists() for name in extensions)


def _postgres_packages(extensions: tuple[str, ...], log: Path) -> list[str]:
    """Return the newest packages; their version is `*`, which apt understands, when its lists are empty."""
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
    version = max(re.findall(r"^postgresql-(\d+)-", found, re.MULTILINE), default="*", key=int)
    # The server comes with them; pg_trgm is part of it.
    return [f"postgresql-{version}-{name.replace('_', '-')}" for name in extensions if name != "pg_trgm"]


def _apt(packages: list[str], log: Path) -> None:
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        raise Stop(
            "Some system packages are missing. Type this, then run the command again:\n"
            f"  sudo apt-get update && sudo {shlex.join(command)}"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with _starting_nothing():
        try:
            run(command, log, env=environment)
        except Stop:
            run(["apt-get", "update"], log, env=environment)
            run(command, log, env=environment, hint=f"Try by hand: {shlex.join(command)}")


@contextmanager
def _starting_nothing() -> Iterator[None]:
    """Let Debian's packages start no cluster and no daemon: the stack's are the only ones wanted."""
    CLUSTER_SWITCH.parent.mkdir(parents=True, exist_ok=True)
    CLUSTER_SWITCH.write_text("create_main_cluster = false\n")
    own = not DAEMON_SWITCH.exists()
    if own:
        DAEMON_SWITCH.write_text("#!/bin/sh\nexit 101\n")
        DAEMON_SWITCH.chmod(0o755)
    try:
        yield
    finally:
        CLUSTER_SWITCH.unlink(missing_ok=True)
        if own:
            DAEMON_SWITCH.unlink(missing_ok=True)


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


def content_digest(text: str, *sources: Path) -> str:
    """Return a digest of a text and of every file in folders, with their names."""
    digest = hashlib.sha256(text.encode())
    for source in sources:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(source.parent)).encode() + path.read_bytes())
    return digest.hexdigest()


def web_sources() -> list[Path]:
    """Return what the web app is built from."""
    return [path for path in sorted(WEB.iterdir()) if path.name not in NOT_BUILT_FROM]


def build_web(log: Path) -> str:
    """Install the web app's packages and build it, unless what is served is what the sources make.

    Returns what `serve_web` takes once everything else is ready for it, or nothing.
    """
    with one_at_a_time():
        node_packages(WEB, "Packages of web", log)
        digest = content_digest("", *web_sources())
        if (SERVED / "index.html").exists() and BUILD.exists() and BUILD.read_text() == digest:
            return ""
        with step("Web app: build"):
            run(["npm", "run", "build", "--", "--emptyOutDir", f"--outDir={DRAFT}"], log, cwd=WEB)
    return digest


def serve_web(digest: str) -> None:
    """Put what was built in the place of what is served."""
    with one_at_a_time():
        # Another launcher of this checkout may have done it.
        if DRAFT.exists():
            shutil.rmtree(SERVED, ignore_errors=True)
            DRAFT.rename(SERVED)
            BUILD.write_text(digest)


def site_pages(origin: str) -> Path:
    """Return where the pages lie that name their own address, with this site's in it.

    In the build that they were made of: another build takes them away, and what it brings is served until
    they are made anew.
    """
    return SERVED / ".sites" / hashlib.sha256(origin.encode()).hexdigest()[:16]


def write_site_pages(origin: str, log: Path) -> None:
    """Write the pages that name their own address for this site, unless this build has them."""
    with one_at_a_time():
        target = site_pages(origin)
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            run(["node", WEB / "site-pages.mjs", SERVED, target, origin], log, cwd=WEB)
