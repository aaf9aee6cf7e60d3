"""admin-approve-deposit: approve or reject a pending deposit, once."""

from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge import documents
from functions.edge.door import Administrator
from functions.edge.shapes import Decision, Reason, Shape

router = APIRouter()


class DepositDecision(Shape):
    """The decision; a rejection without a reason is recorded as 'No reason provided'."""

    deposit_id: UUID
    action: Decision
    reason: Reason | None = None


@router.post(
    "/admin-approve-deposit",
    responses=documents.then(
        admin_approve_deposit={"depositId": "$request.body#/depositId"},
        admin_propose_correction={"kind": "void_deposit", "targetId": "$request.body#/depositId"},
    ),
)
async def admin_approve_deposit(caller: Administrator, decision: DepositDecision) -> Response:
    """Answer `{success, deposit}`; 409 `already_decided` says who decided and when."""
    return await caller.call("public.decide_deposit", decision.deposit_id, decision.action, decision.reason)
