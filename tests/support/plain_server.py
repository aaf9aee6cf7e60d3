"""One PostgreSQL on a data directory, started as an operator does."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.host import system_user
from tests.support.children import ending_with_parent
from tests.support.own_stack import until
from tests.support.ports import is_listening


@contextmanager
def serving(data: Path, port: int, postgres: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run it on loopback, until it takes connections or ends by itself; `more`: its settings."""
    options = {"port": str(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": "", **more}
    settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    command = ending_with_parent([postgres / "postgres"], "INT")
    process = subprocess.Popen(
        system_user.as_user([*command, "-D", data, *settings], system_user.name()), cwd="/"
    )
    try:
        until(lambda: is_listening(port) or process.poll() is not None, 60)
        yield process
    finally:
        # At once: it would wait for the services.
        process.send_signal(signal.SIGINT)
        process.wait(60)
