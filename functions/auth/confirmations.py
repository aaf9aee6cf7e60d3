"""What opening a mail's link changes: an address confirmed, a recovery allowed, an address replaced."""

from datetime import datetime

from psycopg.types.json import Jsonb

from functions.auth import audit, codes
from functions.auth.errors import AuthError
from functions.auth.letters import notify
from functions.auth.service import Service
from functions.auth.users import User, email_taken, update_user
from functions.core.database import Connection


async def confirm(connection: Connection, user: User) -> None:
    """Mark the address as confirmed; every link of the user dies."""
    await update_user(
        connection,
        user,
        confirmation_token="",
        email_confirmed_at=user["email_confirmed_at"] or datetime.now(user["created_at"].tzinfo),
        raw_user_meta_data={**(user["raw_user_meta_data"] or {}), "email_verified": True},
    )
    await codes.forget(connection, user["id"])


async def confirm_signup(connection: Connection, user: User) -> None:
    """A sign-up or invitation is accepted: the e-mail identity is verified too."""
    await audit.record(connection, "user_signedup", user, {"provider": "email"})
    await confirm(connection, user)
    if user["invited_at"] is not None and not user["encrypted_password"]:
        await update_user(connection, user, **codes.NO_SECRETS)
    await update_identity(connection, user, {"email_verified": True}, only_email=user["email"])


async def confirm_recovery(connection: Connection, user: User) -> None:
    """A recovery or magic link is opened: it also proves an address that was not confirmed yet."""
    await update_user(connection, user, recovery_token="")
    await codes.forget(connection, user["id"])
    if user["email_confirmed_at"] is None:
        await audit.record(connection, "user_signedup", user, {"provider": "email"})
        await confirm(connection, user)
    else:
        await audit.record(connection, "login", user)


async def confirm_change(service: Service, connection: Connection, user: User, secret: str) -> bool:
    """One of the two addresses agrees to the change; the second one moves it. True when it moved.

    Raises:
        AuthError: 422 when somebody took the new address meanwhile.
    """
    is_secure = service.settings.mailer_secure_email_change_enabled and user["email"]
    if is_secure and user["email_change_confirm_status"] == 0:
        await update_user(connection, user, email_change_confirm_status=1, **{secret: ""})
        await codes.forget(connection, user["id"], secret)
        return False
    old, new = user["email"], user["email_change"]
    if await email_taken(connection, new, user["aud"], user["id"]):
        raise AuthError(422, "email_exists", "A user with this email address has already been registered")
    await audit.record(connection, "user_modified", user)
    await update_identity(connection, user, {"email": new, "email_verified": True})
    await update_user(
        connection,
        user,
        email=new,
        email_change="",
        email_change_token_new="",
        email_change_token_current="",
        email_change_confirm_status=0,
        email_confirmed_at=user["email_confirmed_at"] or datetime.now(user["created_at"].tzinfo),
    )
    await codes.forget(connection, user["id"])
    if service.settings.notify_email_changed and old:
        await notify(service, "email_changed", old, user, OldEmail=old)
    return True


async def update_identity(
    connection: Connection, user: User, changes: dict[str, object], only_email: str | None = None
) -> None:
    """Merge into the data of the user's e-mail identity, if `only_email` is given where it holds that."""
    await connection.execute(
        """
        update auth.identities set identity_data = identity_data || %s, updated_at = now()
        where user_id = %s and provider = 'email' and (%s::text is null or email = lower(%s))
        """,
        [Jsonb(changes), user["id"], only_email, only_email],
    )
