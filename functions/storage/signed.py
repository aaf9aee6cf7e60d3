"""Signed URLs: made for one object, or many, or for one upload."""

from typing import Any

from fastapi import APIRouter, Request

from functions.storage import documents, schemas
from functions.storage.bodies import read_json
from functions.storage.errors import no_such_key
from functions.storage.names import check_key
from functions.storage.rows import Draft, select_object, try_write
from functions.storage.service import Answer, service_of
from functions.storage.uploads import claimed_metadata

router = APIRouter(tags=["signed URLs"])
_HIDDEN = "Either the object does not exist or you do not have access to it"


@router.post("/object/sign/{bucket}", openapi_extra=documents.body(schemas.SIGN_MANY))
async def sign_many(request: Request, bucket: str) -> Answer:
    """URLs for several objects, in the order asked; a null URL for what the caller may not see."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.SIGN_MANY)
    async with service.as_caller(request, caller, "storage.object.sign_many") as db:
        found = await db.execute(
            "select name from storage.objects where bucket_id = %s and name = any(%s)",
            [bucket, asked["paths"]],
        )
        seen = {row["name"] for row in await found.fetchall()}

    def answer(path: str) -> dict[str, Any]:
        if path not in seen:
            return {"error": _HIDDEN, "path": path, "signedURL": None}
        return {"error": None, "path": path, "signedURL": _url(request, bucket, path, asked["expiresIn"])}

    return Answer([answer(path) for path in asked["paths"]])


@router.post("/object/sign/{bucket}/{path:path}", openapi_extra=documents.body(schemas.SIGN))
async def sign(request: Request, bucket: str, path: str) -> Answer:
    """A URL that downloads one object, for as long as asked; needs the right to read it."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.SIGN)
    check_key(path)
    async with service.as_caller(request, caller, "storage.object.sign") as db:
        if await select_object(db, bucket, path) is None:
            raise no_such_key()
    return Answer({"signedURL": _url(request, bucket, path, asked["expiresIn"])})


@router.post(
    "/object/upload/sign/{bucket}/{path:path}", openapi_extra=documents.body(schemas.NOTHING, required=False)
)
async def sign_upload(request: Request, bucket: str, path: str) -> Answer:
    """A URL that uploads one object, if the caller may upload it himself; the name is checked on use."""
    service = service_of(request)
    caller = service.identify(request)
    await read_json(request, schemas.NOTHING, optional=True)
    upsert = request.headers.get("x-upsert") == "true"
    draft = Draft(bucket, path, caller.owner_id, claimed_metadata(request, "application/json"), {})
    await try_write(request, caller, "storage.object.sign_upload_url", draft, upsert)
    owner = {"owner": caller.owner_id} if caller.owner_id else {}
    lifetime = service.settings.upload_signed_url_expiration_time
    token = service.signer.sign("upload", f"{bucket}/{path}", lifetime, upsert=upsert, **owner)
    return Answer({"url": f"/object/upload/sign/{bucket}/{path}?token={token}", "token": token})


def _url(request: Request, bucket: str, path: str, lifetime: int) -> str:
    """Relative to where this service is mounted."""
    token = service_of(request).signer.sign("download", f"{bucket}/{path}", lifetime)
    return f"/object/sign/{bucket}/{path}?token={token}"
