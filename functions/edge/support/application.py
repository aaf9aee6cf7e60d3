"""The application: every module of functions/edge is an endpoint, served under its file's name."""

import importlib
import pkgutil

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.middleware import Middleware

from functions import edge
from functions.core.application import make_documented_app
from functions.core.caching import NoStore
from functions.core.database import require_database
from functions.edge.support import openapi
from functions.edge.support.errors import ERRORS
from functions.edge.support.json_body import JsonBody
from functions.edge.support.services import SharedServices, serving
from functions.edge.support.settings import EdgeSettings
from functions.edge.support.web_config import Script

# Below the gateway's 15 s. The database gives up earlier (locks 3 s, statements 8 s), so this ends only what
# waits elsewhere.
DEADLINE_SECONDS = 12

# Routes that are no functions: the gateway keeps the first two to itself and serves the third to browsers.
own = APIRouter()


@own.get("/health")
async def check_health(services: SharedServices) -> dict[str, str]:
    """Respond 200 when the database does."""
    await require_database(services.pool)
    return {"status": "ok"}


@own.get("/anonymous-access", include_in_schema=False)
async def check_anonymous_access(request: Request, services: SharedServices) -> Response:
    """Respond to the gateway whether a request without a person's token may go on to PostgREST."""
    return await services.anonymous_access.respond(request)


@own.get("/config.js", response_class=Script)
async def get_config(request: Request, services: SharedServices) -> Response:
    """Respond with what the web app needs before its first paint; the gateway serves it at its root."""
    return await services.web_config.respond(request)


def make_app(settings: EdgeSettings) -> FastAPI:
    """Return the application; it connects to the database when it is started."""
    return make_documented_app(
        "Functions",
        [*(endpoint_router(name) for name in endpoint_modules()), own],
        serving(settings),
        ERRORS,
        deadline_seconds=DEADLINE_SECONDS,
        middleware=[Middleware(NoStore)],
        inner_middleware=[Middleware(JsonBody)],
        openapi_url=None,
        responses=openapi.ERROR_RESPONSES,
    )


def endpoint_modules() -> list[str]:
    """Return the names of the endpoint modules, sorted."""
    found = pkgutil.iter_modules(edge.__path__)
    return sorted(each.name for each in found if not each.ispkg and not each.name.startswith("_"))


def endpoint_router(name: str) -> APIRouter:
    """Return the router of an endpoint module."""
    router: APIRouter = importlib.import_module(f"{edge.__name__}.{name}").router
    return router
