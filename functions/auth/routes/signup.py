"""POST /signup: a new member."""

import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import pkce
from functions.auth.errors import invalid
from functions.auth.registration import APP_METADATA, check_signup_is_open, register
from functions.auth.request_parsing import Metadata, normalized_email
from functions.auth.responses import json_response
from functions.auth.service import Service, service_of
from functions.auth.users import user_json
from functions.core.errors import ApiError


class SignupBody(pkce.PkceBody):
    """An address with a password."""

    email: str | None = None
    phone: str | None = None
    password: str | None = None
    data: Metadata = None


async def signup(request: Request) -> Response:
    """Register an address; while it is not confirmed, each sign-up stands by itself.

    The response holds nothing of another sign-up. A confirmed address gets one that looks alike, with no
    identities and no mail.
    """
    service = service_of(request)
    body = await SignupBody.read(request)
    if not body.email and not body.phone:
        raise ApiError(422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
    service.rate_limits.check("signup", request)
    check_signup_is_open(service)
    if not body.password:
        raise invalid("Signup requires a valid password")
    service.passwords.check_strength(body.password, body.email, (body.data or {}).get("username"))
    if body.email and body.phone:
        raise invalid("Only an email address or phone number should be provided on signup.")
    pkce.wants_pkce(body)
    if body.phone:
        raise ApiError(400, "phone_provider_disabled", "Phone signups are disabled")
    email = normalized_email(body.email)
    data = body.data or {}
    async with service.mail_budget.reserve(request, "signup", email) as mail:
        user = await register(service, request, email, body.password, data, body)
        mail.is_sent = user is not None
    if user is None:
        return json_response(_look_alike(service, request, email, data))
    # Mails that others asked for and administrators' decisions from before this sign-up are not its business.
    return json_response(user_json(user | {"recovery_sent_at": None, "banned_until": None}))


def _look_alike(service: Service, request: Request, email: str, data: dict[str, Any]) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "id": uuid.uuid4(),
        "aud": service.settings.jwt_aud,
        "role": "",
        "email": email,
        "phone": "",
        "confirmation_sent_at": now,
        "app_metadata": APP_METADATA,
        "user_metadata": data,
        "identities": [],
        "created_at": now,
        "updated_at": now,
        "is_anonymous": False,
    }
