"""The same load with two and three instances of each service, on the same processors."""

import asyncio
import contextlib

from launcher import lifecycle
from launcher import settings as configuration
from launcher.host import tools
from launcher.settings import SETUP_LOG
from tests.bench.load.http_client import HttpClient
from tests.bench.load.mix import Mix
from tests.bench.load.population import Population
from tests.bench.load.schedule import closed_loop, open_loop, percentile
from tests.bench.report import record
from tests.support.stack import Stack, stack_state

NUMBERS = (2, 3)
SHOWN = (50, 95, 99)
SECONDS = 20
WARM_SECONDS = 5


def measure(goal: str, population: Population, stack: Stack, rate: float, people: int, seed: int) -> None:
    """Record, with each number of instances, how the mix is served and what the most is."""
    for number in NUMBERS:
        _run(number)
        asyncio.run(_load(f"{number} instances", goal, population, stack, rate, people, seed))
    _run(1)


def _run(instances: int) -> None:
    settings = configuration.read(stack_state())
    settings.options["INSTANCES"] = str(instances)
    configuration.choose_ports(settings)
    lifecycle.bring_up(settings, tools.find_postgres(tools.EXTENSIONS), SETUP_LOG)


async def _load(
    what: str, goal: str, population: Population, stack: Stack, rate: float, people: int, seed: int
) -> None:
    with contextlib.closing(HttpClient(stack.url)) as http:
        mix = Mix(population, http)
        await mix.prepare(20)
        await open_loop(mix.draw(seed), rate, WARM_SECONDS)
        responses = await open_loop(mix.draw(seed + 1), rate, SECONDS)
        wrong = sum(not response.accepted for response in responses)
        record(goal, f"{what}, errors of {len(responses):,}", wrong, "", "none", not wrong)
        for number in SHOWN:
            record(goal, f"{what}, mix at {rate} a second, p{number}", percentile(responses, number), "ms")
        done = await closed_loop(mix.draw(seed + 2), people, WARM_SECONDS * 2)
        capacity = sum(response.accepted for response in done) / (WARM_SECONDS * 2)
        record(goal, f"{what}, capacity: {people} people who ask again at once", capacity, "requests/s")
