"""Upload, update, and upload by signed URL."""

from typing import Annotated

from fastapi import APIRouter, Query

from functions.storage import openapi
from functions.storage.json_response import JsonResponse
from functions.storage.queries import Upload
from functions.storage.request_parsing import StorageRoute
from functions.storage.service import Context, RequestContext, SignedIn
from functions.storage.upload import store_upload

router = APIRouter(
    tags=["upload"],
    route_class=StorageRoute,
    responses=openapi.UPLOADED,
)


@router.put("/object/upload/sign/{bucket}/{path:path}", openapi_extra=openapi.FILE)
async def upload_signed(
    context: Context, bucket: str, path: str, token: Annotated[str, Query()]
) -> JsonResponse:
    """Store an object with a signed URL's token, which says whether an existing one is replaced."""
    claims = context.service.signer.verify(token, "upload", f"{bucket}/{path}")
    await context.check_account(claims)
    owner = str(claims["owner"]) if claims.get("owner") else None
    upsert = claims.get("upsert") is True
    await store_upload(context, Upload("storage.object.upload_signed", bucket, path, upsert, None, owner))
    return JsonResponse({"Key": f"{bucket}/{path}"})


@router.post("/object/{bucket}/{path:path}", openapi_extra=openapi.FILE)
async def upload(context: Context, principal: SignedIn, bucket: str, path: str) -> JsonResponse:
    """Store a new object; with `x-upsert: true` an existing one is replaced."""
    upsert = context.request.headers.get("x-upsert") == "true"
    return await _store(
        context, Upload("storage.object.upload", bucket, path, upsert, principal, principal.owner_id)
    )


@router.put("/object/{bucket}/{path:path}", openapi_extra=openapi.FILE)
async def update(context: Context, principal: SignedIn, bucket: str, path: str) -> JsonResponse:
    """Replace an object, or store it when there is none."""
    return await _store(
        context, Upload("storage.object.upload_update", bucket, path, True, principal, principal.owner_id)
    )


async def _store(context: RequestContext, upload: Upload) -> JsonResponse:
    row = await store_upload(context, upload)
    return JsonResponse({"Key": f"{upload.bucket_id}/{upload.name}", "Id": str(row["id"])})
