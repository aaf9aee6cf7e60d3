"""admin-approve-deposit: approve or reject a pending deposit, once."""

from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge.support import openapi
from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest, Decision, Reason

router = APIRouter()


class DepositDecision(AdministratorRequest):
    """A decision; a rejection without a reason is recorded as 'No reason provided'."""

    deposit_id: UUID
    action: Decision
    reason: Reason | None = None


@router.post(
    "/admin-approve-deposit",
    responses=openapi.linked(
        admin_approve_deposit={"depositId": "$request.body#/depositId"},
        admin_propose_correction={"kind": "void_deposit", "targetId": "$request.body#/depositId"},
    ),
)
async def admin_approve_deposit(principal: Administrator, decision: DepositDecision) -> Response:
    """Respond `{success, deposit, audit_entries}`; 409 `already_decided` says who decided and when."""
    return await principal.call(
        "public.decide_deposit", decision.deposit_id, decision.action, decision.reason
    )
