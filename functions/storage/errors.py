"""The errors of the Storage API: one body shape, and the HTTP status is 400 for nearly all.

`{"statusCode": "404", "error": "...", "message": "...", "code": "..."}`; clients branch on `code`.
"""

from functools import partial

import psycopg
from starlette.exceptions import HTTPException
from starlette.requests import Request

from functions.core.application import ErrorResponses
from functions.core.errors import ApiError, Meaning, raised_by
from functions.storage.json_response import JsonResponse


def _error(status_code: int, error: str, message: str, code: str, status: int = 400) -> ApiError:
    """Return an error: `status_code` is the number in the body, `status` that of the response."""
    return ApiError(status, code, message, extra={"statusCode": str(status_code), "error": error})


# Each makes an error to raise; those without a message of their own take it as the argument.
# The bucket is missing, private without a token, or hidden.
no_such_bucket = partial(_error, 404, "Bucket not found", "Bucket not found", "NoSuchBucket")
# The object is missing, or row-level security hides it: the client must not learn which.
no_such_key = partial(_error, 404, "not_found", "Object not found", "NoSuchKey")
# A name is taken; the argument is the code.
already_exists = partial(_error, 409, "Duplicate", "The resource already exists")
# The token is not to be trusted, or gives too few rights.
access_denied = partial(_error, 403, "Unauthorized", code="AccessDenied")
service_role_only = partial(access_denied, "Access denied: Invalid role", status=403)
# The destination bucket is missing.
related_resource = partial(
    _error, 404, "InvalidRequest", "The related resource does not exist", "InvalidRequest"
)
body_too_large = partial(_error, 413, "Payload too large", code="EntityTooLarge")
object_too_large = partial(body_too_large, "The object exceeded the maximum allowed size")
invalid_type = partial(_error, 415, "invalid_mime_type", code="InvalidMimeType")
invalid_bucket_name = partial(_error, 400, "Invalid Input", "Bucket name invalid", "InvalidBucketName")
invalid_robots = partial(_error, 400, "invalid_x_robots_tag", code="InvalidRequest")
# The body or query string is not as documented; the message says where.
invalid_schema = partial(_error, 400, "Error", code="InvalidRequest")
# The body is not JSON, or empty.
invalid_body = partial(_error, 400, "FastifyError", code="InvalidRequest")
# A value is well-formed but cannot be used.
invalid_parameter = partial(_error, 400, "InvalidParameter", code="InvalidParameter")
broken_form = partial(_error, 400, "InvalidRequest", "The form is broken or incomplete", "InvalidRequest")
no_content = partial(_error, 400, "InvalidRequest", "No content provided", "InvalidRequest")
invalid_range = partial(_error, 416, "invalid_range", "invalid range provided", "InvalidRange", 416)
invalid_token = partial(_error, 400, "InvalidJWT", code="InvalidJWT")
invalid_signature = partial(_error, 400, "InvalidSignature", code="InvalidSignature")
bucket_not_empty = partial(
    _error, 409, "ResourceNotEmpty", "The bucket you tried to delete is not empty", "ResourceNotEmpty"
)
too_slow = partial(_error, 408, "Request Timeout", "The upload took too long", "RequestTimeout", 408)
too_many_at_once = partial(
    _error,
    429,
    "Too Many Requests",
    "Too many requests at once. Try again later.",
    "SlowDown",
    429,
)
busy = partial(_error, 503, "SlowDown", "The server is busy. Try again.", "SlowDown", 503)
# The client left before the body was complete: only the log shows this.
aborted = partial(_error, 400, "Aborted", "The upload was aborted", "Aborted")
disk_full = partial(_error, 507, "Insufficient Storage", "There is no room for more files", "DiskFull", 507)


def invalid_key(name: str) -> ApiError:
    """Return the error for an object name with letters or parts that are not allowed."""
    return _error(400, "InvalidKey", f"Invalid key: {name}", "InvalidKey")


def _raised(error: psycopg.Error) -> ApiError:
    raised = raised_by(error)
    return _error(raised.status, raised.code, raised.message, raised.code, raised.status)


def _forbidden(error: psycopg.Error) -> ApiError:
    """Return the API's sentence for PostgreSQL's own words; a trigger's sentence reaches the person."""
    message = error.diag.message_primary or ""
    if message.startswith(("new row violates", "permission denied", "must be owner")):
        message = "new row violates row-level security policy"
    return access_denied(message)


def _unstorable(error: psycopg.Error) -> ApiError:
    if error.sqlstate is None:
        return invalid_schema("a text must not hold the character NUL")
    return _invalid_input("A text holds a character that cannot be stored.")


def _no_route(request: Request, _: HTTPException) -> ApiError | JsonResponse:
    path = request.url.path
    message = f"Route {request.method}:{path} not found"
    if path.split("/")[1:2] in (["bucket"], ["object"]):
        return _error(404, "Not Found", message, "InvalidRequest", 404)
    return JsonResponse({"statusCode": 404, "error": "Not Found", "message": message}, status_code=404)


def _render(_: Request, error: ApiError) -> JsonResponse:
    body = {**error.extra, "message": error.message, "code": error.code}
    response = JsonResponse(body, status_code=error.status)
    if error.status in (429, 503):
        response.headers["Retry-After"] = "1"
    return response


_invalid_input = partial(_error, 400, "invalid_input", code="invalid_input")
_DATABASE_TIMEOUT = _error(
    544, "DatabaseTimeout", "The connection to the database timed out", "DatabaseTimeout", 544
)

ERRORS = ErrorResponses(
    render=_render,
    of_database={
        Meaning.RAISED: _raised,
        Meaning.RAISED_TEXT: lambda error: invalid_parameter(error.diag.message_primary or ""),
        Meaning.FORBIDDEN: _forbidden,
        Meaning.DUPLICATE: _error(
            409, "duplicate_request", "This was already done.", "duplicate_request", 409
        ),
        Meaning.MISSING_REFERENCE: related_resource(),
        Meaning.MALFORMED: _invalid_input("A value has the wrong form. Check it and try again."),
        Meaning.OUT_OF_RANGE: _invalid_input("A number is out of range. Check it and try again."),
        Meaning.UNSTORABLE_TEXT: _unstorable,
        Meaning.LOCKED: busy(),
        Meaning.TIMED_OUT: _DATABASE_TIMEOUT,
        Meaning.NO_CONNECTION: busy(),
        Meaning.UNREACHABLE: busy(),
    },
    fault=_error(500, "InternalError", "Internal Server Error", "InternalError", 500),
    too_slow=too_slow(),
    of_route=_no_route,
)
