"""Upload, update, and upload by signed URL: bytes first, then the row, so that no row is without bytes.

Order: bucket, type and size, name, row-level security (a real insert, taken back), the bytes into a
file of their own, flushed, checked, given their place; then the row, and last the bytes it replaced.
A crash in between leaves at most bytes without a row; the sweeper finds those.
"""

import asyncio
import errno
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from psycopg import OperationalError

from functions.core.failpoints import reached
from functions.storage import documents
from functions.storage.content import check_content, is_checked
from functions.storage.errors import disk_full, too_large
from functions.storage.names import PLACEHOLDER, check_allowed_type, check_key, check_robots
from functions.storage.reception import Incoming, Written, content_length, receive, write_down
from functions.storage.rows import Draft, Row, find_bucket, stamp, try_write, write
from functions.storage.service import Answer, Caller, service_of

router = APIRouter(tags=["upload"])


@dataclass(frozen=True)
class Target:
    """Where an upload goes, and by what right: a caller to be asked for, or a signed URL's owner."""

    bucket_id: str
    name: str
    upsert: bool
    operation: str
    caller: Caller | None
    owner_id: str | None


@router.put(
    "/object/upload/sign/{bucket}/{path:path}",
    openapi_extra=documents.FILE_WITH_TOKEN,
    responses=documents.UPLOADED,
)
async def upload_signed(request: Request, bucket: str, path: str) -> Answer:
    """Store an object with a signed URL's token, which says whether an existing one is replaced."""
    token = documents.token_of(request)
    claims = service_of(request).signer.verify(token, "upload", f"{bucket}/{path}")
    owner = claims.get("owner")
    operation = "storage.object.upload_signed"
    target = Target(
        bucket, path, claims.get("upsert") is True, operation, None, str(owner) if owner else None
    )
    await take(request, target)
    return Answer({"Key": f"{bucket}/{path}"})


@router.post("/object/{bucket}/{path:path}", openapi_extra=documents.FILE, responses=documents.UPLOADED)
async def upload(request: Request, bucket: str, path: str) -> Answer:
    """Store a new object; with `x-upsert: true` an existing one is replaced."""
    upsert = request.headers.get("x-upsert") == "true"
    return await _of_caller(request, bucket, path, upsert, "storage.object.upload")


@router.put("/object/{bucket}/{path:path}", openapi_extra=documents.FILE, responses=documents.UPLOADED)
async def update(request: Request, bucket: str, path: str) -> Answer:
    """Replace an object, or store it when there is none."""
    return await _of_caller(request, bucket, path, True, "storage.object.upload_update")


async def _of_caller(request: Request, bucket: str, path: str, upsert: bool, operation: str) -> Answer:
    caller = service_of(request).identify(request)
    row = await take(request, Target(bucket, path, upsert, operation, caller, caller.owner_id))
    return Answer({"Key": f"{bucket}/{path}", "Id": str(row["id"])})


async def take(request: Request, target: Target) -> Row:
    """Store what arrives; returns the row.

    Raises:
        StorageError: the first rule that the upload breaks; nothing is kept then.
    """
    store = service_of(request).store
    bucket = await find_bucket(request, target.bucket_id)
    incoming = await receive(request)
    limit = _check_limits(request, bucket, target, incoming)
    check_key(target.name)
    robots = request.headers.get("x-robots-tag")
    if robots:
        check_robots(robots)
    if target.caller:
        claimed = claimed_metadata(request, incoming.content_type)
        draft = Draft(target.bucket_id, target.name, target.owner_id, claimed, incoming.user_metadata)
        await try_write(request, target.caller, target.operation, draft, target.upsert)
    version = str(uuid4())
    try:
        written = await write_down(incoming.pieces, store.arrival(version), limit)
        if is_checked(bucket["allowed_mime_types"]) and not target.name.endswith(PLACEHOLDER):
            await asyncio.to_thread(check_content, store.arrival(version), incoming.content_type)
        reached("upload.after_tmp")
        await store.keep(version)
    except OSError as error:
        await store.discard(version)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full() from error
        raise
    except BaseException:
        await store.discard(version)
        raise
    reached("upload.after_rename")
    metadata = metadata_of(incoming.content_type, incoming.cache_control, written, robots)
    draft = Draft(target.bucket_id, target.name, target.owner_id, metadata, incoming.user_metadata)
    return await put_row(request, target.operation, draft, version, target.upsert)


def _check_limits(request: Request, bucket: Row, target: Target, incoming: Incoming) -> int:
    """Check the type and the claimed size; returns how many bytes may come."""
    service = service_of(request)
    limit = service.settings.file_size_limit
    if bucket["file_size_limit"] is not None:
        limit = min(limit, int(bucket["file_size_limit"]))
    if target.name.endswith(PLACEHOLDER):
        limit = 0
    else:
        check_allowed_type(incoming.content_type, bucket["allowed_mime_types"])
    if incoming.declared > limit:
        raise too_large()
    if service.store.used_percent() > service.settings.disk_limit_percent:
        logging.getLogger("storage").error("disk is nearly full: uploads are refused")
        raise disk_full()
    return limit


def claimed_metadata(request: Request, content_type: str) -> dict[str, Any]:
    """The column `metadata` that policies see before there are bytes."""
    return {"mimetype": content_type, "contentLength": content_length(request)}


def metadata_of(
    content_type: str, cache_control: str, written: Written, robots: str | None
) -> dict[str, Any]:
    """The column `metadata` of stored bytes."""
    metadata: dict[str, Any] = {
        "eTag": f'"{written.md5}"',
        "size": written.size,
        "mimetype": content_type,
        "cacheControl": cache_control,
        "lastModified": stamp(datetime.now(UTC)),
        "contentLength": written.size,
        "httpStatusCode": 200,
    }
    return metadata | ({"xRobotsTag": robots} if robots else {})


async def put_row(request: Request, operation: str, draft: Draft, version: str, upsert: bool) -> Row:
    """Write the row of bytes that have their place; without a row they go, with it the old ones do."""
    store = service_of(request).store
    reached("upload.before_row")
    try:
        row, replaced = await write(request, operation, draft, version, upsert)
    except OperationalError:
        # The commit may have happened: the bytes stay, and the sweeper finds out.
        raise
    except Exception:
        await store.remove([version])
        raise
    reached("upload.after_row")
    if replaced:
        await store.remove([replaced])
    return row
