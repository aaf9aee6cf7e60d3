"""Delete objects: the rows first, with the principal's rights, then their bytes."""

from fastapi import APIRouter

from functions.storage import openapi
from functions.storage.errors import no_such_key
from functions.storage.json_response import JsonResponse, json_row
from functions.storage.queries import delete_rows
from functions.storage.request_parsing import StorageRoute
from functions.storage.schemas import Removal
from functions.storage.service import Context, SignedIn
from functions.storage.validation import is_path

router = APIRouter(tags=["remove"], route_class=StorageRoute)


@router.delete("/object/{bucket}")
async def delete_many(context: Context, principal: SignedIn, bucket: str, asked: Removal) -> JsonResponse:
    """Delete objects by exact name; what is missing or hidden is left out of the response."""
    names = [name for name in asked.prefixes if is_path(name)]
    async with context.transaction_as(principal, "storage.object.delete_many") as db:
        rows = await delete_rows(db, bucket, names)
    await context.service.store.remove([row["version"] for row in rows])
    return JsonResponse([json_row(row) for row in rows])


@router.delete("/object/{bucket}/{path:path}", responses=openapi.DELETED)
async def delete_one(context: Context, principal: SignedIn, bucket: str, path: str) -> JsonResponse:
    """Delete one object; missing, hidden and not deletable look alike."""
    async with context.transaction_as(principal, "storage.object.delete") as db:
        rows = await delete_rows(db, bucket, [path])
    if not rows:
        raise no_such_key()
    await context.service.store.remove([row["version"] for row in rows])
    return JsonResponse({"message": "Successfully deleted"})
