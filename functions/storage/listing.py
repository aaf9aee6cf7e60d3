"""The two listings of a bucket; a missing bucket, or no right to see anything, is an empty list."""

import base64
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request

from functions.core.database import Connection
from functions.storage import documents, schemas
from functions.storage.bodies import read_json
from functions.storage.errors import invalid_parameter
from functions.storage.rows import Row, shown
from functions.storage.service import Answer, service_of

router = APIRouter(tags=["list"])
MOST_ROWS = 1500
MOST_ROWS_V2 = 1000
FARTHEST = 2**31 - 1
_KINDS = {"name": "text", "created_at": "timestamptz", "updated_at": "timestamptz"}


@router.post("/object/list/{bucket}", openapi_extra=documents.body(schemas.LIST))
async def list_folder(request: Request, bucket: str) -> Answer:
    """One folder, by offset: its files, and its folders with null columns."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.LIST)
    prefix = asked["prefix"]
    if prefix and not prefix.endswith("/"):
        prefix += "/"
    sort = asked.get("sortBy", {})
    values = {
        "prefix": prefix,
        "bucket": bucket,
        "limit": min(asked.get("limit", 100), MOST_ROWS),
        "levels": prefix.count("/") + 1,
        "offset": min(asked.get("offset", 0), FARTHEST),
        "search": asked.get("search", ""),
        "column": sort.get("column", "name"),
        "order": sort.get("order", "asc"),
    }
    async with service.as_caller(request, caller, "storage.object.list") as db:
        found = await db.execute(
            "select * from storage.search(%(prefix)s, %(bucket)s, %(limit)s, %(levels)s, %(offset)s,"
            " %(search)s, %(column)s, %(order)s)",
            values,
        )
        rows = await found.fetchall()
    return Answer([shown(row) for row in rows])


@dataclass(frozen=True)
class Page:
    """What a page of the second listing starts after, and how it is ordered."""

    last: str
    order: str
    column: str
    moment: str

    def cursor(self) -> str:
        """Opaque to clients."""
        text = f"l:{self.last}\no:{self.order}\nc:{self.column}\na:{self.moment}"
        return base64.b64encode(text.encode()).decode()

    @classmethod
    def read(cls, asked: dict[str, Any]) -> "Page":
        """The page asked for; a cursor wins over `sortBy`.

        Raises:
            StorageError: InvalidParameter when the cursor is none of ours.
        """
        sort = asked.get("sortBy", {})
        if not asked.get("cursor"):
            return cls("", sort.get("order", "asc"), sort.get("column", "name"), "")
        try:
            text = base64.b64decode(asked["cursor"], validate=True).decode()
            parts = dict(line.split(":", 1) for line in text.split("\n"))
            page = cls(parts["l"], parts["o"], parts["c"], parts["a"])
            if page.moment:
                # Python reads forms and years that PostgreSQL does not.
                moment = datetime.fromisoformat(page.moment).astimezone(UTC)
                page = replace(page, moment=moment.isoformat())
        except (ValueError, KeyError, OverflowError) as error:
            raise invalid_parameter("Invalid Parameter cursor") from error
        if page.order not in ("asc", "desc") or page.column not in _KINDS or not page.last:
            raise invalid_parameter("Invalid Parameter cursor")
        return page


@router.post("/object/list-v2/{bucket}", openapi_extra=documents.body(schemas.LIST_V2))
async def list_page(request: Request, bucket: str) -> Answer:
    """Everything below a prefix, or one folder `with_delimiter`, by cursor."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.LIST_V2)
    page = Page.read(asked)
    limit = min(asked.get("limit", MOST_ROWS_V2), MOST_ROWS_V2)
    prefix = asked.get("prefix", "")
    async with service.as_caller(request, caller, "storage.object.list_v2") as db:
        select = _folder if asked.get("with_delimiter") else _everything
        rows = await select(db, bucket, prefix, limit + 1, page)
    more, rows = len(rows) > limit, rows[:limit]
    answer: dict[str, Any] = {
        "hasNext": more,
        "folders": [shown(row) for row in rows if row["id"] is None],
        "objects": [shown(row) for row in rows if row["id"] is not None],
    }
    if more:
        last = rows[-1]
        moment = last[page.column].isoformat() if page.column != "name" and last["id"] else ""
        answer["nextCursor"] = Page(last["name"], page.order, page.column, moment).cursor()
        answer["nextCursorKey"] = last.get("key", last["name"])
    return Answer(answer)


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
