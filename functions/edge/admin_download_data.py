"""admin-download-data: everything that is stored about a member who asked for it, also a blocked one."""

from uuid import UUID

import orjson
from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from functions.edge.support import openapi
from functions.edge.support.dependencies import Administrator, json_result
from functions.edge.support.member_data import respond_with_data
from functions.edge.support.schemas import AdministratorRequest, Reason
from functions.edge.support.services import SharedServices

router = APIRouter()


class DataRequest(AdministratorRequest):
    """Whose data, and how the member asked for them."""

    profile_id: UUID
    reason: Reason


@router.post("/admin-download-data", response_class=StreamingResponse, responses=openapi.ZIP)
async def admin_download_data(
    principal: Administrator, request: DataRequest, services: SharedServices
) -> StreamingResponse:
    """Respond with the file; finance and super administrators. The member is notified."""
    async with principal.transaction() as connection:
        text = await json_result(
            connection, "public.start_member_data_download", request.profile_id, request.reason
        )
    return await respond_with_data(principal, services, orjson.loads(text)["user_id"])
