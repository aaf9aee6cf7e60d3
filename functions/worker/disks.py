"""Measures how full the disks are on which the data and the receipts lie."""

import shutil
from collections.abc import Mapping
from typing import Any


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
        # What is reserved for the system is neither used nor free.
        found.append({"folder": name, "percent": round(100 * disk.used / (disk.used + disk.free), 1)})
    return found
