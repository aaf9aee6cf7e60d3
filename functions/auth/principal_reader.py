"""Reads the users behind tokens, all that are asked for at the same time in one statement.

The check of a token is the most frequent query of the service, and its cost is in the asking: requests that
arrive while one statement runs share the next. Each still sees everything committed before it arrived.
"""

import asyncio
import uuid
from typing import Any

from functions.auth.users import NO_INSTANCE, SELECT
from functions.core.database import Pool

SESSION = """
    s.id as session_id, s.aal as session_aal, s.created_at as session_created_at,
    s.refreshed_at as session_refreshed_at, s.not_after as session_not_after,
    s.factor_id as session_factor_id, clock_timestamp() as session_now,
    (select coalesce(json_agg(json_build_object(
        'method', a.authentication_method, 'updated_at', extract(epoch from a.updated_at))), '[]')
     from auth.mfa_amr_claims a where a.session_id = s.id) as session_amr"""
_QUERY = f"""{SELECT}, {SESSION}, asked.place
    from unnest(%s::uuid[], %s::uuid[]) with ordinality as asked (user_id, session_id, place)
    join auth.users u on u.id = asked.user_id and u.instance_id = %s
    left join auth.sessions s on s.id = asked.session_id and s.user_id = u.id"""
_MOST = 64

Row = dict[str, Any]


class PrincipalReader:
    """Reads users with the sessions that their tokens name."""

    def __init__(self, pool: Pool) -> None:
        """Read from a pool that is opened later."""
        self._pool = pool
        self._waiting: list[tuple[uuid.UUID, uuid.UUID | None, asyncio.Future[Row | None]]] = []
        self._reading: asyncio.Task[None] | None = None

    async def read(self, user_id: uuid.UUID, session_id: uuid.UUID | None) -> Row | None:
        """Return the user's row with its session, and the database's time; None when the user is deleted."""
        future: asyncio.Future[Row | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((user_id, session_id, future))
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_all())
        return await future

    async def _read_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                await self._read_batch(batch)
        finally:
            self._reading = None

    async def _read_batch(
        self, batch: list[tuple[uuid.UUID, uuid.UUID | None, asyncio.Future[Row | None]]]
    ) -> None:
        users, sessions, futures = zip(*batch, strict=True)
        try:
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_QUERY, [list(users), list(sessions), NO_INSTANCE])
                found = {row["place"]: row for row in await cursor.fetchall()}
        except Exception as error:
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            return
        for place, future in enumerate(futures, start=1):
            if not future.done():
                future.set_result(found.get(place))
