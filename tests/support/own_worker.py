"""A process of functions/worker of a test's own, against a database of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.children import ending_with_parent


@contextlib.contextmanager
def own_worker(
    database_url: str, smtp_port: int, folder: Path, **settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start it, with other settings where they are given, and end it if it still runs."""
    environment = {**environment_of(database_url, smtp_port, folder), **settings}
    command = ending_with_parent([sys.executable, "-m", "functions.worker"])
    process = subprocess.Popen(command, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def environment_of(database_url: str, smtp_port: int, folder: Path) -> dict[str, str]:
    """Return the environment that it runs in."""
    return {
        **os.environ,
        "DATABASE_URL": database_url,
        "DATABASE_POOL_SIZE": "3",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(smtp_port),
        "SMTP_TLS": "none",
        "MAIL_FROM": "Test <test@example.com>",
        "SITE_URL": "http://app.example.test",
        # Nothing listens there.
        "STORAGE_INTERNAL_URL": "http://127.0.0.1:9",
        "SUPABASE_SERVICE_ROLE_KEY": "",
        "AUDIT_HEADS_PATH": str(folder / "audit-heads"),
        "LOG_LEVEL": "WARNING",
    }
