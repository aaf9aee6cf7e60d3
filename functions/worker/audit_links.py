"""Links new entries of the audit log to its chain, every second."""

import asyncio
import logging
from typing import Any

import psycopg

LINK_EVERY_SECONDS = 1
log = logging.getLogger("worker")


async def link_entries(database_url: str) -> None:
    """Link what is new until the database goes away; an entry is linked within two seconds."""
    connection = await psycopg.AsyncConnection.connect(
        database_url, autocommit=True, application_name="worker-audit"
    )
    async with connection:
        while True:
            found = await connection.execute("select jobs.link_audit_entries()")
            row = await found.fetchone()
            log_links(row[0] if row else {})
            await asyncio.sleep(LINK_EVERY_SECONDS)


def log_links(result: dict[str, Any]) -> None:
    """Log the new head of the chain, which a log keeps outside the database, or why nothing was linked."""
    if "error" in result:
        log.error("audit entries are not linked", extra={"fields": result})
    elif result:
        log.info("audit entries linked", extra={"fields": result})
