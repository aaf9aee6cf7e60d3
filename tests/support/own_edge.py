"""functions/edge of a test's own against the stack's database: a process that may crash, or a thread."""

import base64
import contextlib
import copy
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
from joserfc import jwt
from joserfc.jwk import RSAKey

from functions.edge.support.application import make_app
from functions.edge.support.settings import EdgeSettings
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.in_process import serving
from tests.support.ports import free_port
from tests.support.stack import Stack


class OwnEdge:
    """It knows the members' key of the stack and an administrators' key of its own."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        admin = RSAKey.generate_key(2048, {"kid": "own-admin", "alg": "RS256", "use": "sig"})
        self._members = RSAKey.generate_key(2048, {"kid": "own-members", "alg": "RS256", "use": "sig"})
        self._admin = admin
        public = (
            plain_http.get(f"{stack.url}/auth/v1/.well-known/jwks.json").raise_for_status().json()["keys"]
        )
        own = [{**key.as_dict(private=False), "alg": "RS256", "use": "sig"} for key in (admin, self._members)]
        # A name of its own: what is encrypted stays in the database.
        self.secret_key = f"own-{secrets.token_hex(4)}"
        self.secret_keys = {self.secret_key: base64.b64encode(secrets.token_bytes(32)).decode()}
        self._files: dict[str, object] = {
            "JWKS_PATH": {"keys": [*public, *own]},
            "ADMIN_KEY_PATH": admin.as_dict(private=True),
            "SECRETS_KEY_PATH": {"active": self.secret_key, "keys": self.secret_keys},
        }
        self._folder = folder
        self._stack = stack
        self.database_url = stack.values["DATABASE_ADMIN_URL"]
        self._choose_port()

    def _choose_port(self) -> None:
        self.port = free_port()
        # Failed sign-ins count by address, and there is no gateway here to name it.
        address = {"x-real-ip": f"10.{secrets.randbelow(256)}.{secrets.randbelow(256)}.1"}
        self.http = plain_http.client(base_url=f"http://127.0.0.1:{self.port}", headers=address, timeout=20)

    def another_instance(self) -> "OwnEdge":
        """Return another process of this service, with its keys and its folder; neither runs yet."""
        other = copy.copy(self)
        other._choose_port()
        return other

    def change_secret_keys(self, active: str, keys: dict[str, str]) -> Path:
        """Let the next start encrypt with another key; returns the key file."""
        self._files["SECRETS_KEY_PATH"] = {"active": active, "keys": keys}
        path = self._folder / "secrets_key_path.json"
        path.write_bytes(orjson.dumps(self._files["SECRETS_KEY_PATH"]))
        return path

    @contextlib.contextmanager
    def running(self, failpoint: str = "") -> Iterator[subprocess.Popen[bytes]]:
        """Start a process, and end it if it still runs."""
        environment = {**os.environ, **self._settings(), "FAILPOINT": failpoint}
        process = subprocess.Popen(
            ending_with_parent([sys.executable, "-m", "functions.edge"]), env=environment
        )
        try:
            self._wait()
            yield process
        finally:
            process.terminate()
            process.wait(20)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Serve from a thread of the test's process, for tests that need no process to end."""
        settings = EdgeSettings.model_validate(
            {name.lower(): value for name, value in self._settings().items()}
        )
        with serving(make_app(settings), self.port):
            self._wait()
            yield

    def _settings(self) -> dict[str, str]:
        """Write the key files; returns all settings."""
        paths = {}
        for name, content in self._files.items():
            path = self._folder / f"{name.lower()}.json"
            path.write_bytes(orjson.dumps(content))
            paths[name] = str(path)
        return {
            **paths,
            "PORT": str(self.port),
            "DATABASE_URL": self.database_url,
            # As in a container: nothing listens there from inside.
            "SUPABASE_URL": "http://127.0.0.1:9",
            "SUPABASE_ANON_KEY": self._stack.anon_key,
            "SUPABASE_SERVICE_ROLE_KEY": self._stack.service_key,
            "AUTH_INTERNAL_URL": f"{self._stack.url}/auth/v1",
            "STORAGE_INTERNAL_URL": f"{self._stack.url}/storage/v1",
            "LOG_LEVEL": "WARNING",
        }

    def _wait(self) -> None:
        for _ in range(1200):
            with contextlib.suppress(httpx.TransportError):
                if self.http.get("/health").status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("the functions did not start")

    def sign(self, claims: dict[str, object], by: str = "admin", **header: object) -> str:
        """Return a token with any claims, signed with this process's administrators' or members' key."""
        key = self._admin if by == "admin" else self._members
        return jwt.encode({"alg": "RS256", "kid": f"own-{by}", **header}, claims, key)

    def call(self, name: str, body: object, token: str = "") -> httpx.Response:
        """POST a function."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return self.http.post(f"/{name}", json=body, headers=headers)
