"""JSON responses: times in UTC with `Z`, as Go writes them."""

from typing import Any
from urllib.parse import quote

import orjson
from starlette.responses import Response

_URL = "!#$%&'()*+,/:;=?@[]~"
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain values, datetimes and UUIDs as application/json."""
    return Response(orjson.dumps(content, option=_OPTIONS), status, headers, "application/json")


def see_other(location: str) -> Response:
    """Return 303 to an address that was checked before (redirects.py), percent-encoded beyond ASCII."""
    return Response(status_code=303, headers={"location": quote(location, safe=_URL)})
