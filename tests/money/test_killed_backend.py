"""kill -9 of the backend that carries out an operation on money, before the commit and once it is recorded.

A commit waits for a standby that does not exist, so that it is durable before the client knows. Afterwards
the members have their state before, or the operation applied once; a retry with the same id says which.
"""

import os
import signal
import subprocess
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from launcher import settings as configuration
from launcher.host import system_user
from launcher.services import processes
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.principals import signed
from tests.support.race_harness import PATIENCE_SECONDS, RaceHarness, Session, operations
from tests.support.stack import stack_state
from tests.support.wallet import wallet_of

NAMES = list(operations(defaultdict(str)))
# What moves money: the rest is killed in the long run.
USUAL = ("request a withdrawal", "approve an upgrade", "approve the withdrawal", "void a child's package")
KILLED = [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in NAMES]
# PostgREST's response while its connection breaks; the web app takes it for none.
NO_WORD = {"code": "", "details": None, "hint": None, "message": ""}
OTHERS = 6
STANDBY = {"synchronous_standby_names": "nobody", "synchronous_commit": "local"}


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """Yield a cluster that no other test is connected to."""
    cluster = OwnCluster(settings_of_own(Path(tmp_path_factory.mktemp("fragile")) / "stack"))
    cluster.copy(configuration.read(stack_state()))
    with cluster.running(**STANDBY):
        with RaceHarness(cluster.url()):
            pass
        yield cluster


def kill(harness: RaceHarness, session: Session) -> None:
    """End a backend without a word, and wait until PostgreSQL has ended all others: then it recovers."""
    os.kill(session.pid, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_SECONDS
    # The first error may be PostgreSQL's last word; that the connection has ended is read after it.
    while not harness.director.closed:
        assert time.monotonic() < deadline, "PostgreSQL did not end the others"
        with suppress(psycopg.OperationalError):
            harness.director.execute("select 1")


def recovered(cluster: OwnCluster) -> RaceHarness:
    """Return a harness on the cluster once it accepts connections again."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            harness = RaceHarness(cluster.url())
            # The server may be about to notice that a backend broke down.
            time.sleep(0.2)
            harness.director.execute("select 1")
            return harness
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "PostgreSQL did not recover"
            time.sleep(0.02)


@pytest.mark.threat("T49")
@pytest.mark.parametrize("name", KILLED)
def test_killed_before_the_commit(fragile: OwnCluster, name: str) -> None:
    with RaceHarness(fragile.url()) as harness:
        group, duplicate = harness.groups(2)
        before = harness.state(group)
        done = harness.one_after_the_other(duplicate, [operations(duplicate)[name]])
        with harness.sessions(1) as (session,):
            result = session.start(group, operations(group)[name]).result(PATIENCE_SECONDS)
            assert (result,) == done.results
            kill(harness, session)
    with recovered(fragile) as harness:
        assert harness.state(group) == before
        with harness.sessions(1) as (session,):
            again = session.start(group, operations(group)[name], commit=True).result(PATIENCE_SECONDS)
        assert ((again,), harness.state(group)) == (done.results, done.state)
        assert harness.violations() == []


@pytest.mark.threat("T49", "T57")
@pytest.mark.parametrize("name", KILLED)
def test_killed_after_the_record_of_the_commit(fragile: OwnCluster, name: str) -> None:
    with RaceHarness(fragile.url()) as harness:
        group, duplicate = harness.groups(2)
        call = operations(duplicate)[name]
        done = harness.one_after_the_other(duplicate, [call])
        twice = harness.one_after_the_other(duplicate, [call, call])
        with harness.sessions(1) as (session,):
            session.connection.execute("set synchronous_commit = on")
            session.start(group, operations(group)[name]).result(PATIENCE_SECONDS)
            work = session.commit()
            harness.wait_for_event(session, "SyncRep")
            kill(harness, session)
            with pytest.raises(psycopg.OperationalError):
                work.result(PATIENCE_SECONDS)
    with recovered(fragile) as harness:
        assert harness.state(group) == done.state
        with harness.sessions(1) as (session,):
            again = session.start(group, operations(group)[name], commit=True).result(PATIENCE_SECONDS)
        assert ((*done.results, again), harness.state(group)) == (twice.results, twice.state)
        assert harness.violations() == []


@pytest.mark.threat("T49", "T57")
@pytest.mark.parametrize("name", KILLED)
def test_a_disk_that_fills_in_the_middle(fragile: OwnCluster, name: str) -> None:
    """The backend can write no more, as on a disk without room: nothing is half done."""
    with RaceHarness(fragile.url()) as harness:
        group, duplicate = harness.groups(2)
        before = harness.state(group)
        done = harness.one_after_the_other(duplicate, [operations(duplicate)[name]])
        with harness.sessions(1) as (session,):
            session.connection.execute("set synchronous_commit = local")
            command = ["prlimit", f"--pid={session.pid}", "--fsize=0"]
            subprocess.run(system_user.as_user(command, system_user.name()), check=True, cwd="/")
            work = session.start(group, operations(group)[name], commit=True)
            with suppress(psycopg.Error):
                assert work.result(PATIENCE_SECONDS) not in done.results
    with recovered(fragile) as harness:
        assert harness.state(group) == before
        with harness.sessions(1) as (session,):
            again = session.start(group, operations(group)[name], commit=True).result(PATIENCE_SECONDS)
        assert ((again,), harness.state(group)) == (done.results, done.state)
        assert harness.violations() == []


@contextmanager
def own_postgrest(cluster: OwnCluster) -> Iterator[httpx.Client]:
    """Yield a client of a PostgREST on the cluster."""
    described = processes.describe(cluster.settings, cluster.keys)
    service = next(each for each in described if each.name == "postgrest")
    process = subprocess.Popen(ending_with_parent(service.command), env=service.env)
    url = f"http://{cluster.settings.address('postgrest')}"
    try:
        with plain_http.client(base_url=url, timeout=60) as client:
            until_responding(client)
            yield client
    finally:
        process.terminate()
        process.wait(20)


def until_responding(client: httpx.Client) -> None:
    """Wait until PostgREST has the database's schema."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with suppress(httpx.TransportError):
            if client.post("/rpc/get_platform", json={}).status_code == 200:
                return
        assert time.monotonic() < deadline, "PostgREST did not respond"
        time.sleep(0.02)


def token_of(harness: RaceHarness, user_id: str) -> str:
    """Return the token of a session that a member has from now on."""
    session = str(uuid.uuid4())
    harness.director.execute(
        "insert into auth.sessions (id, user_id, created_at, updated_at, aal)"
        " values (%s, %s, now(), now(), 'aal1')",
        [session, user_id],
    )
    claims = {"sub": user_id, "session_id": session, "role": "authenticated", "aud": "authenticated"}
    return signed("auth", {**claims, "aal": "aal1", "exp": int(time.time()) + 600})


def backends_waiting_for_a_lock(harness: RaceHarness, count: int) -> list[int]:
    """Return the backends of PostgREST that carry out requests, once there are so many."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    query = "select pid from pg_stat_activity where usename = 'authenticator' and wait_event_type = 'Lock'"
    while len(found := harness.director.execute(query).fetchall()) < count:
        assert time.monotonic() < deadline, f"{len(found)} requests wait"
        time.sleep(0.002)
    return [int(row[0]) for row in found]


def says_nothing(response: httpx.Response) -> bool:
    """Whether a response leaves open what became of the request."""
    return response.status_code == 503 or (response.status_code, response.json()) == (400, NO_WORD)


@pytest.mark.long
@pytest.mark.threat("T49", "T57")
@pytest.mark.parametrize("whose", ["its own", "another"])
def test_a_request_through_postgrest_is_not_known_and_the_same_id_makes_it_once(
    fragile: OwnCluster, whose: str
) -> None:
    with own_postgrest(fragile) as client, ThreadPoolExecutor(OTHERS + 1) as clients:
        with RaceHarness(fragile.url()) as harness, psycopg.connect(fragile.url()) as holder:
            (group,) = harness.groups(1)
            member = group["member"]
            client.headers["authorization"] = f"Bearer {token_of(harness, member)}"
            row = {"id": str(uuid.uuid4()), "user_id": member, "amount": 250}
            row["wallet_address"] = wallet_of(member)
            holder.execute("select from private.profiles where user_id = %s for update", [member])
            work = [clients.submit(client.post, "/withdrawals", json=row)]
            (own,) = backends_waiting_for_a_lock(harness, 1)
            address, name = f"/profiles?user_id=eq.{member}", {"display_name": "Renamed"}
            work += [clients.submit(client.patch, address, json=name) for _ in range(OTHERS)]
            backends_waiting_for_a_lock(harness, OTHERS + 1)
            os.kill(own if whose == "its own" else holder.info.backend_pid, signal.SIGKILL)
            responses = [each.result(PATIENCE_SECONDS) for each in work]
            with suppress(psycopg.OperationalError):
                holder.rollback()
        print(whose, [(each.status_code, each.text) for each in responses])
        # Not one of them says that it was done, or that it was wrong.
        assert all(says_nothing(response) for response in responses)
        with recovered(fragile) as harness:
            until_responding(client)
            address, once = "/withdrawals?on_conflict=id", {"prefer": "resolution=ignore-duplicates"}
            for _ in range(2):
                client.post(address, json=row, headers=once).raise_for_status()
            query = "select count(*) from public.withdrawals where id = %s"
            assert harness.director.execute(query, [row["id"]]).fetchone() == (1,)
            assert harness.violations() == []
