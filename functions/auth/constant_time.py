"""Responses that take the same time whether an account exists or not."""

import asyncio
import secrets
import time
from collections import defaultdict, deque

_REMEMBERED = 32


class ConstantTime:
    """Makes a request that mails nothing take as long as the last ones of its kind that sent a mail."""

    def __init__(self) -> None:
        """Begin without measurements: until the first of a kind, nothing waits."""
        self._durations: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def record(self, kind: str, started: float) -> None:
        """Note that a request that began at this reading of time.perf_counter has sent its mail."""
        self._durations[kind].append(time.perf_counter() - started)

    async def pad(self, kind: str, started: float) -> None:
        """Wait until a request has taken as long as one of those, drawn at random for its jitter."""
        if durations := self._durations[kind]:
            await asyncio.sleep(started + secrets.choice(durations) - time.perf_counter())
