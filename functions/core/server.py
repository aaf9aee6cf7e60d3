"""Serves an application over HTTP until the process is asked to stop."""

import uvicorn
from starlette.types import ASGIApp

from functions.core.settings import ServiceSettings

# Longer than the gateway keeps a connection (30 s): one that it uses again has not just been closed here.
KEEP_ALIVE_SECONDS = 75
SHUTDOWN_SECONDS = 10


def serve(app: ASGIApp, settings: ServiceSettings) -> None:
    """Serve at the settings' address; the request log writes access lines, the gateway names the client."""
    uvicorn.run(
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
