"""`python -m functions.storage` migrates and serves; `python -m functions.storage migrate` only migrates."""

import sys

import uvicorn

from functions.core import logging
from functions.core.settings import KEEP_ALIVE_SECONDS, ServiceSettings
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
    uvicorn.run(
        make_app(serving),
        host=serving.host,
        port=serving.port,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


class MigrationSettings(ServiceSettings):
    """What migrating reads; it listens nowhere."""

    port: int = 0


if __name__ == "__main__":
    main(sys.argv[1:])
