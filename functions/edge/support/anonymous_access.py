"""The parts of PostgREST that the public key alone reaches: every grant to role anon, whoever made it."""

import re
import time
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from functions.core.database import Pool, transaction

# A grant counts within ten seconds, and so does its end.
FRESH_SECONDS = 8
NAMED = re.compile(r"/(rpc/)?(\w+)", re.ASCII)


@dataclass
class AnonymousAccess:
    """The grants of role anon, read again from the database when they are older than eight seconds."""

    pool: Pool
    _methods: dict[str, list[str]] = field(default_factory=dict)
    _read_at: float = float("-inf")

    async def respond(self, request: Request) -> Response:
        """Respond 204 where role anon has a grant for what the gateway was asked, otherwise 401.

        `X-Forwarded-Method` and `X-Forwarded-Uri`, without the prefix of the API, say what that is.
        """
        path = unquote(urlsplit(request.headers.get("x-forwarded-uri", "")).path)
        methods = (await self._granted()).get(path, [])
        if request.headers.get("x-forwarded-method") in methods:
            return Response(status_code=204)
        return denied(path)

    async def _granted(self) -> dict[str, list[str]]:
        if (now := time.monotonic()) - self._read_at > FRESH_SECONDS:
            async with transaction(self.pool) as connection:
                cursor = await connection.execute("select edge.open_to_anyone() as methods")
                row = await cursor.fetchone()
            # As old as the question: grants may have changed since.
            if now > self._read_at:
                self._methods = row["methods"] if row else {}
                self._read_at = now
        return self._methods


def denied(path: str) -> Response:
    """Return PostgREST's words for a missing grant, with the rule that was applied."""
    named = NAMED.fullmatch(path)
    what = f" for {'function' if named[1] else 'table'} {named[2]}" if named else ""
    body = {
        "code": "42501",
        "details": None,
        "hint": "Without a sign-in the gateway passes on what role anon is granted, and nothing else.",
        "message": f"permission denied{what}",
    }
    return JSONResponse(body, 401, {"www-authenticate": "Bearer"})
