"""The script `/config.js`: what the web app needs before its first paint, from the settings."""

import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson
from starlette.requests import Request
from starlette.responses import Response

from functions.core.database import Pool, transaction

# A function, which the script calls.
START = Path(__file__).with_name("start.js").read_text().rstrip()
# Visitors are many, and settings change a few times a year.
FRESH_SECONDS = 2


class Script(Response):
    """A script in UTF-8."""

    media_type = "text/javascript"


@dataclass
class WebConfig:
    """The script, made anew from the settings when it is older than two seconds."""

    pool: Pool
    anon_key: str
    _script: bytes = b""
    _made_at: float = float("-inf")

    async def respond(self, request: Request) -> Response:
        """Respond with the script, or 304 when the browser has it."""
        script = await self._fresh_script()
        tag = f'"{sha256(script).hexdigest()[:32]}"'
        headers = {"etag": tag, "cache-control": "no-cache"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Script(script, headers=headers)

    async def _fresh_script(self) -> bytes:
        if (now := time.monotonic()) - self._made_at > FRESH_SECONDS:
            async with transaction(self.pool) as connection:
                cursor = await connection.execute("select edge.web_config() as platform")
                row = await cursor.fetchone()
            config = {"supabaseUrl": "", "supabaseKey": self.anon_key, "platform": row and row["platform"]}
            # As old as the question: the settings may have changed since.
            if now > self._made_at:
                self._script = START.encode() + b"(" + orjson.dumps(config) + b")\n"
                self._made_at = now
        return self._script
