"""Every suite against the stack that STACK_ENV names, two at a time: `python -m tests.runner usual|long`."""

import io
import os
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from launcher.host.tools import PYTHON
from launcher.settings import ROOT
from launcher.terminal import treat_termination_as_interrupt
from tests.runner.processes import Processes
from tests.runner.results import Counts, Result, of_junit, print_table
from tests.support.stack import stack_state
from tests.support.throwaway import BROWSER_TESTS, JS_TESTS

# The JUnit files of the last run stay here when its stack is deleted.
REPORTS = ROOT / ".stack-tools" / "reports"
LANES = 2


@dataclass(frozen=True)
class Run:
    """A command that leaves a JUnit report."""

    report: Path
    command: Sequence[str]
    cwd: Path = ROOT
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A title, and what it runs, one after the other."""

    title: str
    runs: Sequence[Run]


def _pytest(title: str, folders: str, marks: str, workers: str = "") -> Suite:
    report = REPORTS / f"{re.sub(r'[^a-z]+', '-', f'{folders} {marks}')}.xml"
    command = [str(PYTHON), "-m", "pytest", "-q", *folders.split(), "-m", marks, f"--junitxml={report}"]
    # It loads for a second in each process, and tests of the APIs alone use it.
    without = [] if "tests/api" in folders else ["-p", "no:schemathesis"]
    return Suite(title, [Run(report, [*command, *without, *workers.split()])])


def _javascript() -> Suite:
    report = REPORTS / "supabase-js.xml"
    reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
    reporters += ["--test-reporter=junit", f"--test-reporter-destination={report}"]
    return Suite("APIs (supabase-js)", [Run(report, ["npm", "test", "--", *reporters], JS_TESTS)])


def _browser(script: str, browser: str) -> Suite:
    report = REPORTS / f"{re.sub(r'[^a-z]+', '-', f'browser {script}')}.xml"
    env = {
        "PLAYWRIGHT_JUNIT_OUTPUT_NAME": str(report),
        "PLAYWRIGHT_JUNIT_INCLUDE_RETRIES": "1",
        "CHROMIUM": f"/usr/bin/{browser}",
    }
    command = ["npm", "run", script, "--", "--reporter=list,junit"]
    return Suite("Browser (Playwright)", [Run(report, command, BROWSER_TESTS, env)])


def usual() -> list[Suite]:
    """Return what `make test` runs. The last has the stack to itself.

    The longest suites start first, so that both lanes end at about the same time.
    """
    marks = "not long and not alone"
    files = _pytest("", "tests/db", marks, f"-n {LANES} --dist worksteal")
    # What only the coverage of the database's own tests can tell follows them.
    coverage = _pytest("", "tests/mutations", marks)
    alone = _pytest("", "tests/api tests/stack", "alone and not long")
    alone_in_browser = _browser("test:alone", "chromium-headless-shell")
    return [
        # Without windows the browser takes a third less of the processor; the long run has the whole one.
        _browser("test", "chromium-headless-shell"),
        # They wait for mails and password hashes half of their time, so three processes suit two cores.
        _pytest("APIs (Python)", "tests/api", marks, "-n 3 --dist loadfile --no-loadscope-reorder"),
        Suite("Database (pgTAP)", [*files.runs, *coverage.runs]),
        _pytest("Stack", "tests/stack", marks),
        _pytest("Money", "tests/money", marks),
        _pytest("Faults", "tests/faults", marks),
        _javascript(),
        Suite("Alone", [*alone.runs, *alone_in_browser.runs]),
    ]


def long() -> list[Suite]:
    """Return what takes too long for every change. The last has the stack to itself."""
    marks = "long and not alone"
    return [
        _pytest("Money", "tests/money", marks),
        _pytest("Stack", "tests/stack", marks),
        _pytest("APIs (Python)", "tests/api", marks),
        _pytest("Faults", "tests/faults", marks),
        _browser("test:long", "chromium"),
        _pytest("Alone", "tests/api tests/stack tests/faults tests/cluster", "long and alone"),
    ]


class Runner:
    """Runs suites in two lanes."""

    def __init__(self) -> None:
        REPORTS.mkdir(parents=True, exist_ok=True)
        self._processes = Processes()
        self._printing = threading.Lock()

    def run(self, suites: Sequence[Suite]) -> list[Result]:
        """Run the suites, the last after all others; a failing one does not stop the others."""
        with self._processes.ending_all():
            pool = ThreadPoolExecutor(LANES)
            try:
                results = list(pool.map(self._timed, suites[:-1]))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
            return [*results, self._timed(suites[-1])]

    def _timed(self, suite: Suite) -> Result:
        """Run a suite; what it prints follows in one piece when it has ended."""
        self._processes.require_running()
        self._print(f"\n== {suite.title} started")
        out, counts, started = io.StringIO(), Counts(0, 0), time.monotonic()
        for run in suite.runs:
            counts += self._counts_of(run, out)
        seconds = time.monotonic() - started
        self._print(f"\n== {suite.title} ended after {seconds:.0f} s\n{out.getvalue()}")
        return Result(suite.title, counts, seconds)

    def _counts_of(self, run: Run, out: TextIO) -> Counts:
        run.report.unlink(missing_ok=True)
        return of_junit(run.report, self._processes.run(run.command, run.cwd, {**os.environ, **run.env}, out))

    def _print(self, text: str) -> None:
        with self._printing:
            print(text, flush=True)


def main(which: str) -> int:
    """Run the suites and print one table of them; after a failure also what the gateway could not pass on."""
    treat_termination_as_interrupt()
    if print_table(Runner().run({"usual": usual, "long": long}[which]())):
        return 0
    gateway = stack_state() / "logs" / "gateway.log"
    for line in gateway.read_text().splitlines():
        if '"reason"' in line:
            print(f"  gateway: {line}", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
