"""The error responses of the endpoints: `{"error": text, "code": slug}`, sometimes with `details`."""

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from functions.core.application import ErrorResponses
from functions.core.errors import ApiError, Meaning, Rendering, raised_by


class ClosingError(ApiError):
    """An error whose response ends the connection: the client may still be sending its body."""


FAULT = ApiError(500, "unexpected", "Something went wrong on our side. Try again.")
BUSY = ApiError(503, "try_again", "The server is busy. Try again.")
TOO_SLOW = ClosingError(503, "try_again", "This took too long. Try again.")
INVALID_JSON = ApiError(400, "invalid_input", "The request is not valid JSON.")
_OF_DATABASE: dict[Meaning, Rendering] = {
    Meaning.RAISED: raised_by,
    Meaning.FORBIDDEN: ApiError(403, "forbidden", "You are not allowed to do this."),
    Meaning.DUPLICATE: ApiError(409, "duplicate_request", "This was already done."),
    Meaning.MALFORMED: ApiError(400, "invalid_input", "A value has the wrong form. Check it and try again."),
    Meaning.OUT_OF_RANGE: ApiError(400, "invalid_input", "A number is out of range. Check it and try again."),
    Meaning.UNSTORABLE_TEXT: ApiError(
        400, "invalid_input", "A text holds a character that cannot be stored."
    ),
    Meaning.LOCKED: BUSY,
    Meaning.TIMED_OUT: ApiError(503, "try_again", "This took too long. Try again."),
    Meaning.NO_CONNECTION: BUSY,
    Meaning.UNREACHABLE: BUSY,
}


def _render(_: Request, error: ApiError) -> Response:
    body = {"error": error.message, "code": error.code}
    if error.details is not None:
        body["details"] = error.details
    headers = {"connection": "close"} if isinstance(error, ClosingError) else None
    return JSONResponse(body, error.status, headers)


def _of_route(_: Request, error: HTTPException) -> ApiError:
    if error.status_code == 400:
        # Python's parser does not read JSON as deep as the one that has checked it.
        return INVALID_JSON
    if error.status_code == 404:
        return ApiError(404, "not_found", "There is no such function.")
    return ApiError(error.status_code, "method_not_allowed", "Call functions with POST.")


def _of_validation(error: RequestValidationError) -> ApiError:
    """Return the first thing that is wrong with a body; before all, what may be a field misspelt."""
    for problem in error.errors():
        if problem["type"] == "extra_forbidden":
            sentence = f"The request has a field that does not exist here: {str(problem['loc'][-1])[:60]}."
            return ApiError(400, "unknown_field", sentence)
    return ApiError(400, "invalid_input", _sentence(error.errors()[0]))


def _sentence(problem: dict[str, object]) -> str:
    location = problem["loc"]
    parts = location if isinstance(location, tuple) else ()
    names = [part for part in parts if isinstance(part, str) and part != "body"]
    if not names:
        return "Send a JSON object."
    if problem["type"] == "missing":
        return f"{names[-1]} is required."
    if str(problem["type"]).startswith("uuid"):
        return f"{names[-1]} is not a valid id."
    return f"{names[-1]}: {problem['msg']}."


ERRORS = ErrorResponses(
    render=_render,
    of_database=_OF_DATABASE,
    fault=FAULT,
    too_slow=TOO_SLOW,
    of_route=_of_route,
    of_validation=_of_validation,
)
