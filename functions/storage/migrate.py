"""Brings schema `storage` up to date; each migration is one file, applied once and in order."""

import logging
from pathlib import Path

from functions.core import migrations

FOLDER = Path(__file__).parent / "migrations"


def migrate(database_url: str) -> None:
    """Apply what is missing, as the owner of the schema.

    Raises:
        psycopg.Error: a migration fails; nothing is changed then.
    """
    applied = migrations.apply(database_url, FOLDER, "storage")
    logging.getLogger("storage").info("migrated", extra={"fields": {"applied": applied}})
