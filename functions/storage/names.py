"""What buckets and objects may be called, and how sizes and types are written."""

import re

from functions.storage.errors import (
    StorageError,
    invalid_bucket_name,
    invalid_key,
    invalid_schema,
    invalid_type,
)

_KEY = re.compile(r"[A-Za-z0-9_/!.*'() &$=@;:+,?-]+")
_BUCKET = re.compile(r"[A-Za-z0-9_!.*'() &$=@;:+,?-]{1,100}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?([a-z]+)?", re.IGNORECASE)
# No disk is as large, and a number of any length is compared with it.
_LARGEST = 2**63
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
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


def check_key(name: str) -> None:
    """Refuse a name with other letters than the allowed ones, or with `.` or `..` as a part.

    Raises:
        StorageError: InvalidKey.
    """
    well_formed = len(name) <= LONGEST_KEY and _KEY.fullmatch(name)
    if not well_formed or any(part in (".", "..") for part in name.split("/")):
        raise invalid_key(name)


def check_bucket_name(name: str) -> None:
    """Refuse a bucket name with other letters, with spaces round it, or over 100 characters.

    Raises:
        StorageError: InvalidBucketName.
    """
    if not _BUCKET.fullmatch(name) or name != name.strip():
        raise invalid_bucket_name()


def bytes_of(size: int | str) -> int:
    """A size limit in bytes: a number, or text such as `20MB`, `1.5mb`, `2048` (decimal units).

    Raises:
        ValueError: when the text is no size.
    """
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    if not match or (unit := (match[2] or "b").lower()) not in _UNITS:
        raise ValueError("no size")
    return int(min(float(match[1]) * _UNITS[unit], _LARGEST))


def check_type_form(content_type: str) -> None:
    """Refuse a content type that is none.

    Raises:
        StorageError: InvalidMimeType.
    """
    if not _TYPE.fullmatch(content_type.split(";", 1)[0].strip()):
        raise invalid_type("Invalid Content-Type header")


def check_allowed_type(content_type: str, allowed: list[str] | None) -> None:
    """Refuse a type that the bucket does not list; `image/*` covers every image.

    All else is compared as text.

    Raises:
        StorageError: InvalidMimeType.
    """
    check_type_form(content_type)
    if not allowed:
        return
    kind = content_type.split("/", 1)[0]
    if content_type not in allowed and f"{kind}/*" not in allowed and "*/*" not in allowed:
        raise invalid_type(f"mime type {content_type} is not supported")


def check_printable(cache_control: str, content_type: str) -> None:
    """Refuse what no header line can hold: these two become header lines of every download.

    Raises:
        StorageError: InvalidRequest.
    """
    text = cache_control + content_type
    if not text.isprintable() or not text.isascii():
        raise invalid_schema("cacheControl and contentType must be printable")


def check_robots(value: str) -> None:
    """Refuse an `X-Robots-Tag` that crawlers would not understand; a user agent may stand before a rule.

    Raises:
        StorageError: invalid_x_robots_tag.
    """
    for rule in (part.strip() for part in value.split(",")):
        name, _, rest = rule.partition(":")
        known = name.strip().lower() in _ROBOTS_VALUED and rest.strip()
        if not known and (rest.strip() or rule).lower() not in _ROBOTS:
            message = f'Invalid X-Robots-Tag header: Invalid X-Robots-Tag rule: "{rule}"'
            raise StorageError(400, "invalid_x_robots_tag", message, "InvalidRequest")
