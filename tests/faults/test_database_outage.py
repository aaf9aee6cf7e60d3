"""PostgreSQL is away under load, for longer than pools try to reconnect: every service works again by itself.

The services run on a cluster of the test's own, which is stopped as a crash would stop it.
"""

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest

from functions.core.database import RECONNECT_SECONDS
from launcher import settings as configuration
from tests.support.own_auth import MailServer, OwnAuth, bearer
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.own_edge import OwnEdge
from tests.support.own_storage import OwnService
from tests.support.own_worker import own_worker
from tests.support.stack import Stack, stack_state

pytestmark = pytest.mark.long
OUTAGE_SECONDS = 4 * RECONNECT_SECONDS
BACK_WITHIN_SECONDS = 2
PATIENCE_SECONDS = 20
# More than the pools of 4 connections let wait, so that further requests are rejected at once.
CLIENTS = 24


@dataclass
class Services:
    """The services, and for each a request whose response shows that the database was asked."""

    requests: dict[str, Callable[[], bool]]
    is_alive: Callable[[], bool]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """Yield a cluster that only these services are connected to."""
    own = OwnCluster(settings_of_own(tmp_path_factory.mktemp("outage") / "stack"))
    own.copy(configuration.read(stack_state()))
    with own.running():
        yield own


@pytest.fixture(scope="module")
def services(cluster: OwnCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """All services that hold pools, on that cluster."""
    stack, folder = Stack.read(), tmp_path_factory.mktemp("services")
    auth, edge, storage = OwnAuth(stack), OwnEdge(stack, folder), OwnService(stack, folder)
    edge.database_url = storage.database_url = cluster.url()
    with ExitStack() as held:
        held.callback(auth.close)
        auth.start(DATABASE_URL=cluster.url())
        processes = [auth.process, held.enter_context(edge.running()), held.enter_context(storage.running())]
        mail = held.enter_context(MailServer())
        held.callback(mail.shutdown)
        threading.Thread(target=mail.serve_forever, daemon=True).start()
        processes.append(held.enter_context(own_worker(cluster.url(), mail.server_address[1], folder)))
        token = edge.sign(
            {
                "sub": "7d0ab7a4-5c3b-4a3e-8f55-0c2f1b1f9a10",
                "sid": "7d0ab7a4-5c3b-4a3e-8f55-0c2f1b1f9a10",
                "role": "platform_admin",
                "aud": "authenticated",
                "exp": int(time.time()) + 3600,
            }
        )
        users = {"url": "/admin/users?per_page=1", "headers": bearer(auth.service_key)}
        yield Services(
            {
                "auth": lambda: auth.http.get(**users).status_code == 200,
                "storage": lambda: storage.http.get("/bucket").status_code == 200,
                # That this session has ended is what the database says.
                "edge": lambda: edge.call("admin-list-deposits", {}, token).status_code == 401,
                "worker": lambda: is_mailed(cluster, mail),
            },
            lambda: all(process and process.poll() is None for process in processes),
        )


def is_mailed(cluster: OwnCluster, mail: MailServer) -> bool:
    """Write an e-mail into the outbox and wait until the worker has sent it."""
    address = f"outage-{secrets.token_hex(4)}@example.com"
    with psycopg.connect(cluster.url(), autocommit=True) as database:
        database.execute(
            "insert into private.outbox (template, recipient, data)"
            ' values (\'test_mail\', %s, \'{"title": "Back", "body": "Back"}\')',
            [address],
        )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if any(address in conversation for conversation in list(mail.messages)):
            return True
        time.sleep(0.02)
    return False


@contextmanager
def load(requests: list[Callable[[], bool]]) -> Iterator[None]:
    """Let many clients ask all the time."""
    ended = threading.Event()

    def ask(request: Callable[[], bool]) -> None:
        while not ended.wait(0.05):
            with suppress(httpx.TransportError):
                request()

    with ThreadPoolExecutor(CLIENTS * len(requests)) as clients:
        for request in requests * CLIENTS:
            clients.submit(ask, request)
        try:
            yield
        finally:
            ended.set()


def seconds_until_served(request: Callable[[], bool]) -> float:
    """Ask until it is served; returns how long that took."""
    started = time.monotonic()
    while time.monotonic() < started + PATIENCE_SECONDS:
        with suppress(httpx.TransportError):
            if request():
                return time.monotonic() - started
        time.sleep(0.05)
    return float("inf")


@pytest.mark.alone
def test_every_service_works_within_two_seconds_of_the_databases_return(
    cluster: OwnCluster, services: Services
) -> None:
    assert all(request() for request in services.requests.values())
    with load([services.requests[name] for name in ("auth", "storage", "edge")]):
        cluster.stop(signal.SIGQUIT)
        time.sleep(OUTAGE_SECONDS)
        cluster.start()
        with ThreadPoolExecutor(len(services.requests)) as clients:
            times = clients.map(seconds_until_served, services.requests.values())
        took = dict(zip(services.requests, times, strict=True))
    print({name: round(seconds, 2) for name, seconds in took.items()})
    assert all(seconds <= BACK_WITHIN_SECONDS for seconds in took.values()), took
    assert services.is_alive(), "none of the processes was started anew"


def listeners(cluster: OwnCluster) -> int:
    """How many workers look for e-mails."""
    with psycopg.connect(cluster.url(), autocommit=True) as database:
        found = database.execute("select from pg_stat_activity where application_name = 'worker-due'")
        return found.rowcount


def test_the_worker_stops_when_it_is_asked_to_while_the_database_is_away(
    cluster: OwnCluster, tmp_path: Path
) -> None:
    before = listeners(cluster)
    with own_worker(cluster.url(), 9, tmp_path) as worker:
        assert seconds_until_served(lambda: listeners(cluster) > before) < PATIENCE_SECONDS
        cluster.stop(signal.SIGQUIT)
        try:
            time.sleep(1)
            worker.terminate()
            assert worker.wait(20) == 0
        finally:
            cluster.start()
