"""Removes bytes that no row knows: what a crash between the bytes and their row leaves behind."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request

from functions.core.database import transaction_as
from functions.storage.errors import access_denied
from functions.storage.service import SERVICE, Answer, Service, service_of

router = APIRouter(tags=["maintenance"])
log = logging.getLogger("storage")


@router.post("/orphans/sweep")
async def sweep_now(request: Request) -> Answer:
    """Sweep at once; for the service key only. Answers how much was removed."""
    service = service_of(request)
    if not service.identify(request).is_service:
        raise access_denied("Access denied: Invalid role", 403)
    return Answer({"removed": await sweep(service, service.settings.orphan_age_seconds)})


async def sweep(service: Service, age_seconds: int) -> int:
    """Remove bytes without a row, and uploads that stopped arriving, older than `age_seconds`.

    The age keeps uploads safe whose row is about to be written. Returns how many were removed.
    """
    moment = datetime.now(UTC) - timedelta(seconds=age_seconds)
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


async def sweep_forever(service: Service) -> None:
    """Sweep at start and then regularly, until cancelled; a failure is logged and tried again later."""
    while True:
        try:
            await sweep(service, service.settings.orphan_age_seconds)
        except Exception:
            log.exception("the sweep failed")
        await asyncio.sleep(service.settings.sweep_interval_seconds)
