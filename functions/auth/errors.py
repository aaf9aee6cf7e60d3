"""Refusals, in the two forms that GoTrue's clients know (chosen by X-Supabase-Api-Version)."""

import re
import uuid
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.answers import json_response

API_VERSION = "2024-01-01"


@dataclass
class AuthError(Exception):
    """An answer that says what went wrong: HTTP status, stable code, text for a person.

    `code` is empty for what a hook refused; `reasons` belong to weak_password only.
    """

    status: int
    code: str
    message: str
    reasons: list[str] = field(default_factory=list)


def invalid(message: str, status: int = 400) -> AuthError:
    """A field is missing or has the wrong form."""
    return AuthError(status, "validation_failed", message)


def uses_new_form(request: Request) -> bool:
    """Whether the caller asked for a version of 2024-01-01 or later; anything that is no date is older."""
    asked = request.headers.get("x-supabase-api-version", "")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", asked):
        return False
    try:
        return date.fromisoformat(asked) >= date.fromisoformat(API_VERSION)
    except ValueError:
        return False


def version_header(request: Request) -> dict[str, str]:
    """The version that a refusal answers in, for callers that asked for one."""
    return {"x-supabase-api-version": API_VERSION} if uses_new_form(request) else {}


def error_response(request: Request, error: AuthError) -> Response:
    """The refusal as JSON, with its code in `x-sb-error-code`."""
    new = uses_new_form(request)
    code = error.code or ("unexpected_failure" if error.status >= 500 else "unknown")
    body: dict[str, Any]
    if new:
        body = {"code": code, "message": error.message}
    else:
        body = {"code": error.status, "error_code": code, "msg": error.message}
        if error.status >= 500:
            body["error_id"] = str(uuid.uuid4())
    headers = version_header(request)
    if error.reasons:
        body["weak_password"] = {"reasons": error.reasons}
    if error.code and not (new and error.reasons):
        headers["x-sb-error-code"] = error.code
    return json_response(body, error.status, headers)
