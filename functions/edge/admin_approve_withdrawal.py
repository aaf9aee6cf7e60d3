"""admin-approve-withdrawal: approve or reject a pending withdrawal, once; note its payout once."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import StringConstraints

from functions.edge.support import openapi
from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest, Decision, Reason

router = APIRouter()


class WithdrawalDecision(AdministratorRequest):
    """A decision; approving records that it will be paid, `payoutReference` how it was.

    A reference of another withdrawal is 409 `payout_reference_used` unless `sharedPayout` confirms it; a
    payout with flags, or to a member who is blocked or on hold, is 409 `payout_warned` unless `payoutReason`
    says why.
    """

    withdrawal_id: UUID
    action: Decision
    reason: Reason | None = None
    payout_reference: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] | None = None
    shared_payout: bool = False
    payout_reason: Reason | None = None


@router.post(
    "/admin-approve-withdrawal",
    responses=openapi.linked(admin_approve_withdrawal={"withdrawalId": "$request.body#/withdrawalId"}),
)
async def admin_approve_withdrawal(principal: Administrator, decision: WithdrawalDecision) -> Response:
    """Respond `{success, withdrawal, audit_entries}`; 'Insufficient available balance' if not covered."""
    return await principal.call(
        "public.decide_withdrawal",
        decision.withdrawal_id,
        decision.action,
        decision.reason,
        decision.payout_reference,
        decision.shared_payout,
        decision.payout_reason,
    )
