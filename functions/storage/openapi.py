"""Parts of the OpenAPI document that models do not give: files, links, errors."""

from typing import Any

from functions.storage.schemas import ErrorBody, Uploaded

_BINARY = {"schema": {"type": "string", "format": "binary"}}

ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Rejected; `code` says why.", "model": ErrorBody},
    "5XX": {"description": "Failed.", "model": ErrorBody},
}


def _link(method: str, path: str, **values: Any) -> dict[str, Any]:
    """Return a link to what can be asked next about the same object."""
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
        "model": Uploaded,
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
DELETED: dict[int | str, dict[str, Any]] = {200: {"description": "Deleted.", "links": _READ}}
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
