"""P11: the auth service under load, compared with a real GoTrue in the same run where AUTH_BIN names one.

Both are started here with the same settings on the stack's database and measured in short turns.
Run by `make bench`; STACK_ENV names the stack.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from functions.auth.passwords import COST
from tests.bench.report import exit_code, record
from tests.support.own_auth import OwnAuth
from tests.support.stack import Stack

CONNECTIONS = 8
SIGN_INS = 4
SECONDS = 1.5
TURNS = 6
PASSWORD = "harbour-lantern-41"
# As the launcher sets them, but for the limits per address.
SETTINGS = {
    "DATABASE_POOL_SIZE": "10",
    "GOTRUE_DB_MAX_POOL_SIZE": "10",
    "GOTRUE_DB_MAX_IDLE_POOL_SIZE": "10",
    "GOTRUE_RATE_LIMIT_HEADER": "",
    "LOG_LEVEL": "INFO",
    "GOTRUE_LOG_LEVEL": "info",
}


@dataclass
class Figure:
    """Result of one kind of request: responses a second, and the 95th percentile in milliseconds."""

    rate: float
    p95: float


class Connection:
    """A keep-alive HTTP connection of one signed-in user."""

    def __init__(self, service: OwnAuth, email: str, session: dict[str, Any]) -> None:
        self._service, self._email, self._session = service, email, session

    async def open(self) -> None:
        """Connect."""
        self._receive, self._send = await asyncio.open_connection("127.0.0.1", self._service.port)

    def close(self) -> None:
        """Hang up."""
        self._send.close()

    async def user(self) -> None:
        """GET /user."""
        await self._ask("GET", "/user", f"Authorization: Bearer {self._session['access_token']}\r\n")

    async def refresh(self) -> None:
        """Swap the refresh token."""
        body = {"refresh_token": self._session["refresh_token"]}
        self._session = await self._ask("POST", "/token?grant_type=refresh_token", body=body)

    async def sign_in(self) -> None:
        """Sign in with the password."""
        body = {"email": self._email, "password": PASSWORD}
        await self._ask("POST", "/token?grant_type=password", body=body)

    async def _ask(self, method: str, path: str, header: str = "", body: Any = None) -> Any:
        content = orjson.dumps(body) if body else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{header}Content-Length: {len(content)}\r\n\r\n"
        self._send.write(head.encode() + content)
        response_head = (await self._receive.readuntil(b"\r\n\r\n")).lower()
        if not response_head.startswith(b"http/1.1 200"):
            raise RuntimeError(response_head.decode())
        if b"content-length:" in response_head:
            length = int(response_head.split(b"content-length:")[1].split(b"\r\n")[0])
            return orjson.loads(await self._receive.readexactly(length))
        return orjson.loads(await self._chunks())

    async def _chunks(self) -> bytes:
        parts = []
        while size := int(await self._receive.readline(), 16):
            parts.append(await self._receive.readexactly(size))
            await self._receive.readline()
        await self._receive.readline()
        return b"".join(parts)


Act = Callable[[Connection], Awaitable[None]]


async def _repeat(connection: Connection, act: Act, until: float) -> list[float]:
    times = []
    while (started := time.perf_counter()) < until:
        await act(connection)
        times.append(time.perf_counter() - started)
    return times


async def _measure(
    connections: list[Connection], act: Act, others: list[Connection]
) -> tuple[list[float], float]:
    """Repeat one request on each connection while others sign in; return times and total time."""
    everyone_connected = [*connections, *others]
    await asyncio.gather(*[connection.open() for connection in everyone_connected])
    started = time.perf_counter()
    signing_in = [_repeat(connection, Connection.sign_in, started + SECONDS) for connection in others]
    asking = asyncio.gather(*[_repeat(connection, act, started + SECONDS) for connection in connections])
    waiting = asyncio.gather(*signing_in)
    times = [seconds for result in await asking for seconds in result]
    took = time.perf_counter() - started
    await waiting
    for connection in everyone_connected:
        connection.close()
    return times, took


def _in_turns(act: Act, people: list[tuple[list[Connection], list[Connection]]]) -> list[Figure]:
    """One kind of request at each service in short turns, so that whatever else runs slows both alike."""
    times: list[list[float]] = [[] for _ in people]
    took = [0.0 for _ in people]
    for _ in range(TURNS):
        for number, (connections, others) in enumerate(people):
            response_head, seconds = asyncio.run(_measure(connections, act, others))
            times[number] += response_head
            took[number] += seconds
    return [
        Figure(len(one) / seconds, statistics.quantiles(one, n=20)[-1] * 1000)
        for one, seconds in zip(times, took, strict=True)
    ]


def _all(people: list[tuple[list[Connection], list[Connection]]]) -> dict[str, list[Figure]]:
    """Every kind of request alone, and the two frequent ones while others sign in."""
    alone = [(connections, []) for connections, _ in people]
    return {
        "GET /user": _in_turns(Connection.user, alone),
        "refresh": _in_turns(Connection.refresh, alone),
        "password sign-in": _in_turns(Connection.sign_in, alone),
        "GET /user beside sign-ins": _in_turns(Connection.user, people),
        "refresh beside sign-ins": _in_turns(Connection.refresh, people),
    }


def _people(service: OwnAuth, count: int) -> list[Connection]:
    made = [service.new_user(PASSWORD, cost=COST) for _ in range(count)]
    return [
        Connection(service, user["email"], service.sign_in(user["email"], PASSWORD).raise_for_status().json())
        for user in made
    ]


def _report(what: str, own: Figure, real: Figure | None = None) -> None:
    record("P11", what, own.rate, "requests/s")
    record("P11", f"{what}, 95th percentile", own.p95, "ms")
    if real is None:
        return
    record("P11", f"{what}, a real GoTrue", real.rate, "requests/s")
    record("P11", f"{what}, a real GoTrue, 95th percentile", real.p95, "ms")
    # bcrypt takes as long in both: a sign-in is compared with some room for chance.
    room = 0.05 if what == "password sign-in" else 0
    ratio, slower = own.rate / real.rate, own.p95 / real.p95
    compared = f"{what} against the real one"
    record("P11", compared, ratio, "x", f"at least {1 - room:g}", ratio >= 1 - room)
    record("P11", f"{compared}, 95th percentile", slower, "x", f"at most {1 + room:g}", slower <= 1 + room)


def main() -> int:
    """Measure in turns and report."""
    stack = Stack.read()
    services = [OwnAuth(stack, output=subprocess.DEVNULL)]
    if binary := os.environ.get("AUTH_BIN"):
        services.append(OwnAuth(stack, binary, output=subprocess.DEVNULL))
    try:
        people = []
        for service in services:
            service.start(**SETTINGS)
            people.append((_people(service, CONNECTIONS), _people(service, SIGN_INS)))
        for what, figures in _all(people).items():
            _report(what, *figures)
    finally:
        for service in services:
            service.close()
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
