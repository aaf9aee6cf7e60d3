"""Places for bodies that arrive: few at once, fewer of one person, and none for long to a slow one.

A body holds a place while it is read and stored. Downloads, lists and signed URLs need none: their bodies are
small, and the gateway has the whole of them before it asks.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from functions.storage.errors import busy, too_many_at_once

# The gateway has places for all of these, read or waiting, and for some that are only rejected.
MOST_READ = 12
MOST_WAITING = 48
# Of one person: as many as a browser sends at once, and few of them are read at the same time.
MOST_READ_OF_PERSON = 2
MOST_OF_PERSON = 6
LONGEST_WAIT_SECONDS = 3.0
# Where others wait for its place a body must be this fast. It has a moment to begin, and some lead may count.
FAIR_BYTES_PER_SECOND = 32 * 1024
START_SECONDS = 0.5
LARGEST_LEAD_SECONDS = 2.0
# Clients whose body was ended for being slow come last for so long.
REMEMBERED_SECONDS = 60.0
_LOOK_SECONDS = 0.1


class Body:
    """A body that arrives.

    Attributes:
        person: who sends it; None for the service key.
        due: when a body of the fair pace would have sent as much, on the monotonic clock; None while nothing
            is read.
        ended: another one needs the place.
    """

    def __init__(self, person: str | None = None) -> None:
        self.person = person
        self.due: float | None = None
        self.ended = False
        self.begins: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._piece: asyncio.Timeout | None = None

    @asynccontextmanager
    async def piece_within(self, seconds: float) -> AsyncIterator[None]:
        """Limit the wait for the next piece.

        Raises:
            TimeoutError: it did not come, or the body is ended.
        """
        if self.ended:
            raise TimeoutError
        if self.due is None:
            self.due = time.monotonic() + START_SECONDS
        try:
            async with asyncio.timeout(seconds) as self._piece:
                yield
        finally:
            self._piece = None

    def advance(self, length: int) -> None:
        """Note that a piece has come."""
        if self.due is not None:
            lead = time.monotonic() + LARGEST_LEAD_SECONDS
            self.due = min(self.due + length / FAIR_BYTES_PER_SECOND, lead)

    def complete(self) -> None:
        """Note that all has come: now it is not slow any more."""
        self.due = None

    def end(self) -> None:
        """End it with the piece that it waits for."""
        self.ended = True
        if self._piece and not self._piece.expired():
            self._piece.reschedule(0)


class Arrivals:
    """The bodies that are read now, and those that wait."""

    def __init__(self) -> None:
        self._read: list[Body] = []
        self._waiting: list[Body] = []
        self._slow: dict[str | None, float] = {}
        self._look: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def place(self, person: str | None) -> AsyncIterator[Body]:
        """Hold a place for a body, which may have to wait for it.

        Raises:
            ApiError: SlowDown, when the person sends too many at once, or no place became free in time.
        """
        body = Body(person)
        with self._present(body):
            try:
                await asyncio.wait_for(body.begins, LONGEST_WAIT_SECONDS)
            except TimeoutError as error:
                raise (busy if self._has_room(person) else too_many_at_once)() from error
            yield body

    @contextmanager
    def _present(self, body: Body) -> Iterator[None]:
        mine = [other for other in (*self._read, *self._waiting) if other.person == body.person]
        if body.person is not None and len(mine) >= MOST_OF_PERSON:
            raise too_many_at_once()
        self._waiting.append(body)
        self._advance()
        try:
            yield
        finally:
            (self._waiting if body in self._waiting else self._read).remove(body)
            self._advance()

    def _advance(self) -> None:
        """Fill free places, end a slow body where one is needed, and drop one where too many wait."""
        if self._look:
            self._look.cancel()
            self._look = None
        while (first := self._first()) and len(self._read) < MOST_READ:
            self._waiting.remove(first)
            self._read.append(first)
            first.begins.set_result(None)
        if first:
            self._end_slowest()
            self._look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._advance)
        waiting = self._queue()
        if len(waiting) > MOST_WAITING:
            self._last_of(waiting).begins.set_exception(busy())

    def _first(self) -> Body | None:
        """Return the body that may be read next: of whom has the fewest, those that were slow last."""
        may = [body for body in self._queue() if body.person is None or self._has_room(body.person)]
        return min(may, key=lambda body: (self._was_slow(body), self._read_of(body.person)), default=None)

    def _queue(self) -> list[Body]:
        """Return those that wait, and are not about to leave."""
        return [body for body in self._waiting if not body.begins.done()]

    def _last_of(self, waiting: list[Body]) -> Body:
        """Return the body that waits with the least right to: of whom most wait, the newest."""
        count = Counter(body.person for body in waiting)
        return max(reversed(waiting), key=lambda body: (self._was_slow(body), count[body.person]))

    def _read_of(self, person: str | None) -> int:
        return sum(body.person == person for body in self._read)

    def _has_room(self, person: str | None) -> bool:
        return self._read_of(person) < MOST_READ_OF_PERSON

    def _was_slow(self, body: Body) -> bool:
        return self._slow.get(body.person, -REMEMBERED_SECONDS) > time.monotonic() - REMEMBERED_SECONDS

    def _end_slowest(self) -> None:
        """End the body that is farthest behind; it stays that until it has left."""
        now = time.monotonic()
        behind = [body for body in self._read if body.due is not None and body.due < now]
        if not behind:
            return
        slowest = min(behind, key=lambda body: body.due or 0)
        slowest.end()
        if slowest.person is not None:
            known = self._slow.items()
            self._slow = {person: at for person, at in known if at > now - REMEMBERED_SECONDS}
            self._slow[slowest.person] = now
