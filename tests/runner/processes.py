"""Runs the commands of a test run in parallel, and ends them all when it is interrupted."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

# For a command that is interrupted, to remove what it started itself.
GRACE_SECONDS = 15


class Processes:
    """Commands that run until they end or the whole run does, each in a process group of its own."""

    def __init__(self) -> None:
        self._over = threading.Event()
        # Held while a command starts, so that none slips in when all are ended.
        self._starting = threading.Lock()
        self._running: list[subprocess.Popen[str]] = []

    @contextmanager
    def ending_all(self) -> Iterator[None]:
        """However the block is left, no command runs any more, and no other starts."""
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

    def require_running(self) -> None:
        """Stop a thread whose run has ended.

        Raises:
            CancelledError: it has.
        """
        if self._over.is_set():
            raise CancelledError

    def run(self, command: Sequence[str], cwd: Path, env: Mapping[str, str], out: TextIO) -> int:
        """Run a command, copying what it prints line by line; return its exit status.

        Raises:
            CancelledError: the run has ended.
        """
        pipe = subprocess.PIPE
        with self._starting:
            self.require_running()
            process = subprocess.Popen(
                command, cwd=cwd, env=env, text=True, stdin=subprocess.DEVNULL, stdout=pipe,
                stderr=subprocess.STDOUT, process_group=0,
            )  # fmt: skip
            self._running.append(process)
        assert process.stdout
        for line in process.stdout:
            print(line, end="", file=out, flush=True)
        code = process.wait()
        self._running.remove(process)
        return code


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to a command and to what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
