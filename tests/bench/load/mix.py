"""What people ask for, in the shares of an ordinary day."""

import itertools
import random
import secrets
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from tests.bench.load.http_client import HttpClient, Reply
from tests.bench.load.population import PASSWORD, Actor, Population, newcomer
from tests.support.files import png

RECEIPT_BYTES = 200_000
READS = (
    "rpc/get_member_dashboard",
    "rpc/get_transaction_history",
    "rpc/get_team_tree",
    "rpc/get_notifications",
    "rpc/get_deposit_options",
)
Ask = Callable[[], Awaitable[Reply]]


class Mix:
    """Every kind of request, as the web app sends it."""

    def __init__(self, population: Population, http: HttpClient) -> None:
        self._population, self._http = population, http
        self._numbers = itertools.count(1_700_000_000_000)
        self._image = png()
        self.shares: dict[str, tuple[float, Ask]] = {
            "own rows and screens": (45, self._read),
            "administrators' lists": (10, self._list),
            "deposit with a receipt of 200 kB": (14, self._deposit),
            "decision": (10, self._decide),
            "sign-in": (4, self._sign_in),
            "refresh": (6, self._refresh),
            "sign-up": (2, self._sign_up),
            "sync": (2, self._sync),
            "bots": (4, self._bot),
            "profile": (3, self._profile),
        }

    def draw(self, seed: int) -> "Draw":
        """Return the kinds in an order that is the same in every run."""
        return Draw(self.shares, random.Random(seed))

    async def prepare(self, deposits: int) -> None:
        """Deposits that wait for the first decisions."""
        for _ in range(deposits):
            reply = await self._deposit()
            assert reply.good, reply.content

    def _headers(self, token: str) -> dict[str, str]:
        return {"apikey": self._population.stack.anon_key, "authorization": f"Bearer {token}"}

    async def _post(self, path: str, body: Any, token: str = "") -> Reply:
        headers = self._headers(token or self._population.stack.anon_key)
        return await self._http.json("POST", path, headers, body)

    async def _read(self) -> Reply:
        actor = self._population.next_actor()
        number = next(self._numbers)
        if number % 3:
            return await self._post(f"/rest/v1/{READS[number % len(READS)]}", {}, actor.token)
        path = f"/rest/v1/profiles?select=*&user_id=eq.{actor.user_id}"
        return await self._http.json("GET", path, self._headers(actor.token))

    async def _list(self) -> Reply:
        name = ("admin-list-deposits", "admin-get-transactions")[next(self._numbers) % 2]
        body = {"page": 1, "pageSize": 25}
        return await self._post(f"/functions/v1/{name}", body, self._population.administrator)

    async def upload(self, actor: Actor, content: bytes) -> Reply:
        """Return a receipt as the web app sends it."""
        path = f"/storage/v1/object/receipts/{actor.user_id}/{next(self._numbers)}.png"
        return await self._http.file(path, self._headers(actor.token), content)

    async def _deposit(self) -> Reply:
        """Two requests, timed as one: the receipt, and the row that names it."""
        actor = self._population.next_depositor()
        # No file is stored twice: the end of each is its own.
        content = self._image + bytes(RECEIPT_BYTES) + secrets.token_bytes(16)
        reply = await self.upload(actor, content)
        if not reply.good:
            return reply
        row = {
            "id": str(uuid.uuid4()),
            "user_id": actor.user_id,
            # More cash-in: no size of a package, so never a downgrade.
            "amount": 37.5,
            "reference_number": secrets.token_hex(32),
            "receipt_url": f"{self._population.stack.url}/storage/v1/object/public/{reply.json()['Key']}",
            "status": "pending",
        }
        reply = await self._post("/rest/v1/deposits", row, actor.token)
        if reply.good:
            self._population.waiting.append(row["id"])
        return reply

    async def _decide(self) -> Reply:
        """If no deposit is pending because earlier ones were rejected, request the list instead."""
        if not self._population.waiting:
            return await self._list()
        body = {"depositId": self._population.waiting.popleft(), "action": "approve"}
        return await self._post("/functions/v1/admin-approve-deposit", body, self._population.administrator)

    async def _sign_in(self) -> Reply:
        body = {"email": secrets.choice(self._population.usual), "password": PASSWORD}
        return await self._post("/auth/v1/token?grant_type=password", body)

    async def _refresh(self) -> Reply:
        with self._population.next_in_order() as actor:
            body = {"refresh_token": actor.refresh_token}
            reply = await self._post("/auth/v1/token?grant_type=refresh_token", body)
            if reply.good:
                session = reply.json()
                actor.token, actor.refresh_token = session["access_token"], session["refresh_token"]
        return reply

    async def _sign_up(self) -> Reply:
        return await self._post("/auth/v1/signup", newcomer(self._population.referrer))

    async def _sync(self) -> Reply:
        return await self._post("/functions/v1/sync-all-mlm-bonuses", {}, self._population.next_actor().token)

    async def _bot(self) -> Reply:
        account = {"mt5_server": "Demo-1", "mt5_login": "12345", "mt5_password": "secret-enough"}
        with self._population.next_in_order() as actor:
            action = "unsubscribe" if actor.has_bot else "subscribe"
            body = {"bot_name": "Scout", "action": action, **account}
            reply = await self._post("/functions/v1/bot-subscription", body, actor.token)
            if reply.good:
                actor.has_bot = not actor.has_bot
        return reply

    async def _profile(self) -> Reply:
        actor = self._population.next_actor()
        return await self._http.json(
            "PATCH",
            f"/rest/v1/profiles?user_id=eq.{actor.user_id}",
            self._headers(actor.token),
            {"display_name": f"Load Person {next(self._numbers) % 1000}"},
        )


class Draw:
    """Kinds of requests by their shares."""

    def __init__(self, shares: dict[str, tuple[float, Ask]], chance: random.Random) -> None:
        self._kinds = list(shares)
        self._weights = [share for share, _ in shares.values()]
        self._asks = {kind: ask for kind, (_, ask) in shares.items()}
        self._chance = chance

    def next(self) -> tuple[str, Ask]:
        """Return the next kind and how to send it."""
        kind = self._chance.choices(self._kinds, self._weights)[0]
        return kind, self._asks[kind]
