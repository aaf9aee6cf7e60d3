"""P9: reading one's own row through the gateway, against PostgREST directly; all share the cores.

Run by `make bench`; STACK_ENV names the stack. Exits with 1 when the goal is missed.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.bench.report import exit_code, record
from tests.support.stack import Stack

# A person has no more requests under way at PostgREST.
CONNECTIONS = 3
SECONDS = 5
ROUNDS = 3
GOAL = 0.5


async def reader(address: tuple[str, int], request: bytes, until: float) -> int:
    """Send requests on one connection; return the number of responses with 200."""
    receive, send = await asyncio.open_connection(*address)
    responses = 0
    while time.monotonic() < until:
        send.write(request)
        head = await receive.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        lowered = head.lower()
        if b"content-length:" in lowered:
            await receive.readexactly(int(lowered.split(b"content-length:")[1].split(b"\r\n")[0]))
        else:
            await receive.readuntil(b"0\r\n\r\n")
        responses += 1
    send.close()
    return responses


async def rate(address: tuple[str, int], request: bytes) -> float:
    """Return the responses a second over all connections."""
    until = time.monotonic() + SECONDS
    return sum(await asyncio.gather(*[reader(address, request, until) for _ in range(CONNECTIONS)])) / SECONDS


def main() -> int:
    """Measure both ways in turn and print the ratio of the best rounds."""
    stack = Stack.read()
    settings = json.loads((Path(os.environ["STACK_ENV"]).parent / "settings.json").read_text())
    response = httpx.post(
        f"{stack.url}/auth/v1/token?grant_type=password",
        headers={"apikey": stack.anon_key},
        json={"email": stack.values["DEMO_MEMBER_EMAIL"], "password": stack.values["DEMO_MEMBER_PASSWORD"]},
    ).raise_for_status()
    session = response.json()
    query = f"profiles?select=id,username&user_id=eq.{session['user']['id']}"
    lines = f"Host: x\r\nAuthorization: Bearer {session['access_token']}\r\napikey: {stack.anon_key}\r\n\r\n"
    gateway, inside = urlsplit(stack.url), settings["ports"]["postgrest"]
    ways = {
        "through the gateway": (
            (gateway.hostname or "", gateway.port or 80),
            f"GET /rest/v1/{query} HTTP/1.1\r\n{lines}".encode(),
        ),
        "PostgREST directly": (("127.0.0.1", inside), f"GET /{query} HTTP/1.1\r\n{lines}".encode()),
    }
    best = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for way, (address, request) in ways.items():
            best[way] = max(best[way], asyncio.run(rate(address, request)))
    for way, value in best.items():
        record("P9", f"reading one's own row, {way}", value, "requests/s")
    ratio = best["through the gateway"] / best["PostgREST directly"]
    record("P9", "gateway against PostgREST", ratio, "x", f"at least {GOAL}", ratio >= GOAL)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
