"""A private database on the stack's cluster, for tests that would disturb others."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from tests.support.pgtap import copies
from tests.support.stack import Stack

ATTEMPTS = 20


@contextmanager
def own_database(stack: Stack) -> Iterator[str]:
    """Yield the superuser URL of a copy of the migrated database without the demo."""
    with ExitStack() as held:
        for left in reversed(range(ATTEMPTS)):
            try:
                (address,) = held.enter_context(copies(stack.values["DATABASE_ADMIN_URL"], 1))
                break
            except psycopg.errors.ObjectInUse:
                # The database's own tests are connected to the original, longer than PostgreSQL waits for it.
                if not left:
                    raise
        yield address
