"""The bytes that a row names: a concurrent upsert may replace and remove them."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from functions.storage.errors import no_such_key
from functions.storage.queries import Row

_Result = TypeVar("_Result")


async def with_bytes(find: Callable[[], Awaitable[Row]], use: Callable[[Row], Awaitable[_Result]]) -> _Result:
    """Find a row and return what `use` makes of it; again with the row's successor if the bytes are deleted.

    Raises:
        ApiError: what `find` and `use` raise; NoSuchKey when the row has no bytes.
    """
    deleted = None
    while True:
        row = await find()
        try:
            return await use(row)
        except FileNotFoundError as error:
            # Replaced bytes are deleted at once, perhaps after their row was read: now it names others.
            if row["version"] == deleted:
                logging.getLogger("storage").error(
                    "a row without bytes", extra={"fields": {"version": deleted}}
                )
                raise no_such_key() from error
            deleted = row["version"]
