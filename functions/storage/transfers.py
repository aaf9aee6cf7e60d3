"""Move and copy. Names live in rows and bytes under their version, so a move touches no bytes."""

from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from psycopg import Rollback, errors

from functions.core.database import Connection
from functions.storage import documents, schemas
from functions.storage.bodies import read_json
from functions.storage.content import is_checked
from functions.storage.errors import already_exists, invalid_type, no_such_key
from functions.storage.names import check_key, check_printable, check_type_form
from functions.storage.reception import metadata_of_header
from functions.storage.rows import Draft, Row, find_bucket, select_object, shown, try_write
from functions.storage.service import Answer, Caller, service_of, uuid_or_none
from functions.storage.uploads import put_row
from functions.storage.versions import with_bytes

router = APIRouter(tags=["move and copy"])


@router.post("/object/move", openapi_extra=documents.body(schemas.MOVE), responses=documents.MOVED)
async def move(request: Request) -> Answer:
    """Give an object another name or bucket; who moves it owns it. Needs SELECT and UPDATE."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.MOVE)
    check_key(asked["destinationKey"])
    try:
        async with service.as_caller(request, caller, "storage.object.move") as db:
            await _rename(db, asked, caller)
            raise Rollback
        async with service.as_service(request, "storage.object.move") as db:
            await _rename(db, asked, caller)
    except errors.UniqueViolation as error:
        raise already_exists("ResourceAlreadyExists") from error
    return Answer({"message": "Successfully moved"})


async def _rename(db: Connection, asked: dict[str, Any], caller: Caller) -> None:
    values = {
        **asked,
        "bucket": asked.get("destinationBucket") or asked["bucketId"],
        "owner": uuid_or_none(caller.owner_id),
        "owner_id": caller.owner_id,
    }
    moved = await db.execute(
        "update storage.objects set bucket_id = %(bucket)s, name = %(destinationKey)s, owner = %(owner)s,"
        " owner_id = %(owner_id)s where bucket_id = %(bucketId)s and name = %(sourceKey)s returning id",
        values,
    )
    if await moved.fetchone() is None:
        raise no_such_key()


@router.post("/object/copy", openapi_extra=documents.body(schemas.COPY))
async def copy(request: Request) -> Answer:
    """Copy an object; needs SELECT on the source and the rights of an upload at the destination."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.COPY)
    bucket_id = asked.get("destinationBucket") or asked["bucketId"]
    name = asked["destinationKey"]
    check_key(name)
    upsert = request.headers.get("x-upsert") == "true"

    async def source() -> Row:
        async with service.as_caller(request, caller, "storage.object.copy") as db:
            row = await select_object(db, asked["bucketId"], asked["sourceKey"])
        if row is None:
            raise no_such_key()
        return row

    async def copied(row: Row) -> tuple[Draft, str]:
        draft = _copied(request, asked, row, Draft(bucket_id, name, caller.owner_id, {}, {}))
        await try_write(request, caller, "storage.object.copy", draft, upsert)
        await _check_same_type(request, row, draft)
        version = str(uuid4())
        await service.store.copy(row["version"], version)
        return draft, version

    draft, version = await with_bytes(source, copied)
    row = await put_row(request, "storage.object.copy", draft, version, upsert)
    return Answer({"Key": f"{bucket_id}/{name}", "Id": str(row["id"]), **shown(row)})


def _copied(request: Request, asked: dict[str, Any], source: Row, draft: Draft) -> Draft:
    """The source's metadata, or with `copyMetadata: false` what the request brings."""
    metadata, user_metadata = dict(source["metadata"] or {}), source["user_metadata"] or {}
    if asked.get("copyMetadata") is False:
        user_metadata = metadata_of_header(request.headers.get("x-metadata"))
        given = asked.get("metadata", {})
        metadata["cacheControl"] = given.get("cacheControl", metadata.get("cacheControl"))
        if "mimetype" in given:
            check_type_form(given["mimetype"])
            metadata["mimetype"] = given["mimetype"]
        check_printable(given.get("cacheControl", ""), given.get("mimetype", ""))
    return Draft(draft.bucket_id, draft.name, draft.owner_id, metadata, user_metadata)


async def _check_same_type(request: Request, source: Row, draft: Draft) -> None:
    """Refuse another type where the bucket promises that bytes match it: they were checked for the first one.

    Raises:
        StorageError: InvalidMimeType.
    """
    kind = draft.metadata.get("mimetype")
    if kind == (source["metadata"] or {}).get("mimetype"):
        return
    bucket = await find_bucket(request, draft.bucket_id)
    if is_checked(bucket["allowed_mime_types"]):
        raise invalid_type(f"the file is not {kind}")
