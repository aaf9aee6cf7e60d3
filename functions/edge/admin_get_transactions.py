"""admin-get-transactions: every movement of money, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Response
from psycopg.types.json import Jsonb
from pydantic import StringConstraints

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import ListRequest

router = APIRouter()


class TransactionsRequest(ListRequest):
    """The filters of every list, and the kind of movement."""

    type: Annotated[str, StringConstraints(max_length=20)] | None = None


@router.post("/admin-get-transactions")
async def admin_get_transactions(
    principal: Administrator, request: TransactionsRequest | None = None
) -> Response:
    """Respond `{transactions, total, cards}`; any administrator may read."""
    filters = Jsonb(request.filters() if request else {})
    async with principal.transaction() as connection:
        # Clients read the rows under this name (specification S26.3).
        cursor = await connection.execute(
            "select ((l - 'items') || jsonb_build_object('transactions', l -> 'items'))::text as result "
            "from public.list_transactions(%s) as l",
            [filters],
        )
        row = await cursor.fetchone() or {}
    return Response(row["result"], media_type="application/json")
