"""Runs a test against services that lack one guard, beside the stack and without touching it."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.mutations import reached
from tests.mutations.run import PARALLEL, Row, TrialResult, failure_of
from tests.mutations.sources import CADDYFILE, FOLDERS, ROOT, SourceEdit
from tests.support.stack import env_of, stack_state

LIST = Path(__file__).parent / "sources.csv"
# The reason of a row whose test is still to be written.
UNTESTED = "untested"
START_SECONDS = 20
# A mutant that never answers is as dead as one that answers wrong.
TEST_SECONDS = 90
EXPORT = re.compile(r"^export (\w+)=(.*)$", re.MULTILINE)
# These start the gateway themselves.
GATEWAY_TESTS = "tests/stack/test_gateway.py"
# Not for one guard: they take a minute.
BROAD = ("tests/api/test_authorisation.py", "tests/api/test_openapi.py", "tests/api/test_screen_plans.py")
MOST_CANDIDATES = 4
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


def run_rows(guards: Mapping[str, SourceEdit], rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """Yield each row with a failure, empty when its test killed the mutant; two at a time."""
    red = _red_already(sorted({row.test for row in rows}))

    def failure(row: Row) -> str:
        if row.test in red:
            return "red with the guard in its place"
        return failure_of(lambda: in_services(guards[row.guard], row.test))

    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from zip(rows, pool.map(failure, rows), strict=True)


def _red_already(tests: Sequence[str]) -> set[str]:
    """Return the tests that fail with every guard in place and so prove nothing."""
    if not tests:
        return set()
    with serving(FOLDERS[1:], {}) as env:
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", *tests]
        own = {**os.environ, "STACK_ENV": str(env)}
        done = subprocess.run(command, cwd=ROOT, env=own, text=True, capture_output=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"the tests did not run:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return set(FAILED.findall(done.stdout))


def search(guards: Sequence[SourceEdit]) -> Iterator[Row]:
    """Yield a row for each guard, with the first test that kills its mutant if one does."""
    reaching = _reaching() if any(guard.services for guard in guards) else {}

    def row(guard: SourceEdit) -> Row:
        tests = reaching.get(guard.name, []) if guard.services else [GATEWAY_TESTS]
        for test in [test for test in tests if not test.startswith(BROAD)][:MOST_CANDIDATES]:
            with suppress(RuntimeError):
                trial = in_services(guard, test)
                if trial.killed:
                    named = FAILED.search(trial.output)
                    return Row(guard.name, named[1] if named else test, "")
        return Row(guard.name, "", UNTESTED)

    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from pool.map(row, guards)


def _reaching() -> dict[str, list[str]]:
    """Run the tests once on services that note what they reach."""
    with TemporaryDirectory(prefix="reached-") as folder:
        edited = {"REACHED_LOG": str(Path(folder) / "log")}
        with serving(FOLDERS[1:], edited) as env:
            plugins = ["-p", "tests.mutations.mutant", "-p", "tests.mutations.reached"]
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                *plugins,
                "tests/api",
                "-m",
                "not long and not alone",
            ]
            own = {**os.environ, **edited, "STACK_ENV": str(env)}
            subprocess.run(
                [*command, "-n", str(PARALLEL)], cwd=ROOT, env=own, capture_output=True, check=False
            )
        return reached.candidates(Path(edited["REACHED_LOG"]))


def in_services(guard: SourceEdit, test: str) -> TrialResult:
    """Run a test without the guard.

    Raises:
        RuntimeError: a service did not start, or the test did not run.
    """
    with TemporaryDirectory(prefix="mutant-") as folder, ExitStack() as stack:
        text = Path(folder) / Path(guard.path).name
        text.write_text(guard.mutated)
        env = {**os.environ, **_of_edited(guard, text)}
        if not test.startswith(GATEWAY_TESTS):
            env["STACK_ENV"] = str(stack.enter_context(serving(guard.services, env)))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.mutations.mutant", "-rfE", test]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=env, text=True, capture_output=True, check=False, timeout=TEST_SECONDS
            )
        except subprocess.TimeoutExpired:
            return TrialResult(True, f"{test} did not end within {TEST_SECONDS} s")
    # 1 is pytest's exit status for tests that ran and failed; 2 to 5 say that none did.
    if done.returncode > 1:
        raise RuntimeError(f"{test} did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return TrialResult(done.returncode == 1, done.stdout)


def _of_edited(guard: SourceEdit, text: Path) -> dict[str, str]:
    if guard.path == CADDYFILE:
        return {"GATEWAY_FILE": str(text)}
    module = guard.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return {"MUTANT_MODULE": module, "MUTANT_TEXT": str(text)}


@contextmanager
def serving(services: Sequence[str], edited: Mapping[str, str]) -> Iterator[Path]:
    """Start services anew, and a gateway that leads to them; yields the env file of the stack with them."""
    state, addresses, waiting = stack_state(), {}, []
    with ExitStack() as stack:
        for name in services:
            port = _free_port()
            addresses[f"{name.upper()}_ADDRESS"] = f"127.0.0.1:{port}"
            own = {"PORT": str(port), "METRICS_PORT": str(_free_port())}
            command = [sys.executable, "-m", "tests.mutations.mutant", f"functions.{name}"]
            stack.enter_context(_process(command, _environment(state, name) | own, edited))
            waiting.append(f"http://127.0.0.1:{port}/health")
        port = _free_port()
        own = {"GATEWAY_SITE": f"http://127.0.0.1:{port}", "INTERNAL_SITE": f"http://:{_free_port()}"}
        file = edited.get("GATEWAY_FILE", str(ROOT / CADDYFILE))
        caddy = [
            str(Path(sys.executable).with_name("caddy")),
            "run",
            "--config",
            file,
            "--adapter",
            "caddyfile",
        ]
        stack.enter_context(
            _process([*caddy, file], _environment(state, "gateway") | addresses | own, edited)
        )
        for url in (*waiting, f"http://127.0.0.1:{port}/config.js"):
            _wait(url)
        values = env_of(state / "env") | {"SUPABASE_URL": f"http://127.0.0.1:{port}"}
        path = state / f"env-{port}"
        path.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()))
        stack.callback(path.unlink)
        yield path


def _environment(state: Path, name: str) -> dict[str, str]:
    """Return the environment with which the stack runs a service."""
    script = (state / "services" / f"{name}.sh").read_text()
    return {name: shlex.split(value)[0] if value else "" for name, value in EXPORT.findall(script)}


@contextmanager
def _process(command: list[str], own: dict[str, str], edited: Mapping[str, str]) -> Iterator[None]:
    mutant = {name: value for name, value in edited.items() if name.startswith(("MUTANT_", "REACHED_"))}
    env = own | mutant | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(url: str) -> None:
    """Wait until something answers, whatever it says."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            httpx.get(url, timeout=2, trust_env=False)
            return
        except httpx.TransportError:
            time.sleep(0.03)
    raise RuntimeError(f"nothing answered at {url}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
