"""A real S3-compatible server on loopback."""

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from launcher.host.tools import VENV
from tests.support.own_stack import until
from tests.support.ports import free_port, is_listening

START_SECONDS = 60


@dataclass(frozen=True)
class S3Server:
    """Who may ask it, and where."""

    port: int = field(default_factory=free_port)
    access: str = "test-key"
    secret: str = field(default_factory=lambda: secrets.token_hex(20))

    @property
    def settings(self) -> dict[str, str]:
        """The settings with which the stack's services reach it, without TLS."""
        return {
            "AWS_ACCESS_KEY_ID": self.access,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def s3_server(folder: Path, bucket: str) -> Iterator[S3Server]:
    """Run one with an empty bucket, whose bytes lie in a folder."""
    server = S3Server()
    (folder / bucket).mkdir(parents=True)
    keys = {"NANIO_ACCESS_KEY": server.access, "NANIO_SECRET_KEY": server.secret}
    command: list[str | Path] = [VENV / "bin" / "nanio", "serve", "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, "--port", str(server.port), "--data-dir", folder], env={**os.environ, **keys}
    )
    try:
        until(lambda: is_listening(server.port), START_SECONDS)
        yield server
    finally:
        process.terminate()
        process.wait(20)
