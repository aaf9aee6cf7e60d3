"""admin-get-receipt: let an administrator look at a receipt for a minute."""

from typing import Annotated

import orjson
from fastapi import APIRouter
from pydantic import StringConstraints

from functions.edge.door import Administrator, Shared, json_of
from functions.edge.shapes import Shape

router = APIRouter()


class ReceiptRequest(Shape):
    """The address that the deposit row holds; it is parsed, never opened."""

    receipt_url: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


@router.post("/admin-get-receipt")
async def admin_get_receipt(
    caller: Administrator, request: ReceiptRequest, services: Shared
) -> dict[str, str]:
    """Answer `{signedUrl}`, valid for 60 s; only a receipt of an existing deposit is signed."""
    async with caller.transaction() as connection:
        found = orjson.loads(await json_of(connection, "public.find_receipt", request.receipt_url))
    return {"signedUrl": await services.receipts.sign(found["bucket"], found["name"])}
