"""The bytes of objects, each under its version, a uuid: no name that a person chose becomes a path.

An upload is written to a file of its own, flushed, and only then given its place; a reader sees all of
it or nothing. In a local folder the place is a rename away; elsewhere the finished file is sent.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import obstore
from obstore.store import LocalStore, from_url

PIECE = 256 * 1024
PARTS_AT_ONCE = 2
_MISSING = (FileNotFoundError, obstore.exceptions.NotFoundError)


def _key(version: str) -> str:
    """Where a version lies: 256 folders, so that none gets too full."""
    return f"{version[:2]}/{version}"


class ByteStore:
    """Keeps, serves, copies and removes the bytes of versions."""

    def __init__(self, url: str, spool: Path) -> None:
        """Open the store; a local folder is made when missing."""
        self._root: Path | None = None
        self._store: Any
        if url.startswith("file:"):
            root = Path(unquote(urlsplit(url).path))
            self._root = root / "objects"
            self._spool = root / "uploads"
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._store = LocalStore(self._root)
        else:
            self._spool = spool
            self._store = from_url(url)
        self._spool.mkdir(parents=True, exist_ok=True, mode=0o700)

    def arrival(self, version: str) -> Path:
        """Return the file to write an upload to, before `keep`."""
        return self._spool / version

    def used_percent(self) -> float:
        """Return how full the disk is where uploads arrive."""
        usage = shutil.disk_usage(self._spool)
        return 100 * usage.used / (usage.used + usage.free)

    async def keep(self, version: str) -> None:
        """Give an arrived, flushed upload its place."""
        arrived = self.arrival(version)
        if self._root:
            await asyncio.to_thread(self._place, arrived, self._root / _key(version), os.replace)
        else:
            # Each part lies in memory until it is sent.
            await obstore.put_async(self._store, _key(version), arrived, max_concurrency=PARTS_AT_ONCE)
            await asyncio.to_thread(arrived.unlink)

    async def copy(self, source: str, version: str) -> None:
        """Give a new version the bytes of another.

        Raises:
            FileNotFoundError: when there are none.
        """
        if self._root:
            origin = self._root / _key(source)
            # The two names share their time: an old one would look like an orphan until the row is there.
            await asyncio.to_thread(os.utime, origin)
            await asyncio.to_thread(self._place, origin, self._root / _key(version), os.link)
        else:
            await obstore.copy_async(self._store, _key(source), _key(version))

    @staticmethod
    def _place(origin: Path, target: Path, how: Any) -> None:
        """Rename or link, and flush the folders, so that a power cut cannot undo it."""
        folder = target.parent
        fresh = not folder.exists()
        folder.mkdir(exist_ok=True, mode=0o700)
        how(origin, target)
        _flush_folder(folder)
        if fresh:
            _flush_folder(folder.parent)

    async def read(self, version: str, start: int, end: int) -> AsyncIterator[bytes]:
        """Return the bytes from `start` up to and without `end`, in pieces.

        Raises:
            FileNotFoundError: at once, when there are none.
        """
        options: Any = {"range": (start, end)} if end > start else {}
        found = await obstore.get_async(self._store, _key(version), options=options)

        async def pieces() -> AsyncIterator[bytes]:
            if end > start:
                async for piece in found.stream(min_chunk_size=PIECE):
                    yield bytes(piece)

        return pieces()

    async def remove(self, versions: list[str]) -> None:
        """Remove the bytes of versions; it does not matter when they are deleted already."""
        for version in versions:
            try:
                await obstore.delete_async(self._store, _key(version))
            except _MISSING:
                continue

    async def discard(self, version: str) -> None:
        """Remove an upload that arrived but is not kept."""
        await asyncio.to_thread(self.arrival(version).unlink, missing_ok=True)

    async def older_than(self, moment: datetime) -> AsyncIterator[list[str]]:
        """Yield versions whose bytes were written before a moment, in batches."""
        async for batch in obstore.list(self._store, chunk_size=1000):
            yield [entry["path"].rsplit("/", 1)[-1] for entry in batch if entry["last_modified"] < moment]

    def abandoned_before(self, moment: datetime) -> list[str]:
        """Return the uploads that stopped arriving before a moment."""
        limit, found = moment.timestamp(), []
        for path in self._spool.iterdir():
            # One that has arrived meanwhile is not there any more.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < limit:
                    found.append(path.name)
        return found


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
