"""admin-propose-correction: a super admin proposes to undo something; another administrator confirms it."""

from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import Field

from functions.edge.support import openapi
from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest, Reason

router = APIRouter()


class Proposal(AdministratorRequest):
    """What is to be undone, and why; `value` is the new package of `set_package`."""

    kind: Literal["void_deposit", "void_withdrawal", "set_package", "repair_rows"]
    target_id: UUID
    value: Annotated[Decimal, Field(ge=0, le=10_000_000, decimal_places=2)] | None = None
    reason: Reason


@router.post(
    "/admin-propose-correction",
    responses=openapi.linked(admin_confirm_correction={"correctionId": "$response.body#/correction/id"}),
)
async def admin_propose_correction(principal: Administrator, proposal: Proposal) -> Response:
    """Respond `{success, correction, audit_entries}`; nothing has changed yet."""
    return await principal.call(
        "public.propose_correction", proposal.kind, proposal.target_id, proposal.value, proposal.reason
    )
