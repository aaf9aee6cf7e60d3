"""A service in a thread of the test's own process, for tests that need no process to end."""

import contextlib
import threading
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from functions.core.server import KEEP_ALIVE_SECONDS


@contextlib.contextmanager
def serving(app: ASGIApp, port: int) -> Iterator[None]:
    """Serve at a port of the loopback address; afterwards shut down as a service that is asked to stop."""
    config = uvicorn.Config(
        app, port=port, log_config=None, access_log=False, timeout_keep_alive=KEEP_ALIVE_SECONDS
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)
