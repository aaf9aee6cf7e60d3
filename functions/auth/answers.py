"""JSON answers: times in UTC with `Z`, as Go writes them."""

from typing import Any
from urllib.parse import quote

import orjson
from starlette.responses import Response

_URL = "!#$%&'()*+,/:;=?@[]~"
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC


def to_json(content: Any) -> bytes:
    """JSON text of plain values, datetimes and UUIDs."""
    return orjson.dumps(content, option=_OPTIONS)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An application/json answer."""
    return Response(to_json(content), status, headers, "application/json")


def see_other(location: str) -> Response:
    """303 to an address that was checked before (redirects.py); letters beyond ASCII are percent-encoded."""
    return Response(status_code=303, headers={"location": quote(location, safe=_URL)})
