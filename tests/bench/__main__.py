"""`make bench`: what the product promises about time and memory, measured on a throw-away stack."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import lifecycle
from settings import ROOT, Settings
from tools import PYTHON, benchmark_packages

WARM_SECONDS = 10
IDLE_MEGABYTES = 700
SETTLING_SECONDS = 20


def run(settings: Settings, postgres: Path, rival: str, log: Path) -> tuple[int, int]:
    """Measure everything, beside a real GoTrue if `rival` names one; returns goals kept and missed."""
    records = settings.state / "records"
    records.touch()
    env = {
        **os.environ,
        "STACK_ENV": str(settings.state / "env"),
        "PYTHONPATH": f"{ROOT}:{benchmark_packages(log)}",
        "PATH": f"{postgres}:{os.environ['PATH']}",
        "BENCH_RECORDS": str(records),
        "AUTH_BIN": rival,
    }
    verdicts = [
        _record(records, "warm start until healthy", _start(settings, postgres, log), "s", WARM_SECONDS),
        _record(records, "idle memory, proportional set size", _memory(settings), "MB", IDLE_MEGABYTES),
    ]
    for script in sorted((ROOT / "tests" / "bench").glob("bench_*.py")):
        print(f"\n== {script.stem.removeprefix('bench_')}", flush=True)
        verdicts.append(subprocess.run([PYTHON, script], cwd=ROOT, env=env, check=False).returncode == 0)
    subprocess.run([PYTHON, "-m", "tests.bench.report", records], cwd=ROOT, env=env, check=True)
    return verdicts.count(True), verdicts.count(False)


def _record(records: Path, what: str, value: float, unit: str, limit: int) -> bool:
    """Keep a figure for RESULTS.md as tests/bench/report.py does; returns whether it is within its limit."""
    kept = value <= limit
    line = json.dumps(["P12", what, f"{value:.1f}", unit, f"at most {limit}", "kept" if kept else "MISSED"])
    with records.open("a") as file:
        file.write(f"{line}\n")
    return kept


def _start(settings: Settings, postgres: Path, log: Path) -> float:
    lifecycle.take_down(settings)
    started = time.monotonic()
    lifecycle.bring_up(settings, postgres, log)
    seconds = time.monotonic() - started
    print(f"\n== start\n  warm start until healthy: {seconds:.1f} s, goal at most {WARM_SECONDS} s")
    return seconds


def _memory(settings: Settings) -> float:
    time.sleep(SETTLING_SECONDS)
    supervisor = int((settings.state / "run" / "supervisord.pid").read_text())
    parents = _parents()
    total = 0
    print("\n== memory (proportional set size, idle)")
    for pid in _family(supervisor, parents):
        kilobytes = _proportional_size(pid)
        total += kilobytes
        if kilobytes > 10_000:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:60]
            print(f"  {kilobytes // 1024:4} MB  {command}")
    print(f"  {total // 1024:4} MB in all, goal at most {IDLE_MEGABYTES} MB")
    return total / 1024


def _parents() -> dict[int, int]:
    """Each process's parent."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def _family(pid: int, parents: dict[int, int]) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for child, parent in parents.items():
        if parent == pid:
            yield from _family(child, parents)


def _proportional_size(pid: int) -> int:
    """Kilobytes; shared pages are divided among those who share them."""
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
