"""Every figure of a benchmark run, printed as it is measured and gathered into RESULTS.md.

A script calls `record()` for each figure and ends with `sys.exit(exit_code())`. `make bench` names the file
that gathers them in BENCH_RECORDS; `python -m tests.bench.report FILE` writes RESULTS.md from it.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from tests.support.stack import Stack

RESULTS = Path(__file__).with_name("RESULTS.md")
# Of a run with nothing but more than a million members.
RESULTS_LARGER = Path(__file__).with_name("RESULTS-larger.md")
# An exit status; Python's own of an exception is 1.
GOAL_MISSED = 3
_failed: list[str] = []


def record(
    goal: str, what: str, value: float | str, unit: str, limit: str = "", met: bool | None = None
) -> None:
    """Print one figure and record it.

    Args:
        goal: its number, such as "P2"; "B4" is an ordinary day.
        what: what was measured, on how many members.
        value: the figure; a ratio is a figure of its own, with the unit "x".
        unit: such as "ms"; empty for a growth exponent.
        limit: the goal in words, such as "at least 20"; empty for a figure without one.
        met: whether the goal was met; None for a figure without one.
    """
    text = value if isinstance(value, str) else _rounded(value)
    result = {True: "kept", False: "MISSED", None: ""}[met]
    print(f"  {goal:4}{what:64}{text:>12} {unit:12}{limit:24}{result}", flush=True)
    if met is False:
        _failed.append(what)
    if path := os.environ.get("BENCH_RECORDS"):
        line = json.dumps([goal, what, text, unit, limit, result])
        with Path(path).open("a") as file:
            file.write(f"{line}\n")


def exit_code() -> int:
    """Return GOAL_MISSED when this process missed a goal, else 0. An exception leaves another status."""
    return GOAL_MISSED if _failed else 0


def _rounded(value: float) -> str:
    """Four significant digits, no exponent."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.6f}"


def write(records: Path, results: Path) -> None:
    """Write a page of results from the lines of one run, ordered by goal."""
    rows = [json.loads(line) for line in records.read_text().splitlines()]
    # P2 before P10, and what has no number after what has one.
    rows.sort(key=lambda row: (row[0][0], not row[0][1:].isdigit(), row[0][1:].zfill(3)))
    missed = sum(row[5] == "MISSED" for row in rows)
    met = sum(row[5] == "kept" for row in rows)
    text = [
        "# Results of the last `make bench`",
        "",
        "Generated; do not edit. Times move with the machine and with what else runs on it; ratios were",
        "measured side by side in the same run.",
        "",
        *_surroundings(),
        "",
        f"{met} goals kept, {missed} missed.",
        "",
        "| goal | what | value | limit | verdict |",
        "|---|---|---:|---|---|",
        *(
            f"| {goal} | {what} | {value} {unit} | {limit} | {result} |"
            for goal, what, value, unit, limit, result in rows
        ),
        "",
    ]
    results.write_text("\n".join(text))


def _surroundings() -> list[str]:
    """Return the facts that the figures depend on."""
    with psycopg.connect(Stack.read().values["DATABASE_ADMIN_URL"]) as connection:
        row = connection.execute(
            "select current_setting('server_version'), current_setting('shared_buffers')"
        ).fetchone()
    assert row
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        "",
    )
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 2**20
    return [
        f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load at the end {os.getloadavg()[2]:.1f} (15 minutes)",
        f"- {os.cpu_count()} cores {cpu}, {memory} GiB, {platform.system()} {platform.release()}",
        f"- PostgreSQL {row[0]}, shared_buffers {row[1]}; Python {platform.python_version()}; Node {node}",
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]), RESULTS)
