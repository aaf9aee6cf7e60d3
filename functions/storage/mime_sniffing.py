"""Checks that bytes are of their declared type, by their header; file names do not count.

Checked where a bucket lists only types that are known by their bytes: a list with a type that is not
(text/plain, image/*) lets anything in under that name, so checking the rest would promise too much.

Headers are read by hand because `PIL.Image.open` does more than that: it reads a WebP whole into memory and
decodes it, follows a JPEG's padding for as long as it lasts, and rejects files with a sound header that end
early, which a client may keep.
"""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from functions.storage.errors import body_too_large, invalid_type

# An image may be small as a file and still fill the memory of the program that opens it.
MOST_PIXELS = 25_000_000
# Segments and bytes of padding before a JPEG's frame; millions of them would cost seconds.
MOST_STEPS = 10_000

Size = tuple[int, int]


def is_checked(allowed: list[str] | None) -> bool:
    """Return whether a bucket with this list of types promises that bytes match them."""
    return bool(allowed) and all(kind in _READERS for kind in allowed or [])


def check_content(path: Path, content_type: str) -> None:
    """Reject a file that is not of its declared type, or an image of too many pixels.

    Raises:
        ApiError: InvalidMimeType or EntityTooLarge.
    """
    with path.open("rb") as file:
        try:
            width, height = _READERS[content_type](file)
        except ValueError as error:
            raise invalid_type(f"the file is not {content_type}") from error
    if width * height > MOST_PIXELS:
        raise body_too_large("The image has more than 25 megapixels")


def _png(file: BinaryIO) -> Size:
    head = file.read(24)
    if head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR" or len(head) < 24:
        raise ValueError("no PNG")
    return _positive(int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"))


def _jpeg(file: BinaryIO) -> Size:
    """Walk the segments up to the frame header, which holds the size."""
    if file.read(2) != b"\xff\xd8":
        raise ValueError("no JPEG")
    for _ in range(MOST_STEPS):
        marker = file.read(2)
        if len(marker) < 2 or marker[0] != 0xFF:
            raise ValueError("no JPEG segment")
        if marker[1] == 0xFF:
            file.seek(-1, 1)
            continue
        length = int.from_bytes(file.read(2), "big")
        if length < 2 or marker[1] in (0xD9, 0xDA):
            raise ValueError("no JPEG frame")
        if 0xC0 <= marker[1] <= 0xCF and marker[1] not in (0xC4, 0xC8, 0xCC):
            frame = file.read(5)
            return _positive(int.from_bytes(frame[3:5], "big"), int.from_bytes(frame[1:3], "big"))
        file.seek(length - 2, 1)
    raise ValueError("a JPEG that does not begin")


def _webp(file: BinaryIO) -> Size:
    head = file.read(30)
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        raise ValueError("no WebP")
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
        return _positive(width & 0x3FFF, height & 0x3FFF)
    raise ValueError("no WebP frame")


def _pdf(file: BinaryIO) -> Size:
    head = file.read(8)
    if head[:5] != b"%PDF-" or not head[5:6].isdigit():
        raise ValueError("no PDF")
    return 0, 0


def _positive(width: int, height: int) -> Size:
    if width < 1 or height < 1:
        raise ValueError("an image without a size")
    return width, height


_READERS: dict[str, Callable[[BinaryIO], Size]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
    "application/pdf": _pdf,
}
