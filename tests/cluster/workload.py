"""People at work while machines are lost: each request is sent again until it is acknowledged."""

import secrets
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx

from tests.support import plain_http
from tests.support.files import png
from tests.support.own_stack import OwnStack
from tests.support.people import PASSWORD
from tests.support.wallet import wallet_of

# Seconds from one member to the next, of each who decides: out of step, and the processors are not all taken.
PACES = (0.7, 1.1, 1.3, 1.7)
# What a client sends again: the server says so, or nothing came back.
AGAIN = frozenset({429, 502, 503, 504})
# PostgREST's response when the connection is lost while it commits: a 400 that says nothing (docs/api.md).
LOST = "400 without a code"
PAUSE_SECONDS = 0.2
GIVEN_UP_SECONDS = 90


@dataclass
class Workload:
    """What was acknowledged, and what clients met meanwhile.

    Attributes:
        written: when each write was acknowledged, whatever it was.
        approved: of each deposit whose approval was acknowledged, when.
        uploaded: paths of receipts whose upload was acknowledged.
        people: user ids whose sign-up was acknowledged.
        errors: when a client met which error at what.
        wrong: what no retry mends.
    """

    stack: OwnStack
    written: list[float] = field(default_factory=list)
    approved: dict[str, float] = field(default_factory=dict)
    uploaded: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    errors: list[tuple[float, str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def met(self) -> Counter[str]:
        """How often clients met which error."""
        return Counter(kind for _, _, kind in self.errors)

    def longest_pause(self, since: float) -> float:
        """Return the longest time without an acknowledged write from a moment on, in seconds."""
        moments = [since, *sorted(at for at in self.written if at > since)]
        return max((later - earlier for earlier, later in pairwise(moments)), default=0.0)

    def go_on(self, referrer: str, administrator: str, pace: float) -> None:
        """Sign up, upload a receipt, ask for a deposit and let it be approved, again and again."""
        with plain_http.client(base_url=self.stack.values["SUPABASE_URL"], timeout=20) as http:
            while not self.ended.is_set():
                next_one = time.monotonic() + pace
                try:
                    self._one(http, referrer, administrator)
                except TimeoutError as failure:
                    if not self.ended.is_set():
                        self.wrong.append(str(failure))
                self.ended.wait(next_one - time.monotonic())

    def _one(self, http: httpx.Client, referrer: str, administrator: str) -> None:
        name, deposit = f"w_{secrets.token_hex(5)}", str(uuid.uuid4())
        service, anon = (self.stack.values[f"SUPABASE_{key}_KEY"] for key in ("SERVICE_ROLE", "ANON"))
        metadata = {"display_name": "At Work", "username": name, "package_value": 0, "referrer_id": referrer}
        email = f"{name}@example.com"
        new = {"email": email, "password": PASSWORD, "email_confirm": True, "user_metadata": metadata}
        self._send(http, "POST", "/auth/v1/admin/users", service, new, done={422})
        session = self._send(
            http, "POST", "/auth/v1/token?grant_type=password", anon, {"email": email, "password": PASSWORD}
        ).json()
        token, user = session["access_token"], session["user"]["id"]
        self.people.append(user)
        wallet = {"trc20_wallet_address": wallet_of(user)}
        self._send(http, "PATCH", f"/rest/v1/profiles?user_id=eq.{user}", token, wallet)
        path = f"{user}/{time.time_ns() // 1_000_000}.png"
        self._send(http, "POST", f"/storage/v1/object/receipts/{path}", token, None, png(), done={409})
        self.uploaded.append(path)
        row = {
            "id": deposit,
            "user_id": user,
            "amount": 50,
            "reference_number": secrets.token_hex(32),
            "status": "pending",
            "receipt_url": f"{self.stack.values['SUPABASE_URL']}/storage/v1/object/public/receipts/{path}",
        }
        self._send(http, "POST", "/rest/v1/deposits", token, row, done={409})
        decision = {"depositId": deposit, "action": "approve"}
        self._send(http, "POST", "/functions/v1/admin-approve-deposit", administrator, decision)
        self.approved[deposit] = time.monotonic()

    def _send(
        self,
        http: httpx.Client,
        method: str,
        path: str,
        token: str,
        body: Any,
        content: bytes | None = None,
        done: frozenset[int] | set[int] = frozenset(),
    ) -> httpx.Response:
        """Send until it is acknowledged; `done`: it was already, by a request whose response was lost.

        Raises:
            TimeoutError: it was not, for as long as nobody waits.
        """
        headers = {"apikey": self.stack.values["SUPABASE_ANON_KEY"], "authorization": f"Bearer {token}"}
        if content:
            headers |= {"content-type": "image/png"}
        started, repeated = time.monotonic(), False
        while time.monotonic() - started < GIVEN_UP_SECONDS:
            try:
                response = http.request(method, path, headers=headers, json=body, content=content)
            except httpx.TransportError as error:
                self.errors.append((time.monotonic(), path, type(error).__name__))
            else:
                if response.is_success or (repeated and _status(response) in done):
                    self.written.append(time.monotonic())
                    return response
                kind = LOST if _is_lost(response) else str(response.status_code)
                if response.status_code not in AGAIN and kind != LOST:
                    self.wrong.append(f"{method} {path}: {response.status_code} {response.text[:200]}")
                self.errors.append((time.monotonic(), path, kind))
            repeated = True
            time.sleep(PAUSE_SECONDS)
            if self.ended.is_set():
                break
        raise TimeoutError(f"{method} {path} was not acknowledged")


def _status(response: httpx.Response) -> int:
    """Return the status of a response; Storage says it in the body."""
    if response.headers.get("content-type", "").startswith("application/json"):
        body = response.json()
        if isinstance(body, dict) and "statusCode" in body:
            return int(body["statusCode"])
    return response.status_code


def _is_lost(response: httpx.Response) -> bool:
    return response.status_code == 400 and response.json().get("code") == response.json().get("message") == ""


@contextmanager
def working(stack: OwnStack, referrer: str) -> Iterator[Workload]:
    """Yield what people do meanwhile."""
    work = Workload(stack)
    people = [(referrer, stack.administrator("FINANCE"), pace) for pace in PACES]
    threads = [threading.Thread(target=work.go_on, args=one) for one in people]
    for thread in threads:
        thread.start()
    try:
        yield work
    finally:
        work.ended.set()
        for thread in threads:
            thread.join()
