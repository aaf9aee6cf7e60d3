"""The ASGI application: routes, CORS, time limit, and one place where refusals become answers."""

import asyncio
import logging
import re
from datetime import timedelta

import psycopg
from psycopg.errors import LockNotAvailable, QueryCanceled
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from functions.auth import (
    admin_audit,
    admin_factors,
    admin_links,
    admin_users,
    codes,
    documents,
    factors,
    public,
    recover,
    signup,
    token,
    user,
    verify,
)
from functions.auth.callers import Callers
from functions.auth.database import make_pool
from functions.auth.errors import AuthError, error_response, invalid
from functions.auth.keys import Keys
from functions.auth.limits import Attempts, Limits
from functions.auth.mail import Mailer
from functions.auth.redirects import Redirects
from functions.auth.service import Endpoint, Service
from functions.auth.settings import AuthSettings
from functions.core.errors import refusal_of
from functions.core.logging import Receive, RequestLog, Scope, Send
from functions.core.metrics import published

log = logging.getLogger("auth")

_LONGEST_REQUEST = 10
_METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
_CORS_HEADERS = {
    "accept",
    "authorization",
    "content-type",
    "x-client-ip",
    "x-client-info",
    "x-jwt-aud",
    "x-supabase-api-version",
}

ROUTES: dict[str, dict[str, Endpoint]] = {
    "/health": {"GET": public.health},
    "/settings": {"GET": public.settings},
    "/.well-known/jwks.json": {"GET": public.jwks},
    "/authorize": {"GET": public.authorize},
    "/callback": {"GET": public.callback, "POST": public.callback},
    "/signup": {"POST": signup.signup},
    "/token": {"POST": token.token},
    "/verify": {"GET": verify.verify_get, "POST": verify.verify_post},
    "/recover": {"POST": recover.recover},
    "/resend": {"POST": recover.resend},
    "/otp": {"POST": recover.otp},
    "/magiclink": {"POST": recover.magiclink},
    "/user": {"GET": user.get_user, "PUT": user.put_user},
    "/user/identities/authorize": {"GET": public.identities},
    "/user/identities/{identity_id}": {"DELETE": public.identities},
    "/logout": {"POST": user.logout},
    "/reauthenticate": {"GET": user.reauthenticate},
    "/factors": {"POST": factors.enroll},
    "/factors/{factor_id}": {"DELETE": factors.unenroll},
    "/factors/{factor_id}/challenge": {"POST": factors.challenge},
    "/factors/{factor_id}/verify": {"POST": factors.verify},
    "/invite": {"POST": admin_links.invite},
    "/admin/generate_link": {"POST": admin_links.generate_link},
    "/admin/audit": {"GET": admin_audit.list_entries},
    "/admin/users": {"GET": admin_users.list_users, "POST": admin_users.create},
    "/admin/users/{user_id}": {
        "GET": admin_users.get,
        "PUT": admin_users.update,
        "DELETE": admin_users.delete,
    },
    "/admin/users/{user_id}/factors": {"GET": admin_factors.list_factors},
    "/admin/users/{user_id}/factors/{factor_id}": {
        "PUT": admin_factors.update,
        "DELETE": admin_factors.delete,
    },
    "/sso": {"POST": public.saml},
    "/sso/{rest}": {"GET": public.saml, "POST": public.saml},
    "/sso/{rest}/{more}": {"GET": public.saml, "POST": public.saml},
    "/passkeys": {"GET": public.passkeys},
    "/passkeys/{rest}": {"PATCH": public.passkeys, "DELETE": public.passkeys},
    "/passkeys/{rest}/{more}": {"POST": public.passkeys},
    "/oauth/{rest}": {"GET": public.oauth, "POST": public.oauth},
    "/oauth/{rest}/{more}": {"GET": public.oauth, "POST": public.oauth},
}
ROUTES["/openapi.json"] = {"GET": documents.serve(dict(ROUTES))}
_PATTERNS = [
    (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), path) for path in ROUTES if "{" in path
]


def make_service(settings: AuthSettings) -> Service:
    """The parts, wired; the pool is still closed."""
    pool = make_pool(settings.database_url, settings.database_pool_size)
    limits = Limits(settings)
    return Service(
        settings=settings,
        pool=pool,
        callers=Callers(pool),
        keys=Keys(settings.keys, settings.issuer, settings.jwt_exp),
        limits=limits,
        attempts=Attempts(pool, settings.failure_limit, settings.failure_window),
        redirects=Redirects(settings),
        mailer=Mailer(settings, limits),
    )


class App:
    """Serves one Service over ASGI."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._serve = RequestLog(self._http)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Entry point of the server."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._service.pool.open(wait=True, timeout=30)
        cleaning = asyncio.create_task(_clean(self._service))
        with published(self._service.settings, self._service.pool):
            await send({"type": "lifespan.startup.complete"})
            await receive()
        cleaning.cancel()
        if self._service.unattended:
            await asyncio.wait(self._service.unattended, timeout=_LONGEST_REQUEST)
        await self._service.pool.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = _preflight(request) or await self._respond(request)
        if request.headers.get("origin"):
            response.headers["access-control-allow-origin"] = "*"
            response.headers["access-control-allow-credentials"] = "true"
            response.headers["access-control-expose-headers"] = "X-Total-Count, Link, X-Supabase-Api-Version"
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        methods = _route(request)
        if methods is None:
            return PlainTextResponse("404 page not found\n", 404)
        endpoint = methods.get(request.method)
        if endpoint is None:
            return Response(status_code=405, headers={"allow": ", ".join(sorted(methods))})
        try:
            async with asyncio.timeout(_LONGEST_REQUEST):
                return await endpoint(self._service, request)
        except AuthError as error:
            return error_response(request, error)
        except (TimeoutError, QueryCanceled):
            message = "Processing this request timed out, please retry after a moment."
            return error_response(request, AuthError(504, "request_timeout", message))
        except LockNotAvailable:
            message = "Too many concurrent requests on the same session or user"
            return error_response(request, AuthError(409, "conflict", message))
        except Exception as error:
            return error_response(request, _fault(error))


def _fault(error: Exception) -> AuthError:
    """What an unforeseen failure answers: a refusal raised by the product's SQL, or 500 without internals."""
    refusal = refusal_of(error) if isinstance(error, psycopg.Error) and error.sqlstate == "PGRST" else None
    if refusal is not None:
        return AuthError(refusal.status, refusal.code, refusal.message)
    if isinstance(error, psycopg.DataError):
        return invalid("A value holds characters that cannot be stored")
    log.exception("a request failed", exc_info=error)
    if isinstance(error, psycopg.OperationalError):
        return AuthError(503, "unexpected_failure", "The service cannot reach its database. Try again.")
    return AuthError(
        500, "unexpected_failure", "Unexpected failure, please check server logs for more information"
    )


def _route(request: Request) -> dict[str, Endpoint] | None:
    path = request.scope["path"]
    path = path.rstrip("/") if len(path) > 1 else path
    if path in ROUTES:
        request.scope["route_template"] = path
        return ROUTES[path]
    for pattern, template in _PATTERNS:
        match = pattern.fullmatch(path)
        if match:
            request.scope["path_params"] = match.groupdict()
            request.scope["route_template"] = template
            return ROUTES[template]
    return None


def _preflight(request: Request) -> Response | None:
    """The answer to a CORS preflight; it grants nothing when a header is asked for that is not known."""
    method = request.headers.get("access-control-request-method", "")
    if request.method != "OPTIONS" or not method:
        return None
    asked = request.headers.get("access-control-request-headers", "")
    names = {name.strip().lower() for name in asked.split(",") if name.strip()}
    if method not in _METHODS or not names <= _CORS_HEADERS:
        return Response(status_code=204)
    return Response(
        status_code=204,
        headers={"access-control-allow-methods": method, "access-control-allow-headers": asked},
    )


async def _clean(service: Service) -> None:
    """Once an hour: forget counted attempts, PKCE flows and mailed links that are too old to matter."""
    while True:
        try:
            await service.attempts.forget_old()
            async with service.pool.connection() as connection:
                await connection.execute(
                    "delete from auth.flow_state where created_at < now() - %s", [timedelta(days=1)]
                )
                await codes.forget_old(connection, service.settings.mailer_otp_exp)
        except psycopg.Error:
            log.exception("cleaning failed")
        await asyncio.sleep(3600)


def make_app(settings: AuthSettings) -> App:
    """The application for these settings."""
    return App(make_service(settings))
