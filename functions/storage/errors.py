"""The refusals of the Storage API: one body shape, and the real HTTP status is 400 for nearly all.

`{"statusCode": "404", "error": "...", "message": "...", "code": "..."}`; clients branch on `code`.
"""

from dataclasses import dataclass

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolTimeout, TooManyRequests

from functions.core.errors import refusal_of


@dataclass
class StorageError(Exception):
    """A refusal: `status` is the number in the body, `http` the status of the answer."""

    status: int
    error: str
    message: str
    code: str
    http: int = 400

    def body(self) -> dict[str, str]:
        """The JSON body."""
        return {
            "statusCode": str(self.status),
            "error": self.error,
            "message": self.message,
            "code": self.code,
        }


def no_such_bucket() -> StorageError:
    """The bucket is missing, private without a token, or hidden."""
    return StorageError(404, "Bucket not found", "Bucket not found", "NoSuchBucket")


def no_such_key() -> StorageError:
    """The object is missing, or row-level security hides it: nobody learns which."""
    return StorageError(404, "not_found", "Object not found", "NoSuchKey")


def already_exists(code: str) -> StorageError:
    """A name is taken."""
    return StorageError(409, "Duplicate", "The resource already exists", code)


def row_security() -> StorageError:
    """No policy lets the caller write this row."""
    return access_denied("new row violates row-level security policy")


def access_denied(message: str, http: int = 400) -> StorageError:
    """The token is not to be trusted, or not enough."""
    return StorageError(403, "Unauthorized", message, "AccessDenied", http)


def related_resource() -> StorageError:
    """The destination bucket is missing."""
    return StorageError(404, "InvalidRequest", "The related resource does not exist", "InvalidRequest")


def too_large(message: str = "The object exceeded the maximum allowed size") -> StorageError:
    """More bytes than the bucket or the service takes."""
    return StorageError(413, "Payload too large", message, "EntityTooLarge")


def invalid_type(message: str) -> StorageError:
    """The content type is not allowed here, or is none."""
    return StorageError(415, "invalid_mime_type", message, "InvalidMimeType")


def invalid_key(name: str) -> StorageError:
    """The object's name has letters or parts that are not allowed."""
    return StorageError(400, "InvalidKey", f"Invalid key: {name}", "InvalidKey")


def invalid_bucket_name() -> StorageError:
    """The bucket's name has letters that are not allowed, or too many or too few."""
    return StorageError(400, "Invalid Input", "Bucket name invalid", "InvalidBucketName")


def invalid_schema(message: str) -> StorageError:
    """The body or query string does not have the documented form; `message` says where."""
    return StorageError(400, "Error", message, "InvalidRequest")


def invalid_body(message: str) -> StorageError:
    """The body is no JSON, or empty."""
    return StorageError(400, "FastifyError", message, "InvalidRequest")


def invalid_parameter(message: str) -> StorageError:
    """A value is well-formed but cannot be used."""
    return StorageError(400, "InvalidParameter", message, "InvalidParameter")


def no_content() -> StorageError:
    """A form without a file."""
    return StorageError(400, "InvalidRequest", "No content provided", "InvalidRequest")


def invalid_range() -> StorageError:
    """The range asked for does not exist."""
    return StorageError(416, "invalid_range", "invalid range provided", "InvalidRange", 416)


def bucket_not_empty() -> StorageError:
    """Only an empty bucket can be deleted."""
    return StorageError(
        409, "ResourceNotEmpty", "The bucket you tried to delete is not empty", "ResourceNotEmpty"
    )


def too_slow() -> StorageError:
    """The body does not arrive."""
    return StorageError(408, "Request Timeout", "The upload took too long", "RequestTimeout", 408)


def gone_away() -> StorageError:
    """The client left before the body was complete; nobody reads this but the log."""
    return StorageError(400, "Aborted", "The upload was aborted", "Aborted")


def disk_full() -> StorageError:
    """There is no room for more bytes; nothing was kept."""
    return StorageError(507, "Insufficient Storage", "There is no room for more files", "DiskFull", 507)


def busy() -> StorageError:
    """The database has no connection free, or is gone."""
    return StorageError(503, "SlowDown", "The server is busy. Try again.", "SlowDown", 503)


def of_database(error: psycopg.Error) -> StorageError:
    """The answer to a database error: a refusal of SQL keeps its own status, code and text."""
    if isinstance(error, PoolTimeout | TooManyRequests):
        return busy()
    if isinstance(error, pg.QueryCanceled | pg.LockNotAvailable):
        return StorageError(
            544, "DatabaseTimeout", "The connection to the database timed out", "DatabaseTimeout", 544
        )
    if isinstance(error, pg.InsufficientPrivilege):
        return _of_privilege(error.diag.message_primary or "")
    if isinstance(error, pg.ForeignKeyViolation):
        return related_resource()
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return invalid_schema("a text must not hold the character NUL")
    if isinstance(error, pg.RaiseException):
        return invalid_parameter(error.diag.message_primary or "")
    refusal = refusal_of(error)
    if refusal:
        return StorageError(refusal.status, refusal.code, refusal.message, refusal.code, refusal.status)
    if isinstance(error, psycopg.OperationalError):
        return busy()
    return StorageError(500, "InternalError", "Internal Server Error", "InternalError", 500)


def _of_privilege(message: str) -> StorageError:
    """PostgreSQL's own words become the API's sentence; a trigger's sentence reaches the person."""
    if message.startswith(("new row violates", "permission denied", "must be owner")):
        return row_security()
    return access_denied(message)
