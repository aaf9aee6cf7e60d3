"""Where a test may let the process die, to prove that a crash there leaves nothing half done."""

import os


def crash_here(name: str) -> None:
    """End the process at once, as a crash would, when the environment's FAILPOINT names this place."""
    if os.environ.get("FAILPOINT") == name:
        os._exit(137)
