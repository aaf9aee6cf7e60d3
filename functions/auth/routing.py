"""Routes as GoTrue has them, where Starlette's differ."""

import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

Endpoint = Callable[[Request], Awaitable[Response]]


class Resource(Route):
    """A path with an endpoint for each method.

    Slashes at its end do not count, GET does not imply HEAD, and the first path that fits decides, whatever
    the method.
    """

    def __init__(self, path: str, **endpoints: Endpoint) -> None:
        """Take the endpoints by their methods: `Resource("/user", GET=get_user)`."""
        super().__init__(path, self._call, methods=list(endpoints))
        self.endpoints = endpoints
        self.methods = set(endpoints)
        self.path_regex = re.compile(self.path_regex.pattern.removesuffix("$") + r"/*\Z")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return a full match for any method: `handle` responds 405 to those that are missing."""
        match, child_scope = super().matches(scope)
        return (Match.NONE if match is Match.NONE else Match.FULL), child_scope

    async def _call(self, request: Request) -> Response:
        return await self.endpoints[request.method](request)
