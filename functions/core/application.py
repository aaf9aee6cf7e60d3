"""The application factory: an HTTP service is its routes, its lifespan and its own words for errors.

The rest is the same for all: the request log with its id and metrics, the deadline, and one place where
errors become responses, inside whatever else a service puts around its routes.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.core.database import Pool
from functions.core.errors import ApiError, Meaning, Rendering, error_of, meaning_of
from functions.core.logging import RequestLog
from functions.core.metrics import published
from functions.core.settings import ServiceSettings

log = logging.getLogger("application")

Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class ErrorResponses:
    """How one service words and renders what went wrong.

    Attributes:
        render: the response that the service's clients know.
        of_database: words for what a database error means; one without is a fault, and logged.
        fault: what an unforeseen failure answers: nothing of its inside.
        too_slow: what ends a request at its deadline.
        of_route: words for 404, 405 and whatever else the router raises, or the whole response.
        of_validation: words for a body or query string that is not as documented.
    """

    render: Callable[[Request, ApiError], Response]
    of_database: Mapping[Meaning, Rendering]
    fault: ApiError
    too_slow: ApiError
    of_route: Callable[[Request, HTTPException], ApiError | Response]
    of_validation: Callable[[RequestValidationError], ApiError] | None = None

    def respond(self, request: Request, error: Exception) -> Response:
        """Return the response to an error; what no client can have caused is logged."""
        if isinstance(error, HTTPException):
            said = self.of_route(request, error)
            return said if isinstance(said, Response) else self.render(request, said)
        return self.render(request, self._in_words(error))

    def _in_words(self, error: Exception) -> ApiError:
        if isinstance(error, ApiError):
            # A constant is raised again and again, and each time Python would add frames, with all they hold.
            error.__traceback__ = None
            return error
        if isinstance(error, RequestValidationError) and self.of_validation:
            return self.of_validation(error)
        if isinstance(error, psycopg.Error):
            meaning = meaning_of(error)
            if meaning not in self.of_database or meaning is Meaning.UNREACHABLE:
                log.error("database error", exc_info=error)
            return error_of(error, self.of_database, self.fault)
        log.error("unexpected error", exc_info=error)
        return self.fault


def make_app(
    routes: Sequence[BaseRoute],
    lifespan: Lifespan,
    errors: ErrorResponses,
    *,
    deadline_seconds: float | None = None,
    middleware: Sequence[Middleware] = (),
) -> Starlette:
    """Return an application of plain routes.

    Args:
        deadline_seconds: a response begins within this time; a file may take longer to end.
        middleware: the service's own, between the request log and the routes, the outermost first.
    """
    app = Starlette(routes=routes, lifespan=lifespan, **_surroundings(errors, deadline_seconds, middleware))
    app.router.redirect_slashes = False
    return app


def make_documented_app(
    title: str,
    routers: Sequence[APIRouter],
    lifespan: Lifespan,
    errors: ErrorResponses,
    *,
    deadline_seconds: float | None = None,
    middleware: Sequence[Middleware] = (),
    inner_middleware: Sequence[Middleware] = (),
    **options: Any,
) -> FastAPI:
    """Return an application whose routes FastAPI checks and documents; first match wins.

    Args:
        inner_middleware: the service's own within deadline and error handling, for example to read bodies.
        options: what else FastAPI takes; the other arguments are those of `make_app`.
    """
    app = FastAPI(
        title=title,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        **_surroundings(errors, deadline_seconds, middleware, inner_middleware),
        **options,
    )
    for router in routers:
        app.include_router(router)
    return app


@asynccontextmanager
async def serving_database(settings: ServiceSettings, pool: Pool) -> AsyncIterator[None]:
    """Hold the pool open and publish the process's metrics while the block runs."""
    async with pool:
        with published(settings, pool):
            yield


def _surroundings(
    errors: ErrorResponses,
    deadline_seconds: float | None,
    middleware: Sequence[Middleware],
    inner_middleware: Sequence[Middleware] = (),
) -> dict[str, Any]:
    async def respond(request: Request, error: Exception) -> Response:
        return errors.respond(request, error)

    return {
        "middleware": [
            Middleware(RequestLog),
            *middleware,
            Middleware(ErrorBoundary, errors=errors, deadline_seconds=deadline_seconds),
            *inner_middleware,
        ],
        "exception_handlers": dict.fromkeys(
            (HTTPException, RequestValidationError, ApiError, psycopg.Error), respond
        ),
    }


class ErrorBoundary:
    """ASGI middleware: ends a request at its deadline, and answers failures that have no handler."""

    def __init__(self, app: ASGIApp, errors: ErrorResponses, deadline_seconds: float | None) -> None:
        self.app = app
        self.errors = errors
        self.deadline_seconds = deadline_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            if not begun:
                begun = True
                deadline.reschedule(None)
            await send(message)

        deadline = asyncio.timeout(self.deadline_seconds)
        try:
            async with deadline:
                await self.app(scope, receive, begin)
        except Exception as error:
            if begun:
                raise
            known = self.errors.too_slow if deadline.expired() else error
            await self.errors.respond(Request(scope, receive), known)(scope, receive, send)
