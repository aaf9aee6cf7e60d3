"""The application: its resources, its background task and its routes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.core.application import make_documented_app, serving_database
from functions.core.database import make_pool
from functions.core.tokens import KeySet
from functions.storage.errors import ERRORS
from functions.storage.garbage_collector import collect_regularly
from functions.storage.openapi import ERROR_RESPONSES
from functions.storage.routes import ROUTERS
from functions.storage.service import Service
from functions.storage.settings import Settings
from functions.storage.signing import Signer
from functions.storage.store import ByteStore
from functions.storage.transfers import ARRIVALS, DEPARTURES
from functions.storage.validation import PathCheck

# The gateway's places for all that is no file on its way here.
MOST_ASKED = 24
# A browser must neither guess what an uploaded file is nor run it.
SAFETY_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
}


class SafetyHeaders:
    """ASGI middleware: every response forbids sniffing and scripts."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SAFETY_HEADERS)
            await send(message)

        await self.app(scope, receive, send_safely)


def make_app(settings: Settings) -> FastAPI:
    """Return the application; its lifespan opens and closes what it needs."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # As many may wait as the gateway asks for at once, and files on their way: none turns another away.
        pool = make_pool(
            settings.database_url,
            settings.database_pool_size,
            "storage",
            max_waiting=MOST_ASKED + ARRIVALS.moving + DEPARTURES.moving,
            # Shorter than a statement's eight seconds, whose end would look like a database that is away.
            options="-c lock_timeout=3s",
        )
        async with serving_database(settings, pool):
            app.state.service = Service(
                settings,
                pool,
                KeySet.read(settings.jwks_path),
                Signer(settings.signing_secret),
                ByteStore(settings.storage_url, settings.spool_path),
            )
            collecting = asyncio.create_task(collect_regularly(app.state.service))
            yield
            collecting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await collecting

    return make_documented_app(
        "Storage",
        ROUTERS,
        lifespan,
        ERRORS,
        middleware=[Middleware(SafetyHeaders)],
        inner_middleware=[Middleware(PathCheck)],
        version="1",
        redirect_slashes=False,
        responses=ERROR_RESPONSES,
    )
