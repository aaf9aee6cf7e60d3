"""admin-export: a list as a CSV file, formula-safe, page by page so that memory stays flat."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from psycopg.types.json import Jsonb
from pydantic import Field

from functions.edge import documents
from functions.edge.door import Administrator, Caller, json_of
from functions.edge.shapes import Shape

router = APIRouter()
Row = dict[str, Any]

PAGE = 500
MAX_PAGES = 400
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# SQL function, the key of its rows, and the columns of the file.
LISTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "deposits": (
        "public.list_deposits",
        "items",
        (
            "created_at",
            "username",
            "email",
            "amount",
            "reference_number",
            "status",
            "decided_at",
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


class ExportRequest(Shape):
    """Which list, with the filters that are on the screen."""

    list: Literal["deposits", "withdrawals", "transactions", "audit"]
    filters: dict[str, Annotated[str, Field(max_length=200)]] = Field(default_factory=dict)


@router.post("/admin-export", response_class=StreamingResponse, responses=documents.CSV)
async def admin_export(caller: Administrator, request: ExportRequest) -> StreamingResponse:
    """Answer the file; finance and super administrators, and everybody their own audit rows."""
    async with caller.transaction() as connection:
        await json_of(connection, "public.note_export", request.list, Jsonb(request.filters))
    # The first page is read before anything is answered, so that a refusal is still a refusal.
    first = await _page(caller, request, 1)
    headers = {"content-disposition": f'attachment; filename="{request.list}.csv"'}
    file = _file(caller, request, first)
    return StreamingResponse(file, media_type="text/csv; charset=utf-8", headers=headers)


async def _file(caller: Caller, request: ExportRequest, first: list[Row]) -> AsyncIterator[str]:
    columns = LISTS[request.list][2]
    yield _lines([columns])
    rows = first
    for number in range(2, MAX_PAGES + 2):
        yield _lines([[cell(row.get(column)) for column in columns] for row in rows])
        if len(rows) < PAGE:
            return
        rows = await _page(caller, request, number)


async def _page(caller: Caller, request: ExportRequest, number: int) -> list[Row]:
    function, key, _ = LISTS[request.list]
    filters = {**request.filters, "page": number, "pageSize": PAGE}
    async with caller.transaction() as connection:
        rows: list[Row] = orjson.loads(await json_of(connection, function, Jsonb(filters)))[key]
    return rows


def cell(value: Any) -> str:
    """A value as a cell: a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal() and text.isascii()


def _lines(rows: list[Any]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()
