"""`python -m functions.edge` serves the endpoints."""

from functions.core import logging, server
from functions.edge.support.application import make_app
from functions.edge.support.settings import EdgeSettings


def main() -> None:
    """Serve until stopped."""
    settings = EdgeSettings()
    logging.configure(settings.log_level)
    server.serve(make_app(settings), settings)


if __name__ == "__main__":
    main()
