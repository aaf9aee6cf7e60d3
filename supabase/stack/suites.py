"""`make test`: every suite against a throw-away stack, one table at the end."""

import io
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import check
from keys import Keys
from outcomes import Counts, Outcome, of_junit, of_pg_prove
from settings import ROOT, Settings
from terminal import Stop
from throwaway import BARE_DATABASE
from tools import PYTHON, node_packages

JS_TESTS = ROOT / "tests" / "api" / "js"
BROWSER_TESTS = ROOT / "tests" / "e2e"
# For a suite that is interrupted, to remove what it started itself.
GRACE_SECONDS = 15


def hear_interruptions() -> None:
    """Take a kind request to end as Ctrl-C, so that what was started is also ended.

    And hear Ctrl-C where whoever started this lets it be ignored, as a shell does for jobs in the background:
    commands would inherit that.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


class Suites:
    """The suites of one test run, against one stack."""

    def __init__(self, settings: Settings, postgres: Path, log: Path) -> None:
        self.settings, self.postgres, self.log = settings, postgres, log
        self.reports = settings.state / "reports"
        self.reports.mkdir(exist_ok=True)
        self.env = {
            **os.environ,
            "STACK_ENV": str(settings.state / "env"),
            "CI": "true",
            "PATH": f"{postgres}:{os.environ['PATH']}",
        }
        self.env.pop("STATE", None)
        self._side = ThreadPoolExecutor(max_workers=1)
        self._over = threading.Event()
        # Held while a command starts, so that none slips in when all are ended.
        self._starting = threading.Lock()
        self._running: list[subprocess.Popen[str]] = []

    def run(self) -> list[Outcome]:
        """Run all; a failing suite does not stop the others.

        Those that ask the database alone run beside the first that asks the services: no time of theirs is a
        test. What they print follows in one piece.
        """
        with self._ending_all():
            printed = io.StringIO()
            quiet = self._side.submit(self._beside, printed)
            api = self._timed("APIs (Python)", lambda: self._pytest("tests/api"))
            outcomes = [*quiet.result(), api]
            print(printed.getvalue(), end="", flush=True)
            return [
                *outcomes,
                self._timed("APIs (supabase-js)", self._node),
                self._timed("Stack", lambda: self._pytest("tests/stack")),
                self._timed("Faults", lambda: self._pytest("tests/faults")),
                self._timed("Browser (Playwright)", self._browser),
            ]

    @contextmanager
    def _ending_all(self) -> Iterator[None]:
        """However the block is left, no command runs any more, and the thread beside starts no other."""
        try:
            yield
        finally:
            with self._starting:
                self._over.set()
                running = list(self._running)
            for process in running:
                _signal(process, signal.SIGINT)
            deadline = time.monotonic() + GRACE_SECONDS
            for process in running:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(deadline - time.monotonic(), 0))
                _signal(process, signal.SIGKILL)
            self._side.shutdown(wait=False, cancel_futures=True)

    def _go_on(self) -> None:
        if self._over.is_set():
            raise CancelledError

    def _beside(self, out: TextIO) -> list[Outcome]:
        return [
            self._timed("Database (pgTAP)", lambda: self._pgtap(out), out),
            self._timed("Guards", lambda: self._pytest("tests/mutations", out), out),
            self._timed("Money", lambda: self._pytest("tests/money", out), out),
            self._timed("Checks", lambda: self._checks(out), out),
        ]

    def _timed(self, title: str, suite: Callable[[], Counts], out: TextIO | None = None) -> Outcome:
        print(f"\n== {title}", file=out, flush=True)
        started = time.monotonic()
        try:
            counts = suite()
        except Stop as refusal:
            print(f"  {refusal}", file=out, flush=True)
            counts = Counts(0, 1, failures=(str(refusal),))
        return Outcome(title, counts, time.monotonic() - started)

    def _checks(self, out: TextIO) -> Counts:
        passed, failures = 0, []
        for each in check.checks(self.settings, self.postgres, self.log):
            self._go_on()
            held, broken = check.run_all([each], out)
            passed += held
            failures += [each.title] * broken
        return Counts(passed, len(failures), failures=tuple(failures))

    def _pgtap(self, out: TextIO) -> Counts:
        files = sorted((ROOT / "tests" / "db").glob("*.sql"))
        password = Keys(self.settings).values["PASSWORD_supabase_admin"]
        target = ["-h", "127.0.0.1", "-p", str(self.settings.ports["postgres"]), "-d", BARE_DATABASE]
        command = ["pg_prove", *target, "-U", "supabase_admin", "--failures"]
        env = self.env | {"PGPASSWORD": password}
        code, output = self._stream([*command, *map(str, files)], ROOT, env, out)
        return of_pg_prove(output, code)

    def module(self, name: str, *arguments: str) -> int:
        """Run a module of the tests that prints a report of its own; returns its exit status."""
        with self._ending_all():
            return self._stream([str(PYTHON), "-m", name, *arguments], ROOT, self.env)[0]

    def _stream(
        self, command: list[str], cwd: Path, env: dict[str, str], out: TextIO | None = None
    ) -> tuple[int, str]:
        """Run a command while showing what it prints; returns its exit status and the text.

        In a process group of its own: an interruption comes to it from here alone, and once.
        """
        lines = []
        with self._starting:
            self._go_on()
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            self._running.append(process)
        assert process.stdout
        for line in process.stdout:
            print(line, end="", file=out, flush=True)
            lines.append(line)
        code = process.wait()
        self._running.remove(process)
        return code, "".join(lines)

    def _pytest(self, folder: str, out: TextIO | None = None) -> Counts:
        report = self.reports / f"{folder.replace('/', '-')}.xml"
        command = [str(PYTHON), "-m", "pytest", "-q", folder, f"--junitxml={report}"]
        code, _ = self._stream(command, ROOT, self.env, out)
        return of_junit(report, code)

    def _node(self) -> Counts:
        node_packages(JS_TESTS, "Client packages", self.log)
        report = self.reports / "supabase-js.xml"
        reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
        reporters += ["--test-reporter=junit", f"--test-reporter-destination={report}"]
        code, _ = self._stream(["npm", "test", "--", *reporters], JS_TESTS, self.env)
        return of_junit(report, code)

    def _browser(self) -> Counts:
        node_packages(BROWSER_TESTS, "Browser packages", self.log)
        report = self.reports / "browser.xml"
        env = self.env | {"PLAYWRIGHT_JUNIT_OUTPUT_NAME": str(report)}
        code, _ = self._stream(["npm", "test", "--", "--reporter=list,junit"], BROWSER_TESTS, env)
        return of_junit(report, code)


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Also to what the command has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
