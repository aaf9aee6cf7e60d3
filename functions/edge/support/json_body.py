"""The body of a request: at most 1 MB, and JSON that says so.

The type is required because a web page of another origin can post a form or plain text without asking.
"""

from collections.abc import AsyncIterator

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.core.request import BodyTooLargeError, read_within
from functions.edge.support.errors import INVALID_JSON, ClosingError

MAX_BODY_BYTES = 1_048_576
TOO_LARGE = ClosingError(413, "too_large", "The request is larger than 1 MB.")
NOT_JSON = ClosingError(415, "invalid_input", "Send JSON with the content type application/json.")
UNREADABLE = ClosingError(INVALID_JSON.status, INVALID_JSON.code, INVALID_JSON.message)


class JsonBody:
    """ASGI middleware: reads the body of a POST within the limits and passes it on whole."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or raise before any endpoint sees it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            body = await read_within(_pieces(receive), MAX_BODY_BYTES)
        except BodyTooLargeError as error:
            raise TOO_LARGE from error
        _check(body, dict(scope["headers"]).get(b"content-type", b""))
        delivered = False

        async def replay() -> Message:
            nonlocal delivered
            if delivered:
                return await receive()
            delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    """Yield the pieces of a body until its end, or until the client goes away."""
    more = True
    while more:
        message = await receive()
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _check(body: bytes, content_type: bytes) -> None:
    if not body:
        return
    if content_type.split(b";")[0].strip().lower() != b"application/json":
        raise NOT_JSON
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UNREADABLE from error
