"""Serves an application over HTTP until the process is asked to stop."""

import socket
import sys
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from functions.core.settings import ServiceSettings

# Longer than the gateway keeps a connection (30 s): one that it uses again has not just been closed here.
KEEP_ALIVE_SECONDS = 75
SHUTDOWN_SECONDS = 10
# More than two packets of loopback, which would wait for each other.
SEND_BUFFER_BYTES = 64 * 1024


def serve(app: ASGIApp, settings: ServiceSettings) -> None:
    """Serve at the settings' address; the request log writes access lines, the gateway names the client."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # A request to upgrade would never be answered.
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    listener = config.bind_socket()
    # Inherited by each connection: what a client has not read must not look as if it had been sent.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    if not server.started:
        sys.exit(1)
