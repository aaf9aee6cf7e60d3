"""`python -m functions.auth` migrates and serves; `python -m functions.auth migrate` only migrates."""

import sys

import psycopg
import uvicorn
from pydantic import ValidationError

from functions.auth.app import make_app
from functions.auth.migrate import SchemaTooOld, migrate
from functions.auth.settings import AuthSettings
from functions.core.logging import configure
from functions.core.settings import KEEP_ALIVE_SECONDS


def main(arguments: list[str]) -> str | None:
    """Run; the message of what keeps it from running, if anything does."""
    if arguments not in ([], ["migrate"]):
        return "usage: python -m functions.auth [migrate]"
    try:
        settings = AuthSettings()
        configure(settings.log_level)
        migrate(settings.database_url)
        if arguments:
            return None
        app = make_app(settings)
    except (ValidationError, SchemaTooOld, ValueError, psycopg.Error) as error:
        return str(error)
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
