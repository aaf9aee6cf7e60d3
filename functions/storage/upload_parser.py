"""Parses an upload, in a form or as the body: the client's claims about the file, and its bytes."""

import asyncio
import base64
import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from fastapi import Request
from python_multipart.multipart import parse_options_header

from functions.storage.errors import no_content, object_too_large
from functions.storage.multipart_form import LARGEST_FIELDS, MultipartForm
from functions.storage.request_parsing import arriving
from functions.storage.store import PIECE
from functions.storage.transfers import Transfer
from functions.storage.validation import check_printable


@dataclass
class IncomingFile:
    """The client's claims about a file, and its bytes as they arrive.

    Attributes:
        declared: bytes that the file has at least, if the client's Content-Length is true.
    """

    content_type: str
    cache_control: str
    user_metadata: dict[str, Any]
    declared: int
    pieces: AsyncIterator[bytes]


async def parse_upload(request: Request, transfer: Transfer) -> IncomingFile:
    """Open the body: a form with a file, or the file itself.

    Raises:
        ApiError: when a form has no file, or is broken.
    """
    header = request.headers.get("content-type", "")
    kind, options = parse_options_header(header)
    cache_control = request.headers.get("cache-control", "no-cache")
    user_metadata = metadata_of_header(request.headers.get("x-metadata"))
    length = content_length(request)
    pieces = arriving(request, transfer)
    if kind != b"multipart/form-data":
        content_type = header or "application/octet-stream"
        return IncomingFile(content_type, cache_control, user_metadata, length, pieces)
    if not options.get(b"boundary"):
        raise no_content()
    form = MultipartForm(pieces, options[b"boundary"])
    if not await form.find_file():
        raise no_content()
    fields = form.fields
    if "cacheControl" in fields:
        cache_control = f"max-age={fields['cacheControl']}"
    text = fields.get("metadata", fields.get("userMetadata"))
    content_type = fields.get("contentType") or form.file_type or "text/plain"
    check_printable(cache_control, content_type)
    known = _metadata_of_text(text) if text is not None else user_metadata
    return IncomingFile(content_type, cache_control, known, max(0, length - LARGEST_FIELDS), form.file())


def content_length(request: Request) -> int:
    """Return the length that the client claims, in bytes; 0 when it claims none."""
    text = request.headers.get("content-length", "0")
    return int(text) if text.isdecimal() else 0


def _metadata_of_text(text: str | bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def metadata_of_header(text: str | None) -> dict[str, Any]:
    """Return the user metadata of an `x-metadata` header; what does not decode is ignored."""
    try:
        return _metadata_of_text(base64.b64decode(text or ""))
    except ValueError:
        return {}


@dataclass(frozen=True)
class WrittenFile:
    """A file that arrived in full: its bytes and their MD5 in hexadecimal."""

    size: int
    md5: str


async def write_file(pieces: AsyncIterator[bytes], path: Path, limit: int) -> WrittenFile:
    """Write the bytes to a new file and flush it to the disk; only a piece is ever in memory.

    Raises:
        ApiError: EntityTooLarge as soon as there are more than `limit` bytes.
        OSError: when the disk is full.
    """
    # MD5 because the ETag of this API is one; nothing relies on it being hard to collide.
    digest = hashlib.md5(usedforsecurity=False)
    size, waiting = 0, bytearray()
    file = await asyncio.to_thread(path.open, "xb", 0)

    def flush(data: bytes, last: bool) -> None:
        digest.update(data)
        _write_all(file, data)
        if last:
            os.fsync(file.fileno())

    try:
        async for piece in pieces:
            size += len(piece)
            if size > limit:
                raise object_too_large()
            waiting += piece
            if len(waiting) >= PIECE:
                await asyncio.to_thread(flush, bytes(waiting), False)
                waiting.clear()
        await asyncio.to_thread(flush, bytes(waiting), True)
    finally:
        await asyncio.to_thread(file.close)
    return WrittenFile(size, digest.hexdigest())


def _write_all(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
