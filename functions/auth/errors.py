"""Errors in the two forms that GoTrue's clients know (chosen by X-Supabase-Api-Version)."""

import re
import uuid
from datetime import date
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from functions.auth.responses import json_response
from functions.core.application import ErrorResponses
from functions.core.errors import ApiError, Meaning, raised_by

API_VERSION = "2024-01-01"


def invalid(message: str, status: int = 400) -> ApiError:
    """Return the error of a field that is missing or has the wrong form."""
    return ApiError(status, "validation_failed", message)


def weak_password(message: str, reason: str) -> ApiError:
    """Return the error of a password that breaks a rule."""
    return ApiError(422, "weak_password", message, extra={"weak_password": {"reasons": [reason]}})


def uses_new_form(request: Request) -> bool:
    """Return whether a version of 2024-01-01 or later is asked for; anything that is no date is older."""
    asked = request.headers.get("x-supabase-api-version", "")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", asked):
        return False
    try:
        return date.fromisoformat(asked) >= date.fromisoformat(API_VERSION)
    except ValueError:
        return False


def version_header(request: Request) -> dict[str, str]:
    """Return the header that names an error's form, for clients that asked for one."""
    return {"x-supabase-api-version": API_VERSION} if uses_new_form(request) else {}


def render(request: Request, error: ApiError) -> Response:
    """Return the error as JSON, with its code in `x-sb-error-code`; a hook need not give one."""
    is_new = uses_new_form(request)
    code = error.code or ("unexpected_failure" if error.status >= 500 else "unknown")
    body: dict[str, Any]
    if is_new:
        body = {"code": code, "message": error.message}
    else:
        body = {"code": error.status, "error_code": code, "msg": error.message}
        if error.status >= 500:
            body["error_id"] = str(uuid.uuid4())
    headers = version_header(request)
    if error.code and not (is_new and error.extra):
        headers["x-sb-error-code"] = error.code
    return json_response(body | dict(error.extra), error.status, headers)


def _of_route(request: Request, error: HTTPException) -> Response:
    return PlainTextResponse("404 page not found\n", 404)


_NO_DATABASE = ApiError(503, "unexpected_failure", "The service cannot reach its database. Try again.")
_TOO_SLOW = ApiError(
    504, "request_timeout", "Processing this request timed out, please retry after a moment."
)
_FAULT = ApiError(
    500, "unexpected_failure", "Unexpected failure, please check server logs for more information"
)
_UNSTORABLE = invalid("A value holds characters that cannot be stored")

ERRORS = ErrorResponses(
    render=render,
    of_database={
        Meaning.RAISED: raised_by,
        Meaning.MALFORMED: _UNSTORABLE,
        Meaning.OUT_OF_RANGE: _UNSTORABLE,
        Meaning.UNSTORABLE_TEXT: _UNSTORABLE,
        Meaning.OTHER_VALUE: _UNSTORABLE,
        # GoTrue has 409 here, for which auth-js drops the session; of a 503 it asks again.
        Meaning.LOCKED: ApiError(503, "conflict", "Too many concurrent requests on the same session or user"),
        Meaning.TIMED_OUT: _TOO_SLOW,
        Meaning.NO_CONNECTION: _NO_DATABASE,
        Meaning.UNREACHABLE: _NO_DATABASE,
    },
    fault=_FAULT,
    too_slow=_TOO_SLOW,
    of_route=_of_route,
)
