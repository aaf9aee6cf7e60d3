"""Remove objects: the rows first, as the caller, then their bytes."""

from fastapi import APIRouter, Request

from functions.storage import documents, schemas
from functions.storage.bodies import read_json
from functions.storage.errors import no_such_key
from functions.storage.rows import delete_rows, shown
from functions.storage.service import Answer, service_of

router = APIRouter(tags=["remove"])


@router.delete("/object/{bucket}", openapi_extra=documents.body(schemas.REMOVE))
async def remove(request: Request, bucket: str) -> Answer:
    """Remove objects by exact name; what is missing or hidden is left out of the answer."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.REMOVE)
    async with service.as_caller(request, caller, "storage.object.delete_many") as db:
        rows = await delete_rows(db, bucket, asked["prefixes"])
    await service.store.remove([row["version"] for row in rows])
    return Answer([shown(row) for row in rows])


@router.delete("/object/{bucket}/{path:path}", responses=documents.REMOVED)
async def remove_one(request: Request, bucket: str, path: str) -> Answer:
    """Remove one object; missing, hidden and not removable look alike."""
    service = service_of(request)
    caller = service.identify(request)
    async with service.as_caller(request, caller, "storage.object.delete") as db:
        rows = await delete_rows(db, bucket, [path])
    if not rows:
        raise no_such_key()
    await service.store.remove([row["version"] for row in rows])
    return Answer({"message": "Successfully deleted"})
