"""admin-close-account: a super admin closes the account of a member who asked for it."""

from uuid import UUID

import orjson
from fastapi import APIRouter

from functions.edge.support.dependencies import Administrator, json_result
from functions.edge.support.schemas import AdministratorRequest, Reason
from functions.edge.support.services import SharedServices

router = APIRouter()


class MemberClosing(AdministratorRequest):
    """Whose account, how the member asked for it, and that what is given up was said."""

    profile_id: UUID
    reason: Reason
    confirmed: bool = False


@router.post("/admin-close-account")
async def admin_close_account(
    principal: Administrator, closing: MemberClosing, services: SharedServices
) -> dict[str, bool]:
    """Respond `{success}`, for a closed account with `already`; 409 `money_left` as for the member."""
    async with principal.transaction() as connection:
        text = await json_result(
            connection, "public.start_member_closing", closing.profile_id, closing.reason, closing.confirmed
        )
    started = orjson.loads(text)
    if started.get("already"):
        return {"success": True, "already": True}
    await services.auth.delete_user(started["user_id"])
    return {"success": True}
