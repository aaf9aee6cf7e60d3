"""Request bodies: JSON whatever the Content-Type says, unknown fields ignored, wrong types rejected."""

import re
import uuid
from typing import Annotated, Any, Self

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from starlette.requests import Request

from functions.auth.errors import invalid
from functions.core.errors import ApiError
from functions.core.request import BodyTooLargeError, read_within

LIMIT = 1 << 20
METADATA_LIMIT = 8 << 10
_DEEPEST = 100
_EMAIL = re.compile(
    r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*",
    # Without ASCII, the sign of Kelvin would be a K: another spelling of somebody's address.
    re.ASCII | re.IGNORECASE,
)


def _parse_uuid(value: Any) -> Any:
    """Return the UUID of a text, in any notation; an empty one is none."""
    if not isinstance(value, str):
        return value
    return uuid.UUID(value) if value else None


def check_metadata(data: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a user's metadata if it is small: each of the user's tokens, thus each request, carries it.

    Raises:
        ApiError: 422 over 8 kB.
    """
    if data and len(orjson.dumps(data)) > METADATA_LIMIT:
        message = f"User metadata is too large: the limit is {METADATA_LIMIT // 1024} kB"
        raise ApiError(422, "validation_failed", message)
    return data


Metadata = Annotated[dict[str, Any] | None, AfterValidator(check_metadata)]
OptionalUuid = Annotated[uuid.UUID | None, BeforeValidator(_parse_uuid)]


class Body(BaseModel):
    """The fields that an endpoint takes; a missing one is null, and no type becomes another."""

    model_config = ConfigDict(strict=True)

    @classmethod
    async def read(cls, request: Request) -> Self:
        """Return a request's fields.

        Raises:
            ApiError: 400 bad_json when the body is no JSON object or a field has another type; 413.
        """
        return cls.parse(await read_body(request))

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Return the fields of a body that has been read; raises as `read` does."""
        content = _parse_object(raw)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            # A model's own fields are checked before those that it shares with others.
            errors = error.errors(include_url=False, include_context=False, include_input=False)
            first = min(errors, key=lambda one: one["loc"][0] not in cls.__annotations__)
            problem = "is not a UUID" if first["type"] == "value_error" else "has the wrong type"
            raise _bad_json(f"{first['loc'][0]} {problem}") from error


async def read_body(request: Request) -> bytes:
    """Return the raw body.

    Raises:
        ApiError: 413 over 1 MiB.
    """
    try:
        return await read_within(request.stream(), LIMIT)
    except BodyTooLargeError as error:
        message = "Request body too large: the limit is 1 MiB"
        raise ApiError(413, "request_entity_too_large", message) from error


def normalized_email(given: str | None) -> str:
    """Return the address in lower case, checked for its form only.

    Raises:
        ApiError: 400 when it is missing, over 255 bytes or of no valid form.
    """
    if not given:
        raise invalid("An email address is required")
    if len(given.encode()) > 255:
        raise invalid("An email address is too long")
    if not _EMAIL.fullmatch(given):
        raise invalid("Unable to validate email address: invalid format")
    return given.lower()


def _parse_object(raw: bytes) -> dict[str, Any]:
    if b"\\u0000" in raw:
        raise _bad_json("a text holds a NUL character")
    try:
        content = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise _bad_json(str(error)) from error
    if content is None:
        content = {}
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _depth(content) > _DEEPEST:
        raise _bad_json("the body is nested too deeply")
    if not isinstance(content, dict):
        raise _bad_json("the body is not an object")
    return content


def _depth(value: Any) -> int:
    """Return how many levels of lists and objects there are, without recursion."""
    depth, level = 0, [value]
    while level := [inner for outer in level if isinstance(outer, dict | list) for inner in _inside(outer)]:
        depth += 1
    return depth


def _inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _bad_json(detail: str) -> ApiError:
    return ApiError(400, "bad_json", f"Could not parse request body as JSON: {detail}")
