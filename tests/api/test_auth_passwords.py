"""The queue for password hashes, and what a sign-in costs and takes, with and without an account."""

import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from statistics import median
from typing import Any

import bcrypt
import pytest

from functions.auth import passwords
from functions.auth.passwords import COST, Passwords
from functions.core.errors import ApiError
from tests.support.own_auth import PASSWORD, OwnAuth, own_auth
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has no such queue")


def test_sign_ins_that_would_wait_too_long_are_rejected_at_once(auth: OwnAuth) -> None:
    def sign_in(_: int) -> int:
        return auth.sign_in(f"nobody-{secrets.token_hex(6)}@example.com", PASSWORD).status_code

    with ThreadPoolExecutor(90) as crowd:
        statuses = list(crowd.map(sign_in, range(90)))
    assert set(statuses) == {400, 503}
    assert sign_in(0) == 400, "and the next one is welcome"


async def test_the_queue_is_as_short_as_hashes_are_slow() -> None:
    """However long a hash takes on a busy machine, the last in the queue is answered within a second."""
    usual = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    slow = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(13)).decode()
    places = []
    with closing(Passwords(6, reject_common=False)) as passwords:
        for hashed, times in ((usual, 1), (slow, 3), (usual, 20)):
            for _ in range(times):
                async with passwords.slot("a@example.com") as matches:
                    assert await matches(PASSWORD, hashed)
            places.append(await _places(passwords))
    assert places[0] == places[2] == 16
    assert 2 <= places[1] <= 8


async def _places(passwords: Passwords) -> int:
    """Return how many wait until one more is rejected."""
    async with AsyncExitStack() as waiting:
        for number in range(100):
            try:
                await waiting.enter_async_context(passwords.slot(f"{number}@example.com"))
            except ApiError:
                return number
    raise AssertionError("no end of them")


@pytest.mark.threat("T77")
async def test_an_account_has_four_places() -> None:
    """The rest of the queue is there for the others."""
    with closing(Passwords(6, reject_common=False)) as passwords:
        async with AsyncExitStack() as waiting:
            for _ in range(4):
                await waiting.enter_async_context(passwords.slot("a@example.com", at_home=True))
            with pytest.raises(ApiError, match="busy"):
                await passwords.hash(PASSWORD, "a@example.com")
            assert await passwords.hash(PASSWORD, "b@example.com")
        assert await passwords.hash(PASSWORD, "a@example.com")


@pytest.mark.long
@pytest.mark.threat("T80")
def test_known_and_unknown_addresses_take_the_same_time(auth: OwnAuth) -> None:
    """Of 200 attempts the medians differ by less than a tenth.

    Measured is the time of this process, in which the service runs: a busy machine changes nothing about it.
    """
    people = [auth.new_user(PASSWORD, cost=COST) for _ in range(10)]
    times: dict[str, list[float]] = {"known": [], "unknown": []}
    for turn in range(100):
        for kind, email in (
            ("known", people[turn % 10]["email"]),
            ("unknown", f"nobody-{secrets.token_hex(6)}@example.com"),
        ):
            started = time.process_time()
            assert auth.sign_in(email, "wrong-password").status_code == 400
            times[kind].append(time.process_time() - started)
    known, unknown = median(times["known"]), median(times["unknown"])
    assert abs(known - unknown) < 0.1 * min(known, unknown), (known, unknown)
    for person in people:
        auth.delete_user(person["id"])


@pytest.fixture
def email(auth: OwnAuth, case: str) -> Iterator[str]:
    """Yield an address that has an account, or one that has none."""
    if case == "unknown":
        yield f"nobody-{secrets.token_hex(6)}@example.com"
        return
    user = auth.new_user(PASSWORD, cost=COST)
    yield user["email"]
    auth.delete_user(user["id"])


@pytest.fixture
def hashed(email: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    """Return what is hashed from now on, and at which cost: the service runs in this process."""
    done: list[tuple[str, bytes]] = []

    def noting(name: str) -> Callable[[bytes, bytes], Any]:
        original = getattr(bcrypt, name)

        def note(password: bytes, salt_or_hash: bytes) -> Any:
            done.append((name, salt_or_hash[:7]))
            return original(password, salt_or_hash)

        return note

    monkeypatch.setattr(passwords, "COST", COST)
    for name in ("hashpw", "checkpw"):
        monkeypatch.setattr(bcrypt, name, noting(name))
    return done


@pytest.mark.threat("T80")
@pytest.mark.parametrize("case", ["known", "unknown"])
def test_a_sign_in_costs_a_hash_whatever_the_address(
    auth: OwnAuth, hashed: list[tuple[str, bytes]], email: str
) -> None:
    assert auth.sign_in(email, "wrong-password").status_code == 400
    assert hashed == [("checkpw", b"$2a$10$")]


@pytest.mark.threat("T80")
@pytest.mark.parametrize("case", ["known", "unknown"])
def test_a_sign_up_costs_a_hash_whatever_the_address(
    auth: OwnAuth, hashed: list[tuple[str, bytes]], email: str
) -> None:
    body = {"email": email, "password": PASSWORD}
    made = auth.http.post("/signup", headers={"x-real-ip": "10.5.0.3"}, json=body).raise_for_status()
    assert hashed == [("hashpw", b"$2a$10$")]
    auth.delete_user(made.json()["id"])


@pytest.mark.threat("T86")
@pytest.mark.parametrize(("kind", "case"), [("signup", "known"), ("signup", "unknown"), ("otp", "unknown")])
def test_a_request_that_is_rejected_costs_no_hash(
    stack: Stack, hashed: list[tuple[str, bytes]], email: str, kind: str
) -> None:
    """As it would when no mail is left, or when the product rejects what was signed up with."""
    hook = "pg-functions://postgres/hooks/before_user_created"
    for settings in (
        {"GOTRUE_RATE_LIMIT_EMAIL_SENT": "0"},
        {"GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true", "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": hook},
    ):
        with own_auth(stack, **settings) as auth:
            body = {"email": email, "password": PASSWORD, "data": {"referrer_id": "nobody"}}
            sent = auth.http.post(f"/{kind}", headers={"x-real-ip": "10.5.0.4"}, json=body)
            assert sent.status_code in (400, 429), sent.text
    assert not hashed
