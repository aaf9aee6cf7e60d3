"""admin-approve-deposit: approve or reject a pending deposit, once, or ask its member for the rest."""

from decimal import Decimal
from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge.support import openapi
from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest, Reason

router = APIRouter()


class DepositDecision(AdministratorRequest):
    """A decision; a rejection without a reason is recorded as 'No reason provided'.

    `receivedAmount` is all that arrived: an approval may have it, `ask_rest` needs it.
    """

    deposit_id: UUID
    action: Literal["approve", "reject", "ask_rest"]
    reason: Reason | None = None
    # The database says which amounts there are, in words.
    received_amount: Decimal | None = None


@router.post(
    "/admin-approve-deposit",
    responses=openapi.linked(
        admin_approve_deposit={"depositId": "$request.body#/depositId"},
        admin_propose_correction={"kind": "void_deposit", "targetId": "$request.body#/depositId"},
    ),
)
async def admin_approve_deposit(principal: Administrator, decision: DepositDecision) -> Response:
    """Respond `{success, deposit, audit_entries}`; 409 `already_decided` says who decided and when.

    409 `amount_differs`: too much or too little arrived; the deposit stays pending. `ask_rest` adds `rest`.
    """
    return await principal.call(
        "public.decide_deposit",
        decision.deposit_id,
        decision.action,
        decision.reason,
        decision.received_amount,
    )
