"""Bytes that lie elsewhere than in a local folder: the same promises, through the object store's own wire."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from functions.storage.store import ByteStore

CONTENT = b"0123456789" * 100_000
FIRST, SECOND = "11111111-aaaa", "22222222-bbbb"


async def joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize("where", ["memory", "file"])
async def test_keep_read_copy_remove(tmp_path: Path, where: str) -> None:
    url = "memory:///" if where == "memory" else (tmp_path / "files").as_uri()
    store = ByteStore(url, tmp_path / "spool")
    store.arrival(FIRST).write_bytes(CONTENT)
    await store.keep(FIRST)
    assert not store.arrival(FIRST).exists()
    assert await joined(await store.read(FIRST, 0, len(CONTENT))) == CONTENT
    assert await joined(await store.read(FIRST, 5, 15)) == CONTENT[5:15]
    assert await joined(await store.read(FIRST, 0, 0)) == b""

    await store.copy(FIRST, SECOND)
    soon = datetime.now(UTC) + timedelta(minutes=1)
    found = [version async for versions in store.older_than(soon) for version in versions]
    assert sorted(found) == [FIRST, SECOND]
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    assert [version async for versions in store.older_than(long_ago) for version in versions] == []

    await store.remove([FIRST, FIRST])
    assert await joined(await store.read(SECOND, 0, len(CONTENT))) == CONTENT
    with pytest.raises(FileNotFoundError):
        await store.read(FIRST, 0, 1)


async def test_an_upload_that_stopped_is_found(tmp_path: Path) -> None:
    store = ByteStore((tmp_path / "files").as_uri(), tmp_path)
    store.arrival(FIRST).write_bytes(b"half")
    assert store.abandoned_before(datetime.now(UTC) - timedelta(hours=1)) == []
    assert store.abandoned_before(datetime.now(UTC) + timedelta(hours=1)) == [FIRST]
    await store.discard(FIRST)
    await store.discard(FIRST)
    assert not store.arrival(FIRST).exists()
