"""Stores an upload: bytes first, then the row, so that no row is without bytes.

Order: bucket, type and size, name, row-level security (a real insert, rolled back), the bytes into a file of
their own, flushed, checked, given their place; then the row, and last the bytes it replaced are deleted. A
crash in between leaves at most bytes without a row; the garbage collector finds those.
"""

import asyncio
import errno
import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from psycopg import OperationalError
from starlette.requests import Request

from functions.core.failpoints import crash_here
from functions.storage.errors import disk_full, object_too_large
from functions.storage.json_response import timestamp
from functions.storage.mime_sniffing import check_content, is_checked
from functions.storage.queries import Row, Upload, check_write, find_bucket, write
from functions.storage.service import RequestContext
from functions.storage.transfers import Transfer
from functions.storage.upload_parser import (
    IncomingFile,
    WrittenFile,
    content_length,
    parse_upload,
    write_file,
)
from functions.storage.validation import PLACEHOLDER, check_allowed_type, check_key, check_robots


async def store_upload(context: RequestContext, upload: Upload) -> Row:
    """Store what arrives; return the row.

    Raises:
        ApiError: the first rule that the upload breaks; nothing is stored then.
    """
    async with context.receiving(upload.principal, upload.owner_id) as transfer:
        return await _store(context, upload, transfer)


async def _store(context: RequestContext, upload: Upload, transfer: Transfer) -> Row:
    bucket = await find_bucket(context, upload.bucket_id)
    file = await parse_upload(context.request, transfer)
    limit = _check_limits(context, bucket, upload.name, file)
    check_key(upload.name)
    robots = context.request.headers.get("x-robots-tag")
    if robots:
        check_robots(robots)
    claimed = claimed_metadata(context.request, file.content_type)
    upload = replace(upload, metadata=claimed, user_metadata=file.user_metadata)
    # Policies were asked for a signed URL when it was made.
    if upload.principal:
        await check_write(context, upload.principal, upload)
    written = await _store_bytes(context, bucket, upload, file, limit)
    crash_here("upload.after_rename")
    return await write_row(context, replace(upload, metadata=_metadata(file, written, robots)))


async def _store_bytes(
    context: RequestContext, bucket: Row, upload: Upload, file: IncomingFile, limit: int
) -> WrittenFile:
    """Give the bytes their place once they have arrived and are of their type."""
    store, version = context.service.store, upload.version
    try:
        written = await write_file(file.pieces, store.arrival(version), limit)
        if is_checked(bucket["allowed_mime_types"]) and not upload.name.endswith(PLACEHOLDER):
            await asyncio.to_thread(check_content, store.arrival(version), file.content_type)
        crash_here("upload.after_tmp")
        await store.keep(version)
    except OSError as error:
        await store.discard(version)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full() from error
        raise
    except BaseException:
        await store.discard(version)
        raise
    return written


def _check_limits(context: RequestContext, bucket: Row, name: str, file: IncomingFile) -> int:
    """Check the type and the claimed size; return how many bytes may come."""
    service = context.service
    limit = service.settings.file_size_limit
    if bucket["file_size_limit"] is not None:
        limit = min(limit, int(bucket["file_size_limit"]))
    if name.endswith(PLACEHOLDER):
        limit = 0
    else:
        check_allowed_type(file.content_type, bucket["allowed_mime_types"])
    if file.declared > limit:
        raise object_too_large()
    if service.store.used_percent() > service.settings.disk_limit_percent:
        logging.getLogger("storage").error("disk is nearly full: uploads are rejected")
        raise disk_full()
    return limit


def claimed_metadata(request: Request, content_type: str) -> dict[str, Any]:
    """Return the column `metadata` that policies see before there are bytes."""
    return {"mimetype": content_type, "contentLength": content_length(request)}


def _metadata(file: IncomingFile, written: WrittenFile, robots: str | None) -> dict[str, Any]:
    """Return the column `metadata` of stored bytes."""
    metadata: dict[str, Any] = {
        "eTag": f'"{written.md5}"',
        "size": written.size,
        "mimetype": file.content_type,
        "cacheControl": file.cache_control,
        "lastModified": timestamp(datetime.now(UTC)),
        "contentLength": written.size,
        "httpStatusCode": 200,
    }
    return metadata | ({"xRobotsTag": robots} if robots else {})


async def write_row(context: RequestContext, upload: Upload) -> Row:
    """Write the row of stored bytes. If that fails delete them, otherwise those that they replace."""
    store = context.service.store
    crash_here("upload.before_row")
    try:
        row, replaced = await write(context, upload)
    except OperationalError:
        # The commit may have happened: the bytes stay, and the garbage collector finds out.
        raise
    except Exception:
        await store.remove([upload.version])
        raise
    crash_here("upload.after_row")
    if replaced:
        await store.remove([replaced])
    return row
