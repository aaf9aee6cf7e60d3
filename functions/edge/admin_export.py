"""admin-export: a list as a CSV file, formula-safe, page by page so that memory stays flat.

All pages are of one snapshot, so that changes meanwhile neither lose a row nor show it twice. A file that
cannot be complete is an error, or broken off when it has begun: it never just ends.
"""

import csv
import io
from asyncio import Semaphore
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from psycopg.types.json import Jsonb
from pydantic import Field

from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.edge.support import openapi
from functions.edge.support.csv_cells import cell
from functions.edge.support.dependencies import Administrator, json_result
from functions.edge.support.schemas import AdministratorRequest
from functions.edge.support.services import SharedServices
from functions.edge.support.sql_functions import SqlFunction

router = APIRouter()
Row = dict[str, Any]

PAGE = 500
BUSY = ApiError(503, "try_again", "Other files are being made. Try again in a minute.")
TOO_MANY_ROWS = ApiError(400, "too_many", "Narrow the filter: a file has at most 10,000 rows of a search.")
# SQL function, the key of its rows, and the columns of the file.
LISTS: dict[str, tuple[SqlFunction, str, tuple[str, ...]]] = {
    "deposits": (
        "public.list_deposits",
        "items",
        (
            "created_at",
            "username",
            "email",
            "amount",
            "received_amount",
            "reference_number",
            "further_references",
            "status",
            "decided_at",
            "voided_at",
            "admin_notes",
        ),
    ),
    "withdrawals": (
        "public.list_withdrawals",
        "items",
        (
            "created_at",
            "username",
            "email",
            "amount",
            "wallet_address",
            "status",
            "decided_at",
            "payout_reference",
            "voided_at",
            "admin_notes",
        ),
    ),
    "transactions": (
        "public.list_transactions",
        "items",
        ("created_at", "username", "email", "transaction_type", "amount", "status", "reference_id"),
    ),
    "audit": (
        "public.list_audit",
        "entries",
        ("seq", "at", "actor_name", "action", "object_type", "object_id", "payload"),
    ),
}


class ExportRequest(AdministratorRequest):
    """Which list, with the filters that are on the screen."""

    list: Literal["deposits", "withdrawals", "transactions", "audit"]
    filters: dict[str, Annotated[str, Field(max_length=200)]] = Field(default_factory=dict)


async def exit_after_response() -> AsyncIterator[AsyncExitStack]:
    """Yield a stack that is closed after the last byte of the response, or when the client disconnects."""
    async with AsyncExitStack() as stack:
        yield stack


def export_limiter(services: SharedServices) -> Semaphore:
    """Return what each file that is being made holds."""
    return services.exports


ResponseStack = Annotated[AsyncExitStack, Depends(exit_after_response)]
ExportLimiter = Annotated[Semaphore, Depends(export_limiter)]


@router.post("/admin-export", response_class=StreamingResponse, responses=openapi.CSV)
async def admin_export(
    principal: Administrator, request: ExportRequest, stack: ResponseStack, limiter: ExportLimiter
) -> StreamingResponse:
    """Respond with the file; finance and super administrators, and everybody their own audit rows."""
    if limiter.locked():
        raise BUSY
    await stack.enter_async_context(limiter)
    async with principal.transaction() as connection:
        await json_result(connection, "public.note_export", request.list, Jsonb(request.filters))
    connection = await stack.enter_async_context(principal.transaction(snapshot=True))
    # The first page is read before the response begins, so that an error still has a status of its own.
    first = await _page(connection, request, 1)
    # Searches stop there; the audit log only stops counting.
    if first.get("more") and request.list != "audit":
        raise TOO_MANY_ROWS
    headers = {"content-disposition": f'attachment; filename="{request.list}.csv"'}
    file = _file(connection, request, first)
    return StreamingResponse(file, media_type="text/csv; charset=utf-8", headers=headers)


async def _file(connection: Connection, request: ExportRequest, page: Row) -> AsyncIterator[str]:
    _, key, columns = LISTS[request.list]
    yield _lines([columns])
    number, written = 1, 0
    while rows := page[key]:
        yield _lines([[cell(row.get(column)) for column in columns] for row in rows])
        number, written = number + 1, written + len(rows)
        if len(rows) < PAGE:
            break
        page = await _page(connection, request, number)
    if written < page["total"]:
        raise RuntimeError(f"{request.list}: the pages end after {written} of {page['total']} rows")


async def _page(connection: Connection, request: ExportRequest, number: int) -> Row:
    """Return one page of the list."""
    filters = {**request.filters, "page": number, "pageSize": PAGE}
    page: Row = orjson.loads(await json_result(connection, LISTS[request.list][0], Jsonb(filters)))
    return page


def _lines(rows: list[Any]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()
