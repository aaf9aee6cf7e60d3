"""Structured logs: one JSON line each, with the request id; never bodies, tokens or query strings."""

import logging
import sys
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import orjson

from functions.core.metrics import observe

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON line; `extra={"fields": {...}}` adds named values."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without the newline."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get():
            line["request_id"] = request_id.get()
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0]:
            line["exception"] = "".join(_trace(record.exc_info[1])).rstrip()
        return orjson.dumps(line, default=str).decode()

    converter = staticmethod(time.gmtime)


def _trace(error: BaseException | None) -> list[str]:
    """Where an exception comes from, its causes first, in Python's words but for what a database server says.

    Its message and detail quote the row, and with it what a person typed: the SQLSTATE stands in their place.
    """
    if error is None:
        return []
    state = getattr(error, "sqlstate", None)
    return [
        *_trace(error.__cause__ or (None if error.__suppress_context__ else error.__context__)),
        *traceback.format_tb(error.__traceback__),
        f"{type(error).__name__}: {f'SQLSTATE {state}' if state else error}\n",
        *(line for one in getattr(error, "exceptions", ()) for line in _trace(one)),
    ]


def configure(level: str) -> None:
    """Send every logger of the process to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    sys.excepthook = _log_end
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name == "uvicorn.error"


def _log_end(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Log what ends the process as one line, as discreet as the others."""
    logging.getLogger("process").critical("the process ends", exc_info=(kind, error, where))


class RequestLog:
    """ASGI middleware: takes or makes `X-Request-Id`, answers with it; one line and one count per request."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.app = app
        self.logger = logging.getLogger("request")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        identity = (
            given if 0 < len(given) <= 64 and given.isascii() and given.isprintable() else uuid.uuid4().hex
        )
        token = request_id.set(identity)
        started, status = time.perf_counter(), 500

        async def send_with_id(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", identity.encode())]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            seconds = time.perf_counter() - started
            observe(scope, status, seconds)
            fields = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round(seconds * 1000, 1),
            }
            self.logger.info("request", extra={"fields": fields})
            request_id.reset(token)
