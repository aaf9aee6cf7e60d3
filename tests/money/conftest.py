"""A copy of the stack's PostgreSQL for the tests of money: without other clients, so it may be killed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The launcher is a folder that the system's Python runs, not a package.
sys.path.append(str(ROOT / "supabase" / "stack"))

import settings as configuration  # noqa: E402
from tests.support.own_cluster import OwnCluster, settings_of_own  # noqa: E402
from tests.support.race_harness import RaceHarness  # noqa: E402
from tests.support.stack import stack_state  # noqa: E402


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
