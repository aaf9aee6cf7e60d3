"""One error for every service, and one table of what a database error means.

A service gives each meaning its own words and renders errors as its clients know them; which error means
what is decided here alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import orjson
import psycopg
from psycopg_pool import PoolTimeout, TooManyRequests


@dataclass
class ApiError(Exception):
    """A response that says what went wrong: HTTP status, stable code, exact text for a person.

    Attributes:
        details: what PostgREST would answer under that name; None leaves it out.
        extra: further members of the body that only one service's clients know.
    """

    status: int
    code: str
    message: str
    details: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Meaning(Enum):
    """The meaning of a database error to the client."""

    RAISED = auto()  # the product's SQL raised an error with status, code and text of its own
    RAISED_TEXT = auto()  # a plain `raise exception`
    FORBIDDEN = auto()
    DUPLICATE = auto()
    MISSING_REFERENCE = auto()
    MALFORMED = auto()
    OUT_OF_RANGE = auto()
    UNSTORABLE_TEXT = auto()
    OTHER_VALUE = auto()
    LOCKED = auto()
    TIMED_OUT = auto()
    NO_CONNECTION = auto()  # the pool has none free
    UNREACHABLE = auto()  # the server is away, or hung up
    FAULT = auto()  # ours


_BY_STATE = {
    "PGRST": Meaning.RAISED,
    "P0001": Meaning.RAISED_TEXT,
    "42501": Meaning.FORBIDDEN,
    "23505": Meaning.DUPLICATE,
    "23503": Meaning.MISSING_REFERENCE,
    "22P02": Meaning.MALFORMED,
    "22003": Meaning.OUT_OF_RANGE,
    "22P05": Meaning.UNSTORABLE_TEXT,
    "55P03": Meaning.LOCKED,
    "57014": Meaning.TIMED_OUT,
    "25P03": Meaning.TIMED_OUT,
}
Rendering = ApiError | Callable[[psycopg.Error], ApiError]


def meaning_of(error: psycopg.Error) -> Meaning:
    """Return what a database error means, by its SQLSTATE and then by its class."""
    if isinstance(error, PoolTimeout | TooManyRequests):
        return Meaning.NO_CONNECTION
    if error.sqlstate in _BY_STATE:
        return _BY_STATE[error.sqlstate]
    if isinstance(error, psycopg.DataError):
        # Without a state it was rejected before it was sent, as NUL is.
        return Meaning.OTHER_VALUE if error.sqlstate else Meaning.UNSTORABLE_TEXT
    return Meaning.UNREACHABLE if isinstance(error, psycopg.OperationalError) else Meaning.FAULT


def is_transient(error: psycopg.Error) -> bool:
    """Return whether the database could not be asked or took too long: whoever asked may ask again."""
    return meaning_of(error) in (Meaning.NO_CONNECTION, Meaning.UNREACHABLE, Meaning.TIMED_OUT)


def raised_by(error: psycopg.Error) -> ApiError:
    """Return the error that SQL raised with SQLSTATE PGRST.

    Its message is JSON with `code` and `message`, perhaps `details`; its detail is JSON with `status`.
    """
    message = orjson.loads(error.diag.message_primary or "{}")
    detail = orjson.loads(error.diag.message_detail or "{}")
    return ApiError(int(detail["status"]), message["code"], message["message"], message.get("details"))


def error_of(error: psycopg.Error, renderings: Mapping[Meaning, Rendering], fault: ApiError) -> ApiError:
    """Return a database error in a service's words; `fault` where it has none."""
    rendering = renderings.get(meaning_of(error), fault)
    return rendering if isinstance(rendering, ApiError) else rendering(error)
