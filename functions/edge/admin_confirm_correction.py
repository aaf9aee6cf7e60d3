"""admin-confirm-correction: another administrator lets a proposed correction take effect."""

from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge.door import Administrator
from functions.edge.shapes import Shape

router = APIRouter()


class Confirmation(Shape):
    """Which correction."""

    correction_id: UUID


@router.post("/admin-confirm-correction")
async def admin_confirm_correction(caller: Administrator, confirmation: Confirmation) -> Response:
    """Answer `{success, correction}`; never by the administrator who proposed it."""
    return await caller.call("public.confirm_correction", confirmation.correction_id)
