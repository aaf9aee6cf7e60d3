"""Small disks, in memory, that a test fills."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Yield a folder on a disk of its own."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "own", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Take all room that is left."""
    file = folder / "filling"
    with suppress(OSError), file.open("wb", buffering=0) as taken:
        while taken.write(bytes(4096)):
            pass
    return file
