"""Signed URLs: made for one object, or many, or for one upload."""

from functools import partial
from typing import Any

from fastapi import APIRouter

from functions.storage.errors import no_such_key
from functions.storage.json_response import JsonResponse
from functions.storage.queries import Upload, check_write, select_object
from functions.storage.request_parsing import StorageRoute
from functions.storage.schemas import IgnoredObject, SignedUrl, SignedUrls
from functions.storage.service import Context, Principal, Service, SignedIn
from functions.storage.upload import claimed_metadata
from functions.storage.validation import check_key, is_path

router = APIRouter(tags=["signed URLs"], route_class=StorageRoute)
# A person's signed URL works at most this long.
LONGEST_SECONDS = 24 * 60 * 60
_HIDDEN = "Either the object does not exist or you do not have access to it"


@router.post("/object/sign/{bucket}")
async def sign_many(context: Context, principal: SignedIn, bucket: str, asked: SignedUrls) -> JsonResponse:
    """Make URLs for several objects, in the order asked; a null URL for what the principal may not see."""
    async with context.transaction_as(principal, "storage.object.sign_many") as db:
        found = await db.execute(
            "select name from storage.objects where bucket_id = %s and name = any(%s)",
            [bucket, [path for path in asked.paths if is_path(path)]],
        )
        seen = {row["name"] for row in await found.fetchall()}

    url = partial(_url, context.service, principal, bucket, asked=asked)

    def signed(path: str) -> dict[str, Any]:
        if path not in seen:
            return {"error": _HIDDEN, "path": path, "signedURL": None}
        return {"error": None, "path": path, "signedURL": url(path)}

    return JsonResponse([signed(path) for path in asked.paths])


@router.post("/object/sign/{bucket}/{path:path}")
async def sign(
    context: Context, principal: SignedIn, bucket: str, path: str, asked: SignedUrl
) -> JsonResponse:
    """Make a URL that downloads one object, for as long as asked; needs the right to read it."""
    check_key(path)
    async with context.transaction_as(principal, "storage.object.sign") as db:
        if await select_object(db, bucket, path) is None:
            raise no_such_key()
    return JsonResponse({"signedURL": _url(context.service, principal, bucket, path, asked)})


@router.post("/object/upload/sign/{bucket}/{path:path}")
async def sign_upload(
    context: Context, principal: SignedIn, bucket: str, path: str, _body: IgnoredObject = None
) -> JsonResponse:
    """Make a URL that uploads one object, if the principal may upload it; the name is checked on use."""
    upsert = context.request.headers.get("x-upsert") == "true"
    claimed = claimed_metadata(context.request, "application/json")
    operation = "storage.object.sign_upload_url"
    upload = Upload(operation, bucket, path, upsert, principal, principal.owner_id, claimed)
    await check_write(context, principal, upload)
    lifetime = context.service.settings.upload_signed_url_expiration_time
    token = context.service.signer.sign(
        "upload", f"{bucket}/{path}", lifetime, upsert=upsert, **_owner(principal)
    )
    return JsonResponse({"url": f"/object/upload/sign/{bucket}/{path}?token={token}", "token": token})


def _owner(principal: Principal) -> dict[str, str]:
    """Return the claim that names whose account the URL ends with; the service key has none."""
    return {"owner": principal.owner_id} if principal.owner_id else {}


def _url(service: Service, principal: Principal, bucket: str, path: str, asked: SignedUrl) -> str:
    """Return a URL relative to where this service is mounted; a person's is shortened to the longest life."""
    seconds = asked.expires_in if principal.is_service else min(asked.expires_in, LONGEST_SECONDS)
    token = service.signer.sign("download", f"{bucket}/{path}", seconds, **_owner(principal))
    return f"/object/sign/{bucket}/{path}?token={token}"
