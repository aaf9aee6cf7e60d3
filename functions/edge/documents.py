"""What the OpenAPI document says of answers that are not a door's own."""

from typing import Any

_TEXT = {"type": "string"}
_REFUSAL = {
    "type": "object",
    "required": ["error", "code"],
    "properties": {"error": _TEXT, "code": _TEXT, "details": _TEXT},
}
_JSON = {"application/json": {"schema": _REFUSAL}}
REFUSED: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Refused: `error` for the person, `code` for the program.", "content": _JSON},
    "5XX": {"description": "Failed, or busy; nothing was done.", "content": _JSON},
}


def then(**doors: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """An answer of 200 that says which doors (`_` for `-`) take what from it, or from its request."""
    links = {
        name: {"operationRef": f"#/paths/~1{name.replace('_', '-')}/post", "requestBody": body}
        for name, body in doors.items()
    }
    return {200: {"description": "Done.", "links": links}}


CSV: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"text/csv": {"schema": _TEXT}}}
}
