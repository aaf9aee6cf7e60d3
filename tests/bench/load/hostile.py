"""Questions that cost far more than their length, by visitors and by a member, from several addresses."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, closing

from tests.bench.load.http_client import HttpClient
from tests.support.stack import Stack

AT_ONCE = 50
ADDRESSES = tuple(f"127.9.9.{number}" for number in range(1, 6))
# Before they were bounded each took PostgREST or the database between one second and minutes.
QUESTIONS = (
    "select=" + ",".join(f"a{n}:profiles(*)" for n in range(300)),
    "%73elect=" + ",".join(f"a{n}:profiles%28%2A%29" for n in range(300)),
    "or=(" + ",".join(["id.not.is.null"] * 3000) + ")",
    "%6F%72=%28" + "%2C".join(["id.not.is.null"] * 3000) + "%29",
    "order=" + ",".join(["id", "amount", "status", "created_at"] * 1000),
)
BODIES = (
    b'{"p_referral_code":' + b"[" * 400_000 + b"]" * 400_000 + b"}",
    b"{" + b",".join(b'"k%d%s":1' % (n, b"x" * 4000) for n in range(20)) + b"}",
)


@asynccontextmanager
async def hostile(stack: Stack, token: str) -> AsyncIterator[list[int]]:
    """Keep fifty such requests under way while the block runs; yield the list of their statuses."""
    kinds = itertools.cycle([*[("GET", question) for question in QUESTIONS], *[("POST", b) for b in BODIES]])
    statuses: list[int] = []
    with ExitStack() as clients:
        sources = [clients.enter_context(closing(HttpClient(stack.url, address))) for address in ADDRESSES]

        async def attacker(number: int) -> None:
            client = sources[number % len(sources)]
            bearer = stack.anon_key if number % 2 else token
            headers = {"apikey": stack.anon_key, "authorization": f"Bearer {bearer}"}
            while True:
                await asyncio.sleep(1)
                method, asked = next(kinds)
                if isinstance(asked, str):
                    reply = await client.json(method, f"/rest/v1/deposits?{asked}", headers)
                else:
                    reply = await client.ask(method, "/rest/v1/rpc/get_sponsor", headers, asked)
                statuses.append(reply.status)

        attackers = [asyncio.create_task(attacker(number)) for number in range(AT_ONCE)]
        try:
            yield statuses
        finally:
            for task in attackers:
                task.cancel()
            await asyncio.gather(*attackers, return_exceptions=True)
