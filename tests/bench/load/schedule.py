"""When requests are sent: on a fixed schedule (open loop), or each after the last response (closed loop)."""

import asyncio
import statistics
import time
from dataclasses import dataclass

from tests.bench.load.mix import Ask, Draw

NO_RESPONSE = 0


@dataclass(frozen=True)
class Result:
    """The result of one request.

    Attributes:
        due: when it was to be sent, in seconds of the run.
        seconds: from then to the end of the response. A late send counts as waiting time, which avoids
            coordinated omission.
        late: how long of that the client took to send it.
    """

    kind: str
    due: float
    seconds: float
    late: float
    status: int
    text: str

    @property
    def accepted(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.status < 300

    @property
    def shed(self) -> bool:
        """Whether the request was shed because of overload."""
        return self.status in (429, 503)


async def open_loop(draw: Draw, rate: float, seconds: float) -> list[Result]:
    """Send requests at a fixed rate, without waiting for earlier responses; return all responses."""
    return await asyncio.gather(*await sent(draw, rate, seconds))


async def sent(draw: Draw, rate: float, seconds: float) -> list["asyncio.Task[Result]"]:
    """Send requests at a fixed rate without waiting for the responses."""
    started = time.perf_counter()
    asked = []
    for number in range(int(rate * seconds)):
        due = number / rate
        await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
        asked.append(asyncio.create_task(_ask(*draw.next(), started, due)))
    return asked


async def closed_loop(draw: Draw, at_once: int, seconds: float) -> list[Result]:
    """Run parallel clients that send again as soon as they have a response: the maximum throughput."""
    started = time.perf_counter()

    async def person() -> list[Result]:
        responses = []
        while (now := time.perf_counter() - started) < seconds:
            responses.append(await _ask(*draw.next(), started, now))
        return responses

    results_by_client = await asyncio.gather(*[person() for _ in range(at_once)])
    return [response for responses in results_by_client for response in responses]


async def _ask(kind: str, ask: Ask, started: float, due: float) -> Result:
    late = time.perf_counter() - started - due
    try:
        reply = await ask()
        status, text = reply.status, "" if reply.good else reply.content[:120].decode()
    except (OSError, EOFError, TimeoutError) as error:
        status, text = NO_RESPONSE, repr(error)
    return Result(kind, due, time.perf_counter() - started - due, late, status, text)


def percentile(responses: list[Result], number: int) -> float:
    """Return a percentile of the response times in milliseconds; infinite when there were none."""
    times = [response.seconds * 1000 for response in responses]
    if len(times) < 2:
        return times[0] if times else float("inf")
    return statistics.quantiles(times, n=100, method="inclusive")[number - 1]
