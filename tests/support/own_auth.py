"""An auth service of a test's own, with settings and keys of its own, against the stack's database."""

import contextlib
import os
import secrets
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import orjson
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from functions.auth.app import make_app
from functions.auth.settings import AuthSettings
from tests.support.in_process import serving
from tests.support.stack import Stack


class Smtp(socketserver.StreamRequestHandler):
    """One conversation."""

    server: "MailServer"

    def handle(self) -> None:
        said: list[str] = []
        self._say("220 test")
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            said.append(line)
            word = line[:4].upper()
            if word == "DATA":
                self._say("354 go on")
                for part in self.rfile:
                    text = part.decode().rstrip("\r\n")
                    if text == ".":
                        break
                    said.append(text)
                self.server.goes_on.wait(20)
                self._say("250 taken")
            elif word == "RCPT" and self.server.rejects:
                self._say(f"550 5.1.1 {line[8:]}: nobody of that name")
            elif word == "QUIT":
                self._say("221 bye")
                break
            else:
                self._say("250 ok")
        self.server.messages.append("\n".join(said))

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    """Records whole SMTP conversations; it can delay each email, or reject the recipient."""

    daemon_threads = True

    def __init__(self, conversation: type[Smtp] = Smtp) -> None:
        super().__init__(("127.0.0.1", 0), conversation)
        self.messages: list[str] = []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.rejects = False


class OwnAuth:
    """A process that a test may kill, or a thread, with what only its owner knows: signing key and mails.

    The process is ours, or the real GoTrue that `binary` names.
    """

    def __init__(self, stack: Stack, binary: str = "", output: int | None = None) -> None:
        self._stack, self._output = stack, output
        self._command = [binary] if binary else [sys.executable, "-m", "functions.auth"]
        # A real GoTrue looks for its tables where its role's search path leads; the owner here has none.
        self._path = "?search_path=auth" if binary else ""
        self.key = RSAKey.generate_key(2048, {"kid": "own", "alg": "RS256"})
        shared = OctKey.import_key(secrets.token_hex(32), {"kid": "shared", "alg": "HS256"})
        self.service_key = jwt.encode({"alg": "HS256", "kid": "shared"}, {"role": "service_role"}, shared)
        signing = {**self.key.as_dict(private=True), "key_ops": ["sign", "verify"]}
        signing.pop("use", None)
        self._keys = [signing, {**shared.as_dict(private=True), "key_ops": ["verify"]}]
        self.mail = MailServer()
        threading.Thread(target=self.mail.serve_forever, daemon=True).start()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.url, timeout=20)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def messages(self) -> list[str]:
        """The emails as received over SMTP."""
        return list(self.mail.messages)

    def start(self, **settings: str) -> None:
        """Start a process with the product's limits, changed by settings."""
        environment = {**os.environ, **self._environment(settings)}
        self.process = subprocess.Popen(
            self._command, env=environment, stdout=self._output, stderr=self._output
        )
        self._wait()

    @contextlib.contextmanager
    def serving(self, **settings: str) -> Iterator[None]:
        """Serve from a thread of the test's process instead, with the same settings."""
        environment = self._environment(settings)
        # By its own name or in small letters, as the environment is read.
        given: dict[str, Any] = {name.lower(): value for name, value in environment.items()} | environment
        with serving(make_app(AuthSettings(**given)), self.port):
            self._wait()
            yield

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        database = settings.pop("DATABASE_URL", self._stack.values["DATABASE_ADMIN_URL"])
        return {
            "PORT": str(self.port),
            "DATABASE_URL": database + self._path,
            "DATABASE_POOL_SIZE": "4",
            "GOTRUE_DB_DRIVER": "postgres",
            "GOTRUE_API_HOST": "127.0.0.1",
            "API_EXTERNAL_URL": self.url,
            "GOTRUE_JWT_SECRET": secrets.token_hex(32),
            "GOTRUE_JWT_AUD": "authenticated",
            "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated",
            "GOTRUE_EXTERNAL_EMAIL_ENABLED": "true",
            "GOTRUE_LOG_LEVEL": "warn",
            "GOTRUE_SITE_URL": "http://app.example.test:8080",
            "GOTRUE_JWT_KEYS": orjson.dumps(self._keys).decode(),
            "GOTRUE_SMTP_HOST": "127.0.0.1",
            "GOTRUE_SMTP_PORT": str(self.mail.server_address[1]),
            "GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL": "10",
            "GOTRUE_RATE_LIMIT_HEADER": "X-Real-IP",
            "GOTRUE_RATE_LIMIT_EMAIL_SENT": "1000000",
            "LOG_LEVEL": "WARNING",
            **settings,
        }

    def _wait(self) -> None:
        for _ in range(1200):
            with contextlib.suppress(httpx.TransportError):
                if self.http.get("/health").status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("the service did not start")

    def stop(self, kill: bool = False) -> None:
        """End the process, without a chance to tidy up if killed."""
        if self.process is not None:
            self.process.kill() if kill else self.process.terminate()
            self.process.wait(20)
            self.process = None

    def close(self) -> None:
        """End everything."""
        self.stop()
        self.mail.shutdown()
        self.mail.server_close()
        self.http.close()

    def new_user(self, password: str, **values: Any) -> dict[str, Any]:
        """Return a confirmed account without a profile."""
        email = f"own-{secrets.token_hex(6)}@example.com"
        made = self.http.post(
            "/admin/users",
            headers=bearer(self.service_key),
            json={"email": email, "password": password, "email_confirm": True, **values},
        )
        return dict(made.raise_for_status().json())

    def delete_user(self, user_id: str) -> None:
        """Take it away again."""
        self.http.delete(f"/admin/users/{user_id}", headers=bearer(self.service_key))

    def sign_in(self, email: str, password: str, address: str = "") -> httpx.Response:
        """Sign in once with a password, from a given address."""
        headers = {"x-real-ip": address or f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.7"}
        return self.http.post(
            "/token?grant_type=password", headers=headers, json={"email": email, "password": password}
        )

    def signed(self, claims: dict[str, Any], header: dict[str, Any] | None = None) -> str:
        """Return a token of this service's own key with any claims."""
        return jwt.encode({"alg": "RS256", "kid": "own", **(header or {})}, claims, self.key)


def bearer(token: str) -> dict[str, str]:
    """Return the Authorization header that carries a token."""
    return {"authorization": f"Bearer {token}"}


@contextlib.contextmanager
def own_auth(stack: Stack, **settings: str) -> Iterator[OwnAuth]:
    """Yield a service that runs in a thread until the block is left."""
    with contextlib.closing(OwnAuth(stack)) as service, service.serving(**settings):
        yield service
