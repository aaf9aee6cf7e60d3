"""What the parts of the auth service store, wait for and do at once has bounds: each part by itself.

Where seconds pass, the clock is moved: nothing waits for them.
"""

import asyncio
import secrets
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import bcrypt
import psycopg
import pytest
from joserfc.jwk import OctKey
from pydantic import ValidationError
from starlette.requests import Request

from functions.auth import mailer
from functions.auth.constant_time import ConstantTime
from functions.auth.keys import Keys
from functions.auth.limits.buckets import Bucket, RateLimits
from functions.auth.mailer import Mailer
from functions.auth.notices import Notices
from functions.auth.passwords import Passwords
from functions.auth.principal_reader import PrincipalReader
from functions.auth.settings import AuthSettings
from functions.core.errors import ApiError
from functions.core.tokens import Claims, KeySet

pytestmark = pytest.mark.embedded_only("has parts of its own")


def auth_settings(**given: Any) -> AuthSettings:
    """Return settings of the service, changed by those given."""
    return AuthSettings(
        **{
            "port": 1,
            "database_url": "",
            "API_EXTERNAL_URL": "http://auth.example.test",
            "GOTRUE_SITE_URL": "http://app.example.test",
            "GOTRUE_JWT_KEYS": "[]",
            "GOTRUE_RATE_LIMIT_HEADER": "X-Real-IP",
            **given,
        }
    )


@pytest.fixture
def elapse(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets seconds pass for time.monotonic, which stands still otherwise."""
    now = time.monotonic()

    def pass_by(seconds: float) -> None:
        nonlocal now
        now += seconds
        monkeypatch.setattr(time, "monotonic", lambda: now)

    pass_by(0)
    return pass_by


class _FakePool:
    """A database that runs no statement, notes how many rows each asks for, and may be away."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.sizes = error, asyncio.Queue[int]()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator["_FakePool"]:
        if self.error:
            self.sizes.put_nowait(0)
            raise self.error
        yield self

    async def execute(self, statement: str, values: list[Any]) -> Any:
        self.sizes.put_nowait(len(values[0]) if isinstance(values[0], list) else 1)

        async def nothing(rows: Any) -> Any:
            return rows

        return SimpleNamespace(fetchone=lambda: nothing(None), fetchall=lambda: nothing([]))


def _request_from(address: str) -> Request:
    return Request({"type": "http", "headers": [(b"x-real-ip", address.encode())]})


class TestAddresses:
    """Requests of an address: thirty at once, then as many as the settings say."""

    @pytest.mark.threat("T78", "T86")
    @pytest.mark.parametrize(
        ("kind", "seconds"),
        [
            *((kind, 10) for kind in ("signup", "recover", "resend", "magiclink", "otp", "user", "verify")),
            ("token", 2),
        ],
    )
    def test_get_one_more_after_some_seconds(
        self, elapse: Callable[[float], None], kind: str, seconds: int
    ) -> None:
        self._check(elapse, kind, seconds)

    @pytest.mark.threat("T85")
    @pytest.mark.parametrize("kind", ["challenge", "factor"])
    def test_get_one_more_authenticator_code_after_four_seconds(
        self, elapse: Callable[[float], None], kind: str
    ) -> None:
        self._check(elapse, kind, 4)

    @pytest.mark.parametrize(("instances", "at_once", "seconds"), [(2, 15, 8), (3, 10, 12), (60, 1, 60)])
    def test_are_divided_among_instances_and_one_a_minute_is_left(
        self, elapse: Callable[[float], None], instances: int, at_once: int, seconds: int
    ) -> None:
        self._check(elapse, "challenge", seconds, instances, at_once)

    def test_are_divided_among_one_instance_at_least(self) -> None:
        with pytest.raises(ValidationError, match="HARBORLINE_INSTANCES"):
            auth_settings(HARBORLINE_INSTANCES=0)

    def _check(
        self, elapse: Callable[[float], None], kind: str, seconds: int, instances: int = 1, at_once: int = 30
    ) -> None:
        limits = RateLimits(auth_settings(HARBORLINE_INSTANCES=instances))
        request = _request_from("192.0.2.1")
        for _ in range(at_once):
            limits.check(kind, request)
        for waited in (seconds - 0.1, 0.2):
            with pytest.raises(ApiError, match="Request rate limit reached"):
                limits.check(kind, request)
            elapse(waited)
        limits.check(kind, request)
        with pytest.raises(ApiError):
            limits.check(kind, request)

    @pytest.mark.threat("T78", "T86")
    @pytest.mark.parametrize("kind", ["token", "otp", "verify", "challenge"])
    def test_of_a_network_are_one_client_and_ten_of_a_wide_one(
        self, elapse: Callable[[float], None], kind: str
    ) -> None:
        limits = RateLimits(auth_settings())

        def served(network: int, times: int) -> int:
            count = 0
            for number in range(times):
                with suppress(ApiError):
                    limits.check(kind, _request_from(f"2001:db8:a:{network:x}::{number:x}"))
                    count += 1
            return count

        assert served(0, 90) == 30, "whatever address of its network it takes"
        assert [served(network, 31) for network in range(1, 10)] == [30] * 9
        assert served(10, 1) == 0, "all around them have ten times as much"
        assert served(0, 1) == 0
        limits.check(kind, _request_from("2001:db8:b::1"))

    def test_save_up_nothing(self, elapse: Callable[[float], None]) -> None:
        bucket = Bucket(rate=1, burst=2)
        bucket.take(["here"])
        elapse(3600)
        assert [bucket.take(["here"]) for _ in range(3)] == [True, True, False]

    def test_are_remembered_up_to_twenty_thousand(self) -> None:
        bucket = Bucket(rate=0, burst=1)
        for number in range(20_001):
            assert bucket.take([str(number)])
        assert not bucket.take(["1"])
        assert bucket.take(["0"]), "the one that was seen least recently was deleted"


class TestPasswords:
    """Hashing takes the processor: two threads do it, and always as much of it."""

    async def test_two_are_hashed_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        barrier, met = threading.Barrier(3), []

        def meet(password: bytes, salt: bytes) -> bytes:
            try:
                barrier.wait(0.3)
                met.append(True)
            except threading.BrokenBarrierError:
                met.append(False)
            return password

        monkeypatch.setattr(bcrypt, "hashpw", meet)
        passwords = Passwords(6, reject_common=True)
        await asyncio.gather(*(passwords.hash("x") for _ in range(3)))
        assert met == [False] * 3, "the third waits for one of the two"
        passwords.close()

    @pytest.mark.threat("T86")
    async def test_of_sign_ups_take_half_of_the_threads_and_of_the_places(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many there are, and sign-ins from elsewhere, a right password is verified at once."""
        goes_on, begun = threading.Event(), threading.Semaphore(0)

        def wait(password: bytes, salt: bytes) -> bytes:
            begun.release()
            goes_on.wait(20)
            return password

        monkeypatch.setattr(bcrypt, "hashpw", wait)
        monkeypatch.setattr(bcrypt, "checkpw", lambda password, stored: True)
        passwords = Passwords(6, reject_common=True)
        sign_ups = [asyncio.create_task(passwords.hash("x", is_sign_up=True)) for _ in range(9)]
        with pytest.raises(ApiError, match="busy"):
            await next(asyncio.as_completed(sign_ups))
        assert await asyncio.to_thread(begun.acquire, timeout=20)
        async with AsyncExitStack() as places:
            for at_home in (False, True):
                for number in range(16):
                    slot = passwords.slot(f"{number}@example.com", at_home=at_home)
                    matches = await places.enter_async_context(slot)
                assert await asyncio.wait_for(matches("x", "x"), 10)
        assert not begun.acquire(blocking=False), "the other sign-ups wait"
        goes_on.set()
        assert (
            sum(isinstance(one, str) for one in await asyncio.gather(*sign_ups, return_exceptions=True)) == 8
        )
        passwords.close()

    async def test_are_hashed_with_a_cost_of_ten(self) -> None:
        passwords = Passwords(6, reject_common=True)
        assert (await passwords.hash("harbour-lantern-41")).startswith("$2a$10$")
        passwords.close()

    @pytest.mark.threat("T80")
    @pytest.mark.parametrize("case", ["an account", "no account", "no password", "a password too long"])
    async def test_each_attempt_costs_one_hash(self, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
        hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(10, b"2a")).decode()
        done, original = [], bcrypt.checkpw

        def check(password: bytes, stored: bytes) -> bool:
            is_right = original(password, stored)
            done.append(stored[:7])
            return is_right

        monkeypatch.setattr(bcrypt, "checkpw", check)
        passwords = Passwords(6, reject_common=True)
        password = "x" * 73 if case == "a password too long" else "wrong"
        stored = {"no account": None, "no password": ""}.get(case, hashed)
        async with passwords.slot("a@example.com") as matches:
            assert not await matches(password, stored)
        assert done == [b"$2a$10$"]
        passwords.close()


async def test_sixty_four_principals_are_read_in_one_statement_at_most() -> None:
    pool: Any = _FakePool()
    reader = PrincipalReader(pool)
    await asyncio.gather(*(reader.read(uuid.uuid4(), None) for _ in range(100)))
    assert [pool.sizes.get_nowait(), pool.sizes.get_nowait()] == [64, 36]


def test_five_thousand_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []

    def verify(self: KeySet, token: str) -> Claims:
        verified.append(token)
        return Claims({"exp": time.time() + 60}, "")

    monkeypatch.setattr(KeySet, "verify", verify)
    key = OctKey.import_key("x" * 40, {"kid": "own", "alg": "HS256"}).as_dict(private=True)
    keys = Keys([{**key, "key_ops": ["sign", "verify"]}], "test", 3600)
    for number in range(5001):
        keys.verify(str(number))
    assert len(verified) == 5001
    keys.verify("1")
    assert len(verified) == 5001
    keys.verify("0")
    assert verified[-1] == "0", "the first one is verified anew"


async def test_thirty_two_durations_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What took long an hour earlier delays nobody."""
    monkeypatch.setattr(secrets, "choice", max)
    times = ConstantTime()
    times.record("recovery", time.perf_counter() - 3600)
    for _ in range(32):
        times.record("recovery", time.perf_counter())
    await asyncio.wait_for(times.pad("recovery", time.perf_counter()), 1)


@pytest.mark.threat("T80")
async def test_a_request_that_mails_nothing_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    times, slept = ConstantTime(), []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    times.record("recovery", time.perf_counter() - 30)
    await times.pad("recovery", time.perf_counter() - 10)
    await times.pad("signup", time.perf_counter())
    assert [round(seconds) for seconds in slept] == [20]


@pytest.mark.parametrize(
    ("error", "pause"),
    [(None, 1), (psycopg.OperationalError("away"), 5)],
    ids=["nothing waits", "the database is away"],
)
async def test_the_queue_of_notifications_is_read_again_after_seconds(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, pause: int
) -> None:
    loop, pool = asyncio.get_running_loop(), _FakePool(error)
    clock, unused = loop.time, SimpleNamespace()
    notices = Notices(*([pool, unused, unused]))  # type: ignore[arg-type]
    running = asyncio.create_task(notices.run())
    await pool.sizes.get()
    # Once more around, so that it waits.
    await asyncio.sleep(0)
    monkeypatch.setattr(loop, "time", lambda: clock() + pause)
    await asyncio.wait_for(pool.sizes.get(), 1)
    notices.stop()
    await running


async def test_a_silent_mail_server_is_left_after_eight_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, greeted = asyncio.get_running_loop(), asyncio.Event()
    clock = loop.time

    async def say_no_more(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 test\r\n")
        await reader.readline()
        greeted.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_no_more, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sender = Mailer(auth_settings(GOTRUE_SMTP_HOST="127.0.0.1", GOTRUE_SMTP_PORT=port, smtp_tls="none"))
    sending = asyncio.create_task(sender.send("recovery", "ada@example.com", {}))
    await greeted.wait()
    monkeypatch.setattr(loop, "time", lambda: clock() + 8)
    with pytest.raises(ApiError, match="Error sending recovery email"):
        await asyncio.wait_for(sending, 1)
    server.close()


class TestMail:
    """What a person wrote stays text, wherever a template puts it."""

    def test_in_its_body(self) -> None:
        values = {"Data": {"name": "<a href='http://evil.example'>Ada</a>"}}
        shown = mailer.render("<p>{{ .Data.name }}</p>", values)
        assert shown == "<p>&lt;a href=&#x27;http://evil.example&#x27;&gt;Ada&lt;/a&gt;</p>"

    @pytest.mark.parametrize(
        ("escape", "template"),
        [
            (True, '<a href="{{ .SiteURL }}?to={{ .To }}&amp;x=1">{{ .To }}</a>'),
            (False, "{{ .SiteURL }}?to={{ .To }}&x=1"),
        ],
        ids=["html", "text"],
    )
    def test_in_the_query_of_a_link(self, escape: bool, template: str) -> None:
        """As Go's html/template fills it, but for the spelling of entities and the case of digits."""
        values = {"SiteURL": "https://example.org", "To": 'https://a.example/b?c=1&d="x"#e'}
        encoded = "https%3A%2F%2Fa.example%2Fb%3Fc%3D1%26d%3D%22x%22%23e"
        shown = "https://a.example/b?c=1&amp;d=&quot;x&quot;#e"
        link = f"https://example.org?to={encoded}&{'amp;' if escape else ''}x=1"
        assert mailer.render(template, values, escape) == (
            f'<a href="{link}">{shown}</a>' if escape else link
        )

    def test_in_its_subject(self) -> None:
        values = {"Data": {"name": "Ada\r\nBcc: else@example.com"}}
        assert (
            mailer.render("Hello {{ .Data.name }}", values, escape=False) == "Hello Ada Bcc: else@example.com"
        )
