"""`python -m functions.edge` serves the functions."""

import uvicorn

from functions.core import logging
from functions.core.settings import KEEP_ALIVE_SECONDS
from functions.edge.settings import EdgeSettings


def main() -> None:
    """Serve until stopped; access lines are written by functions.core.logging."""
    settings = EdgeSettings()
    logging.configure(settings.log_level)
    uvicorn.run(
        "functions.edge.main:app",
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
