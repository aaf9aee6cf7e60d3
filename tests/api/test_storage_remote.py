"""Bytes that lie elsewhere than in a local folder: the same promises, through a real S3 server's wire too."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from functions.storage.store import ByteStore
from tests.support.s3_server import s3_server

CONTENT = b"0123456789" * 100_000
FIRST, SECOND = "11111111-aaaa", "22222222-bbbb"


async def joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a bucket on a real S3-compatible server."""
    with s3_server(tmp_path / "served", "receipts") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        yield "s3://receipts/stack"


@pytest.fixture(params=["memory", "file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the bytes lie."""
    if request.param == "s3":
        return str(request.getfixturevalue("s3"))
    return "memory:///" if request.param == "memory" else (tmp_path / "files").as_uri()


async def test_keep_read_copy_remove(tmp_path: Path, url: str) -> None:
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
    hour_before = datetime.now(UTC) - timedelta(hours=1)
    assert [version async for versions in store.older_than(hour_before) for version in versions] == []

    await store.remove([FIRST, FIRST])
    assert await joined(await store.read(SECOND, 0, len(CONTENT))) == CONTENT
    with pytest.raises(FileNotFoundError):
        await store.read(FIRST, 0, 1)


KEEP = """
import asyncio, sys
from pathlib import Path
from functions.storage.store import ByteStore

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024

store = ByteStore(sys.argv[1], Path(sys.argv[2]))
with store.arrival("small").open("wb") as file:
    file.truncate(2**20)
asyncio.run(store.keep("small"))
before = peak()
with store.arrival("large").open("wb") as file:
    file.truncate(60 * 2**20)
asyncio.run(store.keep("large"))
print(peak() - before)
"""


def test_a_large_upload_is_sent_without_lying_in_memory(tmp_path: Path, s3: str) -> None:
    """In a process of its own, whose peak is this upload's."""
    command = [sys.executable, "-c", KEEP, s3, str(tmp_path / "spool")]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
    assert grown < 40, "MiB"


async def test_an_upload_that_stopped_is_found(tmp_path: Path) -> None:
    store = ByteStore((tmp_path / "files").as_uri(), tmp_path)
    store.arrival(FIRST).write_bytes(b"half")
    assert store.abandoned_before(datetime.now(UTC) - timedelta(hours=1)) == []
    assert store.abandoned_before(datetime.now(UTC) + timedelta(hours=1)) == [FIRST]
    await store.discard(FIRST)
    await store.discard(FIRST)
    assert not store.arrival(FIRST).exists()


def test_an_upload_during_the_search_is_no_error(tmp_path: Path) -> None:
    store = ByteStore((tmp_path / "files").as_uri(), tmp_path)

    def arrive() -> None:
        for number in range(5_000):
            path = store.arrival(f"{number % 20}")
            path.write_bytes(b"")
            path.unlink()

    with ThreadPoolExecutor(1) as parallel:
        arriving = parallel.submit(arrive)
        while not arriving.done():
            assert store.abandoned_before(datetime.now(UTC) - timedelta(hours=1)) == []
        arriving.result()
