"""The running stack, and a gateway of the tests' own."""

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kubernetes_manifests import Written
from tests.support.own_gateway import Gateway, running
from tests.support.stack import Stack, stack_state


@pytest.fixture(scope="session")
def stack() -> Stack:
    """Return the stack that STACK_ENV names."""
    return Stack.read()


@pytest.fixture(scope="session")
def state() -> Path:
    """Return the state folder of that stack."""
    return stack_state()


@pytest.fixture
def place(state: Path) -> Iterator[Path]:
    """Yield a folder that PostgreSQL's user can reach."""
    folder = state.with_name(f"{state.name}-own-{secrets.token_hex(2)}")
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Start Caddy with the product's file, once."""
    with running(tmp_path_factory.mktemp("gateway")) as started:
        yield started


@pytest.fixture(scope="session")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Start it with HTTPS."""
    with running(
        tmp_path_factory.mktemp("encrypted"), host="localhost", HSTS="max-age=5; preload"
    ) as started:
        yield started


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Write the manifests of a stack in Kubernetes, once."""
    return Written(tmp_path_factory.mktemp("kubernetes") / "state")
