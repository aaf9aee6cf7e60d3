"""Fragments of the OpenAPI document that several operations share."""

from typing import Any

from fastapi import Request

from functions.storage.errors import invalid_schema
from functions.storage.schemas import Schema

_BINARY = {"schema": {"type": "string", "format": "binary"}}

ERROR: Schema = {
    "type": "object",
    "required": ["statusCode", "error", "message", "code"],
    "properties": {name: {"type": "string"} for name in ("statusCode", "error", "message", "code")},
}
REFUSED: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Refused; `code` says why.", "content": {"application/json": {"schema": ERROR}}},
    "5XX": {"description": "Failed.", "content": {"application/json": {"schema": ERROR}}},
}


def _link(method: str, path: str, **values: Any) -> dict[str, Any]:
    """What can be asked next about the same object; a template is spelled as FastAPI does."""
    place = path.replace("/", "~1")
    return {"operationRef": f"#/paths/{place}/{method}", **values}


_SAME: dict[str, Any] = {"parameters": {"bucket": "$request.path.bucket", "path": "$request.path.path"}}
_OBJECT = "/object/{bucket}/{path}"
_READ = {
    "download": _link("get", _OBJECT, **_SAME),
    "exists": _link("head", _OBJECT, **_SAME),
    "info": _link("get", "/object/info/{bucket}/{path}", **_SAME),
}
_MOVE = {
    "bucketId": "$request.path.bucket",
    "sourceKey": "$request.path.path",
    "destinationKey": "{$request.path.path}-moved",
}
_MOVED = {"parameters": {"bucket": "$request.body#/bucketId", "path": "$request.body#/destinationKey"}}
UPLOADED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Stored.",
        "links": {
            **_READ,
            "replace": _link("put", _OBJECT, **_SAME),
            "sign": _link("post", "/object/sign/{bucket}/{path}", **_SAME, requestBody={"expiresIn": 60}),
            "move": _link("post", "/object/move", requestBody=_MOVE),
            "remove": _link("delete", _OBJECT, **_SAME),
        },
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["Key"],
                    "properties": {"Key": {"type": "string"}, "Id": {"type": "string", "format": "uuid"}},
                }
            }
        },
    }
}
MOVED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Moved.",
        "links": {
            "download": _link("get", _OBJECT, **_MOVED),
            "remove": _link("delete", _OBJECT, **_MOVED),
        },
    }
}
REMOVED: dict[int | str, dict[str, Any]] = {200: {"description": "Removed.", "links": _READ}}
BYTES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The object.", "content": {"*/*": _BINARY}},
    206: {"description": "A range of the object.", "content": {"*/*": _BINARY}},
    304: {"description": "The client has it."},
}
FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself, or a form whose first part with a filename is the file.",
        "content": {"*/*": _BINARY, "multipart/form-data": {"schema": {"type": "object"}}},
    }
}


def body(schema: Schema, required: bool = True) -> dict[str, Any]:
    """The `openapi_extra` of an operation with a JSON body."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def query(schema: Schema) -> dict[str, Any]:
    """The `openapi_extra` of an operation with query parameters."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": name in schema["required"], "schema": form}
            for name, form in schema["properties"].items()
        ]
    }


TOKEN = query({"required": ["token"], "properties": {"token": {"type": "string"}}})
FILE_WITH_TOKEN = {**FILE, **TOKEN}


def token_of(request: Request) -> str:
    """The token of a signed URL.

    Raises:
        StorageError: when there is none.
    """
    token = request.query_params.get("token")
    if token is None:
        raise invalid_schema("querystring must have required property 'token'")
    return token
