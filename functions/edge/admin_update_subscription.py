"""admin-update-subscription: suspend a member's bot, or let it run again."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Response

from functions.edge.door import Administrator
from functions.edge.shapes import Reason, Shape

router = APIRouter()


class SubscriptionChange(Shape):
    """The new status and why; the member reads the reason."""

    subscription_id: UUID
    status: Literal["active", "suspended"]
    reason: Reason


@router.post("/admin-update-subscription")
async def admin_update_subscription(caller: Administrator, change: SubscriptionChange) -> Response:
    """Answer `{success, subscription}`; any administrator may."""
    return await caller.call(
        "public.update_subscription", change.subscription_id, change.status, change.reason
    )
