"""An auth service of a test's own, with settings and keys of its own, against the stack's database."""

import contextlib
import copy
import email
import functools
import os
import re
import secrets
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from email.policy import default
from typing import Any
from unittest.mock import patch

import bcrypt
import httpx
import orjson
import psycopg
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from functions.auth import passwords
from functions.auth.app import make_app
from functions.auth.settings import AuthSettings
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.in_process import serving
from tests.support.ports import free_port
from tests.support.stack import Stack

PASSWORD = "harbour-lantern-41"
# The least cost of bcrypt. Where the time of a hash matters, a test sets the usual one.
CHEAP = 4


class Smtp(socketserver.StreamRequestHandler):
    """One conversation."""

    server: "MailServer"

    def handle(self) -> None:
        self._say("220 test")
        self._talk([])

    def _talk(self, said: list[str]) -> None:
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
                # Before its response: who has that may look at once.
                self.server.messages.append("\n".join(said))
                self._say("221 bye")
                return
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


@functools.cache
def _signing_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "own", "alg": "RS256"})


class OwnAuth:
    """A process that a test may kill, or a thread, with what only its owner knows: signing key and mails.

    The process is ours, or the real GoTrue that `binary` names.
    """

    def __init__(self, stack: Stack, binary: str = "", output: int | None = None) -> None:
        self._stack, self._output = stack, output
        self._command = [binary] if binary else [sys.executable, "-m", "functions.auth"]
        # A real GoTrue looks for its tables where its role's search path leads; the owner here has none.
        self._path = "?search_path=auth" if binary else ""
        self.key = _signing_key()
        self._hash_secret = secrets.token_hex(32)
        shared = OctKey.import_key(secrets.token_hex(32), {"kid": "shared", "alg": "HS256"})
        self.service_key = jwt.encode({"alg": "HS256", "kid": "shared"}, {"role": "service_role"}, shared)
        signing = {**self.key.as_dict(private=True), "key_ops": ["sign", "verify"]}
        signing.pop("use", None)
        self._keys = [signing, {**shared.as_dict(private=True), "key_ops": ["verify"]}]
        self.mail = MailServer()
        threading.Thread(target=self.mail.serve_forever, daemon=True).start()
        self.process: subprocess.Popen[bytes] | None = None
        self._choose_port()

    def _choose_port(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = plain_http.client(base_url=self.url, timeout=20)

    def another_instance(self) -> "OwnAuth":
        """Return another process of this service, with its secrets and its mail server; neither runs yet."""
        other = copy.copy(self)
        other._choose_port()
        return other

    @property
    def messages(self) -> list[str]:
        """The emails as received over SMTP."""
        return list(self.mail.messages)

    def start(self, **settings: str) -> None:
        """Start a process with the product's limits, changed by settings."""
        self.begin(**settings)
        self.wait()

    def begin(self, **settings: str) -> None:
        """Start a process without waiting until it serves."""
        environment = {**os.environ, **self._environment(settings)}
        self.process = subprocess.Popen(
            ending_with_parent(self._command), env=environment, stdout=self._output, stderr=self._output
        )

    @contextlib.contextmanager
    def serving(self, **settings: str) -> Iterator[None]:
        """Serve from a thread of the test's process instead, with the same settings and cheap hashes."""
        environment = self._environment(settings)
        # By its own name or in small letters, as the environment is read.
        given: dict[str, Any] = {name.lower(): value for name, value in environment.items()} | environment
        with patch.object(passwords, "COST", CHEAP), serving(make_app(AuthSettings(**given)), self.port):
            self.wait()
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
            "GOTRUE_JWT_SECRET": self._hash_secret,
            "GOTRUE_JWT_AUD": "authenticated",
            "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated",
            "GOTRUE_EXTERNAL_EMAIL_ENABLED": "true",
            "GOTRUE_LOG_LEVEL": "warn",
            "GOTRUE_SITE_URL": "http://app.example.test:8080",
            "GOTRUE_JWT_KEYS": orjson.dumps(self._keys).decode(),
            "GOTRUE_SMTP_HOST": "127.0.0.1",
            "GOTRUE_SMTP_PORT": str(self.mail.server_address[1]),
            "SMTP_TLS": "none",
            "GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL": "10",
            "GOTRUE_RATE_LIMIT_HEADER": "X-Real-IP",
            "GOTRUE_RATE_LIMIT_EMAIL_SENT": "1000000",
            "LOG_LEVEL": "WARNING",
            **settings,
        }

    def wait(self) -> None:
        """Wait until it serves."""
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

    def new_user(self, password: str, cost: int = CHEAP, **values: Any) -> dict[str, Any]:
        """Return a confirmed account without a profile; of its password a cheap hash by default."""
        email = f"own-{secrets.token_hex(6)}@example.com"
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost, b"2a")).decode()
        made = self.http.post(
            "/admin/users",
            headers=bearer(self.service_key),
            json={"email": email, "password_hash": hashed, "email_confirm": True, **values},
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


@contextlib.contextmanager
def two_instances(stack: Stack, **settings: str) -> Iterator[tuple[OwnAuth, OwnAuth]]:
    """Yield two processes of one service, started at once, that share nothing but the database."""
    with contextlib.closing(OwnAuth(stack)) as first:
        both = first, first.another_instance()
        try:
            for each in both:
                each.begin(HARBORLINE_INSTANCES="2", **settings)
            for each in both:
                each.wait()
            yield both
        finally:
            both[1].stop()
            both[1].http.close()


Send = Callable[[Callable[[], httpx.Response]], Future[httpx.Response]]


@contextlib.contextmanager
def meanwhile(stack: Stack, statement: str, email: str) -> Iterator[Send]:
    """Change an account, and commit once a request waits for that."""
    waits = (
        "select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)) limit 1"
    )
    with ThreadPoolExecutor(1) as pool, psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as holder:
        holder.execute(statement, [email])

        def send(request: Callable[[], httpx.Response]) -> Future[httpx.Response]:
            sent = pool.submit(request)
            while not holder.execute(waits).fetchone():
                assert not sent.done(), sent.result().text
            return sent

        yield send


def signed_in(auth: OwnAuth, user: dict[str, Any]) -> dict[str, Any]:
    """Return a new session of an account with the usual password."""
    return dict(auth.sign_in(user["email"], PASSWORD).raise_for_status().json())


def attempt_at_once(services: Sequence[OwnAuth], email: str) -> list[int]:
    """Send 24 wrong passwords, twelve at once, to one service after the other; returns the sorted statuses.

    Each is sent again while a service is busy (503): such a one is neither verified nor counted.
    """

    def attempt(number: int) -> int:
        until = time.monotonic() + 20
        while True:
            status = services[number % len(services)].sign_in(email, f"guess-{number}").status_code
            if status != 503 or time.monotonic() > until:
                return status
            time.sleep(0.1)

    with ThreadPoolExecutor(12) as pool:
        return sorted(pool.map(attempt, range(24)))


def set_password(auth: OwnAuth, token: str, **fields: str) -> httpx.Response:
    """Ask for another password."""
    address = f"10.9.{secrets.randbelow(250)}.{secrets.randbelow(250)}"
    return auth.http.put("/user", headers={**bearer(token), "x-real-ip": address}, json=fields)


def mails(auth: OwnAuth, address: str) -> list[str]:
    """Return the texts of all mails to an address, the oldest first."""
    received = [message for message in auth.messages if f"RCPT TO:<{address}>" in message]
    parsed = [email.message_from_string(one.split("\nDATA\n")[1], policy=default) for one in received]
    bodies = [mail.get_body(("plain", "html")) for mail in parsed]
    return [body.get_content() for body in bodies if body]


def mail_to(auth: OwnAuth, address: str, count: int = 1) -> str:
    """Return the newest mail to an address, once there are so many."""
    until = time.monotonic() + 10
    while len(found := mails(auth, address)) < count:
        assert time.monotonic() < until, f"{len(found)} of {count} mails"
        time.sleep(0.02)
    return found[-1]


def link_in(mail: str) -> str:
    """Return the path by which the auth service opens a mail's link."""
    query = re.findall(r"http\S+/(?:verify|auth/confirm)\?([^\s\"<]+)", mail)[0].replace("&amp;", "&")
    return f"/verify?{query.replace('token_hash=', 'token=', 1)}"


def wait_for_notice(auth: OwnAuth, email: str, word: str) -> None:
    """Wait for a mail to an address that holds this word."""
    until = time.monotonic() + 10
    while not any(email in message and word in message for message in auth.messages):
        assert time.monotonic() < until, f"no mail to {email} that says {word!r}"
        time.sleep(0.05)
