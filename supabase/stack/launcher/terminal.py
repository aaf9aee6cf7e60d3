"""Output at the terminal: one line per step with its time, and one line per failure."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import psycopg

from launcher import private_files

TITLE_WIDTH = 46
SHOWN_LINES = 12
PASSWORD = re.compile(r"://([^:/@\s]+):[^@\s]+@")


class Stop(Exception):
    """A failure that the person can act on: what went wrong and what to do, in a line or two.

    Whatever cannot go on raises it; `ending_in_words` prints it.
    """


def treat_termination_as_interrupt() -> None:
    """Handle SIGTERM as Ctrl-C, so that what was started is also ended.

    And handle Ctrl-C where it was ignored at the start, as a shell does for background jobs: commands would
    inherit that.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def ending_in_words(command: Callable[..., int], **arguments: object) -> NoReturn:
    """Run a command and exit; a failure that a person can act on is a line or two, not a traceback."""
    treat_termination_as_interrupt()
    try:
        sys.exit(command(**arguments))
    except Stop as failure:
        sys.exit(f"\n  {failure}")
    except psycopg.Error as error:
        sys.exit(f"\n  The database failed: {error}")
    except OSError as error:
        sys.exit(f"\n  {error.filename or Path(sys.argv[0])}: {error.strerror}")
    except KeyboardInterrupt:
        print("\n  Interrupted. Run the command again to go on.", file=sys.stderr)
        sys.exit(130)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the step's title, and its time when it has ended."""
    started, result = time.monotonic(), "failed"
    print(f"  {title} ".ljust(TITLE_WIDTH, "."), end=" ", flush=True)
    try:
        yield
        result = f"{time.monotonic() - started:.1f} s"
    finally:
        print(result, flush=True)


def run(
    command: Sequence[str | Path],
    log: Path | None,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    hint: str = "",
    confidential: bool = False,
) -> str:
    """Run a command to its end and return its standard output; everything goes to the log, if there is one.

    Passwords in addresses are not logged, and no standard output of a confidential command.
    """
    arguments = [str(part) for part in command]
    environment = {**(os.environ if env is None else env), "NO_COLOR": "1"}
    try:
        result = subprocess.run(
            arguments, cwd=cwd, env=environment, input=stdin, text=True, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise Stop(f"{arguments[0]} was not found. {hint}".strip()) from error
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = result.stderr if confidential else result.stdout + result.stderr
        private_files.append(log, PASSWORD.sub("://\\1:***@", f"$ {' '.join(arguments)}\n{output}\n"))
    if result.returncode:
        tail = "\n    ".join((result.stdout + result.stderr).strip().splitlines()[-SHOWN_LINES:])
        program = Path(arguments[0]).name
        elsewhere = f"The full output is in {log}." if log else ""
        raise Stop(f"{program} failed:\n    {tail}\n  {hint or elsewhere}".rstrip())
    return result.stdout
