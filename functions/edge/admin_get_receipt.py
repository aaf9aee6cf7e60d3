"""admin-get-receipt: let an administrator look at a receipt for a minute."""

from typing import Annotated

import orjson
from fastapi import APIRouter
from pydantic import StringConstraints

from functions.edge.support.dependencies import Administrator, json_result
from functions.edge.support.schemas import AdministratorRequest
from functions.edge.support.services import SharedServices

router = APIRouter()


class ReceiptRequest(AdministratorRequest):
    """The address that the deposit row holds; it is parsed, never opened."""

    receipt_url: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


@router.post("/admin-get-receipt")
async def admin_get_receipt(
    principal: Administrator, request: ReceiptRequest, services: SharedServices
) -> dict[str, str]:
    """Respond `{signedUrl}`, valid for 60 s; only a receipt of an existing deposit is signed."""
    async with principal.transaction() as connection:
        found = orjson.loads(await json_result(connection, "public.find_receipt", request.receipt_url))
    return {"signedUrl": await services.receipts.sign(found["bucket"], found["name"])}
