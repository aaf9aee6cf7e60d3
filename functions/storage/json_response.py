"""The JSON that clients get, and how rows and times are written in it."""

from datetime import UTC, datetime
from typing import Any

import orjson
from starlette.responses import JSONResponse


class JsonResponse(JSONResponse):
    """A JSON response whose values may be uuids too; it is for who asked, so nothing in between stores it."""

    def __init__(self, content: Any, status_code: int = 200) -> None:
        super().__init__(content, status_code, {"cache-control": "no-store"})

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return orjson.dumps(content)


def timestamp(moment: datetime | None) -> str | None:
    """Return a time as JavaScript writes it: `2026-11-21T07:17:08.123Z`."""
    if moment is None:
        return None
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def json_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON: times as text, no owner as an empty text."""
    out = {key: timestamp(value) if isinstance(value, datetime) else value for key, value in row.items()}
    for key in ("owner", "owner_id"):
        if key in out:
            out[key] = str(out[key]) if out[key] is not None else ""
    return out
