"""Migrations that were released stay as they are: sql/released.sha256 has the hash of each."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from launcher.settings import ROOT

# As sha256sum writes it: each line a hash and a path from the repository's root.
LIST = Path("sql/released.sha256")
FOLDERS = ("sql/migrations", "functions/auth/migrations", "functions/storage/migrations")
CORRECTION = "Take it back; a change is a new file after the last one (make migration NAME=what_changes)."


def failure(root: Path = ROOT) -> str:
    """Return which released files differ, and which new ones come before them; empty when none does."""
    found = [*_problems(root)]
    return "\n".join([*found, CORRECTION]) if found else ""


def _problems(root: Path) -> Iterator[str]:
    lines = (root / LIST).read_text().splitlines()
    released = {path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}
    for path, digest in released.items():
        file = root / path
        if not file.exists():
            yield f"{path} was released, and is gone"
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            yield f"{path} was released, and differs"
    for folder in FOLDERS:
        last = max((path for path in released if path.startswith(f"{folder}/")), default="")
        here = {str(file.relative_to(root)) for file in (root / folder).glob("*.sql")}
        for path in sorted(here - released.keys()):
            if path < last:
                yield f"{path} is new, and comes before {last}, which was released"


if __name__ == "__main__":
    sys.exit(failure() or None)
