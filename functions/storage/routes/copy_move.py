"""Copy and move. Names lie in rows and bytes under their version, so a move touches no bytes."""

from typing import Any

from fastapi import APIRouter
from psycopg import errors

from functions.core.database import Connection
from functions.storage import openapi
from functions.storage.errors import already_exists, invalid_type, no_such_key
from functions.storage.json_response import JsonResponse, json_row
from functions.storage.mime_sniffing import is_checked
from functions.storage.queries import Row, Upload, check_write, find_bucket, select_object
from functions.storage.request_parsing import StorageRoute
from functions.storage.schemas import Copy, Move
from functions.storage.service import Context, Principal, RequestContext, SignedIn, uuid_or_none
from functions.storage.upload import write_row
from functions.storage.upload_parser import metadata_of_header
from functions.storage.validation import check_key, check_printable, check_type_form
from functions.storage.versions import with_bytes

router = APIRouter(tags=["move and copy"], route_class=StorageRoute)


@router.post("/object/move", responses=openapi.MOVED)
async def move(context: Context, principal: SignedIn, asked: Move) -> JsonResponse:
    """Give an object another name or bucket; who moves it owns it. Needs SELECT and UPDATE."""
    check_key(asked.destination_key)
    try:
        async with context.transaction_as(principal, "storage.object.move", rolled_back=True) as db:
            source = await select_object(db, asked.bucket_id, asked.source_key)
            await _rename(db, asked, principal)
        if source:
            await _check_promise(context, source, asked.target_bucket, _type_of(source))
        async with context.transaction_as_service("storage.object.move") as db:
            await _rename(db, asked, principal)
    except errors.UniqueViolation as error:
        raise already_exists("ResourceAlreadyExists") from error
    return JsonResponse({"message": "Successfully moved"})


async def _rename(db: Connection, asked: Move, principal: Principal) -> None:
    moved = await db.execute(
        "update storage.objects set bucket_id = %s, name = %s, owner = %s, owner_id = %s"
        " where bucket_id = %s and name = %s returning id",
        [
            asked.target_bucket,
            asked.destination_key,
            uuid_or_none(principal.owner_id),
            principal.owner_id,
            asked.bucket_id,
            asked.source_key,
        ],
    )
    if await moved.fetchone() is None:
        raise no_such_key()


@router.post("/object/copy")
async def copy(context: Context, principal: SignedIn, asked: Copy) -> JsonResponse:
    """Copy an object; needs SELECT on the source and the rights of an upload at the destination."""
    check_key(asked.destination_key)
    upsert = context.request.headers.get("x-upsert") == "true"

    async def source() -> Row:
        async with context.transaction_as(principal, "storage.object.copy") as db:
            row = await select_object(db, asked.bucket_id, asked.source_key)
        if row is None:
            raise no_such_key()
        return row

    async def copied(row: Row) -> Upload:
        place = (asked.target_bucket, asked.destination_key)
        metadata = _metadata(context, asked, row)
        new = Upload("storage.object.copy", *place, upsert, principal, principal.owner_id, *metadata)
        await check_write(context, principal, new)
        await _check_promise(context, row, new.bucket_id, new.metadata.get("mimetype"))
        await context.service.store.copy(row["version"], new.version)
        return new

    new = await with_bytes(source, copied)
    row = await write_row(context, new)
    return JsonResponse({"Key": f"{new.bucket_id}/{new.name}", "Id": str(row["id"]), **json_row(row)})


def _metadata(context: RequestContext, asked: Copy, source: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the source's metadata, or with `copyMetadata: false` what the request brings."""
    metadata, user_metadata = dict(source["metadata"] or {}), source["user_metadata"] or {}
    if not asked.copy_metadata:
        user_metadata = metadata_of_header(context.request.headers.get("x-metadata"))
        given = asked.metadata.model_dump(by_alias=True, exclude_unset=True)
        metadata["cacheControl"] = given.get("cacheControl", metadata.get("cacheControl"))
        if "mimetype" in given:
            check_type_form(given["mimetype"])
            metadata["mimetype"] = given["mimetype"]
        check_printable(given.get("cacheControl", ""), given.get("mimetype", ""))
    return metadata, user_metadata


def _type_of(source: Row) -> str | None:
    kind: str | None = (source["metadata"] or {}).get("mimetype")
    return kind


async def _check_promise(context: RequestContext, source: Row, bucket_id: str, kind: str | None) -> None:
    """Reject bytes that were never checked for this type where the bucket promises that they match it.

    They were checked for the type of the source, if its bucket makes the same promise.

    Raises:
        ApiError: InvalidMimeType.
    """
    if (bucket_id, kind) == (source["bucket_id"], _type_of(source)):
        return
    allowed = (await find_bucket(context, bucket_id))["allowed_mime_types"]
    if not is_checked(allowed):
        return
    before = (await find_bucket(context, source["bucket_id"]))["allowed_mime_types"]
    if kind != _type_of(source) or kind not in allowed or not is_checked(before):
        raise invalid_type(f"the file is not {kind}")
