"""admin-list-deposits: deposits with their members, for administrators.

An empty body answers all pending rows and the newest others, together at most 5,000.
"""

from fastapi import APIRouter, Response
from psycopg.types.json import Jsonb

from functions.edge import documents
from functions.edge.door import Administrator
from functions.edge.shapes import ListRequest

router = APIRouter()


@router.post(
    "/admin-list-deposits",
    responses=documents.then(
        admin_approve_deposit={"depositId": "$response.body#/items/0/id", "action": "approve"},
        admin_get_receipt={"receiptUrl": "$response.body#/items/0/receipt_url"},
    ),
)
async def admin_list_deposits(caller: Administrator, request: ListRequest | None = None) -> Response:
    """Answer `{items, total, counts}`; any administrator may read."""
    filters = request.filters() if request else {}
    return await caller.call("public.list_deposits", Jsonb(filters))
