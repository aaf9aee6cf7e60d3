"""E-mail addresses as this service takes them: lower case, checked for form only."""

import re

from functions.auth.errors import invalid

_FORM = re.compile(
    r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*",
    re.IGNORECASE,
)


def checked_email(given: str | None) -> str:
    """The address in lower case. Raises AuthError 400 when missing, over 255 bytes or of no valid form."""
    if not given:
        raise invalid("An email address is required")
    if len(given.encode()) > 255:
        raise invalid("An email address is too long")
    if not _FORM.fullmatch(given):
        raise invalid("Unable to validate email address: invalid format")
    return given.lower()
