"""admin-update-subscription: suspend a member's bot, or let it run again."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest, Reason

router = APIRouter()


class SubscriptionChange(AdministratorRequest):
    """The new status and why; the member reads the reason."""

    subscription_id: UUID
    status: Literal["active", "suspended"]
    reason: Reason


@router.post("/admin-update-subscription")
async def admin_update_subscription(principal: Administrator, change: SubscriptionChange) -> Response:
    """Respond `{success, subscription}`; any administrator may."""
    return await principal.call(
        "public.update_subscription", change.subscription_id, change.status, change.reason
    )
