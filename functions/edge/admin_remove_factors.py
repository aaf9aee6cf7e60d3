"""admin-remove-factors: a super admin helps a member who has lost every second device.

SQL ends the sign-ins, holds withdrawals for a day and audits; the auth service removes the factors.
"""

from uuid import UUID

import orjson
from fastapi import APIRouter

from functions.edge.support.dependencies import Administrator, json_result
from functions.edge.support.schemas import AdministratorRequest, Reason
from functions.edge.support.services import SharedServices

router = APIRouter()


class FactorRemoval(AdministratorRequest):
    """Whose factors, and how it was made sure who asks."""

    profile_id: UUID
    reason: Reason


@router.post("/admin-remove-factors")
async def admin_remove_factors(
    principal: Administrator, removal: FactorRemoval, services: SharedServices
) -> dict[str, bool]:
    """Respond `{success}`; safe to repeat when the auth service did not respond."""
    async with principal.transaction() as connection:
        text = await json_result(
            connection, "public.start_factor_removal", removal.profile_id, removal.reason
        )
    await services.auth.remove_factors(orjson.loads(text)["user_id"])
    return {"success": True}
