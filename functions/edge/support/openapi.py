"""Responses in the OpenAPI document beyond each endpoint's own."""

from typing import Any

_TEXT = {"type": "string"}
_ERROR = {
    "type": "object",
    "required": ["error", "code"],
    "properties": {"error": _TEXT, "code": _TEXT, "details": _TEXT},
}
_JSON = {"application/json": {"schema": _ERROR}}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Refused: `error` for the person, `code` for the program.", "content": _JSON},
    "5XX": {"description": "Failed, or busy; nothing was done.", "content": _JSON},
}
CSV: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"text/csv": {"schema": _TEXT}}}
}
ZIP: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def linked(**endpoints: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """Return a 200 response whose values, or whose request's, other endpoints take (`_` for `-` in names)."""
    links = {
        name: {"operationRef": f"#/paths/~1{name.replace('_', '-')}/post", "requestBody": body}
        for name, body in endpoints.items()
    }
    return {200: {"description": "Done.", "links": links}}
