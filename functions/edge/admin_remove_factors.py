"""admin-remove-factors: a super admin helps a member who has lost every second device.

SQL ends the sign-ins, holds withdrawals for a day and audits; the auth service removes the factors.
"""

from uuid import UUID

import orjson
from fastapi import APIRouter

from functions.edge.door import Administrator, Shared, json_of
from functions.edge.shapes import Reason, Shape

router = APIRouter()


class FactorRemoval(Shape):
    """Whose factors, and how it was made sure who asks."""

    profile_id: UUID
    reason: Reason


@router.post("/admin-remove-factors")
async def admin_remove_factors(
    caller: Administrator, removal: FactorRemoval, services: Shared
) -> dict[str, bool]:
    """Answer `{success}`; safe to repeat when the auth service did not answer."""
    async with caller.transaction() as connection:
        text = await json_of(connection, "public.start_factor_removal", removal.profile_id, removal.reason)
    await services.factors.remove_all(orjson.loads(text)["user_id"])
    return {"success": True}
