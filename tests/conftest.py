"""What all suites in Python share: a real GoTrue skips the tests of the embedded auth service alone."""

import contextlib

import pytest

from tests.support.stack import Stack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip `embedded_only` with its reason on a stack that `AUTH_BIN` runs on."""
    real = False
    with contextlib.suppress(FileNotFoundError):
        real = "AUTH_BIN" in Stack.read().values
    for item in items:
        if real and (mark := item.get_closest_marker("embedded_only")):
            item.add_marker(pytest.mark.skip(reason=f"a real GoTrue {mark.args[0]}"))
