"""Where a text that an edit replaces is now, for the error that says it is gone or stands twice."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher


def nearest(old: str, texts: Mapping[str, str]) -> str:
    """Say which of the named texts hold a passage or, where none does, where the most similar one is."""
    places = [place for place, text in texts.items() for _ in range(text.count(old))]
    if places:
        return f"{', '.join(places)} hold, and one alone should: {old}"
    wanted = SequenceMatcher(b=old)

    def likeness(passage: tuple[str, str]) -> float:
        wanted.set_seq1(passage[1])
        return wanted.ratio() if wanted.quick_ratio() > 0.5 else 0

    place, passage = max(_passages(texts, old.count("\n") + 1), key=likeness, default=("", ""))
    return f"no text holds: {old}\n  The most similar, in {place}:\n{passage}"


def _passages(texts: Mapping[str, str], length: int) -> Iterator[tuple[str, str]]:
    """Yield every passage of so many lines with the place of its text."""
    for place, text in texts.items():
        lines = text.split("\n")
        for start in range(len(lines) - length + 1):
            yield place, "\n".join(lines[start : start + length])
