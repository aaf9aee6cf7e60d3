"""Garbage collection of orphans: bytes without a row, which a crash between the two leaves."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from functions.core.database import transaction_as
from functions.storage.service import SERVICE, Service

log = logging.getLogger("storage")


async def collect_garbage(service: Service) -> int:
    """Remove bytes without a row, and uploads that stopped arriving; return how many were removed.

    They have to be of some age: the row of a younger upload is about to be written.
    """
    moment = datetime.now(UTC) - timedelta(seconds=service.settings.orphan_age_seconds)
    removed = 0
    async for versions in service.store.older_than(moment):
        async with transaction_as(service.pool, SERVICE.role, SERVICE.claims) as db:
            found = await db.execute(
                "select version from storage.objects where version = any(%s)", [versions]
            )
            known = {row["version"] for row in await found.fetchall()}
        orphans = [version for version in versions if version not in known]
        await service.store.remove(orphans)
        removed += len(orphans)
    for version in await asyncio.to_thread(service.store.abandoned_before, moment):
        await service.store.discard(version)
        removed += 1
    if removed:
        log.info("orphans removed", extra={"fields": {"removed": removed}})
    return removed


async def collect_regularly(service: Service) -> None:
    """Collect at start and then regularly, until cancelled; a failure is logged and tried again later."""
    while True:
        try:
            await collect_garbage(service)
        except Exception:
            log.exception("garbage collection failed")
        await asyncio.sleep(service.settings.sweep_interval_seconds)
