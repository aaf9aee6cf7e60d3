"""`python3 supabase/stack COMMAND`: makes the project's Python environment, then runs the launcher in it."""

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0])
HERE = Path(__file__).resolve().parent
LOCK, VENV, TOOLS = (HERE.parents[1] / name for name in ("requirements.lock", ".venv", ".stack-tools"))
PYTHON, STAMP, UV = VENV / "bin" / "python", VENV / ".lock-digest", TOOLS / "bin" / "uv"
SCRIPT = VENV / "bin" / "supervisord"
SYSTEM_PYTHON = Path("/usr/bin/python3")
# Debian packages what makes environments apart from Python.
APT = "apt-get install -y --no-install-recommends python3-venv"


def run(*command: "str | Path") -> None:
    """Run a command quietly; exit with the end of its output when it fails."""
    done = subprocess.run(command, cwd=LOCK.parent, text=True, capture_output=True, check=False)
    if done.returncode:
        tail = "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        sys.exit(
            f"\n  {Path(command[0]).name} failed:\n    {tail}\n  Is PyPI reachable? Run the command again."
        )


def is_open(program: Path) -> bool:
    """Return whether every user of the machine may get to a program."""
    return all(folder.stat().st_mode & 0o001 for folder in program.resolve().parents)


def interpreter() -> Path:
    """Return the Python that the environment is made of.

    Root's services run as another user, who cannot run a Python in root's home: it is the system's then.
    """
    own = Path(sys.executable)
    if os.geteuid() != 0 or is_open(own) or not SYSTEM_PYTHON.exists():
        return own
    new_enough = "import sys; sys.exit(sys.version_info < (3, 11))"
    asked = subprocess.run([SYSTEM_PYTHON, "-c", new_enough], check=False)
    return own if asked.returncode else SYSTEM_PYTHON


def make_uv() -> None:
    """Install a uv of the project's own."""
    if importlib.util.find_spec("ensurepip") is None:
        if os.geteuid() != 0:
            sys.exit(f"Type this, then run the command again:\n  sudo apt-get update && sudo {APT}")
        run("apt-get", "update")
        run(*APT.split())
    run(sys.executable, "-m", "venv", "--clear", TOOLS)
    run(TOOLS / "bin" / "pip", "install", "--quiet", "uv==0.13.9")


with LOCK.open("rb") as lock:
    # Two launchers of one checkout take turns.
    fcntl.flock(lock, fcntl.LOCK_EX)
    wanted = hashlib.sha256(lock.read()).hexdigest()
    # Scripts name their interpreter: in a checkout that was moved they look for it at the former place.
    usable = (
        PYTHON.exists()
        and SCRIPT.exists()
        and any(f"{mark}{VENV}/bin/" in SCRIPT.read_text() for mark in "!'")
        and (os.geteuid() != 0 or is_open(PYTHON) or not is_open(interpreter()))
    )
    if not (usable and STAMP.exists() and STAMP.read_text() == wanted):
        print("  Python environment ...", flush=True)
        if not UV.exists():
            make_uv()
        if not usable:
            run(UV, "venv", "--clear", "--python", interpreter(), VENV)
        run(UV, "pip", "sync", "--require-hashes", "--compile-bytecode", "--python", PYTHON, LOCK)
        STAMP.write_text(wanted)
if Path(sys.prefix).resolve() != VENV.resolve():
    os.execv(PYTHON, [str(PYTHON), str(HERE), *sys.argv[1:]])  # noqa: S606

from launcher.cli import main  # noqa: E402

main()
