"""admin-auth: how administrators sign in and out, change their password and set up two-step sign-in."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from psycopg.types.json import Jsonb
from pydantic import Field, StringConstraints

from functions.core.database import Connection, transaction
from functions.core.errors import ApiError
from functions.core.failpoints import crash_here
from functions.edge.support import passwords, totp
from functions.edge.support.dependencies import (
    Context,
    Principal,
    RequestContext,
    authenticate,
    require_administrator,
)
from functions.edge.support.schemas import AdministratorRequest
from functions.edge.support.services import Services, SharedServices

router = APIRouter()

SLOW_SECONDS = 1

INVALID_CREDENTIALS = ApiError(401, "invalid_credentials", "Authentication failed")
TOO_MANY_ATTEMPTS = ApiError(429, "too_many_attempts", "Too many attempts. Wait a few minutes and try again.")
FIELDS_MISSING = ApiError(400, "fields_required", "All fields are required")
CURRENT_PASSWORD_WRONG = ApiError(400, "current_password_wrong", "The current password is not right.")
OTHER_EMAIL = ApiError(403, "forbidden", "You can change your own password only.")
NOT_ENROLLED = ApiError(409, "totp_not_enrolled", "Two-step sign-in is not set up.")
ALREADY_ENROLLED = ApiError(409, "totp_enrolled", "Two-step sign-in is already set up.")
# How an address may sign in to an account, see edge.admin_sign_in_way.
SECOND_FACTOR, CLOSED = "second_factor", "closed"
# The errors that count as a failed attempt: the response says that a guess was wrong.
WRONG_CREDENTIALS = (INVALID_CREDENTIALS, CURRENT_PASSWORD_WRONG, totp.CODE_INVALID)
TOTP_CHANGES = {
    "totp_verify": "select edge.confirm_totp(%s)",
    "totp_disable": "select edge.remove_totp(%s)",
}

Email = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=255)]
Secret = Annotated[str, StringConstraints(max_length=1024)]
Code = Annotated[str, StringConstraints(strip_whitespace=True, max_length=12)]
Row = dict[str, Any]


class Login(AdministratorRequest):
    """Sign in with e-mail and password, and the code of accounts that have two-step sign-in."""

    action: Literal["login"]
    email: Email
    password: Secret
    totp: Code | None = None


class ChangePassword(AdministratorRequest):
    """Change the own password; the e-mail address is the signed-in administrator's."""

    action: Literal["change_password"]
    email: Email = ""
    current_password: Secret = ""
    new_password: Secret = ""
    totp: Code | None = None


class Logout(AdministratorRequest):
    """End this session."""

    action: Literal["logout"]


class EnrollTotp(AdministratorRequest):
    """Make a secret; it counts once a code of it has been verified."""

    action: Literal["totp_enroll"]


class VerifyCode(AdministratorRequest):
    """Turn two-step sign-in on, or off, with a code."""

    action: Literal["totp_verify", "totp_disable"]
    code: Code


Action = Annotated[Login | ChangePassword | Logout | EnrollTotp | VerifyCode, Field(discriminator="action")]


@router.post("/admin-auth")
async def admin_auth(action: Action, request: Request, context: Context, services: SharedServices) -> Row:
    """Respond by action; everything but login needs a live administrator session.

    A login that carries a token of the same account's session replaces it: so a person proves to be there.
    """
    if isinstance(action, Login):
        return await _login(action, request, context, services)
    principal = require_administrator(authenticate(request))
    match action:
        case ChangePassword():
            return await _change_password(action, principal, services)
        case EnrollTotp():
            return await _enroll_totp(principal, services)
        case VerifyCode():
            return await _verify_code(action, principal, services)
        case Logout():
            return await _logout(principal)


def _replaced_session(request: Request) -> dict[str, Any] | None:
    """Return the claims of the administrator's token that a login came with; clients send others too."""
    try:
        return require_administrator(authenticate(request)).claims.values
    except ApiError:
        return None


async def _login(login: Login, request: Request, context: RequestContext, services: Services) -> Row:
    attempt = transaction(services.pool, context.settings())
    async with _verification(services, attempt, login.email, login.totp, context) as (connection, way):
        admin = await _admin(connection, login.email)
        stored = admin["password_hash"] if admin and admin["is_active"] else None
        if not await services.passwords.matches(stored, login.password) or admin is None:
            raise INVALID_CREDENTIALS
        await _require_second_factor(connection, services, admin, login.totp, way)
        await connection.execute(
            "select edge.record_admin_sign_in(%s, %s, true, %s)",
            [login.email, context.address, context.user_agent],
        )
        # The account is locked now: a password replaced until here ended the sessions that there were.
        signed_in = await _admin(connection, login.email)
        if signed_in is None or signed_in["password_hash"] != stored:
            raise INVALID_CREDENTIALS
        secret = secrets.token_urlsafe(32)
        session = await _one(
            connection,
            "select * from edge.start_admin_session(%s, %s, %s, %s, %s)",
            admin["id"],
            context.address,
            context.user_agent,
            sha256(secret.encode()).digest(),
            Jsonb(_replaced_session(request)),
        )
    crash_here("admin.after_session_row")
    token = str(session["session_token"])
    return {
        "session_token": token,
        "access_token": services.admin_key.sign(str(admin["id"]), token, secret, session["expires_at"]),
        "expires_at": session["expires_at"].isoformat(),
        "admin": _public(signed_in),
    }


@asynccontextmanager
async def _verification(
    services: Services,
    opened: AbstractAsyncContextManager[Connection],
    email: str,
    code: str | None,
    context: RequestContext,
) -> AsyncIterator[tuple[Connection, str]]:
    """Open a transaction to verify password and code in; of a wrong one it commits the count and no more.

    Also says how the address may sign in. From the sixth failure of an e-mail address, known or not, the
    response takes a second longer.

    Raises:
        ApiError: 429 when the account or the address has failed too often; what the block raises.
    """
    wrong, few = None, True
    async with services.passwords.limiter, opened as connection:
        way = await _way(connection, email, context)
        if way == CLOSED or (way == SECOND_FACTOR and not code):
            raise TOO_MANY_ATTEMPTS
        try:
            async with connection.transaction():
                yield connection, way
        except ApiError as error:
            if error not in WRONG_CREDENTIALS:
                raise
            few = await _count_failure(connection, email, context, error, way)
            # Nothing tells that the password was right when the code with it was wrong.
            wrong = TOO_MANY_ATTEMPTS if way == SECOND_FACTOR else error
    if not few:
        await asyncio.sleep(SLOW_SECONDS)
    if wrong:
        raise wrong


async def _way(connection: Connection, email: str, context: RequestContext) -> str:
    await connection.execute("select edge.lock_login_attempt(%s, %s)", [email, context.address])
    row = await _one(connection, "select edge.admin_sign_in_way(%s, %s) as way", email, context.address)
    return str(row["way"])


async def _require_second_factor(
    connection: Connection, services: Services, admin: Row, code: str | None, way: str
) -> None:
    """Require the code of an account that has two-step sign-in, and of no other where both are needed."""
    if admin["totp_confirmed_at"]:
        if not code:
            raise totp.CODE_REQUIRED
        await totp.require_code(connection, services.encryptor, admin, code)
    elif way == SECOND_FACTOR:
        raise INVALID_CREDENTIALS


async def _count_failure(
    connection: Connection, email: str, context: RequestContext, error: ApiError, way: str
) -> bool:
    """Count a failure; return false from the sixth on."""
    if way == SECOND_FACTOR and error is totp.CODE_INVALID:
        await connection.execute("select edge.record_wrong_admin_code(%s, %s)", [email, context.address])
    else:
        await connection.execute("select edge.record_admin_sign_in(%s, %s, false)", [email, context.address])
    wrong = "code" if error is totp.CODE_INVALID else "password"
    await connection.execute(
        "select edge.audit_failed_admin_sign_in(%s, %s, %s, %s)",
        [email, context.address, context.user_agent, wrong],
    )
    row = await _one(
        connection,
        "select edge.consume_rate_limit('admin_failures', %s, 5, interval '15 minutes') as few",
        email,
    )
    return bool(row["few"])


async def _change_password(change: ChangePassword, principal: Principal, services: Services) -> Row:
    if not (change.email and change.current_password and change.new_password):
        raise FIELDS_MISSING
    async with principal.service_transaction() as connection:
        owner = await _admin(connection, change.email)
        if owner is None or str(owner["id"]) != principal.id:
            raise OTHER_EMAIL
        config = await _one(connection, "select edge.web_config() ->> 'product_name' as product")
        passwords.require_acceptable(
            change.new_password, owner["email"], owner["full_name"], config["product"]
        )
        few = await _one(
            connection,
            "select edge.consume_rate_limit('admin_password', %s, 10, interval '15 minutes') as allowed",
            principal.id,
        )
    if not few["allowed"]:
        raise TOO_MANY_ATTEMPTS
    new_hash = await services.passwords.hash(change.new_password)
    attempt = principal.service_transaction()
    async with _verification(services, attempt, change.email, change.totp, principal.context) as (
        connection,
        way,
    ):
        admin = await _one(connection, "select * from edge.admin_by_id(%s)", principal.id)
        if not await services.passwords.matches(admin["password_hash"], change.current_password):
            raise CURRENT_PASSWORD_WRONG
        await _require_second_factor(connection, services, admin, change.totp, way)
        await connection.execute(
            "select edge.set_admin_password(%s, %s, %s)",
            [principal.id, new_hash, principal.claims.values["sid"]],
        )
    return {"success": True}


async def _logout(principal: Principal) -> Row:
    async with principal.transaction() as connection:
        await connection.execute(
            "delete from public.admin_sessions where session_token = %s", [principal.claims.values["sid"]]
        )
    return {"success": True}


async def _enroll_totp(principal: Principal, services: Services) -> Row:
    secret = totp.new_secret()
    ciphertext = totp.encrypt_secret(services.encryptor, secret, principal.id)
    async with principal.service_transaction() as connection:
        admin = await _one(connection, "select * from edge.admin_by_id(%s)", principal.id)
        if admin["totp_confirmed_at"]:
            raise ALREADY_ENROLLED
        await connection.execute(
            "select edge.set_totp_secret(%s, %s, %s)", [principal.id, ciphertext.key_id, ciphertext.data]
        )
    address = totp.provisioning_uri(
        secret, admin["email"], urlsplit(services.admin_key.issuer).hostname or ""
    )
    return {"success": True, "secret": secret, "uri": address, "qr_code": totp.qr_code(address)}


async def _verify_code(request: VerifyCode, principal: Principal, services: Services) -> Row:
    wrong = None
    async with principal.service_transaction() as connection:
        attempt = await _one(
            connection,
            "select edge.consume_rate_limit('admin_totp', %s, 10, interval '15 minutes') as allowed",
            principal.id,
        )
        if not attempt["allowed"]:
            raise TOO_MANY_ATTEMPTS
        admin = await _one(connection, "select * from edge.admin_by_id(%s)", principal.id)
        if not admin["totp_secret"]:
            raise NOT_ENROLLED
        try:
            await totp.require_code(connection, services.encryptor, admin, request.code)
        except ApiError as error:
            wrong = error
        if not wrong:
            await connection.execute(TOTP_CHANGES[request.action], [principal.id])
    # The attempt is counted now, because the transaction is committed.
    if wrong:
        raise wrong
    return {"success": True}


async def _one(connection: Connection, query: str, *arguments: object) -> Row:
    cursor = await connection.execute(query, arguments)
    row = await cursor.fetchone()
    if row is None:
        raise INVALID_CREDENTIALS
    return row


async def _admin(connection: Connection, email: str) -> Row | None:
    cursor = await connection.execute("select * from edge.admin_by_email(%s)", [email])
    return await cursor.fetchone()


def _public(admin: Row) -> Row:
    """Return what the panel may show of an account: never the hash, never the secret."""
    names = ("id", "email", "full_name", "role", "is_active", "last_login", "created_at", "updated_at")
    return {**{name: admin[name] for name in names}, "two_step": admin["totp_confirmed_at"] is not None}
