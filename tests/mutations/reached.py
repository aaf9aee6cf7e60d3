"""Which tests reach which guard of the services: where to look for one that kills its mutant.

As a plugin of pytest it gives each request the number of its test; the services note each guard with the
number of the request that reaches it.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.mutations import sources

_test: ContextVar[str] = ContextVar("test", default="")
_HEADER = "x-request-id"


def noting(path: str) -> str:
    """Return the text of a module whose raised errors are noted before they are raised."""
    text = Path(path).read_text()
    lines = text.splitlines(keepends=True)
    for name, row, column in reversed(list(sources.raised(str(Path(path).relative_to(sources.ROOT)), text))):
        line = lines[row - 1]
        note = f"from tests.mutations import reached as _reached; _reached.note({name!r}); "
        lines[row - 1] = line[:column] + note + line[column:]
    return "".join(lines)


def note(guard: str) -> None:
    """Write down that the test of this request, or of this process, reached a guard."""
    # Not before: it is one of the modules that are noted.
    from functions.core.logging import request_id

    with Path(os.environ["REACHED_LOG"]).open("a") as file:
        file.write(f"{request_id.get() or _test.get()}\t{guard}\n")


def candidates(log: Path) -> dict[str, list[str]]:
    """Return the tests that reached each guard, those first that reach few."""
    names = dict(line.split("\t") for line in log.with_suffix(".names").read_text().splitlines())
    reached: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        number, guard = line.split("\t", 1)
        if number in names:
            reached.setdefault(guard, set()).add(names[number])
    many = Counter(test for tests in reached.values() for test in tests)
    return {guard: sorted(tests, key=lambda test: (many[test], test)) for guard, tests in reached.items()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the number of each test, and use it for its requests."""
    number = sha256(item.nodeid.encode()).hexdigest()[:16]
    with Path(os.environ["REACHED_LOG"]).with_suffix(".names").open("a") as file:
        file.write(f"{number}\t{item.nodeid}\n")
    token = _test.set(number)
    os.environ["REACHED_TEST"] = number
    try:
        return (yield)
    finally:
        _test.reset(token)


def pytest_configure() -> None:
    """Give the requests of every client the number of the test."""
    original = httpx.Request.__init__

    def numbered(self: httpx.Request, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        self.headers.setdefault(_HEADER, os.environ.get("REACHED_TEST", "none"))

    httpx.Request.__init__ = numbered  # type: ignore[method-assign]
