"""Cross-origin requests, for a service that browsers ask directly and that takes no cookies."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class CorsPolicy:
    """The request headers that any origin may send, and the response headers that it may read."""

    allowed_headers: frozenset[str]
    exposed_headers: str


class Cors:
    """ASGI middleware: answers preflights, and lets any origin read a response.

    Unlike Starlette's, a preflight that asks for a header that is not known is granted nothing with a 204, as
    GoTrue answers.
    """

    def __init__(self, app: ASGIApp, policy: CorsPolicy) -> None:
        self.app = app
        self.policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Headers(scope=scope)
        origin = request.get("origin")
        granted = self._granted(request) if scope["method"] == "OPTIONS" else None
        if granted is None and not origin:
            await self.app(scope, receive, send)
            return

        async def send_readable(message: Message) -> None:
            if message["type"] == "http.response.start" and origin:
                response = MutableHeaders(scope=message)
                response["access-control-allow-origin"] = "*"
                response["access-control-allow-credentials"] = "true"
                response["access-control-expose-headers"] = self.policy.exposed_headers
            await send(message)

        if granted is None:
            await self.app(scope, receive, send_readable)
            return
        headers = [(name.encode(), value.encode()) for name, value in granted.items()]
        await send_readable({"type": "http.response.start", "status": 204, "headers": headers})
        await send_readable({"type": "http.response.body", "body": b""})

    def _granted(self, request: Headers) -> Mapping[str, str] | None:
        """Return what a preflight grants; None when this is none."""
        method = request.get("access-control-request-method")
        if not method:
            return None
        asked = request.get("access-control-request-headers", "")
        names = {name.strip().lower() for name in asked.split(",") if name.strip()}
        if method not in _METHODS or not names <= self.policy.allowed_headers:
            return {}
        return {"access-control-allow-methods": method, "access-control-allow-headers": asked}
