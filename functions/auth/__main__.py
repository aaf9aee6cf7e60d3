"""`python -m functions.auth` migrates and serves; `python -m functions.auth migrate` only migrates."""

import sys

import psycopg
from pydantic import ValidationError

from functions.auth.app import make_app
from functions.auth.migrate import SchemaTooOldError, migrate
from functions.auth.settings import AuthSettings
from functions.core.logging import configure
from functions.core.server import serve


def main(arguments: list[str]) -> str | None:
    """Run; return the message of what keeps it from running, if anything does."""
    if arguments not in ([], ["migrate"]):
        return "usage: python -m functions.auth [migrate]"
    try:
        settings = AuthSettings()
        configure(settings.log_level)
        migrate(settings.database_url)
        if arguments:
            return None
        app = make_app(settings)
    except (ValidationError, SchemaTooOldError, ValueError, psycopg.Error) as error:
        return str(error)
    serve(app, settings)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
