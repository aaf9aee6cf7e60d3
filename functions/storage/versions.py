"""The bytes that a row names: an upsert beside their reader may replace and remove them."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from functions.storage.errors import no_such_key
from functions.storage.rows import Row

_Result = TypeVar("_Result")


async def with_bytes(find: Callable[[], Awaitable[Row]], use: Callable[[Row], Awaitable[_Result]]) -> _Result:
    """What `use` makes of the bytes of the row that `find` answers.

    Raises:
        StorageError: what `find` and `use` raise; NoSuchKey when the bytes are gone.
    """
    gone = None
    while True:
        row = await find()
        try:
            return await use(row)
        except FileNotFoundError as error:
            # Replaced bytes go at once, perhaps after their row was read here: then the row names others now.
            if row["version"] == gone:
                logging.getLogger("storage").error("a row without bytes", extra={"fields": {"version": gone}})
                raise no_such_key() from error
            gone = row["version"]
