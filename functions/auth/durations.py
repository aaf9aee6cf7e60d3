"""Durations as Go writes them: `60s`, `1h30m`, `1.5h`, `24h`."""

import re
from datetime import timedelta

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+)")


def parse_duration(text: str) -> timedelta:
    """Return the duration that `text` names.

    Raises:
        ValueError: when it is not one, or too long for a calendar.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'time: invalid duration "{text}"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    if seconds > 290 * 365 * 86400:
        raise ValueError(f'time: invalid duration "{text}"')
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)
