"""A gateway of a test's own with the product's Caddyfile, in front of upstreams that echo requests."""

import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx

from functions.edge.support.anonymous_access import denied
from launcher.host.environment import TEMPLATES
from tests.support.children import ending_with_parent
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
ANON, SERVICE = "the-anon-key", "the-service-key"
KEY = {"apikey": ANON}
# The gateway looks whether a token is there; PostgREST verifies it.
TOKEN = "Bearer a.persons.token"
PERSON = {**KEY, "authorization": TOKEN}
START_SECONDS = 20
# tests.mutations looks for it: a file that Caddy rejects proves nothing.
NOT_STARTED = "the gateway did not start"
HELD_SECONDS = 14
# What the upstream says that role anon may read, when the gateway asks it as functions/edge.
OPEN = ("/posts", "/rpc/count_posts")
WHO = f"apikey: {ANON}\r\nAuthorization: {TOKEN}\r\n"
ANYONE = f"apikey: {ANON}\r\nAuthorization: Bearer {ANON}\r\n"
POST = "POST /functions/v1/x HTTP/1.1\r\nHost: x\r\n"
MIB = 2**20
# How many requests each service is asked at once; storage for files on their way apart from the rest.
PLACES = {"rest": 56, "auth": 32, "storage": 24, "functions": 24}
FILE, SIGN = "/storage/v1/object/receipts", "/storage/v1/object/upload/sign/receipts"
# Responses by query: to more than PostgREST reads, others, its own while the database is away, raised ones.
JSON = "application/json; charset=utf-8"
SAID: dict[str, tuple[int, str, *tuple[tuple[str, str], ...]]] = {
    "too-long": (400, "text/plain; charset=utf-8"),
    "wrong": (400, JSON),
    "text": (200, "text/plain; charset=utf-8"),
    "away": (503, JSON),
    "no-place": (504, JSON),
    "raised": (503, JSON, ("retry-after", "1")),
}
# The product's own, which it does not ask for.
[ANON_FUNCTIONS] = re.findall(r"^ANON_FUNCTIONS=(.*)$", (TEMPLATES / "gateway.env").read_text(), re.MULTILINE)


class Echo(BaseHTTPRequestHandler):
    """Echoes the request; like PostgREST and GoTrue it sends CORS headers of its own.

    A path that ends with `held` waits until it is released, `down` hangs up, `torn` does so within its
    response, `denied` reads no body, `idle` keeps the connection.
    """

    protocol_version = "HTTP/1.1"
    server: "Upstream"

    def response(self) -> None:
        """Read the body and repeat the request."""
        self.server.arrived.append(self.path)
        path = self.path.partition("?")[0]
        if path == "/anonymous-access":
            self.access()
            return
        if said := SAID.get(self.path.partition("?")[2]):
            status, kind, *others = said
            self.send_response(status)
            for name, value in (("content-type", kind), *others):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b'"said"')
            self.close_connection = True
            return
        if path.endswith("held"):
            self.server.released.wait(HELD_SECONDS)
        if path.endswith("down"):
            self.close_connection = True
            return
        denied = self.path.endswith("denied")
        body = b"" if denied else self.body()
        seen = {
            "method": self.command,
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "bytes": len(body),
        }
        text = json.dumps(seen).encode()
        self.send_response(403 if denied else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text) + path.endswith("torn")))
        self.send_header("access-control-allow-origin", "https://upstream.example")
        self.send_header("access-control-allow-credentials", "true")
        self.send_header("content-location", self.path)
        self.send_header("server", "upstream/1.0")
        if not path.endswith("idle"):
            # What is left of a body that was cut off must not be read as the next request.
            self.send_header("connection", "close")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(text)

    def access(self) -> None:
        """Say who may go on, in the words of functions/edge."""
        asked = self.headers["x-forwarded-uri"].partition("?")[0]
        is_open = asked in OPEN and self.headers["x-forwarded-method"] in ("GET", "POST")
        text = b"" if is_open else denied(unquote(asked)).body
        self.send_response(204 if is_open else 401)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", self.headers["x-request-id"])
        if not is_open:
            self.send_header("www-authenticate", "Bearer")
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self) -> bytes:
        """Read the body, also one in chunks."""
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        chunks = []
        while size := int(self.rfile.readline() or b"0", 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = response

    def finish(self) -> None:
        """Note that the connection has ended."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            super().finish()
        self.server.ended.append(getattr(self, "path", ""))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Upstream(ThreadingHTTPServer):
    """Stands for every service: what arrived, which connections ended, and when the held ones go on."""

    # Many may knock at once.
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Echo)
        self.arrived: list[str] = []
        self.ended: list[str] = []
        self.released = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """Say nothing: the gateway breaks off what a test asks it to break off."""


@dataclass(frozen=True)
class Gateway:
    """The gateway under test."""

    port: int
    http: httpx.Client
    command: list[str | Path]
    environment: dict[str, str]
    upstream: Upstream
    process: subprocess.Popen[bytes]
    web: Path
    log: Path = field(repr=False)

    def connected(self) -> socket.socket:
        """Return a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def raw(self, text: str, responses: int = 1) -> tuple[int, bytes]:
        """Send raw bytes; return the status of the first response and everything received."""
        with self.connected() as connection:
            connection.sendall(text.encode())
            received = b""
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while part := connection.recv(65536):
                    received += part
                    # One more response would follow at once.
                    if received.count(b"HTTP/1.") >= responses:
                        connection.settimeout(0.2)
        assert received, "nothing came back"
        return int(received.split(b" ", 2)[1]), received

    @property
    def internal(self) -> int:
        """The port of the site for the auth service alone."""
        return int(self.environment["INTERNAL_PORT"])


def until(happened: Callable[[], bool], seconds: float = 6) -> bool:
    """Wait for something; whether it happened."""
    end = time.monotonic() + seconds
    while not (done := happened()) and time.monotonic() < end:
        time.sleep(0.01)
    return done


@contextlib.contextmanager
def running(
    folder: Path, edit: Callable[[str], str] = str, host: str = "", **settings: str
) -> Iterator[Gateway]:
    """Start Caddy with the product's file, edited; `host` makes it serve HTTPS.

    Raises:
        RuntimeError: it did not start.
    """
    web, templates = _files_of(folder)
    # A mutant of the file stands in for it: tests/mutations.
    product = Path(os.environ.get("GATEWAY_FILE", ROOT / "supabase" / "gateway" / "Caddyfile"))
    file = folder / "Caddyfile"
    file.write_text(edit(product.read_text()))
    upstream, port = Upstream(), free_port()
    threading.Thread(target=upstream.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    echo = f"127.0.0.1:{upstream.server_address[1]}"
    site, internal = f"https://{host}:{port}" if host else f"http://:{port}", free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "CADDY_ADMIN": f"127.0.0.1:{free_port()}",
        "GATEWAY_SITE": site,
        "GATEWAY_BIND": "127.0.0.1",
        "INTERNAL_PORT": str(internal),
        "INTERNAL_ADDRESS": f"127.0.0.1:{internal}",
        "INTERNAL_BIND": "127.0.0.1",
        "TRUSTED_PROXIES": "",
        "CLIENT_IP_HEADER": "X-Forwarded-For",
        "ANON_FUNCTIONS": ANON_FUNCTIONS,
        **dict.fromkeys(("POSTGREST_ADDRESS", "AUTH_ADDRESS", "EDGE_ADDRESS", "STORAGE_ADDRESS"), echo),
        "STORAGE_FILES_ADDRESS": f"tcp/{echo}",
        "WEB_ROOT": str(web),
        "PAGES_ROOT": str(folder / "pages"),
        "TEMPLATES_ROOT": str(templates),
        "SUPABASE_ANON_KEY": ANON,
        "SUPABASE_SERVICE_ROLE_KEY": SERVICE,
        **settings,
    }
    caddy = ROOT / ".venv" / "bin" / "caddy"
    command: list[str | Path] = [caddy, "run", "--config", file, "--adapter", "caddyfile"]
    log = folder / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            ending_with_parent(command), env=environment, stdout=written, stderr=subprocess.STDOUT
        )
    try:
        limits = httpx.Limits(max_connections=None)
        base = f"https://{host}:{port}" if host else f"http://127.0.0.1:{port}"
        with httpx.Client(
            base_url=base, timeout=20, limits=limits, verify=False, trust_env=False, http2=bool(host)
        ) as client:
            _wait(client, process, log)
            yield Gateway(port, client, command, environment, upstream, process, web, log)
    finally:
        upstream.released.set()
        process.kill()
        process.wait()
        upstream.shutdown()
        upstream.server_close()


def _files_of(folder: Path) -> tuple[Path, Path]:
    """Write a web app and an email template."""
    web, templates = folder / "web", folder / "templates"
    for path in (web / "assets", web / ".well-known", web / "admin", templates):
        path.mkdir(parents=True)
    for page in ("index", "404", "dashboard", "admin/deposits", "terms"):
        (web / f"{page}.html").write_text(f"<!doctype html><title>{page}</title>" + "x" * 2000)
    (web / "assets" / "app-1a2b.js").write_text("console.log(1);" * 200)
    (web / "assets" / "app-1a2b.js.map").write_text("{}")
    (web / "theme.js.map").write_text("{}")
    (web / ".well-known" / "security.txt").write_text("Contact: mailto:security@example.com\n")
    (web / ".env").write_text("SECRET=1")
    (templates / "confirmation.html").write_text("<p>{{ .ConfirmationURL }}</p>")
    return web, templates


def _wait(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            client.get("/config.js")
            return
        except httpx.TransportError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{NOT_STARTED}:\n{log.read_text()[-2000:]}") from None
            time.sleep(0.02)
