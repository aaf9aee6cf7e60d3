"""The two listings of a bucket; a missing bucket, or no right to see anything, is an empty list."""

import base64
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter

from functions.core.database import Connection
from functions.storage.errors import invalid_parameter
from functions.storage.json_response import JsonResponse, json_row
from functions.storage.queries import Row
from functions.storage.request_parsing import StorageRoute
from functions.storage.schemas import FARTHEST, MOST_ROWS_V2, ListQuery, ListQueryV2
from functions.storage.service import Context, SignedIn
from functions.storage.validation import begins_path

router = APIRouter(tags=["list"], route_class=StorageRoute)
MOST_ROWS = 1500
_COLUMNS = ("name", "created_at", "updated_at")


@router.post("/object/list/{bucket}")
async def list_folder(context: Context, principal: SignedIn, bucket: str, asked: ListQuery) -> JsonResponse:
    """List one folder, by offset: its files, and its folders with null columns."""
    prefix = asked.prefix
    if prefix and not prefix.endswith("/"):
        prefix += "/"
    if not begins_path(prefix + asked.search):
        return JsonResponse([])
    values = {
        "prefix": prefix,
        "bucket": bucket,
        "limit": min(asked.limit, MOST_ROWS),
        "levels": prefix.count("/") + 1,
        "offset": min(asked.offset, FARTHEST),
        "search": asked.search,
        "column": asked.sort_by.column,
        "order": asked.sort_by.order,
    }
    async with context.transaction_as(principal, "storage.object.list") as db:
        found = await db.execute(
            "select * from storage.search(%(prefix)s, %(bucket)s, %(limit)s, %(levels)s, %(offset)s,"
            " %(search)s, %(column)s, %(order)s)",
            values,
        )
        rows = await found.fetchall()
    return JsonResponse([json_row(row) for row in rows])


@dataclass(frozen=True)
class Page:
    """The place after which a page of the second listing begins, and its order."""

    last: str
    order: str
    column: str
    moment: str

    def cursor(self) -> str:
        """Return the cursor as base64 text, which clients send back unread."""
        text = f"l:{self.last}\no:{self.order}\nc:{self.column}\na:{self.moment}"
        return base64.b64encode(text.encode()).decode()

    @classmethod
    def read(cls, asked: ListQueryV2) -> "Page":
        """Return the page asked for; a cursor wins over `sortBy`.

        Raises:
            ApiError: InvalidParameter when the cursor is none of ours.
        """
        if not asked.cursor:
            return cls("", asked.sort_by.order, asked.sort_by.column, "")
        try:
            text = base64.b64decode(asked.cursor, validate=True).decode()
            parts = dict(line.split(":", 1) for line in text.split("\n"))
            page = cls(parts["l"], parts["o"], parts["c"], parts["a"])
            if page.moment:
                # Python reads forms and years that PostgreSQL does not.
                moment = datetime.fromisoformat(page.moment).astimezone(UTC)
                page = replace(page, moment=moment.isoformat())
        except (ValueError, KeyError, OverflowError) as error:
            raise invalid_parameter("Invalid Parameter cursor") from error
        if page.order not in ("asc", "desc") or page.column not in _COLUMNS or not page.last:
            raise invalid_parameter("Invalid Parameter cursor")
        return page


@router.post("/object/list-v2/{bucket}")
async def list_page(context: Context, principal: SignedIn, bucket: str, asked: ListQueryV2) -> JsonResponse:
    """List everything below a prefix, or one folder `with_delimiter`, by cursor."""
    page = Page.read(asked)
    limit = min(asked.limit, MOST_ROWS_V2)
    async with context.transaction_as(principal, "storage.object.list_v2") as db:
        select = _folder if asked.with_delimiter else _everything
        rows = await select(db, bucket, asked.prefix, limit + 1, page) if begins_path(asked.prefix) else []
    more, rows = len(rows) > limit, rows[:limit]
    body: dict[str, Any] = {
        "hasNext": more,
        "folders": [json_row(row) for row in rows if row["id"] is None],
        "objects": [json_row(row) for row in rows if row["id"] is not None],
    }
    if more:
        last = rows[-1]
        moment = last[page.column].isoformat() if page.column != "name" and last[page.column] else ""
        body["nextCursor"] = Page(last["name"], page.order, page.column, moment).cursor()
        body["nextCursorKey"] = last.get("key", last["name"])
    return JsonResponse(body)


async def _folder(db: Connection, bucket: str, prefix: str, limit: int, page: Page) -> list[Row]:
    found = await db.execute(
        "select * from storage.search_v2(%s, %s, %s, %s, %s, %s, %s, %s)",
        [prefix, bucket, limit, prefix.count("/") + 1, page.last, page.order, page.column, page.moment],
    )
    return await found.fetchall()


async def _everything(db: Connection, bucket: str, prefix: str, limit: int, page: Page) -> list[Row]:
    way, beyond = ("asc", ">") if page.order == "asc" else ("desc", "<")
    by_name = page.column == "name"
    columns = ['name collate "C"'] if by_name else [page.column, 'name collate "C"']
    after = [page.last] if by_name else [page.moment or "-infinity", page.last]
    places = ["%s"] if by_name else ["%s::timestamptz", "%s"]
    condition = f"and ({', '.join(columns)}) {beyond} ({', '.join(places)})" if page.last else ""
    found = await db.execute(
        "select id, name, metadata, updated_at, created_at, last_accessed_at from storage.objects"
        f' where bucket_id = %s and name collate "C" >= %s and starts_with(name, %s) {condition}'
        f" order by {', '.join(f'{column} {way}' for column in columns)} limit %s",
        [bucket, prefix, prefix, *(after if page.last else []), limit],
    )
    return await found.fetchall()
