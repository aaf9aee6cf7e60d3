"""GET and POST /verify: links and codes from mails, each good for one session."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth import codes, pkce, sessions, sign_ups
from functions.auth.confirmations import confirm_change, confirm_recovery, confirm_signup
from functions.auth.errors import invalid
from functions.auth.redirects import error_values, with_fragment, with_query
from functions.auth.request_parsing import Body, normalized_email
from functions.auth.responses import json_response, see_other
from functions.auth.service import Service, service_of
from functions.auth.typed_codes import purpose_of_code
from functions.auth.users import NO_INSTANCE, SELECT, User, find_by_email, find_user, is_banned
from functions.core.database import Connection, transaction
from functions.core.errors import ApiError

_SECRETS = {
    "signup": [codes.CONFIRMATION],
    "invite": [codes.CONFIRMATION],
    "recovery": [codes.RECOVERY],
    "magiclink": [codes.RECOVERY],
    "email": [codes.CONFIRMATION, codes.RECOVERY],
    "email_change": [codes.CHANGE_CURRENT, codes.CHANGE_NEW],
}
# A link of the account, or of a sign-up that a later one of its address replaced.
_LINK = """
    select user_id, token_type::text, null::uuid as sign_up_id from auth.one_time_tokens
    where token_hash = %(hash)s and token_type::text = any(%(kinds)s)
    union all
    select user_id, 'confirmation_token', id from auth.earlier_sign_ups
    where confirmation_hash = %(hash)s and 'confirmation_token' = any(%(kinds)s)
    union all
    select user_id, 'recovery_token', id from auth.earlier_sign_ups
    where recovery_hash = %(hash)s and 'recovery_token' = any(%(kinds)s)"""
_FIRST_OF_TWO = "Confirmation link accepted. Please proceed to confirm link sent to the other email"


class VerifyBody(Body):
    """A link's token, or an address with its code."""

    type: str | None = None
    token: str | None = None
    token_hash: str | None = None
    email: str | None = None
    phone: str | None = None
    redirect_to: str | None = None


def _expired_link() -> ApiError:
    return ApiError(403, "otp_expired", "Email link is invalid or has expired")


def _wrong_code() -> ApiError:
    return ApiError(403, "otp_expired", "Token has expired or is invalid")


async def open_link(request: Request) -> Response:
    """Open a link: 303 to the target with tokens, a PKCE code, a message or an error."""
    service = service_of(request)
    service.rate_limits.check("verify", request)
    kind, token = request.query_params.get("type", ""), request.query_params.get("token", "")
    if not kind:
        raise invalid("Verify requires a verification type")
    if not token:
        raise invalid("Verify requires a token or a token hash")
    target = service.redirects.target(request)
    is_pkce = token.startswith(codes.PKCE)
    try:
        async with transaction(service.pool) as connection:
            user, kind, secret = await _by_link(service, connection, kind, token)
            if not await _confirm(service, connection, user, kind, secret):
                return see_other(_both_ways(target, {"message": _FIRST_OF_TWO}, is_pkce))
            if is_pkce:
                return see_other(with_query(target, {"code": await pkce.issue(connection, user["id"], kind)}))
            session = await _sign_in(service, connection, request, user)
    except ApiError as error:
        return see_other(_both_ways(target, error_values(error), is_pkce))
    names = ("access_token", "expires_at", "expires_in", "refresh_token", "token_type")
    return see_other(with_fragment(target, {name: str(session[name]) for name in names} | {"type": kind}))


def _both_ways(target: str, values: dict[str, str], is_pkce: bool) -> str:
    return with_fragment(with_query(target, values) if is_pkce else target, values)


async def exchange(request: Request) -> Response:
    """Exchange a link's token, or an address with its six digits, for a session."""
    service = service_of(request)
    service.rate_limits.check("verify", request)
    body = await VerifyBody.read(request)
    email, kind, token = _email_of(body), body.type or "", body.token or ""
    if email:
        user, kind, secret = await _by_code(service, request, kind, email, token)
    async with transaction(service.pool) as connection:
        if email:
            user = await _locked(service, connection, user, secret, email, token)
        else:
            user, kind, secret = await _by_link(service, connection, kind, body.token_hash or "")
        if not await _confirm(service, connection, user, kind, secret):
            return json_response({"code": "200", "msg": _FIRST_OF_TWO})
        return json_response(await _sign_in(service, connection, request, user))


def _email_of(body: VerifyBody) -> str | None:
    """Return the address to which the code belongs, None for a link. ApiError for any other combination."""
    if not body.type:
        raise invalid("Verify requires a verification type")
    if bool(body.token) == bool(body.token_hash):
        raise invalid("Verify requires either a token or a token hash")
    if body.token_hash:
        if body.email or body.phone or body.redirect_to:
            raise invalid("Only the token_hash and type should be provided")
        return None
    if body.phone and not body.email:
        raise ApiError(400, "phone_provider_disabled", "Phone logins are disabled")
    if not body.email or body.phone:
        raise invalid("Only an email address or phone number should be provided on verify")
    try:
        return normalized_email(body.email)
    except ApiError as error:
        raise invalid("Invalid email format", 422) from error


async def _by_link(service: Service, connection: Connection, kind: str, token: str) -> tuple[User, str, str]:
    """Return user (locked), kind and secret of a link's token that is still good."""
    if kind not in _SECRETS:
        raise invalid("Invalid email verification type")
    sought = {"hash": service.hasher.of_link(token), "kinds": _SECRETS[kind]}
    found = await (await connection.execute(_LINK, sought)).fetchone()
    user = await find_user(connection, found["user_id"], lock=True) if found else None
    # Looked up again under the lock: of two clicks at once only one finds it.
    found = await (await connection.execute(_LINK, sought)).fetchone() if user else None
    if user is None or found is None or user["deleted_at"] is not None:
        raise _expired_link()
    if is_banned(user):
        raise ApiError(403, "user_banned", "User is banned")
    if found["sign_up_id"]:
        if user["email_confirmed_at"] is not None:
            raise _expired_link()
        await sign_ups.restore(connection, user, found["sign_up_id"])
    secret = found["token_type"]
    if codes.is_expired(user, secret, service.settings.mailer_otp_exp):
        raise _expired_link()
    return user, _exact(kind, secret), secret


def _exact(kind: str, secret: str) -> str:
    if kind == "email":
        return "signup" if secret == codes.CONFIRMATION else "magiclink"
    return kind


async def _by_code(
    service: Service, request: Request, kind: str, email: str, code: str
) -> tuple[User, str, str]:
    """Return user, kind and secret of a code that fits; after too many wrong ones it fits no more."""
    aud = service.settings.jwt_aud
    async with service.pool.connection() as connection:
        if kind == "email_change":
            user = await _changing(connection, email, aud)
        else:
            user = await find_by_email(connection, email, aud)
    # Counting takes a connection too: ten requests that each held one already would wait for each other.
    if user is not None and is_banned(user):
        raise ApiError(403, "user_banned", "User is banned")
    secret = await purpose_of_code(service, user, _kinds(kind, user, email), email, code)
    if user is None or secret is None:
        raise _wrong_code()
    return user, _exact(kind, secret), secret


def _kinds(kind: str, user: User | None, email: str) -> list[str]:
    """Return what a code mailed to this address can be for."""
    if kind == "email_change":
        is_current = user is not None and email == user["email"]
        return [codes.CHANGE_CURRENT if is_current else codes.CHANGE_NEW]
    return _SECRETS.get(kind, [])


async def _changing(connection: Connection, email: str, aud: str) -> User | None:
    """Return the user who is changing from or to this address."""
    query = (
        f"{SELECT} from auth.users u where u.instance_id = %s and u.aud = %s and u.email_change <> '' "
        "and (lower(u.email) = %s or lower(u.email_change) = %s) order by u.email_change_sent_at desc limit 1"
    )
    return await (await connection.execute(query, [NO_INSTANCE, aud, email, email])).fetchone()


async def _locked(
    service: Service, connection: Connection, user: User, secret: str, email: str, code: str
) -> User:
    """Return the same user under a lock, if the code is still good: of two uses at once only one passes."""
    locked = await find_user(connection, user["id"], lock=True)
    code_hash = service.hasher.of_code(user["id"], secret, email, code)
    if locked is None or not codes.code_fits(locked, secret, code_hash, service.settings.mailer_otp_exp):
        raise _wrong_code()
    return locked


async def _confirm(service: Service, connection: Connection, user: User, kind: str, secret: str) -> bool:
    """Do what the link is for; False for the first of the two confirmations of a changed address."""
    if kind == "email_change":
        return await confirm_change(service, connection, user, secret)
    if kind in {"signup", "invite"}:
        await confirm_signup(connection, user)
    else:
        await confirm_recovery(connection, user)
    return True


async def _sign_in(service: Service, connection: Connection, request: Request, user: User) -> dict[str, Any]:
    fresh = await find_user(connection, user["id"])
    assert fresh is not None
    return await sessions.start(service, connection, request, fresh, "otp")
