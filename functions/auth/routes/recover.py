"""POST /recover, /resend, /otp and /magiclink: mails that lead back in."""

import time

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, pkce
from functions.auth.emails import send_email_change, send_link
from functions.auth.errors import invalid
from functions.auth.limits.mail import check_decoy
from functions.auth.passwords import random_password
from functions.auth.registration import check_signup_is_open, register
from functions.auth.request_parsing import Metadata, normalized_email
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.auth.users import User, find_by_email
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError


class RecoverBody(pkce.PkceBody):
    """The account whose password is lost."""

    email: str | None = None


class ResendBody(pkce.PkceBody):
    """The mail that did not arrive."""

    type: str | None = None
    email: str | None = None
    phone: str | None = None


class OtpBody(pkce.PkceBody):
    """The account to sign in by mail; `data` is for a new one."""

    email: str | None = None
    phone: str | None = None
    channel: str | None = None
    create_user: bool | None = None
    data: Metadata = None


class MagicLinkBody(pkce.PkceBody):
    """The account to sign in by mail, in the older form."""

    email: str | None = None
    data: Metadata = None


async def recover(request: Request) -> Response:
    """Mail a link to set a new password. The response is the same for every valid address."""
    service = service_of(request)
    service.rate_limits.check("recover", request)
    body = await RecoverBody.read(request)
    if not body.email:
        raise invalid("Password recovery requires an email")
    await _mail_known(service, request, normalized_email(body.email), "recovery", body)
    return json_response({})


async def _mail_known(service: Service, request: Request, email: str, kind: str, body: pkce.PkceBody) -> None:
    """Mail a link of this kind to an address, if it has an account."""
    started = time.perf_counter()
    wants_pkce = pkce.wants_pkce(body)
    async with service.mail_budget.reserve(request, kind, email) as mail:
        may_send = kind != "recovery" or await _may_recover(service, email)
        async with transaction(service.pool) as connection:
            user = await find_by_email(connection, email, service.settings.jwt_aud, lock=True)
            if user is not None and may_send:
                action = "user_confirmation_requested" if kind == "signup" else "user_recovery_requested"
                await audit.record(connection, action, user)
                if wants_pkce:
                    await pkce.begin(connection, user["id"], kind, body)
                target = service.redirects.target(request)
                await send_link(service, connection, user, kind, target, wants_pkce)
                mail.is_sent = True
        if not mail.is_sent:
            await check_decoy(service.pool, kind, email, service.mailer.frequency)
    await _equalise(service, kind, started, is_sent=mail.is_sent)


async def _may_recover(service: Service, email: str) -> bool:
    """Return whether a recovery may be mailed to an address, known or not.

    Of one that is not confirmed it is one more mail that a stranger's sign-up causes. Over the share of those
    it is not sent, as to an unknown one: an error would tell that the address waits for its confirmation.
    """
    async with service.pool.connection() as connection:
        user = await find_by_email(connection, email, service.settings.jwt_aud)
    if user is None or user["email_confirmed_at"] is not None:
        return True
    return await service.mail_budget.has_left_for_sign_up(email)


async def _equalise(service: Service, kind: str, started: float, *, is_sent: bool) -> None:
    """Hold a request that mails nothing to the time of those that do."""
    if is_sent:
        service.constant_time.record(kind, started)
    else:
        await service.constant_time.pad(kind, started)


async def resend(request: Request) -> Response:
    """Mail the sign-up link, or both links of a pending change of address, once more."""
    service = service_of(request)
    service.rate_limits.check("resend", request)
    body = await ResendBody.read(request)
    kind, email = _what_to_resend(body)
    started = time.perf_counter()
    pkce.wants_pkce(body)
    recipients = [email] if kind == "signup" else [email, await _new_address(service, email)]
    async with service.mail_budget.reserve(request, "resend", *recipients) as mail:
        async with transaction(service.pool) as connection:
            user = await find_by_email(connection, email, service.settings.jwt_aud, lock=True)
            if user is not None and _is_pending(user, kind):
                await _send_again(service, connection, user, kind, service.redirects.target(request), body)
                mail.is_sent = True
        if not mail.is_sent:
            await check_decoy(service.pool, kind, email, service.mailer.frequency)
    await _equalise(service, kind, started, is_sent=mail.is_sent)
    return json_response({})


def _what_to_resend(body: ResendBody) -> tuple[str, str]:
    """Return type and address; raise in GoTrue's order."""
    kind = body.type
    if kind not in {"signup", "email_change", "sms", "phone_change"}:
        raise invalid("Missing one of these types: signup, email_change, sms, phone_change")
    if not body.email and kind == "signup":
        raise invalid("Type provided requires an email address")
    if body.phone or kind in {"sms", "phone_change"}:
        raise ApiError(400, "phone_provider_disabled", "Phone logins are disabled")
    if not body.email:
        raise invalid("Missing email address or phone number")
    return kind, normalized_email(body.email)


async def _new_address(service: Service, email: str) -> str | None:
    """Return the address that this one is changed to, which gets the second mail, if there is one."""
    async with service.pool.connection() as connection:
        user = await find_by_email(connection, email, service.settings.jwt_aud)
    return (user["email_change"] or None) if user is not None else None


def _is_pending(user: User, kind: str) -> bool:
    return user["email_confirmed_at"] is None if kind == "signup" else bool(user["email_change"])


async def _send_again(
    service: Service, connection: Connection, user: User, kind: str, target: str, body: ResendBody
) -> None:
    wants_pkce = pkce.wants_pkce(body)
    if wants_pkce:
        await pkce.begin(connection, user["id"], kind, body)
    if kind == "signup":
        await audit.record(connection, "user_confirmation_requested", user)
        await send_link(service, connection, user, kind, target, wants_pkce)
    else:
        await send_email_change(service, connection, user, user["email_change"], target, wants_pkce)


async def otp(request: Request) -> Response:
    """Mail a sign-in link and code; an unknown address is registered first, unless create_user is false."""
    service = service_of(request)
    service.rate_limits.check("otp", request)
    body = await OtpBody.read(request)
    if body.email and body.phone:
        raise invalid("Only an email address or phone number should be provided")
    if body.email and body.channel:
        raise invalid("Channel should only be specified with Phone OTP")
    if not body.email and not body.phone:
        raise invalid("One of email or phone must be set")
    if body.phone:
        raise ApiError(400, "phone_provider_disabled", "Phone logins are disabled")
    if body.create_user is False and body.email:
        async with service.pool.connection() as connection:
            known = await find_by_email(connection, body.email.lower(), service.settings.jwt_aud)
        if known is None:
            raise ApiError(422, "otp_disabled", "Signups not allowed for otp")
    return await _magic_link(service, request, normalized_email(body.email), body)


async def magiclink(request: Request) -> Response:
    """Mail a sign-in link; the older form of /otp."""
    service = service_of(request)
    service.rate_limits.check("magiclink", request)
    body = await MagicLinkBody.read(request)
    if not body.email:
        raise invalid("Password recovery requires an email", 422)
    return await _magic_link(service, request, normalized_email(body.email), body)


async def _magic_link(
    service: Service, request: Request, email: str, body: OtpBody | MagicLinkBody
) -> Response:
    pkce.wants_pkce(body)
    async with service.pool.connection() as connection:
        known = await find_by_email(connection, email, service.settings.jwt_aud)
    if known is not None and known["email_confirmed_at"] is not None:
        await _mail_known(service, request, email, "magiclink", body)
        return json_response({})
    check_signup_is_open(service)
    if known is not None:
        await _mail_known(service, request, email, "signup", body)
    else:
        async with service.mail_budget.reserve(request, "signup", email) as mail:
            made = await register(service, request, email, random_password(), body.data or {}, body)
            mail.is_sent = made is not None
    return json_response({})
