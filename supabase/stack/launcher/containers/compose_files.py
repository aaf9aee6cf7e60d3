"""How values and files are written so that containers read exactly them."""

import re
from collections.abc import Mapping
from pathlib import Path

from launcher.terminal import Stop

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Docker Compose reads text in double quotes with the escapes of a shell, and then `$` as a variable. As
# numbers, quote and backslash are none that any version of its reader takes for the end of the text.
ESCAPES = str.maketrans({"\\": r"\0134", '"': r"\0042", "$": r"\$"})


def write_env(path: Path, lines: Mapping[str, str]) -> Path:
    """Write a file of variables for Docker Compose, which only its owner reads."""
    path.touch(mode=0o600)
    path.write_text("".join(f'{name}="{_written(name, value)}"\n' for name, value in lines.items()))
    return path


def _written(name: str, value: str) -> str:
    if CONTROL.search(value):
        raise Stop(f"{name} holds a line break or another control character. Give it another value.")
    return value.translate(ESCAPES)


def secret(name: str, value: str) -> str:
    """Return what a service reads from a file of its own: a text without blanks around it."""
    if CONTROL.search(value) or value != value.strip():
        raise Stop(f"{name} holds a line break, or blanks at an end. Give it another value.")
    return value


def write_mounted(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files for containers, whose users may read them; the folder around is closed to others.

    In place: a file that is mounted would stay the former one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)
