"""`make bench`: what the product promises about time and memory, measured on the stack of STACK_ENV."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from launcher import lifecycle
from launcher import settings as configuration
from launcher.host import tools
from launcher.host.tools import PYTHON, UV
from launcher.services.supervisor import Supervisor
from launcher.settings import ROOT, SETUP_LOG, Settings
from launcher.terminal import run, step
from tests.bench import report
from tests.bench.measure import SIZES
from tests.support.stack import stack_state

SCRIPTS = ROOT / "tests" / "bench"
WARM_SECONDS = 3
IDLE_MEGABYTES = 650
SETTLING_SECONDS = 20


def main() -> int:
    """Run every script and write RESULTS.md; return 1 when one missed a goal."""
    settings = configuration.read(stack_state())
    records = settings.state / "records"
    records.touch()
    os.environ["BENCH_RECORDS"] = str(records)
    env = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{install_packages()}"}
    if not SIZES:
        # More members than the rivals can hold, and nothing else: a run of hours.
        code = run_script(SCRIPTS / "bench_growth.py", env, records)
        # Of one that was refused there is nothing to say.
        if records.stat().st_size:
            report.write(records, report.RESULTS_LARGER)
        return code
    promise("warm start until healthy", warm_start(settings), "s", WARM_SECONDS)
    promise("idle memory, proportional set size", idle_memory(settings), "MB", IDLE_MEGABYTES)
    codes = [report.exit_code()]
    scripts = sorted(SCRIPTS.glob("bench_*.py"), key=changes_last)
    codes += [run_script(script, env, records) for script in scripts]
    report.write(records, report.RESULTS)
    return 1 if any(codes) else 0


def run_script(script: Path, env: dict[str, str], records: Path) -> int:
    """Run one script; return its exit status. That it broke off is recorded: figures are missing then."""
    print(f"\n== {script.stem.removeprefix('bench_')}", flush=True)
    code = subprocess.run([PYTHON, script], cwd=ROOT, env=env, check=False).returncode
    if code not in (0, report.GOAL_MISSED) and records.stat().st_size:
        report.record("all", f"{script.name} measures all that it has", "no", "", "yes", False)
    return code


def changes_last(script: Path) -> tuple[int, str]:
    """Order the scripts by name, but for two that leave other data than they found."""
    # Packages that no deposit explains, in the networks; and a load's members in the place of the demo's.
    last = ("bench_compensation", "bench_load")
    return last.index(script.stem) + 1 if script.stem in last else 0, script.stem


def promise(what: str, value: float, unit: str, limit: int) -> None:
    """Record a figure and whether it is within its limit."""
    report.record("P12", what, value, unit, f"at most {limit}", value <= limit)


def install_packages() -> Path:
    """Install what only the benchmarks need, in a folder of its own for PYTHONPATH."""
    lock, folder = ROOT / "tests" / "bench" / "requirements.lock", UV.parents[1] / "bench-packages"
    stamp, digest = folder / ".lock-digest", sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        with step("Benchmark packages"):
            shutil.rmtree(folder, ignore_errors=True)
            command: list[str | Path] = [UV, "pip", "install", "--require-hashes", "--python", PYTHON]
            hint = "Is PyPI reachable?"
            run([*command, "--target", folder, "-r", lock], SETUP_LOG, cwd=ROOT, hint=hint)
            stamp.write_text(digest)
    tools.node_packages(lock.parent, "Benchmark packages for Node", SETUP_LOG)
    return folder


def warm_start(settings: Settings) -> float:
    """Return the seconds that a stack whose data are there takes until it is healthy."""
    postgres = tools.find_postgres(tools.EXTENSIONS)
    assert postgres
    Supervisor(settings).stop()
    started = time.monotonic()
    lifecycle.bring_up(settings, postgres, SETUP_LOG)
    return time.monotonic() - started


def idle_memory(settings: Settings) -> float:
    """Return the megabytes of all processes of the stack; shared pages are divided among their users."""
    time.sleep(SETTLING_SECONDS)
    supervisor = int((settings.state / "run" / "supervisord.pid").read_text())
    sizes = {pid: proportional_kilobytes(pid) for pid in descendants(supervisor, parents())}
    for pid, kilobytes in sizes.items():
        if kilobytes > 10_000:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:60]
            print(f"  {kilobytes // 1024:4} MB  {command}")
    return sum(sizes.values()) / 1024


def parents() -> dict[int, int]:
    """Return each process's parent."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def descendants(pid: int, parent_of: dict[int, int]) -> Iterator[int]:
    """Yield a process and all that it and its children have started."""
    yield pid
    for child, parent in parent_of.items():
        if parent == pid:
            yield from descendants(child, parent_of)


def proportional_kilobytes(pid: int) -> int:
    """Return the proportional set size of a process, 0 of one that has ended."""
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


if __name__ == "__main__":
    sys.exit(main())
