"""Routes as GoTrue has them, where Starlette's differ."""

import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]


class Resource(Route):
    """A path with an endpoint for each method.

    Slashes at its end do not count, GET does not imply HEAD, and the first path that fits decides, whatever
    the method.
    """

    def __init__(self, path: str, **endpoints: Endpoint) -> None:
        """Take the endpoints by their methods: `Resource("/user", GET=get_user)`."""
        super().__init__(path, self.handle)
        # It fits any method: `handle` has the response to those that are missing.
        self.methods = None
        self.endpoints = endpoints
        self.path_regex = re.compile(self.path_regex.pattern.removesuffix("$") + r"/*\Z")

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request that fits; the application's middleware has the response to errors."""
        endpoint = self.endpoints.get(scope["method"])
        if endpoint is None:
            response = Response(status_code=405, headers={"allow": ", ".join(sorted(self.endpoints))})
        else:
            response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)
