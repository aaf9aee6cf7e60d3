"""Opening a mail's link confirms an address, allows a recovery or replaces an address."""

from datetime import datetime

from psycopg.types.json import Jsonb

from functions.auth import audit, codes, sign_ups
from functions.auth.emails import notify
from functions.auth.service import Service
from functions.auth.users import User, check_email_is_free, update_user
from functions.core.database import Connection


async def confirm(connection: Connection, user: User) -> None:
    """Mark the address as confirmed, and delete every link of the user."""
    await update_user(
        connection,
        user,
        confirmation_token="",
        email_confirmed_at=user["email_confirmed_at"] or datetime.now(user["created_at"].tzinfo),
        raw_user_meta_data={**(user["raw_user_meta_data"] or {}), "email_verified": True},
    )
    await codes.delete(connection, user["id"])


async def confirm_signup(connection: Connection, user: User) -> None:
    """Accept a sign-up or invitation: the e-mail identity is verified too."""
    await audit.record(connection, "user_signedup", user, {"provider": "email"})
    await confirm(connection, user)
    if user["invited_at"] is not None and not user["encrypted_password"]:
        await update_user(connection, user, **codes.NO_SECRETS)
    await update_identity(connection, user, {"email_verified": True}, only_email=user["email"])


async def confirm_recovery(connection: Connection, user: User) -> None:
    """Accept a recovery or magic link, which also proves an address that was not confirmed yet."""
    await update_user(connection, user, recovery_token="")
    await codes.delete(connection, user["id"])
    if user["email_confirmed_at"] is None:
        await audit.record(connection, "user_signedup", user, {"provider": "email"})
        await confirm(connection, user)
    else:
        await audit.record(connection, "login", user)


async def confirm_change(service: Service, connection: Connection, user: User, secret: str) -> bool:
    """Accept the consent of one of two addresses to a change; the second one moves it. True when it moved.

    Raises:
        ApiError: 422 when another account confirmed the new address meanwhile.
    """
    is_secure = service.settings.mailer_secure_email_change_enabled and user["email"]
    if is_secure and user["email_change_confirm_status"] == 0:
        await update_user(connection, user, email_change_confirm_status=1, **{secret: ""})
        await codes.delete(connection, user["id"], secret)
        return False
    old, new = user["email"], user["email_change"]
    await sign_ups.delete_unconfirmed(connection, new, user["aud"], user["id"])
    await check_email_is_free(connection, new, user["aud"], user["id"])
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
    await codes.delete(connection, user["id"])
    if service.settings.notify_email_changed and old:
        await notify(service, connection, "email_changed", old, user, OldEmail=old)
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
