"""What every endpoint works with."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.callers import Callers
from functions.auth.keys import Keys
from functions.auth.limits import Attempts, Limits
from functions.auth.mail import Mailer
from functions.auth.pace import Pace
from functions.auth.redirects import Redirects
from functions.auth.settings import AuthSettings
from functions.core.database import Pool


@dataclass(frozen=True)
class Service:
    """The parts of one running process."""

    settings: AuthSettings
    pool: Pool
    callers: Callers
    keys: Keys
    limits: Limits
    attempts: Attempts
    redirects: Redirects
    mailer: Mailer
    pace: Pace = field(default_factory=Pace)
    # Mails that no request waits for.
    unattended: set[asyncio.Task[None]] = field(default_factory=set)


Endpoint = Callable[[Service, Request], Awaitable[Response]]


def address_of(request: Request) -> str:
    """The client's address: `X-Real-IP`, which only the gateway sets, else the peer's."""
    given = request.headers.get("x-real-ip") or (request.client.host if request.client else "")
    try:
        return str(ipaddress.ip_address(given.strip()))
    except ValueError:
        return "127.0.0.1"


def audience_of(service: Service, request: Request) -> str:
    """The audience that a request is about: header X-JWT-AUD, else the configured one."""
    return request.headers.get("x-jwt-aud") or service.settings.jwt_aud
