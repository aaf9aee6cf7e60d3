"""Runs a test against services that lack one guard, beside the stack and without touching it."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.mutations import mutant, reached
from tests.mutations.run import PARALLEL, Row, TrialResult, failure_of
from tests.mutations.sources import CADDYFILE, FOLDERS, ROOT, SourceEdit
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.own_gateway import NOT_STARTED
from tests.support.ports import free_port
from tests.support.stack import env_of, stack_state

LIST = Path(__file__).parent / "sources.csv"
# The reason of a row whose test is still to be written.
UNTESTED = "untested"
START_SECONDS = 20
# A mutant that never answers is as dead as one that answers wrong.
TEST_SECONDS = 90
EXPORT = re.compile(r"^export (\w+)=(.*)$", re.MULTILINE)
# These start the gateway themselves.
GATEWAY_TESTS = "tests/stack/test_gateway"
# Not for one guard: they take a minute.
BROAD = ("tests/api/test_authorisation.py", "tests/api/test_openapi.py", "tests/api/test_screen_plans.py")
MOST_CANDIDATES = 4
# Imported once, before each row's process is forked, for they take longest. None is a module of the product.
PRELOADED = (
    "pytest",
    "_pytest.main",
    "_pytest.terminal",
    "_pytest.assertion.rewrite",
    "pytest_asyncio.plugin",
    "hypothesis",
    "schemathesis.pytest.plugin",
    "xdist.plugin",
    "httpx",
    "psycopg",
    "psycopg_pool",
    "uvicorn.protocols.http.httptools_impl",
    "starlette.applications",
    "fastapi",
    "pydantic_settings",
    "joserfc.jwt",
    "argon2",
    "bcrypt",
    "aiosmtplib",
    "prometheus_client",
    "supabase",
    "tests.mutations.mutant",
)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


def run_rows(
    guards: Mapping[str, SourceEdit], rows: Sequence[Row], red: Collection[str] = ()
) -> Iterator[tuple[Row, str]]:
    """Yield each row with a failure, empty when its test killed the mutant; two at a time.

    A test that is red with every guard in its place proves nothing.
    """
    processes = get_context("forkserver")
    processes.set_forkserver_preload(list(PRELOADED))

    def trial(row: Row) -> TrialResult:
        # Most tests serve, start or call themselves what they test; the others ask a service.
        alone = in_process(processes, guards[row.guard], row.test)
        needs_no_other = alone.killed or row.test.startswith(GATEWAY_TESTS)
        return alone if needs_no_other else in_services(guards[row.guard], row.test)

    def failure(row: Row) -> str:
        return "red with the guard in its place" if row.test in red else failure_of(lambda: trial(row))

    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from zip(rows, pool.map(failure, rows), strict=True)


def red_already(tests: Sequence[str]) -> set[str]:
    """Return the tests that fail with every guard in place."""
    if not tests:
        return set()
    with ExitStack() as stack:
        own = dict(os.environ)
        if not all(test.startswith(GATEWAY_TESTS) for test in tests):
            own["STACK_ENV"] = str(stack.enter_context(serving(FOLDERS[1:], {})))
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", *tests]
        done = subprocess.run(
            ending_with_parent(command), cwd=ROOT, env=own, text=True, capture_output=True, check=False
        )
    if done.returncode > 1:
        raise RuntimeError(f"the tests did not run:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return set(FAILED.findall(done.stdout))


def search(guards: Sequence[SourceEdit]) -> Iterator[Row]:
    """Yield a row for each guard, with the first test that kills its mutant if one does."""
    reaching = _reaching() if any(guard.services for guard in guards) else {}
    of_gateway = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(f"{GATEWAY_TESTS}*.py"))]

    def row(guard: SourceEdit) -> Row:
        tests = reaching.get(guard.name, []) if guard.services else of_gateway
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


def in_process(processes: ForkServerContext, guard: SourceEdit, test: str) -> TrialResult:
    """Run a test in a process that lacks the guard; the services have it.

    Raises:
        RuntimeError: the test did not run.
    """
    with TemporaryDirectory(prefix="mutant-") as folder:
        text, output = Path(folder) / Path(guard.path).name, Path(folder) / "output"
        text.write_text(guard.mutated)
        process = processes.Process(
            target=mutant.run_test,
            args=(test, _of_edited(guard, text), str(output), TEST_SECONDS),
            daemon=True,
        )
        process.start()
        process.join(TEST_SECONDS)
        if process.is_alive():
            process.kill()
            return TrialResult(True, f"{test} did not end within {TEST_SECONDS} s")
        return _result(test, process.exitcode or 0, output.read_text())


def in_services(guard: SourceEdit, test: str) -> TrialResult:
    """Run a test against services without the guard.

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
                ending_with_parent(command),
                cwd=ROOT,
                env=env,
                text=True,
                capture_output=True,
                check=False,
                timeout=TEST_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return TrialResult(True, f"{test} did not end within {TEST_SECONDS} s")
    return _result(test, done.returncode, done.stdout + done.stderr)


def _result(test: str, status: int, output: str) -> TrialResult:
    # 1 is pytest's exit status for tests that ran and failed; 2 to 5 say that none did.
    if status not in (0, 1) or NOT_STARTED in output:
        raise RuntimeError(f"{test} did not run (exit status {status}):\n{output[-2000:]}")
    return TrialResult(status == 1, output)


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
            port = free_port()
            addresses[f"{name.upper()}_ADDRESS"] = f"127.0.0.1:{port}"
            if name == "storage":
                addresses["STORAGE_FILES_ADDRESS"] = f"tcp/127.0.0.1:{port}"
            own = {"PORT": str(port), "METRICS_PORT": str(free_port())}
            command = [sys.executable, "-m", "tests.mutations.mutant", f"functions.{name}"]
            stack.enter_context(_process(command, _environment(state, name) | own, edited))
            waiting.append(f"http://127.0.0.1:{port}/health")
        port = free_port()
        own = {"GATEWAY_SITE": f"http://127.0.0.1:{port}", "INTERNAL_PORT": str(free_port())}
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
        ending_with_parent(command),
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
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
            plain_http.get(url, timeout=2)
            return
        except httpx.TransportError:
            time.sleep(0.03)
    raise RuntimeError(f"nothing answered at {url}")
