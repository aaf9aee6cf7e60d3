"""The application: its routes, how errors are answered, and what runs beside the requests."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.responses import Response
from psycopg_pool import TooManyRequests
from starlette.exceptions import HTTPException

from functions.core.database import make_pool, transaction
from functions.core.logging import Receive, RequestLog, Scope, Send
from functions.core.metrics import published
from functions.core.tokens import KeySet
from functions.storage import (
    buckets,
    documents,
    downloads,
    listing,
    removal,
    signed,
    sweeper,
    transfers,
    uploads,
)
from functions.storage.errors import StorageError, of_database
from functions.storage.service import Answer, Service
from functions.storage.settings import Settings
from functions.storage.signing import Signer
from functions.storage.store import ByteStore

log = logging.getLogger("storage")
# An upload is somebody's file: a browser must neither guess what it is nor run it.
SAFETY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
]


class SafetyHeaders:
    """ASGI middleware: every answer forbids sniffing and scripts."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *SAFETY_HEADERS]
            await send(message)

        await self.app(scope, receive, send_safely)


def make_app(settings: Settings) -> FastAPI:
    """The application, with its resources opened and closed by its lifespan."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pool = make_pool(settings.database_url, settings.database_pool_size, "storage")
        await pool.open()
        app.state.service = Service(
            settings,
            pool,
            KeySet.read(settings.jwks_path),
            Signer(settings.signing_secret),
            ByteStore(settings.storage_url, settings.spool_path),
        )
        sweeping = asyncio.create_task(sweeper.sweep_forever(app.state.service))
        with published(settings, pool):
            yield
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping
        await pool.close()

    app = FastAPI(
        title="Storage",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=documents.REFUSED,
    )
    _add_routes(app)
    _add_error_answers(app)
    app.add_middleware(SafetyHeaders)
    app.add_middleware(RequestLog)
    return app


def _add_routes(app: FastAPI) -> None:
    """First match wins: names such as `list` and `sign` come before any bucket's name."""
    for router in (
        buckets.router,
        signed.router,
        listing.router,
        transfers.router,
        sweeper.router,
        downloads.facts,
        downloads.router,
        removal.router,
        uploads.router,
    ):
        app.include_router(router)

    @app.get("/status", tags=["maintenance"], response_class=Response)
    async def status() -> Response:
        """Is the process there?"""
        return Response(status_code=200)

    @app.get("/health", tags=["maintenance"])
    async def health(request: Request) -> Answer:
        """Does the database answer?"""
        async with transaction(request.app.state.service.pool) as db:
            await db.execute("select 1")
        return Answer({"healthy": True})


def _add_error_answers(app: FastAPI) -> None:
    @app.exception_handler(StorageError)
    async def refused(_request: Request, error: StorageError) -> Answer:
        return Answer(error.body(), status_code=error.http)

    @app.exception_handler(psycopg.Error)
    async def database_failed(_request: Request, error: psycopg.Error) -> Answer:
        answer = of_database(error)
        if answer.http >= 500 and not isinstance(error, TooManyRequests):
            log.error("database error", exc_info=error)
        return Answer(answer.body(), status_code=answer.http)

    @app.exception_handler(HTTPException)
    async def no_route(request: Request, error: HTTPException) -> Answer:
        path = request.url.path
        answer: dict[str, Any] = {
            "statusCode": 404,
            "error": "Not Found",
            "message": f"Route {request.method}:{path} not found",
        }
        if path.split("/")[1:2] in (["bucket"], ["object"]):
            answer.update(statusCode="404", code="InvalidRequest")
        return Answer(answer, status_code=404)

    @app.exception_handler(Exception)
    async def failed(_request: Request, error: Exception) -> Answer:
        answer = StorageError(500, "InternalError", "Internal Server Error", "InternalError", 500)
        return Answer(answer.body(), status_code=500)
