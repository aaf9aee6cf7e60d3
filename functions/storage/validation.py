"""Validation of names, content types and headers."""

import re

from functions.storage.errors import (
    invalid_bucket_name,
    invalid_key,
    invalid_robots,
    invalid_schema,
    invalid_type,
)

_KEY = re.compile(r"[A-Za-z0-9_/!.*'() &$=@;:+,?-]+")
_BUCKET = re.compile(r"[A-Za-z0-9_!.*'() &$=@;:+,?-]{1,100}")
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
    """Reject a name with other letters than the allowed ones, or with `.` or `..` as a part.

    Raises:
        ApiError: InvalidKey.
    """
    well_formed = len(name) <= LONGEST_KEY and _KEY.fullmatch(name)
    if not well_formed or any(part in (".", "..") for part in name.split("/")):
        raise invalid_key(name)


def check_bucket_name(name: str) -> None:
    """Reject a bucket name with other letters, with spaces round it, or over 100 characters.

    Raises:
        ApiError: InvalidBucketName.
    """
    if not _BUCKET.fullmatch(name) or name != name.strip():
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
