"""A cluster that loses a machine in the middle of decisions: no acknowledged write is lost or doubled."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from launcher.services.supervisor import Supervisor
from tests.cluster.site import Site, running
from tests.cluster.workload import LOST, Workload, working
from tests.support.own_stack import until
from tests.support.patroni_cluster import DOCUMENTED_TTL, PASSWORD, SMALLEST_TTL, SUPERUSER

pytestmark = [pytest.mark.long, pytest.mark.alone]
BEFORE_SECONDS = AFTER_SECONDS = 8
# With ttl 20: until the lock of a lost primary has expired, and a new synchronous replica is there.
LOST_MACHINE_SECONDS = 30
SMALLEST_TTL_SECONDS = 15
# How long a service waits for a server that says nothing.
DEADLINE_SECONDS = 12
KILLED_POSTMASTER_SECONDS = 10
PLANNED_SECONDS = 5
# 503: the server says that it will go on. 502: what was under way when an instance was killed.
MAY_BE_MET = {"503", LOST}


@pytest.fixture(scope="module")
def site(state: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Start one, with the ttl that a test asks for."""
    with running(state, getattr(request, "param", DOCUMENTED_TTL)) as started:
        yield started


def report(what: str, work: Workload, since: float) -> float:
    """Print what clients met; return the longest pause between acknowledged writes."""
    pause = work.longest_pause(since)
    print(f"\n{what}: {pause:.1f} s without a write, {len(work.approved)} decisions, met {dict(work.met)}")
    for _, path, kind in work.errors:
        if kind not in MAY_BE_MET:
            print(f"  {kind} at {path}")
    return pause


def lose_primary(site: Site) -> float:
    """Lose the primary's machine amid decisions and bring it back; return the longest pause in seconds."""
    lost = site.primary()
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        site.cluster.lose(lost)
        until(lambda: site.cluster.primary() not in (None, lost), 60)
        until(
            lambda: (
                max(work.approved.values(), default=0) > at + 5 and site.cluster.synchronous() is not None
            ),
            60,
        )
        time.sleep(AFTER_SECONDS)
        site.cluster.start_node(lost)
        until(lambda: lost in site.cluster.replicas(), 60)
        time.sleep(AFTER_SECONDS)
    pause = report(f"primary lost, ttl {site.cluster.ttl}", work, at)
    site.require_nothing_lost(work)
    assert set(work.met) <= MAY_BE_MET
    return pause


def test_a_primary_machine_is_lost_and_comes_back(site: Site) -> None:
    assert lose_primary(site) <= LOST_MACHINE_SECONDS


def test_a_postmaster_is_killed(site: Site) -> None:
    postmaster = site.primary().postmaster
    assert postmaster
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        os.kill(postmaster, signal.SIGKILL)
        until(lambda: max(work.approved.values(), default=0) > at + 5, 60)
        time.sleep(AFTER_SECONDS)
    pause = report("postmaster killed", work, at)
    site.require_nothing_lost(work)
    assert pause <= KILLED_POSTMASTER_SECONDS
    assert set(work.met) <= MAY_BE_MET


def test_a_planned_switch(site: Site) -> None:
    before = site.primary()
    until(lambda: len(site.cluster.replicas()) == 2, 60)
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        site.cluster.switch()
        assert site.primary() is not before
        time.sleep(AFTER_SECONDS)
    pause = report("planned switch", work, at)
    site.require_nothing_lost(work)
    assert pause <= PLANNED_SECONDS
    assert set(work.met) <= MAY_BE_MET


def test_a_replica_is_lost_and_comes_back(site: Site) -> None:
    primary = site.primary()
    until(lambda: len(site.cluster.replicas()) == 2, 60)
    lost = next(node for node in site.cluster.nodes if node.name == site.cluster.synchronous())
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        site.cluster.lose(lost)
        time.sleep(20)
        site.cluster.start_node(lost)
        until(lambda: lost in site.cluster.replicas(), 60)
    pause = report("synchronous replica lost", work, at)
    site.require_nothing_lost(work)
    assert site.cluster.primary() is primary
    assert pause <= KILLED_POSTMASTER_SECONDS
    assert set(work.met) <= MAY_BE_MET


@pytest.mark.parametrize("how", ["killed", "paused"])
def test_one_etcd_node_is_lost(site: Site, how: str) -> None:
    primary, lost = site.primary(), site.cluster.etcd[0]
    assert lost
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        lost.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        time.sleep(25)
        if how == "killed":
            lost.wait()
            site.cluster.start_etcd(1)
        else:
            lost.send_signal(signal.SIGCONT)
        time.sleep(AFTER_SECONDS)
    pause = report(f"one etcd node {how}", work, at)
    site.require_nothing_lost(work)
    assert site.cluster.primary() is primary
    assert pause <= PLANNED_SECONDS
    assert set(work.met) <= MAY_BE_MET


def test_a_primary_hangs_until_its_watchdog_resets_it(site: Site) -> None:
    hung = site.primary()
    until(lambda: len(site.cluster.replicas()) == 2, 60)
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        site.cluster.hang(hung)
        until(lambda: max(work.approved.values(), default=0) > at + site.cluster.ttl, 60)
        site.cluster.start_node(hung)
        until(lambda: hung in site.cluster.replicas(), 90)
    pause = report("primary hung", work, at)
    site.require_nothing_lost(work)
    assert pause <= LOST_MACHINE_SECONDS + DEADLINE_SECONDS
    # Its connections take what is asked and say nothing: a service gives up at its deadline.
    assert set(work.met) <= MAY_BE_MET | {"504"}


@pytest.mark.parametrize("name", ["postgrest", "auth", "storage", "edge", "worker"])
def test_an_instance_of_a_service_is_killed(site: Site, name: str) -> None:
    supervisor = Supervisor(site.stack.settings)
    killed = supervisor.states()[f"{name}-2"]["pid"]
    with working(site.stack, site.referrer) as work:
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        os.kill(killed, signal.SIGKILL)
        time.sleep(AFTER_SECONDS)
    pause = report(f"{name}-2 killed", work, at)
    site.require_nothing_lost(work)
    assert supervisor.states()[f"{name}-2"]["statename"] == "RUNNING"
    assert pause <= PLANNED_SECONDS
    # What was under way there has no response; a client sends it again.
    assert set(work.met) <= MAY_BE_MET | {"502"}


def test_the_superuser_is_used_by_patroni_alone(site: Site) -> None:
    used = "select application_name from pg_stat_activity where usename = %s and pid <> pg_backend_pid()"
    with psycopg.connect(site.cluster.superuser_url()) as connection:
        names = {name for (name,) in connection.execute(used, [SUPERUSER])}
    assert {name for name in names if not name.startswith("Patroni")} <= {""}, names
    keys = (site.stack.state / "keys" / "credentials.json").read_text()
    assert PASSWORD not in keys


@pytest.mark.parametrize("site", [SMALLEST_TTL], indirect=True, ids=["ttl"])
def test_the_smallest_ttl_finds_a_lost_machine_sooner(site: Site) -> None:
    assert lose_primary(site) <= SMALLEST_TTL_SECONDS
