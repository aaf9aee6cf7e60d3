#!/usr/bin/env python3
"""The archive_command of a node under Patroni; its arguments are those of pgbackrest, with `%p` the last.

A replica holds part of the segment in which it lost its primary. Once it is the primary itself PostgreSQL
archives that too, but the lost machine may have come back and archived it whole: pgBackRest rejects the other
content, and nothing would be archived any more. No restore needs the part, because the timeline after it
begins with a copy of it. So it is left out, and nothing else is.
"""

import re
import subprocess
import sys
from pathlib import Path

# pgBackRest's: the file is there with another content.
DUPLICATE = 45
SEGMENT = re.compile(r"[0-9A-F]{24}(\.partial)?")
HISTORY = re.compile(r"[0-9A-F]{8}\.history")


def archive(arguments: list[str]) -> int:
    """Run pgBackRest and return its exit status, or 0 for what is left out."""
    status = subprocess.run(["pgbackrest", *arguments], check=False).returncode
    if status == DUPLICATE and is_of_an_earlier_timeline(Path(arguments[-1])):
        print(f"{arguments[-1]} is of an earlier timeline and is in the archive: left out", file=sys.stderr)
        return 0
    return status


def is_of_an_earlier_timeline(file: Path) -> bool:
    """Return whether a file is a segment of a timeline that ended: a history beside it is of a later one."""
    timelines = [int(path.stem, 16) for path in file.parent.iterdir() if HISTORY.fullmatch(path.name)]
    return bool(SEGMENT.fullmatch(file.name)) and int(file.name[:8], 16) < max(timelines, default=0)


if __name__ == "__main__":
    sys.exit(archive(sys.argv[1:]))
