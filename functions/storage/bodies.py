"""Reading what a client sends: in time, within limits, as JSON or as a stream."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson
from fastapi import Request
from starlette.requests import ClientDisconnect

from functions.storage.errors import gone_away, invalid_body, invalid_schema, too_large, too_slow
from functions.storage.names import check_type_form
from functions.storage.schemas import Schema, checked

# A client may pause this long, and must send this many bytes a second on average.
PATIENCE_SECONDS = 10.0
SLOWEST_BYTES_PER_SECOND = 4096
LARGEST_JSON = 2 * 1024 * 1024


async def arriving(request: Request) -> AsyncIterator[bytes]:
    """The body's pieces as they arrive.

    Raises:
        StorageError: RequestTimeout, when they arrive too slowly.
    """
    pieces = request.stream().__aiter__()
    started, received = time.monotonic(), 0
    while True:
        deadline = started + PATIENCE_SECONDS + received / SLOWEST_BYTES_PER_SECOND
        patience = min(PATIENCE_SECONDS, deadline - time.monotonic())
        try:
            piece = await asyncio.wait_for(anext(pieces), max(patience, 0))
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise too_slow() from error
        except ClientDisconnect as error:
            raise gone_away() from error
        received += len(piece)
        if piece:
            yield piece


async def read_json(request: Request, schema: Schema, optional: bool = False) -> dict[str, Any]:
    """The JSON body, checked against its schema; `optional` takes no body for an empty object.

    Raises:
        StorageError: naming what is wrong with it.
    """
    content = bytearray()
    async for piece in arriving(request):
        content += piece
        if len(content) > LARGEST_JSON:
            raise too_large("Request body is too large")
    kind = request.headers.get("content-type", "")
    if optional and not content:
        return {}
    if kind:
        check_type_form(kind)
    if kind.split(";", 1)[0].strip().lower() != "application/json":
        raise invalid_schema("body must be object")
    if not content:
        raise invalid_body("Body cannot be empty when content-type is set to 'application/json'")
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        message = "Body is not valid JSON but content-type is set to 'application/json'"
        raise invalid_body(message) from error
    body: dict[str, Any] = checked(schema, value, "body")
    return body


def read_query(request: Request, schema: Schema) -> dict[str, Any]:
    """The query string, checked against its schema."""
    query: dict[str, Any] = checked(schema, dict(request.query_params), "querystring")
    return query
