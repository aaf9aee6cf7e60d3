"""close-account: a member leaves.

SQL decides whether; the auth service deletes the user, and the profile is closed with it.
"""

from fastapi import APIRouter
from pydantic import BaseModel

from functions.edge.support.dependencies import Member, json_result
from functions.edge.support.services import SharedServices

router = APIRouter()


class Closing(BaseModel):
    """Confirmed when the member was shown what is given up."""

    confirmed: bool = False


@router.post("/close-account")
async def close_account(principal: Member, closing: Closing, services: SharedServices) -> dict[str, bool]:
    """Respond `{success}`; 409 `money_left` with the figures while money is left and that is not confirmed.

    Safe to repeat: once it is closed the session has ended, 401 `session_ended`.
    """
    async with principal.service_transaction() as connection:
        await json_result(connection, "edge.start_closing", principal.id, closing.confirmed)
    await services.auth.delete_user(principal.id)
    return {"success": True}
