"""Processes that end with the one that started them, even when that is killed."""

from collections.abc import Sequence
from pathlib import Path


def ending_with_parent(command: Sequence[str | Path], signal: str = "KILL") -> list[str | Path]:
    """Return the command that gets the signal when its parent ends.

    The parent is the thread that starts it, which must live at least as long.
    """
    return ["setpriv", "--pdeathsig", signal, "--", *command]
