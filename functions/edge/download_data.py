"""download-data: everything that is stored about a member, for the member, as a ZIP file of CSV and JSON."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from functions.edge.support import openapi
from functions.edge.support.dependencies import Member, json_result
from functions.edge.support.member_data import respond_with_data
from functions.edge.support.services import SharedServices

router = APIRouter()


@router.post("/download-data", response_class=StreamingResponse, responses=openapi.ZIP)
async def download_data(principal: Member, services: SharedServices) -> StreamingResponse:
    """Respond with the file; needs the password less than ten minutes ago, or the second factor."""
    async with principal.service_transaction() as connection:
        await json_result(connection, "edge.start_data_download", principal.id)
    return await respond_with_data(principal, services, principal.id)
