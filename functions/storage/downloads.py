"""Download, exists and info: the object itself, its headers, or what is known of it."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from functions.storage import documents
from functions.storage.errors import StorageError, no_such_bucket, no_such_key
from functions.storage.names import check_key
from functions.storage.rows import Row, find_bucket, select_object, stamp
from functions.storage.service import SERVICE, Answer, Caller, service_of
from functions.storage.serving import headers_of, serve

router = APIRouter(tags=["download"], responses=documents.BYTES)
facts = APIRouter(tags=["info"])


@router.get("/object/public/{bucket}/{path:path}")
async def download_public(request: Request, bucket: str, path: str) -> Response:
    """An object of a public bucket; nobody is asked who he is."""
    return await serve(request, partial(_public, request, bucket, path, "storage.object.get_public"))


@router.head("/object/public/{bucket}/{path:path}")
async def exists_public(request: Request, bucket: str, path: str) -> Response:
    """The headers of an object of a public bucket."""
    return _head(await _public(request, bucket, path, "storage.object.head_public"))


@router.get("/object/authenticated/{bucket}/{path:path}")
async def download_authenticated(request: Request, bucket: str, path: str) -> Response:
    """An object, for a caller with a token."""
    caller = service_of(request).identify(request)
    operation = "storage.object.get_authenticated"
    return await serve(request, partial(_of, request, caller, bucket, path, operation))


@router.head("/object/authenticated/{bucket}/{path:path}")
async def exists_authenticated(request: Request, bucket: str, path: str) -> Response:
    """The headers of an object, for a caller with a token."""
    caller = service_of(request).identify(request)
    return _head(await _of(request, caller, bucket, path, "object.head_authenticated_info"))


@router.get("/object/sign/{bucket}/{path:path}", openapi_extra=documents.TOKEN)
async def download_signed(request: Request, bucket: str, path: str) -> Response:
    """An object by a signed URL; the token alone decides."""
    expires = _claimed(request, bucket, path)
    return await serve(request, partial(_signed, request, bucket, path), expires)


@router.head("/object/sign/{bucket}/{path:path}", openapi_extra=documents.TOKEN)
async def exists_signed(request: Request, bucket: str, path: str) -> Response:
    """The headers of an object by a signed URL."""
    expires = _claimed(request, bucket, path)
    return _head(await _signed(request, bucket, path), expires)


@facts.get("/object/info/public/{bucket}/{path:path}")
async def info_public(request: Request, bucket: str, path: str) -> Answer:
    """What is known of an object of a public bucket."""
    return _info(await _public(request, bucket, path, "object.get_public_info"))


@facts.get("/object/info/authenticated/{bucket}/{path:path}")
async def info_authenticated(request: Request, bucket: str, path: str) -> Answer:
    """What is known of an object, for a caller with a token."""
    caller = service_of(request).identify(request)
    return _info(await _of(request, caller, bucket, path, "object.get_authenticated_info"))


@facts.get("/object/info/{bucket}/{path:path}")
async def info(request: Request, bucket: str, path: str) -> Answer:
    """What is known of an object; without a token, of public buckets only."""
    return _info(await _of(request, _anyone(request), bucket, path, "object.get_authenticated_info"))


@router.get("/object/{bucket}/{path:path}")
async def download(request: Request, bucket: str, path: str) -> Response:
    """An object; without a token, of public buckets only."""
    operation = "storage.object.get_authenticated"
    return await serve(request, partial(_of, request, _anyone(request), bucket, path, operation))


@router.head("/object/{bucket}/{path:path}")
async def exists(request: Request, bucket: str, path: str) -> Response:
    """The headers of an object; without a token, of public buckets only."""
    return _head(await _of(request, _anyone(request), bucket, path, "object.head_authenticated_info"))


def _anyone(request: Request) -> Caller | None:
    """The caller, or None: here a token that is not to be trusted counts as none."""
    try:
        return service_of(request).identify(request)
    except StorageError:
        return None


async def _public(request: Request, bucket_id: str, name: str, operation: str) -> Row:
    check_key(name)
    if not (await find_bucket(request, bucket_id))["public"]:
        raise no_such_bucket()
    return await _row(request, SERVICE, bucket_id, name, operation)


async def _of(request: Request, caller: Caller | None, bucket_id: str, name: str, operation: str) -> Row:
    """The object if the caller may read it; in a public bucket everybody may."""
    check_key(name)
    if (await find_bucket(request, bucket_id))["public"]:
        caller = SERVICE
    if caller is None:
        raise no_such_bucket()
    return await _row(request, caller, bucket_id, name, operation)


def _claimed(request: Request, bucket_id: str, name: str) -> int:
    """When the token of a signed URL expires, if it was made for this object."""
    path = f"{bucket_id}/{name}"
    return int(service_of(request).signer.verify(documents.token_of(request), "download", path)["exp"])


async def _signed(request: Request, bucket_id: str, name: str) -> Row:
    """The object that a token was made for."""
    return await _row(request, SERVICE, bucket_id, name, "storage.object.get_signed")


async def _row(request: Request, caller: Caller, bucket_id: str, name: str, operation: str) -> Row:
    async with service_of(request).as_caller(request, caller, operation) as db:
        row = await select_object(db, bucket_id, name)
    if row is None:
        raise no_such_key()
    return row


def _head(row: Row, expires: int | None = None) -> Response:
    return Response(status_code=200, headers=headers_of(row, expires))


def _info(row: Row) -> Answer:
    metadata: dict[str, Any] = row["metadata"] or {}
    return Answer(
        {
            "id": str(row["id"]),
            "name": row["name"],
            "version": row["version"],
            "bucket_id": row["bucket_id"],
            "size": metadata.get("size"),
            "content_type": metadata.get("mimetype"),
            "cache_control": metadata.get("cacheControl"),
            "etag": metadata.get("eTag"),
            "metadata": row["user_metadata"] or {},
            "last_modified": metadata.get("lastModified"),
            "created_at": stamp(row["created_at"]),
        }
    )
