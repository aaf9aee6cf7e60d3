"""Caches between a service and its clients store nothing, unless a response says otherwise."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class NoStore:
    """ASGI middleware: `Cache-Control: no-store` on each response that has no rule of its own.

    Public paths are left alone.
    """

    def __init__(self, app: ASGIApp, public: frozenset[str] = frozenset()) -> None:
        self.app = app
        self.public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] in self.public:
            await self.app(scope, receive, send)
            return

        async def forbid(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, forbid)
