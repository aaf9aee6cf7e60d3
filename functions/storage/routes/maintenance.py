"""Health, and garbage collection on demand."""

from fastapi import APIRouter, Response

from functions.core.database import require_database
from functions.storage.errors import service_role_only
from functions.storage.garbage_collector import collect_garbage
from functions.storage.json_response import JsonResponse
from functions.storage.service import Context, SignedIn

router = APIRouter(tags=["maintenance"])


@router.get("/status", response_class=Response)
async def status() -> Response:
    """Respond while the process is there."""
    return Response(status_code=200)


@router.get("/health")
async def health(context: Context) -> JsonResponse:
    """Return 200 while the database answers, 503 while it does not."""
    await require_database(context.service.pool)
    return JsonResponse({"healthy": True})


@router.post("/orphans/sweep")
async def sweep(context: Context, principal: SignedIn) -> JsonResponse:
    """Collect garbage at once and tell how much was removed; for the service key only."""
    if not principal.is_service:
        raise service_role_only()
    return JsonResponse({"removed": await collect_garbage(context.service)})
