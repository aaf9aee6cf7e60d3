"""Reads what the schedule of the backups, which runs beside the database, reports."""

from pathlib import Path


def read_report(path: str) -> str | None:
    """Return the report as JSON; None while backups are off.

    One that is not there yet says nothing: the alarms come with time.
    """
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return "{}"
