"""What the person at the terminal sees: one line per step with its time, and one line per failure."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

TITLE_WIDTH = 46
SLOW_SECONDS = 5
SHOWN_LINES = 12
PASSWORD = re.compile(r"://([^:/@\s]+):[^@\s]+@")


class Stop(Exception):
    """A failure that the person can act on: what went wrong and what to do, in a line or two."""


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the step's title, a counter once it takes longer than five seconds, and its time."""
    started, finished = time.monotonic(), threading.Event()
    print(f"  {title} ".ljust(TITLE_WIDTH, "."), end=" ", flush=True)
    counter = threading.Thread(target=_count, args=(finished,), daemon=True)
    counter.start()
    outcome = "failed"
    try:
        yield
        outcome = f"{time.monotonic() - started:.1f} s"
    finally:
        finished.set()
        counter.join()
        print(outcome, flush=True)


def _count(finished: threading.Event) -> None:
    """A rewritten number of seconds on a terminal, one dot per five seconds elsewhere."""
    shown = ""
    seconds = 0
    while not finished.wait(SLOW_SECONDS if seconds == 0 or not sys.stdout.isatty() else 1):
        seconds += SLOW_SECONDS if seconds == 0 or not sys.stdout.isatty() else 1
        if sys.stdout.isatty():
            print("\b" * len(shown) + f"{seconds} s ", end="", flush=True)
            shown = f"{seconds} s "
        else:
            print(".", end="", flush=True)
    if shown:
        print("\b" * len(shown), end="", flush=True)


def run(
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    hint: str = "",
    confidential: bool = False,
) -> str:
    """Run a command to its end and return its standard output; everything goes to the log.

    Passwords in addresses are not logged, and no standard output of a confidential command.

    Raises:
        Stop: the command is missing or failed; the last lines of its output and the hint are in the text.
    """
    arguments = [str(part) for part in command]
    try:
        result = subprocess.run(
            arguments,
            cwd=cwd,
            env={**(os.environ if env is None else env), "NO_COLOR": "1"},
            input=stdin if stdin is not None else "",
            text=True,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise Stop(f"{arguments[0]} was not found. {hint}".strip()) from error
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        output = result.stderr if confidential else result.stdout + result.stderr
        file.write(PASSWORD.sub("://\\1:***@", f"$ {' '.join(arguments)}\n{output}\n"))
    os.chmod(log, 0o600)
    if result.returncode:
        tail = "\n    ".join((result.stdout + result.stderr).strip().splitlines()[-SHOWN_LINES:])
        raise Stop(
            f"{Path(arguments[0]).name} failed:\n    {tail}\n  {hint or f'The full output is in {log}.'}"
        )
    return result.stdout
