"""Uploads and downloads stream: 50 MB pass through in a few megabytes of memory."""

from collections.abc import Iterator
from pathlib import Path

from tests.support.own_storage import OwnService

PIECE = bytes(64 * 1024)
PIECES = 800
MEGABYTE = 1024 * 1024
MOST_EXTRA = 40 * MEGABYTE


def peak(process_id: int) -> int:
    """Return the most memory that the process ever held, in bytes."""
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def raw() -> Iterator[bytes]:
    """Yield the file in chunks, without a Content-Length."""
    for _ in range(PIECES):
        yield PIECE


def form() -> Iterator[bytes]:
    """Yield the file as a browser's multipart form."""
    yield b'--B\r\nContent-Disposition: form-data; name=""; filename="a"\r\n\r\n'
    yield from raw()
    yield b"\r\n--B--\r\n"


def test_fifty_megabytes_stream(own_storage: OwnService) -> None:
    with own_storage.running() as process:
        own_storage.upload(b"warm", "warm.bin").raise_for_status()
        before = peak(process.pid)
        path = f"/object/{own_storage.bucket}"
        own_storage.http.post(f"{path}/raw.bin", content=raw()).raise_for_status()
        kind = {"content-type": "multipart/form-data; boundary=B"}
        own_storage.http.post(f"{path}/form.bin", content=form(), headers=kind).raise_for_status()
        received = 0
        with own_storage.http.stream("GET", f"{path}/form.bin") as response:
            for piece in response.iter_bytes():
                received += len(piece)
        assert received == PIECES * len(PIECE)
        assert peak(process.pid) - before < MOST_EXTRA
