"""The ASGI application: the table of routes, CORS, and what runs beside the requests."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import psycopg
from starlette.applications import Starlette
from starlette.middleware import Middleware

from functions.auth import codes, openapi, retention, sign_ups
from functions.auth.errors import ERRORS
from functions.auth.routes import (
    admin_audit,
    admin_factors,
    admin_links,
    admin_users,
    factors,
    public,
    recover,
    signup,
    token,
    user,
    verify,
)
from functions.auth.routing import Resource
from functions.auth.service import Service, make_service
from functions.auth.settings import AuthSettings
from functions.core import application
from functions.core.caching import NoStore
from functions.core.cors import Cors, CorsPolicy

log = logging.getLogger("auth")

_DEADLINE_SECONDS = 10
_CORS = CorsPolicy(
    allowed_headers=frozenset(
        {
            "accept",
            "authorization",
            "content-type",
            "x-client-ip",
            "x-client-info",
            "x-jwt-aud",
            "x-supabase-api-version",
        }
    ),
    exposed_headers="X-Total-Count, Link, X-Supabase-Api-Version",
)

_PUBLIC = frozenset({"/health", "/settings", "/.well-known/jwks.json", "/.well-known/openid-configuration"})

# The first path that fits is taken: the frequent ones come first, fixed ones before patterns.
ROUTES = [
    Resource("/user", GET=user.get_user, PUT=user.put_user),
    Resource("/token", POST=token.token),
    Resource("/health", GET=public.health),
    Resource("/settings", GET=public.settings),
    Resource("/.well-known/jwks.json", GET=public.jwks),
    Resource("/.well-known/openid-configuration", GET=public.openid_configuration),
    Resource("/authorize", GET=public.authorize),
    Resource("/callback", GET=public.callback, POST=public.callback),
    Resource("/signup", POST=signup.signup),
    Resource("/verify", GET=verify.open_link, POST=verify.exchange),
    Resource("/recover", POST=recover.recover),
    Resource("/resend", POST=recover.resend),
    Resource("/otp", POST=recover.otp),
    Resource("/magiclink", POST=recover.magiclink),
    Resource("/user/identities/authorize", GET=public.identities),
    Resource("/user/identities/{identity_id}", DELETE=public.identities),
    Resource("/logout", POST=user.logout),
    Resource("/reauthenticate", GET=user.reauthenticate),
    Resource("/factors", POST=factors.enroll),
    Resource("/factors/{factor_id}", DELETE=factors.unenroll),
    Resource("/factors/{factor_id}/challenge", POST=factors.challenge),
    Resource("/factors/{factor_id}/verify", POST=factors.verify),
    Resource("/invite", POST=admin_links.invite),
    Resource("/admin/generate_link", POST=admin_links.generate_link),
    Resource("/admin/audit", GET=admin_audit.list_entries),
    Resource("/admin/users", GET=admin_users.list_users, POST=admin_users.create),
    Resource(
        "/admin/users/{user_id}", GET=admin_users.get, PUT=admin_users.update, DELETE=admin_users.delete
    ),
    Resource("/admin/users/{user_id}/factors", GET=admin_factors.list_factors),
    Resource(
        "/admin/users/{user_id}/factors/{factor_id}", PUT=admin_factors.update, DELETE=admin_factors.delete
    ),
    Resource("/sso", POST=public.saml),
    Resource("/sso/{rest}", GET=public.saml, POST=public.saml),
    Resource("/sso/{rest}/{more}", GET=public.saml, POST=public.saml),
    Resource("/passkeys", GET=public.passkeys),
    Resource("/passkeys/{rest}", PATCH=public.passkeys, DELETE=public.passkeys),
    Resource("/passkeys/{rest}/{more}", POST=public.passkeys),
    Resource("/oauth/{rest}", GET=public.oauth, POST=public.oauth),
    Resource("/oauth/{rest}/{more}", GET=public.oauth, POST=public.oauth),
    Resource("/openapi.json", GET=openapi.show),
]


def make_app(settings: AuthSettings) -> Starlette:
    """Return the application for these settings."""
    service = make_service(settings)
    app = application.make_app(
        ROUTES,
        lambda app: _lifespan(service),
        ERRORS,
        deadline_seconds=_DEADLINE_SECONDS,
        middleware=[Middleware(Cors, policy=_CORS), Middleware(NoStore, public=_PUBLIC)],
    )
    app.state.service = service
    return app


@asynccontextmanager
async def _lifespan(service: Service) -> AsyncIterator[None]:
    async with application.serving_database(service.settings, service.pool):
        purging = asyncio.create_task(_purge_hourly(service))
        notifying = asyncio.create_task(service.notices.run())
        yield
        purging.cancel()
        service.notices.stop()
        await asyncio.wait({notifying}, timeout=_DEADLINE_SECONDS)
        if service.background_tasks:
            await asyncio.wait(service.background_tasks, timeout=_DEADLINE_SECONDS)
        service.passwords.close()


async def _purge_hourly(service: Service) -> None:
    """Purge counted attempts, addresses, PKCE flows, mailed links and ended sessions' traces by their age."""
    while True:
        try:
            await service.attempts.purge_old("password", "address", "totp", "mail")
            await service.code_attempts.purge_old("code")
            await service.password_attempts.purge_known()
            await service.mail_budget.purge_old()
            await service.notices.purge_old()
            await retention.purge_old(service.pool, service.settings.sessions_inactivity_timeout)
            async with service.pool.connection() as connection:
                await connection.execute(
                    "delete from auth.flow_state where created_at < now() - %s", [timedelta(days=1)]
                )
                await codes.purge_expired(connection, service.settings.mailer_otp_exp)
                await sign_ups.purge_expired(connection, service.settings.mailer_otp_exp)
        except psycopg.Error:
            log.exception("purging failed")
        await asyncio.sleep(3600)
