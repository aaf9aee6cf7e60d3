"""`python -m functions.storage` migrates and serves; `python -m functions.storage migrate` only migrates."""

import sys

from functions.core import logging
from functions.core.server import serve
from functions.core.settings import ServiceSettings
from functions.storage.app import make_app
from functions.storage.migrate import migrate
from functions.storage.settings import Settings


def main(arguments: list[str]) -> None:
    """Run the service, or only its migrations."""
    if arguments == ["migrate"]:
        # Migrating needs the database only.
        settings = MigrationSettings()
        logging.configure(settings.log_level)
        migrate(settings.database_url)
        return
    if arguments:
        sys.exit("usage: python -m functions.storage [migrate]")
    serving = Settings()
    logging.configure(serving.log_level)
    migrate(serving.database_url)
    serve(make_app(serving), serving)


class MigrationSettings(ServiceSettings):
    """The settings of migrating; it listens nowhere."""

    port: int = 0


if __name__ == "__main__":
    main(sys.argv[1:])
