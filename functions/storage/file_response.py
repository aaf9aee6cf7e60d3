"""The response to a download: headers, conditions, ranges, and the bytes as a stream.

Starlette's FileResponse knows files only; these bytes may lie in an object store.
"""

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from functions.storage.errors import invalid_range
from functions.storage.queries import Row
from functions.storage.request_parsing import PATIENCE_SECONDS
from functions.storage.service import Principal, RequestContext
from functions.storage.transfers import Transfer
from functions.storage.versions import with_bytes

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
# As much as a client of the least speed reads in a second or two: slower ones are told from such that pause.
_PIECE = 32 * 1024


def headers_of(row: Row, expires: int | None = None) -> dict[str, str]:
    """Return the headers of a whole object; by a signed URL it is fresh until the token expires.

    Such a response has no Cache-Control, and a cache that many share may store what is asked for without an
    Authorization header. Two other headers keep it out: the second is for those that do not heed `Vary`.
    """
    metadata = row["metadata"] or {}
    content_type = metadata.get("mimetype", "application/octet-stream")
    headers = {
        "Accept-Ranges": "bytes",
        # An upload must never become a page of this site.
        "Content-Type": "text/plain" if "text/html" in content_type.lower() else content_type,
        "Content-Length": str(metadata.get("size", 0)),
        "ETag": metadata.get("eTag", ""),
        "Last-Modified": _http_date(_modified(row)),
        "X-Robots-Tag": metadata.get("xRobotsTag", "none"),
    }
    if expires is None:
        headers["Cache-Control"] = metadata.get("cacheControl", "no-cache")
    else:
        headers["Expires"] = _http_date(datetime.fromtimestamp(expires, UTC))
        headers["Vary"] = "*"
        headers["CDN-Cache-Control"] = "no-store"
    return headers


class FileResponse(Response):
    """The object that `find` finds, a range of it, or 304, once there is a place for it.

    `find` is asked when the response is sent. What it raises is the response then, as are InvalidRange,
    NoSuchKey when the row has no bytes, and SlowDown when no place is left to the owner or, without one, to
    the network.
    """

    background = None

    def __init__(
        self,
        context: RequestContext,
        find: Callable[[], Awaitable[Row]],
        principal: Principal | None = None,
        *,
        owner_id: str | None = None,
        expires: int | None = None,
    ) -> None:
        self._context, self._find, self._expires = context, find, expires
        self._principal, self._owner_id = principal, owner_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find and send it."""
        owner_id = self._principal.owner_id if self._principal else self._owner_id
        async with self._context.sending(self._principal, owner_id) as transfer:

            async def respond(row: Row) -> Response:
                return await _respond(self._context, row, self._expires, transfer)

            response = await with_bytes(self._find, respond)
            await response(scope, receive, send)


class PacedResponse(StreamingResponse):
    """Bytes as fast as the client reads them: to one that stops, or is slow where another waits, they end."""

    def __init__(
        self, transfer: Transfer, pieces: AsyncIterator[bytes], status: int, headers: dict[str, str]
    ) -> None:
        super().__init__(pieces, status, headers)
        self._pieces, self._transfer = pieces, transfer

    async def stream_response(self, send: Send) -> None:
        """Send them; where they end too early the server closes the connection."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            for begin in range(0, len(piece), _PIECE):
                part = piece[begin : begin + _PIECE]
                try:
                    async with self._transfer.piece_within(PATIENCE_SECONDS):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                except TimeoutError:
                    logging.getLogger("storage").info("a download was too slow")
                    return
                self._transfer.advance(len(part))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _respond(context: RequestContext, row: Row, expires: int | None, transfer: Transfer) -> Response:
    request = context.request
    headers = headers_of(row, expires)
    if _not_modified(request, row, headers):
        without_content = {name: text for name, text in headers.items() if not name.startswith("Content-")}
        return Response(status_code=304, headers=without_content)
    size = int(headers["Content-Length"])
    start, end = _range_of(request.headers.get("range"), size)
    if "range" in request.headers:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        headers["Content-Length"] = str(end - start)
    if "download" in request.query_params:
        headers["Content-Disposition"] = _disposition(request.query_params["download"])
    pieces = await context.service.store.read(row["version"], start, end)
    return PacedResponse(transfer, pieces, 206 if "range" in request.headers else 200, headers)


def _not_modified(request: Request, row: Row, headers: dict[str, str]) -> bool:
    """Return whether the client has it; another ETag lets it show the old one while it fetches."""
    known = request.headers.get("if-none-match")
    if known is not None:
        if known == headers["ETag"]:
            return True
        if "Cache-Control" in headers:
            headers["Cache-Control"] += ", stale-while-revalidate=30"
        return False
    try:
        since = parsedate_to_datetime(request.headers.get("if-modified-since", ""))
    except (ValueError, OverflowError):
        return False
    return since.replace(tzinfo=since.tzinfo or UTC) >= _modified(row).replace(microsecond=0)


def _range_of(header: str | None, size: int) -> tuple[int, int]:
    """Return the first byte and the one after the last."""
    if header is None:
        return 0, size
    match = _RANGE.fullmatch(header)
    if not match or not (match[1] or match[2]):
        raise invalid_range()
    if not match[1]:
        wanted = int(match[2])
        start, end = max(0, size - wanted), size
    else:
        start = int(match[1])
        end = min(size, int(match[2]) + 1) if match[2] else size
    if start >= end:
        raise invalid_range()
    return start, end


def _disposition(name: str) -> str:
    """Return the header by RFC 6266: percent escapes are a token and, by RFC 8187, a value with a charset.

    The original leaves `'()*` as they are, where one of the two may not have them.
    """
    if not name:
        return "attachment;"
    encoded = quote(name, safe="!~")
    return f"attachment; filename={encoded}; filename*=UTF-8''{encoded}"


def _modified(row: Row) -> datetime:
    text = (row["metadata"] or {}).get("lastModified")
    moment: datetime = datetime.fromisoformat(text) if text else row["updated_at"]
    return moment


def _http_date(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)
