"""Becomes one service: `run_service.py SPECIFICATION.json`. No secret stands in the supervisor's file."""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Replace this process by the service."""
    specification = json.loads(Path(sys.argv[1]).read_text())
    command = specification["command"]
    os.execvpe(command[0], command, specification["env"])  # noqa: S606


if __name__ == "__main__":
    main()
