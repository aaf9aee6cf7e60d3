"""Request bodies: JSON whatever the Content-Type says, unknown fields ignored, wrong types refused."""

import uuid
from typing import Any, Literal

import orjson
from starlette.requests import Request

from functions.auth.errors import AuthError

LIMIT = 1 << 20
_DEEPEST = 100
Kind = Literal["text", "flag", "object", "uuid"]
Fields = dict[str, Kind]
_TYPES: dict[str, type] = {"text": str, "flag": bool, "object": dict, "uuid": str}


def _bad_json(detail: str) -> AuthError:
    return AuthError(400, "bad_json", f"Could not parse request body as JSON: {detail}")


async def read_bytes(request: Request) -> bytes:
    """The raw body.

    Raises:
        AuthError: 413 over 1 MiB.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LIMIT:
            raise AuthError(413, "request_entity_too_large", "Request body too large: the limit is 1 MiB")
        parts.append(part)
    return b"".join(parts)


async def read_fields(request: Request, *fields: Fields) -> dict[str, Any]:
    """The named fields of the body; a missing or null one is None.

    Raises:
        AuthError: 400 bad_json when the body is no JSON object or a field has another type.
    """
    raw = await read_bytes(request)
    if b"\\u0000" in raw:
        raise _bad_json("a text holds a NUL character")
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise _bad_json(str(error)) from error
    if body is None:
        body = {}
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _depth(body) > _DEEPEST:
        raise _bad_json("the body is nested too deeply")
    if not isinstance(body, dict):
        raise _bad_json("the body is not an object")
    return {name: _field(name, body.get(name), kind) for group in fields for name, kind in group.items()}


def _depth(value: Any) -> int:
    """How many levels of lists and objects, without recursion."""
    depth, level = 0, [value]
    while level := [inner for outer in level if isinstance(outer, dict | list) for inner in _inside(outer)]:
        depth += 1
    return depth


def _inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _field(name: str, value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if not isinstance(value, _TYPES[kind]):
        raise _bad_json(f"{name} has the wrong type")
    if kind == "uuid":
        if not value:
            return None
        try:
            return uuid.UUID(str(value))
        except ValueError as error:
            raise _bad_json(f"{name} is not a UUID") from error
    return value
