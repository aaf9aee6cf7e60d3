"""admin-auth: how administrators sign in and out, change their password and set up two-step sign-in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from pydantic import Field, StringConstraints

from functions.core.database import Connection, transaction
from functions.core.errors import Refusal
from functions.core.failpoints import reached
from functions.edge import passwords, two_step
from functions.edge.door import Caller, Shared, Visit, Visitor, administrator_of, caller_of
from functions.edge.services import Services
from functions.edge.shapes import Shape

router = APIRouter()

SLOW_SECONDS = 1

FAILED = Refusal(401, "invalid_credentials", "Authentication failed")
TOO_MANY = Refusal(429, "too_many_attempts", "Too many attempts. Wait a few minutes and try again.")
FIELDS_MISSING = Refusal(400, "fields_required", "All fields are required")
CURRENT_WRONG = Refusal(400, "current_password_wrong", "The current password is not right.")
OTHER_EMAIL = Refusal(403, "forbidden", "You can change your own password only.")
NOT_ENROLLED = Refusal(409, "totp_not_enrolled", "Two-step sign-in is not set up.")
ALREADY_ENROLLED = Refusal(409, "totp_enrolled", "Two-step sign-in is already set up.")
# What counts as a failure: somebody guessed, and was told.
WRONG = (FAILED, CURRENT_WRONG, two_step.CODE_WRONG)

Email = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=255)]
Secret = Annotated[str, StringConstraints(max_length=1024)]
Code = Annotated[str, StringConstraints(strip_whitespace=True, max_length=12)]
Row = dict[str, Any]


class Login(Shape):
    """E-mail and password, and the six-digit code of accounts that have two-step sign-in."""

    action: Literal["login"]
    email: Email
    password: Secret
    totp: Code | None = None


class ChangePassword(Shape):
    """The signed-in administrator's own address, the current password and the new one."""

    action: Literal["change_password"]
    email: Email = ""
    current_password: Secret = ""
    new_password: Secret = ""
    totp: Code | None = None


class Logout(Shape):
    """End this session."""

    action: Literal["logout"]


class EnrollTotp(Shape):
    """Make a secret; it counts once a code of it has been shown."""

    action: Literal["totp_enroll"]


class ShowCode(Shape):
    """A code that turns two-step sign-in on, or off."""

    action: Literal["totp_verify", "totp_disable"]
    code: Code


Action = Annotated[Login | ChangePassword | Logout | EnrollTotp | ShowCode, Field(discriminator="action")]


@router.post("/admin-auth")
async def admin_auth(action: Action, request: Request, visit: Visitor, services: Shared) -> Row:
    """Answer by action; everything but login needs a live administrator session."""
    if isinstance(action, Login):
        return await _login(action, visit, services)
    caller = administrator_of(caller_of(request))
    match action:
        case ChangePassword():
            return await _change_password(action, caller, services)
        case EnrollTotp():
            return await _enroll_totp(caller, services)
        case ShowCode():
            return await _show_code(action, caller, services)
        case Logout():
            return await _logout(caller)


async def _login(login: Login, visit: Visit, services: Services) -> Row:
    opened = transaction(services.pool, visit.settings())
    async with _judging(opened, login.email, visit) as connection:
        admin = await _admin(connection, login.email)
        stored = admin["password_hash"] if admin and admin["is_active"] else None
        if not await passwords.matches(stored, login.password) or admin is None:
            raise FAILED
        if admin["totp_confirmed_at"]:
            if not login.totp:
                raise two_step.CODE_ASKED
            await two_step.require_code(connection, services.sealer, admin, login.totp)
        await connection.execute(
            "select edge.record_admin_sign_in(%s, %s, true)", [login.email, visit.address]
        )
        # The account is locked now: a password replaced until here ended the sessions that there were.
        signed_in = await _admin(connection, login.email)
        if signed_in is None or signed_in["password_hash"] != stored:
            raise FAILED
        session = await _one(
            connection,
            "select * from edge.start_admin_session(%s, %s, %s)",
            admin["id"],
            visit.address,
            visit.user_agent,
        )
    reached("admin.after_session_row")
    token = str(session["session_token"])
    return {
        "session_token": token,
        "access_token": services.admin_key.sign(str(admin["id"]), token, session["expires_at"]),
        "expires_at": session["expires_at"].isoformat(),
        "admin": _public(signed_in),
    }


@asynccontextmanager
async def _judging(
    opened: AbstractAsyncContextManager[Connection], email: str, visit: Visit
) -> AsyncIterator[Connection]:
    """A transaction in which password and code are judged: a wrong one is counted with it, and nothing else.

    From the sixth failure on an address, known or not, the answer takes a second longer.

    Raises:
        Refusal: 429 when the account or the address has failed too often; what the block raises.
    """
    wrong, few = None, True
    async with passwords.turns, opened as connection:
        await _admit(connection, email, visit)
        try:
            async with connection.transaction():
                yield connection
        except Refusal as refusal:
            if refusal not in WRONG:
                raise
            wrong, few = refusal, await _count_failure(connection, email, visit)
    if not few:
        await asyncio.sleep(SLOW_SECONDS)
    if wrong:
        raise wrong


async def _admit(connection: Connection, email: str, visit: Visit) -> None:
    await connection.execute("select edge.lock_login_attempt(%s, %s)", [email, visit.address])
    allowed = await _one(
        connection, "select edge.admin_sign_in_allowed(%s, %s) as allowed", email, visit.address
    )
    if not allowed["allowed"]:
        raise TOO_MANY


async def _count_failure(connection: Connection, email: str, visit: Visit) -> bool:
    """Count it; false from the sixth failure on."""
    await connection.execute("select edge.record_admin_sign_in(%s, %s, false)", [email, visit.address])
    row = await _one(
        connection,
        "select edge.consume_rate_limit('admin_failures', %s, 5, interval '15 minutes') as few",
        email,
    )
    return bool(row["few"])


async def _change_password(change: ChangePassword, caller: Caller, services: Services) -> Row:
    if not (change.email and change.current_password and change.new_password):
        raise FIELDS_MISSING
    passwords.require_acceptable(change.new_password)
    async with caller.service_transaction() as connection:
        owner = await _admin(connection, change.email)
    if owner is None or str(owner["id"]) != caller.id:
        raise OTHER_EMAIL
    new_hash = await passwords.hash_password(change.new_password)
    async with _judging(caller.service_transaction(), change.email, caller.visit) as connection:
        admin = await _one(connection, "select * from edge.admin_by_id(%s)", caller.id)
        if not await passwords.matches(admin["password_hash"], change.current_password):
            raise CURRENT_WRONG
        if admin["totp_confirmed_at"]:
            if not change.totp:
                raise two_step.CODE_ASKED
            await two_step.require_code(connection, services.sealer, admin, change.totp)
        await connection.execute(
            "select edge.set_admin_password(%s, %s, %s)",
            [caller.id, new_hash, caller.claims.values["sid"]],
        )
    return {"success": True}


async def _logout(caller: Caller) -> Row:
    async with caller.transaction() as connection:
        await connection.execute(
            "delete from public.admin_sessions where session_token = %s", [caller.claims.values["sid"]]
        )
    return {"success": True}


async def _enroll_totp(caller: Caller, services: Services) -> Row:
    secret = two_step.new_secret()
    sealed = two_step.seal(services.sealer, secret, caller.id)
    async with caller.service_transaction() as connection:
        admin = await _one(connection, "select * from edge.admin_by_id(%s)", caller.id)
        if admin["totp_confirmed_at"]:
            raise ALREADY_ENROLLED
        await connection.execute(
            "select edge.set_totp_secret(%s, %s, %s)", [caller.id, sealed.key_id, sealed.data]
        )
    address = two_step.address_of(secret, admin["email"], urlsplit(services.admin_key.issuer).hostname or "")
    return {"success": True, "secret": secret, "uri": address, "qr_code": two_step.picture_of(address)}


async def _show_code(shown: ShowCode, caller: Caller, services: Services) -> Row:
    wrong = None
    async with caller.service_transaction() as connection:
        guess = await _one(
            connection,
            "select edge.consume_rate_limit('admin_totp', %s, 10, interval '15 minutes') as allowed",
            caller.id,
        )
        if not guess["allowed"]:
            raise TOO_MANY
        admin = await _one(connection, "select * from edge.admin_by_id(%s)", caller.id)
        if not admin["totp_secret"]:
            raise NOT_ENROLLED
        try:
            await two_step.require_code(connection, services.sealer, admin, shown.code)
        except Refusal as refusal:
            wrong = refusal
        if not wrong:
            turned = "confirm_totp" if shown.action == "totp_verify" else "remove_totp"
            await connection.execute(f"select edge.{turned}(%s)", [caller.id])
    # The guess is counted now.
    if wrong:
        raise wrong
    return {"success": True}


async def _one(connection: Connection, query: str, *arguments: object) -> Row:
    cursor = await connection.execute(query, arguments)
    row = await cursor.fetchone()
    if row is None:
        raise FAILED
    return row


async def _admin(connection: Connection, email: str) -> Row | None:
    cursor = await connection.execute("select * from edge.admin_by_email(%s)", [email])
    return await cursor.fetchone()


def _public(admin: Row) -> Row:
    """What the panel may know of an account: never the hash, never the secret."""
    names = ("id", "email", "full_name", "role", "is_active", "last_login", "created_at", "updated_at")
    return {**{name: admin[name] for name in names}, "two_step": admin["totp_confirmed_at"] is not None}
