"""admin-confirm-correction: another administrator lets a proposed correction take effect."""

from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest

router = APIRouter()


class Confirmation(AdministratorRequest):
    """The correction to confirm."""

    correction_id: UUID


@router.post("/admin-confirm-correction")
async def admin_confirm_correction(principal: Administrator, confirmation: Confirmation) -> Response:
    """Respond `{success, correction, audit_entries}`; never by the administrator who proposed it."""
    return await principal.call("public.confirm_correction", confirmation.correction_id)
