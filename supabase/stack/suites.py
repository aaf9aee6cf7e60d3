"""`make test` and `make test-long`: every suite against a throw-away stack, two at a time."""

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import tools
from commands import Commands
from results import Counts, Result, of_junit
from settings import ROOT, Settings
from terminal import Stop
from tools import PYTHON, node_packages
from web import WEB

# Without windows the browser takes a third less of the processor; the long run has the whole one.
HEADLESS, WHOLE = "/usr/bin/chromium-headless-shell", "/usr/bin/chromium"
JS_TESTS = ROOT / "tests" / "api" / "js"
BROWSER_TESTS = ROOT / "tests" / "e2e"
# The JUnit files of the last run stay here when its stack is gone.
REPORTS = ROOT / ".stack-tools" / "reports"
LANES = 2
# The API tests wait for mails and password hashes half of their time, so three processes suit two cores.
API_WORKERS = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
DATABASE_WORKERS = ("-n", str(LANES), "--dist", "worksteal")
USUAL, USUAL_ALONE = "not long and not alone", "alone and not long"
LONG, LONG_ALONE = "long and not alone", "long and alone"
# Where tests stand that need the stack to themselves.
WITH_ALONE = ("tests/api", "tests/stack")


def install_packages(log: Path) -> None:
    """Install what checks and tests need beside the stack's own packages."""
    tools.install(log, for_tests=True)
    with tools.one_at_a_time():
        node_packages(WEB, "Web app: packages", log)
        node_packages(JS_TESTS, "Client packages", log)
        node_packages(BROWSER_TESTS, "Browser packages", log)


@dataclass(frozen=True)
class Suite:
    """A title, and what runs its tests and prints to a stream what they say."""

    title: str
    run: Callable[[TextIO], Counts]


class Suites:
    """The suites of one test run, against one stack."""

    def __init__(self, settings: Settings, postgres: Path, log: Path) -> None:
        self.settings, self.postgres, self.log = settings, postgres, log
        REPORTS.mkdir(parents=True, exist_ok=True)
        self.env = {
            **os.environ,
            "STACK_ENV": str(settings.state / "env"),
            "CI": "true",
            "PATH": f"{postgres}:{os.environ['PATH']}",
        }
        self.env.pop("STATE", None)
        # Each process would compile everything anew.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        self._commands = Commands()
        self._printing = threading.Lock()

    def usual(self) -> list[Result]:
        """Run what `make test` runs; a failing suite does not stop the others.

        The longest suites start first, so that both lanes end at about the same time. What must have the
        stack to itself follows them.
        """
        with self._commands.ending_all():
            results = self._in_lanes(
                [
                    Suite("Browser (Playwright)", lambda out: self._browser(out, "test", HEADLESS)),
                    Suite("APIs (Python)", lambda out: self._pytest(out, ["tests/api"], USUAL, API_WORKERS)),
                    Suite("Database (pgTAP)", self._database),
                    Suite("Money", lambda out: self._pytest(out, ["tests/money"], USUAL)),
                    Suite("Stack", lambda out: self._pytest(out, ["tests/stack"], USUAL)),
                    Suite("Faults", lambda out: self._pytest(out, ["tests/faults"], USUAL)),
                    Suite("APIs (supabase-js)", self._node),
                ]
            )
            return [*results, self._alone(USUAL_ALONE)]

    def long(self) -> list[Result]:
        """Run what takes too long for every change: `make test-long`."""
        with self._commands.ending_all():
            results = self._in_lanes(
                [
                    Suite("Money", lambda out: self._pytest(out, ["tests/money"], LONG)),
                    Suite("Stack", lambda out: self._pytest(out, ["tests/stack"], LONG)),
                    Suite("APIs (Python)", lambda out: self._pytest(out, ["tests/api"], LONG)),
                    Suite("Browser (Playwright)", lambda out: self._browser(out, "test:long", WHOLE)),
                ]
            )
            return [*results, self._alone(LONG_ALONE)]

    def _alone(self, marks: str) -> Result:
        return self._timed(Suite("Alone", lambda out: self._pytest(out, [*WITH_ALONE], marks)))

    def module(self, name: str, *arguments: str) -> int:
        """Run a module of the tests that prints a report of its own; return its exit status."""
        with self._commands.ending_all():
            return self._commands.run([str(PYTHON), "-m", name, *arguments], ROOT, self.env, sys.stdout)

    def _in_lanes(self, suites: Sequence[Suite]) -> list[Result]:
        pool = ThreadPoolExecutor(LANES)
        try:
            return list(pool.map(self._timed, suites))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _timed(self, suite: Suite) -> Result:
        """Run a suite; what it prints follows in one piece when it has ended."""
        self._commands.require_running()
        self._print(f"\n== {suite.title} started")
        out, started = io.StringIO(), time.monotonic()
        try:
            counts = suite.run(out)
        except Stop as failure:
            print(f"  {failure}", file=out)
            counts = Counts(0, 1, failures=(str(failure),))
        seconds = time.monotonic() - started
        self._print(f"\n== {suite.title} ended after {seconds:.0f} s\n{out.getvalue()}")
        return Result(suite.title, counts, seconds)

    def _print(self, text: str) -> None:
        with self._printing:
            print(text, flush=True)

    def _database(self, out: TextIO) -> Counts:
        """The pgTAP files, then what only their coverage can tell."""
        files = self._pytest(out, ["tests/db"], USUAL, DATABASE_WORKERS)
        return files + self._pytest(out, ["tests/mutations"], USUAL)

    def _pytest(self, out: TextIO, folders: list[str], marks: str, workers: tuple[str, ...] = ()) -> Counts:
        name = "-".join([*folders, marks]).replace("/", "-").replace(" ", "-")
        report = REPORTS / f"{name}.xml"
        report.unlink(missing_ok=True)
        command = [str(PYTHON), "-m", "pytest", "-q", *folders, "-m", marks, f"--junitxml={report}"]
        command += workers
        return of_junit(report, self._commands.run(command, ROOT, self.env, out))

    def _node(self, out: TextIO) -> Counts:
        report = REPORTS / "supabase-js.xml"
        report.unlink(missing_ok=True)
        reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
        reporters += ["--test-reporter=junit", f"--test-reporter-destination={report}"]
        command = ["npm", "test", "--", *reporters]
        return of_junit(report, self._commands.run(command, JS_TESTS, self.env, out))

    def _browser(self, out: TextIO, script: str, browser: str) -> Counts:
        report = REPORTS / "browser.xml"
        report.unlink(missing_ok=True)
        env = self.env | {"PLAYWRIGHT_JUNIT_OUTPUT_NAME": str(report), "CHROMIUM": browser}
        command = ["npm", "run", script, "--", "--reporter=list,junit"]
        return of_junit(report, self._commands.run(command, BROWSER_TESTS, env, out))
