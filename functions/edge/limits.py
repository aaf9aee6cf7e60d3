"""What a request may carry: at most 1 MB, and JSON that says so.

The type is required because a web page of another origin can post a form or plain text without asking.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson

from functions.core.errors import Refusal

MAX_BODY_BYTES = 1_048_576
DEADLINE_SECONDS = 12

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

TOO_LARGE = Refusal(413, "too_large", "The request is larger than 1 MB.")
NOT_JSON = Refusal(415, "invalid_input", "Send JSON with the content type application/json.")
BROKEN_JSON = Refusal(400, "invalid_input", "The request is not valid JSON.")
TOO_SLOW = Refusal(503, "try_again", "This took too long. Try again.")


class Limits:
    """ASGI middleware: reads the body within the limits and hands it on whole."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it before any handler sees it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            body = await _read(receive)
            _check(body, dict(scope["headers"]).get(b"content-type", b""))
        except Refusal as refusal:
            await _answer(send, refusal)
            return
        delivered = False

        async def replay() -> Message:
            nonlocal delivered
            if delivered:
                return await receive()
            delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise TOO_LARGE
    return bytes(body)


def _check(body: bytes, content_type: bytes) -> None:
    if not body:
        return
    if content_type.split(b";")[0].strip().lower() != b"application/json":
        raise NOT_JSON
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BROKEN_JSON from error


async def _answer(send: Send, refusal: Refusal) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": orjson.dumps(refusal.body())})


class Deadline:
    """ASGI middleware: an answer begins within 12 s, below the gateway's 15 s; a file may take longer.

    The database gives up earlier (locks 3 s, statements 8 s), so this ends only what waits elsewhere.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or answer 503 when it takes too long."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(DEADLINE_SECONDS) as deadline:

                async def begin(message: Message) -> None:
                    deadline.reschedule(None)
                    await send(message)

                await self.app(scope, receive, begin)
        except TimeoutError:
            if not deadline.expired():
                raise
            await _answer(send, TOO_SLOW)
