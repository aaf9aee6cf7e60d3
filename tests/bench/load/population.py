"""A network of members in the stack's own database, and those of them who are signed in."""

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import psycopg
from psycopg.rows import dict_row

from tests.bench import network
from tests.support.people import People
from tests.support.stack import Stack

MEMBERS = 5_000
PASSWORD = "harbour-lantern-41"
AT_ONCE = 8
PREPARE = Path(__file__).with_name("population.sql")
COSTS = {"load.cheap": 4, "load.usual": 10}
WHO_CAN_SIGN_IN = """
select u.email, u.encrypted_password = current_setting('load.usual') as usual
from auth.users as u
where u.encrypted_password in (current_setting('load.usual'), current_setting('load.cheap'))
"""

REFERRER = """
select p.id
from private.profiles as p
inner join private.positions as o on p.user_id = o.user_id
where o.no = 1
"""


@dataclass
class Actor:
    """One signed-in member."""

    email: str
    user_id: str
    token: str
    refresh_token: str
    has_bot: bool = False
    waits: bool = False


@dataclass
class Population:
    """The simulated members, and the pending requests."""

    stack: Stack
    actors: deque[Actor]
    usual: list[str]
    referrer: str
    administrator: str
    waiting: deque[str] = field(default_factory=deque)
    depositors: deque[Actor] = field(init=False)

    def __post_init__(self) -> None:
        self.depositors = deque(self.actors)

    def next_actor(self) -> Actor:
        """Each in turn."""
        self.actors.rotate(-1)
        return self.actors[0]

    @contextmanager
    def next_in_order(self) -> Iterator[Actor]:
        """Yield the next member who has no request in flight."""
        actor = self.next_actor()
        while actor.waits:
            actor = self.next_actor()
        actor.waits = True
        try:
            yield actor
        finally:
            actor.waits = False

    def next_depositor(self) -> Actor:
        """Rotate depositors separately, to stay below the limits on receipts and pending deposits."""
        self.depositors.rotate(-1)
        return self.depositors[0]


def found(stack: Stack) -> Population:
    """Replace the members in the stack's database by the network, and sign a fifth of it in."""
    url = stack.values["DATABASE_ADMIN_URL"]
    with psycopg.connect(url) as connection:
        network.load(connection, MEMBERS)
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as owner:
        for name, cost in COSTS.items():
            hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(cost, b"2a")).decode()
            owner.execute("select set_config(%s, %s, false)", [name, hashed])
        owner.execute(PREPARE.read_text())
        rows = owner.execute(WHO_CAN_SIGN_IN).fetchall()
        owner.execute("select jobs.reconcile()")
        owner.execute("vacuum (analyze)")
        referrer = owner.execute(REFERRER).fetchone()
        administrator = People(stack, owner).administrator("finance_admin")
    assert referrer
    actors = asyncio.run(_sign_in(stack, [row for row in rows if not row["usual"]]))
    usual = [row["email"] for row in rows if row["usual"]]
    return Population(stack, deque(actors), usual, str(referrer["id"]), administrator.token)


async def _sign_in(stack: Stack, rows: list[dict[str, Any]]) -> list[Actor]:
    limit = asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(
        base_url=stack.url, headers={"apikey": stack.anon_key}, timeout=30
    ) as client:

        async def one(row: dict[str, Any]) -> Actor:
            body = {"email": row["email"], "password": PASSWORD}
            async with limit:
                response = await client.post("/auth/v1/token?grant_type=password", json=body)
            session = response.raise_for_status().json()
            return Actor(
                row["email"],
                session["user"]["id"],
                session["access_token"],
                session["refresh_token"],
            )

        return list(await asyncio.gather(*[one(row) for row in rows]))


def newcomer(referrer: str) -> dict[str, Any]:
    """Return the body of a sign-up."""
    name = f"load_{secrets.token_hex(6)}"
    data = {"display_name": "Load Person", "username": name, "package_value": 0, "referrer_id": referrer}
    return {"email": f"{name}@example.com", "password": PASSWORD, "data": data}
