"""admin-list-deposits: deposits with their members, for administrators.

An empty body returns all pending rows and the newest others, together at most 5,000.
"""

from fastapi import APIRouter, Response
from psycopg.types.json import Jsonb

from functions.edge.support import openapi
from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import ListRequest

router = APIRouter()


@router.post(
    "/admin-list-deposits",
    responses=openapi.linked(
        admin_approve_deposit={"depositId": "$response.body#/items/0/id", "action": "approve"},
        admin_get_receipt={"receiptUrl": "$response.body#/items/0/receipt_url"},
    ),
)
async def admin_list_deposits(principal: Administrator, request: ListRequest | None = None) -> Response:
    """Respond `{items, total, counts}`; any administrator may read."""
    filters = request.filters() if request else {}
    return await principal.call("public.list_deposits", Jsonb(filters))
