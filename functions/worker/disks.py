"""Measures how full the disks are on which the data and the receipts lie.

Each worker looks at the disks of its own machine: it is no job of the queue, which any worker may take.
"""

import asyncio
import json
import shutil
from collections.abc import Mapping
from typing import Any

from functions.core.database import Pool
from functions.worker.settings import WorkerSettings
from functions.worker.sql_functions import call

LOOK_EVERY_SECONDS = 60


async def look_at_disks(pool: Pool, settings: WorkerSettings) -> None:
    """Raise or end the alarms of this machine's disks, again and again until the database goes away."""
    while True:
        disks = json.dumps(measure_disks(settings.disk_folders))
        limits = settings.disk_full_percent, settings.disk_urgent_percent
        await call(pool, "check_disks", disks, *limits)
        await asyncio.sleep(LOOK_EVERY_SECONDS)


def measure_disks(folders: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the used part of each folder's disk in percent, as `df` counts it, by the folder's name.

    A folder that this process cannot look at is left out.
    """
    found = []
    for name, path in folders.items():
        try:
            disk = shutil.disk_usage(path)
        except OSError:
            continue
        # Space reserved for the system is neither used nor free.
        found.append({"folder": name, "percent": round(100 * disk.used / (disk.used + disk.free), 1)})
    return found
