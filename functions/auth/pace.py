"""Time tells no account apart: who gets no mail waits as long as a request that sends one."""

import asyncio
import secrets
import time
from collections import defaultdict, deque

_REMEMBERED = 32


class Pace:
    """How long the last requests of each kind took that sent a mail."""

    def __init__(self) -> None:
        self._took: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def note(self, kind: str, started: float) -> None:
        """A request that began at this reading of time.perf_counter has sent its mail."""
        self._took[kind].append(time.perf_counter() - started)

    async def keep(self, kind: str, started: float) -> None:
        """Wait until a request that began then has taken as long as one of those, drawn for its jitter.

        Before the first of a kind there is nothing to go by, and no wait.
        """
        if took := self._took[kind]:
            await asyncio.sleep(started + secrets.choice(took) - time.perf_counter())
