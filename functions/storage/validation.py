"""Validation of names, content types and headers."""

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from functions.storage.errors import (
    invalid_bucket_name,
    invalid_key,
    invalid_robots,
    invalid_schema,
    invalid_type,
)

_KEY = re.compile(r"[A-Za-z0-9_/!.*'() &$=@;:+,?-]+")
_BUCKET = re.compile(r"[A-Za-z0-9_!.*'() &$=@;:+,?-]{1,100}")
# Characters that no path holds: control characters, and an escape that is left after one decoding,
# because it is broken or another layer would decode it again.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f%]")
_SEPARATOR = re.compile(r"[/\\]")
_NO_SEGMENT = frozenset(["", ".", ".."])
_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+*-]+")
_ROBOTS = frozenset(
    [
        "all",
        "noindex",
        "nofollow",
        "none",
        "noarchive",
        "nosnippet",
        "indexifembedded",
        "notranslate",
        "noimageindex",
    ]
)
_ROBOTS_VALUED = frozenset(["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"])

PLACEHOLDER = ".emptyFolderPlaceholder"
# Bytes; an index entry has to hold the name.
LONGEST_KEY = 1024


def begins_path(prefix: str) -> bool:
    """Return whether a path can begin so: what no other layer could read as another name.

    No dot segment, no empty segment, no control character and no escape. A backslash separates too, for some.
    """
    whole = _SEPARATOR.split(prefix)[:-1]
    return not _UNSAFE.search(prefix) and not any(part in _NO_SEGMENT for part in whole)


def is_path(path: str) -> bool:
    """Return whether an object can have this name: nothing normalises names here."""
    return begins_path(path) and _SEPARATOR.split(path)[-1] not in _NO_SEGMENT


def check_path(path: str) -> None:
    """Reject a name that no object can have.

    Raises:
        ApiError: InvalidKey.
    """
    if not is_path(path):
        raise invalid_key(path)


def check_key(name: str) -> None:
    """Reject a name to be stored with other letters than the allowed ones, besides what no path holds.

    Raises:
        ApiError: InvalidKey.
    """
    check_path(name)
    if len(name) > LONGEST_KEY or not _KEY.fullmatch(name):
        raise invalid_key(name)


class PathCheck:
    """ASGI middleware: rejects unsafe paths as they were sent, before anything matches or decodes them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            ApiError: InvalidKey.
        """
        if scope["type"] == "http":
            _check_sent_path(scope["raw_path"].decode("ascii", "replace"))
        await self.app(scope, receive, send)


def _check_sent_path(sent: str) -> None:
    try:
        path = unquote(sent, errors="strict").removeprefix("/")
    except UnicodeDecodeError as error:
        raise invalid_key(sent) from error
    check_path(path)


def check_bucket_name(name: str) -> None:
    """Reject a bucket name with other letters, with spaces round it, over 100 characters, or only of dots.

    Raises:
        ApiError: InvalidBucketName.
    """
    if not _BUCKET.fullmatch(name) or name != name.strip() or name in (".", ".."):
        raise invalid_bucket_name()


def check_type_form(content_type: str) -> None:
    """Reject a content type that is none.

    Raises:
        ApiError: InvalidMimeType.
    """
    if not _TYPE.fullmatch(content_type.split(";", 1)[0].strip()):
        raise invalid_type("Invalid Content-Type header")


def check_allowed_type(content_type: str, allowed: list[str] | None) -> None:
    """Reject a type that the bucket does not list; `image/*` covers every image.

    All else is compared as text.

    Raises:
        ApiError: InvalidMimeType.
    """
    check_type_form(content_type)
    if not allowed:
        return
    kind = content_type.split("/", 1)[0]
    if content_type not in allowed and f"{kind}/*" not in allowed and "*/*" not in allowed:
        raise invalid_type(f"mime type {content_type} is not supported")


def check_printable(cache_control: str, content_type: str) -> None:
    """Reject what no header line can hold: these two become header lines of every download.

    Raises:
        ApiError: InvalidRequest.
    """
    text = cache_control + content_type
    if not text.isprintable() or not text.isascii():
        raise invalid_schema("cacheControl and contentType must be printable")


def check_robots(value: str) -> None:
    """Reject an `X-Robots-Tag` that crawlers would not understand; a user agent may stand before a rule.

    Raises:
        ApiError: invalid_x_robots_tag.
    """
    for rule in (part.strip() for part in value.split(",")):
        name, _, rest = rule.partition(":")
        known = name.strip().lower() in _ROBOTS_VALUED and rest.strip()
        if not known and (rest.strip() or rule).lower() not in _ROBOTS:
            raise invalid_robots(f'Invalid X-Robots-Tag header: Invalid X-Robots-Tag rule: "{rule}"')
