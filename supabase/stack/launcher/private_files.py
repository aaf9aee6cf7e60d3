"""Files and folders that only a stack's user enters, written by that user or by root for it.

What root writes belongs to whoever its folder belongs to. No link is followed: that user may have made it.
"""

import os
from pathlib import Path
from typing import TextIO

OWNER_ONLY, FOLDER_OWNER_ONLY = 0o600, 0o700


def write(path: Path, text: str, mode: int = OWNER_ONLY) -> None:
    """Write a file: whole, or on a full disk not at all."""
    draft = path.with_suffix(".new")
    with _opened(draft, os.O_TRUNC, mode) as file:
        file.write(text)
    draft.replace(path)


def append(path: Path, text: str) -> None:
    """Add to a file, which is made if it is missing."""
    with open_log(path) as file:
        file.write(text)


def open_log(path: Path) -> TextIO:
    """Open a file to add to, which is made if it is missing."""
    return _opened(path, os.O_APPEND, OWNER_ONLY)


def _opened(path: Path, how: int, mode: int) -> TextIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, mode)
    _own(descriptor, path.parent, mode)
    return os.fdopen(descriptor, "w" if how == os.O_TRUNC else "a")


def make_folder(folder: Path) -> None:
    """Make a folder unless it is there, and let no other user into it."""
    made = not folder.exists()
    folder.mkdir(mode=FOLDER_OWNER_ONLY, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if made:
            _own(descriptor, folder.parent, FOLDER_OWNER_ONLY)
        else:
            os.fchmod(descriptor, FOLDER_OWNER_ONLY)
    finally:
        os.close(descriptor)


def _own(descriptor: int, folder: Path, mode: int) -> None:
    os.fchmod(descriptor, mode)
    if os.geteuid() == 0:
        around = folder.stat()
        os.fchown(descriptor, around.st_uid, around.st_gid)
