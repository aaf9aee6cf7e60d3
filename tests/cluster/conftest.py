"""Where a cluster and the stack on it may lie."""

from pathlib import Path

import pytest

from tests.support.stack import stack_state


@pytest.fixture(scope="session")
def state() -> Path:
    """Return the state folder of the stack under test, beside which others may lie."""
    return stack_state()
