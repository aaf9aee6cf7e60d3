"""A storage service of a test's own, with its own folder and keys, against the stack's database."""

import contextlib
import copy
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import psycopg
from joserfc import jwt
from joserfc.jwk import OctKey

from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.ports import free_port
from tests.support.stack import Stack


class OwnService:
    """A storage process that may crash or run out of disk, and its folder."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        secret = secrets.token_hex(32)
        key = OctKey.import_key(secret, {"kid": "test", "alg": "HS256"})
        self.folder = folder
        self.jwks = folder / "jwks.json"
        self.jwks.write_bytes(orjson.dumps({"keys": [key.as_dict(private=True)]}))
        self.token = jwt.encode({"alg": "HS256", "kid": "test"}, {"role": "service_role"}, key)
        self.database_url = stack.database_url
        self.bucket = f"crash-{secrets.token_hex(4)}"
        self._signing_secret = secrets.token_hex(32)
        self._choose_port()

    def _choose_port(self) -> None:
        self.port = free_port()
        headers = {"authorization": f"Bearer {self.token}"}
        self.http = plain_http.client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=20)

    def another_instance(self) -> "OwnService":
        """Return another process of this service, with its secrets and its folder; neither runs yet."""
        other = copy.copy(self)
        other._choose_port()
        return other

    @contextlib.contextmanager
    def running(
        self, failpoint: str = "", orphan_age: int = 86_400, disk: int = 0
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start it, and end it if it still runs; `disk` gives it a disk of so many bytes of its own."""
        environment = {
            **os.environ,
            "PORT": str(self.port),
            "DATABASE_URL": self.database_url,
            "JWKS_PATH": str(self.jwks),
            "SIGNING_SECRET": self._signing_secret,
            "STORAGE_URL": (self.folder / "files").as_uri(),
            "ORPHAN_AGE_SECONDS": str(orphan_age),
            "FAILPOINT": failpoint,
            "LOG_LEVEL": "WARNING",
        }
        command = [sys.executable, "-m", "functions.storage"]
        if disk:
            files = self.folder / "files"
            files.mkdir(exist_ok=True)
            mount = f'mount -t tmpfs -o size={disk} own {files} && exec "$@"'
            command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh", *command]
        process = subprocess.Popen(ending_with_parent(command), env=environment)
        try:
            self._wait()
            yield process
        finally:
            process.terminate()
            process.wait(20)

    def _wait(self) -> None:
        for _ in range(1200):
            with contextlib.suppress(httpx.TransportError):
                if self.http.get("/health").status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("the service did not start")

    def upload(self, content: bytes, name: str = "a.txt") -> httpx.Response:
        """Upload a file."""
        return self.http.post(f"/object/{self.bucket}/{name}", content=content)

    def download(self, name: str = "a.txt") -> bytes:
        """Return the file's bytes."""
        return self.http.get(f"/object/{self.bucket}/{name}").raise_for_status().content

    def versions_of_rows(self, database: psycopg.Connection[Any]) -> set[str]:
        """Return the versions that rows of the bucket name."""
        rows = database.execute("select version from storage.objects where bucket_id = %s", [self.bucket])
        return {version for (version,) in rows}

    def versions_of_bytes(self) -> set[str]:
        """Return the versions on disk, complete or partial."""
        return {path.name for path in (self.folder / "files").rglob("*") if path.is_file()}
