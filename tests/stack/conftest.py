"""A gateway of its own with the product's Caddyfile, in front of upstreams that say what reached them."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.support.stack import Stack, stack_state

ROOT = Path(__file__).resolve().parents[2]
SLOW_SECONDS = 4.0
ANON, SERVICE = "the-anon-key", "the-service-key"


class Echo(BaseHTTPRequestHandler):
    """Echoes the request; like PostgREST and GoTrue it sends CORS headers of its own."""

    protocol_version = "HTTP/1.1"

    def response(self) -> None:
        """Read the body and repeat the request; a path that ends with `slow` takes a while."""
        if self.path.endswith("slow"):
            time.sleep(SLOW_SECONDS)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        seen = {
            "method": self.command,
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "bytes": len(body),
        }
        text = json.dumps(seen).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.send_header("access-control-allow-origin", "https://upstream.example")
        self.send_header("access-control-allow-credentials", "true")
        self.send_header("server", "upstream/1.0")
        # What is left of a body that was cut off must not be read as the next request.
        self.send_header("connection", "close")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = response

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Crowded(ThreadingHTTPServer):
    """Many may knock at once."""

    request_queue_size = 128


@dataclass(frozen=True)
class Gateway:
    """The gateway under test."""

    port: int
    http: httpx.Client
    command: list[str | Path]
    environment: dict[str, str]

    @property
    def internal(self) -> int:
        """The port of the site for the auth service alone."""
        return int(self.environment["INTERNAL_SITE"].rpartition(":")[2])


@pytest.fixture(scope="session")
def stack() -> Stack:
    """Return the stack that STACK_ENV names."""
    return Stack.read()


@pytest.fixture(scope="session")
def state() -> Path:
    """Return the state folder of that stack."""
    return stack_state()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Caddy with the product's file; storage is down, the other three services echo."""
    web = tmp_path_factory.mktemp("web")
    (web / "assets").mkdir()
    (web / "index.html").write_text("<!doctype html><title>app</title>" + "x" * 2000)
    (web / "assets" / "app-1a2b.js").write_text("console.log(1);" * 200)
    (web / "assets" / "app-1a2b.js.map").write_text("{}")
    (web / ".env").write_text("SECRET=1")
    templates = tmp_path_factory.mktemp("templates")
    (templates / "confirmation.html").write_text("<p>{{ .ConfirmationURL }}</p>")

    upstream = Crowded(("127.0.0.1", 0), Echo)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    echo, port = f"127.0.0.1:{upstream.server_address[1]}", free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "XDG_DATA_HOME": str(web),
        "GATEWAY_SITE": f"http://:{port}",
        "GATEWAY_BIND": "127.0.0.1",
        "INTERNAL_SITE": f"http://:{free_port()}",
        "INTERNAL_BIND": "127.0.0.1",
        "POSTGREST_ADDRESS": echo,
        "AUTH_ADDRESS": echo,
        "EDGE_ADDRESS": echo,
        "STORAGE_ADDRESS": f"127.0.0.1:{free_port()}",
        "WEB_ROOT": str(web),
        "TEMPLATES_ROOT": str(templates),
        "SUPABASE_ANON_KEY": ANON,
        "SUPABASE_SERVICE_ROLE_KEY": SERVICE,
    }
    # A mutant of the file stands in for it: tests/mutations.
    caddyfile = os.environ.get("GATEWAY_FILE", str(ROOT / "supabase" / "gateway" / "Caddyfile"))
    command: list[str | Path] = [
        ROOT / ".venv" / "bin" / "caddy",
        "run",
        "--config",
        caddyfile,
        "--adapter",
        "caddyfile",
    ]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        limits = httpx.Limits(max_connections=None)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20, limits=limits) as client:
            _wait(client)
            yield Gateway(port, client, command, environment)
    finally:
        process.terminate()
        process.wait(20)
        upstream.shutdown()


def _wait(client: httpx.Client) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            client.get("/")
            return
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
