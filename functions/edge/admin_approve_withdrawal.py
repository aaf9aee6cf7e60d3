"""admin-approve-withdrawal: approve or reject a pending withdrawal, once; note its payout once."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import StringConstraints

from functions.edge import documents
from functions.edge.door import Administrator
from functions.edge.shapes import Decision, Reason, Shape

router = APIRouter()


class WithdrawalDecision(Shape):
    """The decision; approving records that it will be paid, `payoutReference` how it was."""

    withdrawal_id: UUID
    action: Decision
    reason: Reason | None = None
    payout_reference: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] | None = None


@router.post(
    "/admin-approve-withdrawal",
    responses=documents.then(admin_approve_withdrawal={"withdrawalId": "$request.body#/withdrawalId"}),
)
async def admin_approve_withdrawal(caller: Administrator, decision: WithdrawalDecision) -> Response:
    """Answer `{success, withdrawal}`; refuse with 'Insufficient available balance' when it is not covered."""
    return await caller.call(
        "public.decide_withdrawal",
        decision.withdrawal_id,
        decision.action,
        decision.reason,
        decision.payout_reference,
    )
