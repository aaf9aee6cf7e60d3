"""Download, exists and info: the object itself, its headers, or what is known of it."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from functions.core.errors import ApiError
from functions.storage import openapi
from functions.storage.errors import invalid_schema, no_such_bucket, no_such_key
from functions.storage.file_response import FileResponse, headers_of
from functions.storage.json_response import JsonResponse, timestamp
from functions.storage.queries import Row, find_bucket, select_object
from functions.storage.request_parsing import StorageRoute
from functions.storage.schemas import NO_TRANSFORM
from functions.storage.service import SERVICE, Context, Principal, RequestContext, SignedIn
from functions.storage.validation import check_key


async def _reject_transform(request: Request) -> None:
    if "transform" in request.query_params:
        raise invalid_schema(f"querystring/transform {NO_TRANSFORM}")


_PLAIN = [Depends(_reject_transform)]
router = APIRouter(tags=["download"], route_class=StorageRoute, responses=openapi.BYTES, dependencies=_PLAIN)
info_router = APIRouter(tags=["info"], dependencies=_PLAIN)

Token = Annotated[str, Query()]


async def _principal_or_none(context: Context) -> Principal | None:
    """Return who asks; here a token that is not to be trusted counts as none."""
    try:
        return context.identify()
    except ApiError:
        return None


AnyClient = Annotated[Principal | None, Depends(_principal_or_none)]


@router.get("/object/public/{bucket}/{path:path}")
async def download_public(context: Context, bucket: str, path: str) -> Response:
    """Return an object of a public bucket; no token is looked at."""
    return FileResponse(context, partial(_public, context, bucket, path, "storage.object.get_public"))


@router.head("/object/public/{bucket}/{path:path}")
async def exists_public(context: Context, bucket: str, path: str) -> Response:
    """Return the headers of an object of a public bucket."""
    return _head(await _public(context, bucket, path, "storage.object.head_public"))


@router.get("/object/authenticated/{bucket}/{path:path}")
async def download_authenticated(context: Context, principal: SignedIn, bucket: str, path: str) -> Response:
    """Return an object to a client with a token."""
    operation = "storage.object.get_authenticated"
    return FileResponse(context, partial(_readable, context, principal, bucket, path, operation), principal)


@router.head("/object/authenticated/{bucket}/{path:path}")
async def exists_authenticated(context: Context, principal: SignedIn, bucket: str, path: str) -> Response:
    """Return the headers of an object to a client with a token."""
    return _head(await _readable(context, principal, bucket, path, "object.head_authenticated_info"))


@router.get("/object/sign/{bucket}/{path:path}")
async def download_signed(context: Context, bucket: str, path: str, token: Token) -> Response:
    """Return an object by a signed URL; the token alone decides."""
    claims = context.service.signer.verify(token, "download", f"{bucket}/{path}")
    find = partial(_signed, context, claims, bucket, path)
    return FileResponse(context, find, owner_id=claims.get("owner"), expires=int(claims["exp"]))


@router.head("/object/sign/{bucket}/{path:path}")
async def exists_signed(context: Context, bucket: str, path: str, token: Token) -> Response:
    """Return the headers of an object by a signed URL."""
    claims = context.service.signer.verify(token, "download", f"{bucket}/{path}")
    return _head(await _signed(context, claims, bucket, path), int(claims["exp"]))


@info_router.get("/object/info/public/{bucket}/{path:path}")
async def info_public(context: Context, bucket: str, path: str) -> JsonResponse:
    """Return what is known of an object of a public bucket."""
    return _info(await _public(context, bucket, path, "object.get_public_info"))


@info_router.get("/object/info/authenticated/{bucket}/{path:path}")
async def info_authenticated(context: Context, principal: SignedIn, bucket: str, path: str) -> JsonResponse:
    """Return what is known of an object to a client with a token."""
    return _info(await _readable(context, principal, bucket, path, "object.get_authenticated_info"))


@info_router.get("/object/info/{bucket}/{path:path}")
async def info(context: Context, principal: AnyClient, bucket: str, path: str) -> JsonResponse:
    """Return what is known of an object; without a token, of public buckets only."""
    return _info(await _readable(context, principal, bucket, path, "object.get_authenticated_info"))


@router.get("/render/image/{path:path}", include_in_schema=False)
async def transformed() -> Response:
    """Reject what the clients ask for with the option `transform`."""
    raise invalid_schema(f"transform {NO_TRANSFORM}")


@router.get("/object/{bucket}/{path:path}")
async def download(context: Context, principal: AnyClient, bucket: str, path: str) -> Response:
    """Return an object; without a token, of public buckets only."""
    operation = "storage.object.get_authenticated"
    return FileResponse(context, partial(_readable, context, principal, bucket, path, operation), principal)


@router.head("/object/{bucket}/{path:path}")
async def exists(context: Context, principal: AnyClient, bucket: str, path: str) -> Response:
    """Return the headers of an object; without a token, of public buckets only."""
    return _head(await _readable(context, principal, bucket, path, "object.head_authenticated_info"))


async def _public(context: RequestContext, bucket_id: str, name: str, operation: str) -> Row:
    check_key(name)
    if not (await find_bucket(context, bucket_id))["public"]:
        raise no_such_bucket()
    return await _object(context, SERVICE, bucket_id, name, operation)


async def _readable(
    context: RequestContext, principal: Principal | None, bucket_id: str, name: str, operation: str
) -> Row:
    """Return the object if the principal may read it; in a public bucket anybody may."""
    check_key(name)
    if (await find_bucket(context, bucket_id))["public"]:
        principal = SERVICE
    if principal is None:
        raise no_such_bucket()
    return await _object(context, principal, bucket_id, name, operation)


async def _signed(context: RequestContext, claims: dict[str, Any], bucket_id: str, name: str) -> Row:
    await context.check_account(claims)
    return await _object(context, SERVICE, bucket_id, name, "storage.object.get_signed")


async def _object(
    context: RequestContext, principal: Principal, bucket_id: str, name: str, operation: str
) -> Row:
    async with context.transaction_as(principal, operation) as db:
        row = await select_object(db, bucket_id, name)
    if row is None:
        raise no_such_key()
    return row


def _head(row: Row, expires: int | None = None) -> Response:
    return Response(status_code=200, headers=headers_of(row, expires))


def _info(row: Row) -> JsonResponse:
    metadata: dict[str, Any] = row["metadata"] or {}
    return JsonResponse(
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
            "created_at": timestamp(row["created_at"]),
        }
    )
