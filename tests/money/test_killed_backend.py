"""kill -9 of the backend that carries out an operation on money, before the commit and once it is recorded.

A commit waits for a standby that does not exist, so that it is durable before the client knows. Afterwards
the members have their state before, or the operation applied once; a retry with the same id says which.
"""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

import settings as configuration
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.race_harness import PATIENCE_SECONDS, RaceHarness, Session, operations
from tests.support.stack import stack_state

NAMES = list(operations(defaultdict(str)))
# What moves money: the rest is killed in the long run.
USUAL = ("request a withdrawal", "approve an upgrade", "approve the withdrawal", "void a child's package")
KILLED = [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in NAMES]
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
    with suppress(psycopg.OperationalError):
        while time.monotonic() < deadline:
            harness.director.execute("select 1")
    assert harness.director.closed


def recovered(cluster: OwnCluster) -> RaceHarness:
    """Return a harness on the cluster once it accepts connections again."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return RaceHarness(cluster.url())
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
