"""Places for files on their way: few at once, fewer of one person, and none for long to a slow one.

A file holds a place while it is read and stored, or found and sent. Lists and signed URLs need none: they are
small, and the gateway has the whole of what is sent before it asks.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from functions.storage.errors import busy, too_many_at_once


@dataclass(frozen=True)
class Limits:
    """How many move at once and how many wait, of all and of one person; `of_person` counts both."""

    moving: int
    waiting: int
    moving_of_person: int
    of_person: int


# The gateway has no places for files. Of one person few move at once, and some more may wait.
ARRIVALS = Limits(12, 48, 2, 6)
DEPARTURES = Limits(48, 24, 4, 16)
LONGEST_WAIT_SECONDS = 3.0
# Where others wait for its place a file must be this fast. It has a moment to begin, and some lead may count.
FAIR_BYTES_PER_SECOND = 32 * 1024
START_SECONDS = 0.5
LARGEST_LEAD_SECONDS = 2.0
# Clients whose file was ended for being slow come last for so long.
REMEMBERED_SECONDS = 60.0
_LOOK_SECONDS = 0.1


class Transfer:
    """A file on its way.

    Attributes:
        person: whose client it is; None for the service key.
        due: when one of the fair pace would have come as far, on the monotonic clock; None while none moves.
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
        """Limit how long the next piece may take.

        Raises:
            TimeoutError: it did not move, or the file is ended.
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
        """Note that a piece has moved."""
        if self.due is not None:
            lead = time.monotonic() + LARGEST_LEAD_SECONDS
            self.due = min(self.due + length / FAIR_BYTES_PER_SECOND, lead)

    def complete(self) -> None:
        """Note that all has moved: now it is not slow any more."""
        self.due = None

    def end(self) -> None:
        """End it with the piece that it waits for."""
        self.ended = True
        if self._piece and not self._piece.expired():
            self._piece.reschedule(0)


class Transfers:
    """The files of one direction that move now, and those that wait."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._moving: list[Transfer] = []
        self._waiting: list[Transfer] = []
        self._slow: dict[str | None, float] = {}
        self._look: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def place(self, person: str | None) -> AsyncIterator[Transfer]:
        """Hold a place for a file, which may have to wait for it.

        Raises:
            ApiError: SlowDown, when there are too many of the person, or no place became free in time.
        """
        transfer = Transfer(person)
        with self._present(transfer):
            try:
                await asyncio.wait_for(transfer.begins, LONGEST_WAIT_SECONDS)
            except TimeoutError as error:
                raise (busy if self._has_room(person) else too_many_at_once)() from error
            yield transfer

    @contextmanager
    def _present(self, transfer: Transfer) -> Iterator[None]:
        mine = [other for other in (*self._moving, *self._waiting) if other.person == transfer.person]
        if transfer.person is not None and len(mine) >= self._limits.of_person:
            raise too_many_at_once()
        self._waiting.append(transfer)
        self._advance()
        try:
            yield
        finally:
            (self._waiting if transfer in self._waiting else self._moving).remove(transfer)
            self._advance()

    def _advance(self) -> None:
        """Fill free places, end a slow file where one is needed, and drop one where too many wait."""
        if self._look:
            self._look.cancel()
            self._look = None
        while (first := self._first()) and len(self._moving) < self._limits.moving:
            self._waiting.remove(first)
            self._moving.append(first)
            first.begins.set_result(None)
        if first:
            self._end_slowest()
            self._look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._advance)
        waiting = self._queue()
        if len(waiting) > self._limits.waiting:
            self._last_of(waiting).begins.set_exception(busy())

    def _first(self) -> Transfer | None:
        """Return the file that may move next: of whom has the fewest, those that were slow last."""
        may = [one for one in self._queue() if one.person is None or self._has_room(one.person)]
        return min(may, key=lambda one: (self._was_slow(one), self._moving_of(one.person)), default=None)

    def _queue(self) -> list[Transfer]:
        """Return those that wait, and are not about to leave."""
        return [one for one in self._waiting if not one.begins.done()]

    def _last_of(self, waiting: list[Transfer]) -> Transfer:
        """Return the file that waits with the least right to: of whom most wait, the newest."""
        count = Counter(one.person for one in waiting)
        return max(reversed(waiting), key=lambda one: (self._was_slow(one), count[one.person]))

    def _moving_of(self, person: str | None) -> int:
        return sum(one.person == person for one in self._moving)

    def _has_room(self, person: str | None) -> bool:
        return self._moving_of(person) < self._limits.moving_of_person

    def _was_slow(self, transfer: Transfer) -> bool:
        return self._slow.get(transfer.person, -REMEMBERED_SECONDS) > time.monotonic() - REMEMBERED_SECONDS

    def _end_slowest(self) -> None:
        """End the file that is farthest behind; it stays that until it has left."""
        now = time.monotonic()
        behind = [one for one in self._moving if one.due is not None and one.due < now]
        if not behind:
            return
        slowest = min(behind, key=lambda one: one.due or 0)
        slowest.end()
        if slowest.person is not None:
            known = self._slow.items()
            self._slow = {person: at for person, at in known if at > now - REMEMBERED_SECONDS}
            self._slow[slowest.person] = now
