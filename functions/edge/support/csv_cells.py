"""Values as cells of a CSV file that no spreadsheet runs as a formula."""

from typing import Any

import orjson

# Spreadsheets take the wide forms of Asian keyboards for the narrow ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", *"\n\uff1d\uff0b\uff0d\uff20")


def cell(value: Any) -> str:
    """Return a value as a cell: a text that a spreadsheet would run as a formula gets an apostrophe."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal() and text.isascii()
