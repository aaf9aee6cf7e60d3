"""A copy of the stack's PostgreSQL for the tests of money: without other clients, so it may be killed."""

from collections.abc import Iterator

import pytest

from launcher import settings as configuration
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.race_harness import RaceHarness
from tests.support.stack import stack_state


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """Yield the copied cluster, running."""
    cluster = OwnCluster(settings_of_own(tmp_path_factory.mktemp("own") / "stack"))
    cluster.copy(configuration.read(stack_state()))
    with cluster.running():
        cluster.set_aside()
        yield cluster


@pytest.fixture(scope="session")
def harness(own: OwnCluster) -> Iterator[RaceHarness]:
    """Yield the race harness on that copy."""
    with RaceHarness(own.url()) as prepared:
        yield prepared
