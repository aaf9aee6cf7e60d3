"""Stores an upload: bytes first, then the row, so that no row is without bytes.

Order: bucket, type and size, name, row-level security (a real insert, rolled back), the bytes into a file of
their own, flushed, checked, given their place; then the row, and last the bytes it replaced are deleted. A
crash in between leaves at most bytes without a row; the garbage collector finds those.
"""

import asyncio
import errno
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from psycopg import OperationalError
from starlette.requests import Request

from functions.core.failpoints import crash_here
from functions.storage.errors import disk_full, object_too_large
from functions.storage.json_response import timestamp
from functions.storage.mime_sniffing import check_content, is_checked
from functions.storage.queries import NewObject, Row, check_write, find_bucket, write
from functions.storage.service import Principal, RequestContext
from functions.storage.transfers import Transfer
from functions.storage.upload_parser import (
    IncomingFile,
    WrittenFile,
    content_length,
    parse_upload,
    write_file,
)
from functions.storage.validation import PLACEHOLDER, check_allowed_type, check_key, check_robots


@dataclass(frozen=True)
class Target:
    """Where an upload goes, and by what right: a principal whose rights count, or a signed URL's owner."""

    bucket_id: str
    name: str
    upsert: bool
    operation: str
    principal: Principal | None
    owner_id: str | None


async def store_upload(context: RequestContext, target: Target) -> Row:
    """Store what arrives; return the row.

    Raises:
        ApiError: the first rule that the upload breaks; nothing is stored then.
    """
    async with context.receiving(target.principal, target.owner_id) as transfer:
        return await _store(context, target, transfer)


async def _store(context: RequestContext, target: Target, transfer: Transfer) -> Row:
    bucket = await find_bucket(context, target.bucket_id)
    file = await parse_upload(context.request, transfer)
    limit = _check_limits(context, bucket, target, file)
    check_key(target.name)
    robots = context.request.headers.get("x-robots-tag")
    if robots:
        check_robots(robots)
    if target.principal:
        claimed = claimed_metadata(context.request, file.content_type)
        new = NewObject(target.bucket_id, target.name, target.owner_id, claimed, file.user_metadata)
        await check_write(context, target.principal, target.operation, new, target.upsert)
    version = str(uuid4())
    written = await _store_bytes(context, bucket, target, file, version, limit)
    crash_here("upload.after_rename")
    metadata = _metadata(file, written, robots)
    new = NewObject(target.bucket_id, target.name, target.owner_id, metadata, file.user_metadata)
    return await write_row(context, target.operation, new, version, target.upsert)


async def _store_bytes(
    context: RequestContext, bucket: Row, target: Target, file: IncomingFile, version: str, limit: int
) -> WrittenFile:
    """Give the bytes their place once they have arrived and are of their type."""
    store = context.service.store
    try:
        written = await write_file(file.pieces, store.arrival(version), limit)
        if is_checked(bucket["allowed_mime_types"]) and not target.name.endswith(PLACEHOLDER):
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


def _check_limits(context: RequestContext, bucket: Row, target: Target, file: IncomingFile) -> int:
    """Check the type and the claimed size; return how many bytes may come."""
    service = context.service
    limit = service.settings.file_size_limit
    if bucket["file_size_limit"] is not None:
        limit = min(limit, int(bucket["file_size_limit"]))
    if target.name.endswith(PLACEHOLDER):
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


async def write_row(
    context: RequestContext, operation: str, new: NewObject, version: str, upsert: bool
) -> Row:
    """Write the row of stored bytes. If that fails delete them, otherwise those that they replace."""
    store = context.service.store
    crash_here("upload.before_row")
    try:
        row, replaced = await write(context, operation, new, version, upsert)
    except OperationalError:
        # The commit may have happened: the bytes stay, and the garbage collector finds out.
        raise
    except Exception:
        await store.remove([version])
        raise
    crash_here("upload.after_row")
    if replaced:
        await store.remove([replaced])
    return row
