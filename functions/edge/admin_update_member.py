"""admin-update-member: a member's account status and the administrators' notes."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, StringConstraints

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest, Reason

router = APIRouter()


class MemberChange(AdministratorRequest):
    """A change; a change of status needs a reason, which the member reads. Columns have their own names."""

    model_config = ConfigDict(alias_generator=None)

    profile_id: Annotated[UUID, Field(alias="profileId")]
    account_status: Literal["active", "pending", "suspended", "disabled"] | None = None
    admin_notes: Annotated[str, StringConstraints(max_length=4000)] | None = None
    reason: Reason | None = None


@router.post("/admin-update-member")
async def admin_update_member(principal: Administrator, change: MemberChange) -> Response:
    """Respond `{success, profile}`; who may do what is decided by role."""
    return await principal.call(
        "public.update_member", change.profile_id, change.account_status, change.admin_notes, change.reason
    )
