"""Reading what a client sends: in time, within limits, as a stream or as JSON for a model."""

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from functions.core.request import BodyTooLargeError, read_within
from functions.storage.errors import aborted, body_too_large, invalid_body, invalid_schema, too_slow
from functions.storage.fastify_errors import first_failure
from functions.storage.service import RequestContext
from functions.storage.transfers import Transfer
from functions.storage.validation import check_type_form

# A client may pause this long, and must send this many bytes a second on average.
PATIENCE_SECONDS = 10.0
SLOWEST_BYTES_PER_SECOND = 4096
# As the original, and half of what the gateway has whole before it asks.
LARGEST_JSON = 1024 * 1024


class StorageRoute(APIRoute):
    """A route with Fastify's errors, which reads a JSON body only from a client with a valid token."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that serves a request."""
        handle = super().get_route_handler()

        async def respond(request: Request) -> Response:
            sent = {"query": dict(request.query_params)}
            if self.body_field:
                RequestContext.of(request).identify()
                content = await _read(request)
                if content or self.body_field.field_info.is_required():
                    sent["body"] = _parsed(request.headers.get("content-type", ""), content)
                request = _ReadRequest(request, content, sent.get("body"))
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise invalid_schema(first_failure(error.errors(), sent)) from error

        return respond


class _ReadRequest(Request):
    """A request whose body has been read."""

    def __init__(self, request: Request, content: bytes, value: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._content = content
        self._value = value

    async def body(self) -> bytes:
        return self._content

    async def json(self) -> Any:
        return self._value


async def arriving(request: Request, transfer: Transfer) -> AsyncIterator[bytes]:
    """Yield the body's pieces as they arrive.

    Raises:
        ApiError: RequestTimeout, when they arrive too slowly.
    """
    pieces = request.stream().__aiter__()
    started, received = time.monotonic(), 0
    while True:
        deadline = started + PATIENCE_SECONDS + received / SLOWEST_BYTES_PER_SECOND
        patience = min(PATIENCE_SECONDS, deadline - time.monotonic())
        try:
            async with transfer.piece_within(max(patience, 0)):
                piece = await anext(pieces, None)
        except TimeoutError as error:
            raise too_slow() from error
        except ClientDisconnect as error:
            raise aborted() from error
        if piece is None:
            transfer.complete()
            return
        received += len(piece)
        transfer.advance(len(piece))
        if piece:
            yield piece


async def _read(request: Request) -> bytes:
    try:
        return await read_within(arriving(request, Transfer()), LARGEST_JSON)
    except BodyTooLargeError as error:
        raise body_too_large("Request body is too large") from error


def _parsed(content_type: str, content: bytes) -> dict[str, Any]:
    if content_type:
        check_type_form(content_type)
    if content_type.split(";", 1)[0].strip().lower() != "application/json":
        raise invalid_schema("body must be object")
    if not content:
        raise invalid_body("Body cannot be empty when content-type is set to 'application/json'")
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        message = "Body is not valid JSON but content-type is set to 'application/json'"
        raise invalid_body(message) from error
    if not isinstance(value, dict):
        raise invalid_schema("body must be object")
    return value
