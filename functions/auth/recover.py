"""POST /recover, /resend, /otp and /magiclink: mails that lead back in."""

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, pkce
from functions.auth.addresses import checked_email
from functions.auth.answers import json_response
from functions.auth.bodies import Fields, read_fields
from functions.auth.database import transaction
from functions.auth.errors import AuthError, invalid
from functions.auth.letters import send_email_change, send_link
from functions.auth.passwords import hash_password, random_password
from functions.auth.service import Service, audience_of
from functions.auth.signup import refuse_when_closed, register
from functions.auth.users import User, find_by_email


async def recover(service: Service, request: Request) -> Response:
    """Mail a link to set a new password. The answer is the same for every valid address."""
    service.limits.check("recover", request)
    body = await read_fields(request, {"email": "text"}, pkce.FIELDS)
    if not body["email"]:
        raise invalid("Password recovery requires an email")
    await _mail_known(service, request, checked_email(body["email"]), "recovery", body)
    return json_response({})


async def _mail_known(
    service: Service, request: Request, email: str, kind: str, body: dict[str, Any]
) -> None:
    """Mail a recovery or magic link to an address, if it has an account."""
    started = time.perf_counter()
    wants_pkce = pkce.wants_pkce(body)
    async with transaction(service.pool) as connection:
        user = await find_by_email(connection, email, audience_of(service, request), lock=True)
        if user is not None:
            await audit.record(connection, "user_recovery_requested", user)
            if wants_pkce:
                await pkce.begin(connection, user["id"], kind, body)
            await send_link(service, connection, user, kind, service.redirects.target(request), wants_pkce)
    await _even_out(service, kind, email, started, is_sent=user is not None)


async def _even_out(service: Service, kind: str, email: str, started: float, *, is_sent: bool) -> None:
    """Hold a request for mail that nobody gets to the limit and the time of those that send one."""
    if is_sent:
        service.pace.note(kind, started)
        return
    await service.attempts.pretend_mail(kind, email, service.mailer.frequency)
    await service.pace.keep(kind, started)


async def resend(service: Service, request: Request) -> Response:
    """Mail the sign-up link, or both links of a pending change of address, once more."""
    service.limits.check("resend", request)
    body = await read_fields(request, {"type": "text", "email": "text", "phone": "text"}, pkce.FIELDS)
    kind = body["type"]
    if kind not in {"signup", "email_change", "sms", "phone_change"}:
        raise invalid("Missing one of these types: signup, email_change, sms, phone_change")
    if not body["email"] and kind == "signup":
        raise invalid("Type provided requires an email address")
    if body["phone"] or kind in {"sms", "phone_change"}:
        raise AuthError(400, "phone_provider_disabled", "Phone logins are disabled")
    if not body["email"]:
        raise invalid("Missing email address or phone number")
    email = checked_email(body["email"])
    started = time.perf_counter()
    wants_pkce = pkce.wants_pkce(body)
    async with transaction(service.pool) as connection:
        user = await find_by_email(connection, email, audience_of(service, request), lock=True)
        is_pending = user is not None and _is_pending(user, kind)
        if user is not None and is_pending:
            if wants_pkce:
                await pkce.begin(connection, user["id"], kind, body)
            target = service.redirects.target(request)
            if kind == "signup":
                await audit.record(connection, "user_confirmation_requested", user)
                await send_link(service, connection, user, kind, target, wants_pkce)
            else:
                await send_email_change(service, connection, user, user["email_change"], target, wants_pkce)
    await _even_out(service, kind, email, started, is_sent=is_pending)
    return json_response({})


def _is_pending(user: User, kind: str) -> bool:
    return user["email_confirmed_at"] is None if kind == "signup" else bool(user["email_change"])


async def otp(service: Service, request: Request) -> Response:
    """Mail a sign-in link and code; an unknown address is registered first, unless create_user is false."""
    service.limits.check("otp", request)
    fields: Fields = {
        "email": "text",
        "phone": "text",
        "channel": "text",
        "create_user": "flag",
        "data": "object",
    }
    body = await read_fields(request, fields, pkce.FIELDS)
    if body["email"] and body["phone"]:
        raise invalid("Only an email address or phone number should be provided")
    if body["email"] and body["channel"]:
        raise invalid("Channel should only be specified with Phone OTP")
    if not body["email"] and not body["phone"]:
        raise invalid("One of email or phone must be set")
    if body["phone"]:
        raise AuthError(400, "phone_provider_disabled", "Phone logins are disabled")
    if body["create_user"] is False:
        async with service.pool.connection() as connection:
            known = await find_by_email(connection, body["email"].lower(), audience_of(service, request))
        if known is None:
            raise AuthError(422, "otp_disabled", "Signups not allowed for otp")
    return await _magic_link(service, request, checked_email(body["email"]), body)


async def magiclink(service: Service, request: Request) -> Response:
    """The older form of /otp."""
    service.limits.check("magiclink", request)
    body = await read_fields(request, {"email": "text", "data": "object"}, pkce.FIELDS)
    if not body["email"]:
        raise invalid("Password recovery requires an email", 422)
    return await _magic_link(service, request, checked_email(body["email"]), body)


async def _magic_link(service: Service, request: Request, email: str, body: dict[str, Any]) -> Response:
    pkce.wants_pkce(body)
    async with service.pool.connection() as connection:
        known = await find_by_email(connection, email, audience_of(service, request))
    if known is None or known["email_confirmed_at"] is None:
        refuse_when_closed(service)
        await register(service, request, email, await hash_password(random_password()), body)
    else:
        await _mail_known(service, request, email, "magiclink", body)
    return json_response({})
