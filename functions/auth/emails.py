"""Sends each kind of e-mail: stores a fresh code and sends it in the caller's transaction."""

from typing import Any

from functions.auth import codes
from functions.auth.hooks import mail_data
from functions.auth.limits.mail import check_frequency
from functions.auth.service import Service
from functions.auth.users import User, update_user
from functions.core.database import Connection

# By type of the link: the mail's name, and which secret it carries.
_EMAILS = {
    "signup": ("confirmation", codes.CONFIRMATION),
    "invite": ("invite", codes.CONFIRMATION),
    "recovery": ("recovery", codes.RECOVERY),
    "magiclink": ("magic_link", codes.RECOVERY),
}


async def send_link(
    service: Service, connection: Connection, user: User, kind: str, target: str, pkce: bool = False
) -> None:
    """Mail a link of type signup, invite, recovery or magiclink; the previous one becomes void.

    Raises:
        ApiError: 429 too soon after the last of its kind (not for invitations), 500 when it cannot be sent.
    """
    is_confirmed = user["email_confirmed_at"] is not None
    if kind == "magiclink" and not is_confirmed:
        kind = "signup"
    mail, secret = _EMAILS[kind]
    if kind != "invite":
        check_frequency(user[codes.SENT_AT[secret]], service.mailer.frequency)
    issued = await codes.issue(service.hasher, connection, user, secret, user["email"], pkce)
    values = _values(service, user, kind, issued, target)
    if not is_confirmed:
        # A mail that opens an unconfirmed account says whose sign-up it confirms.
        mail = "recovery_unconfirmed" if kind == "recovery" else mail
        values["Data"] = await mail_data(connection, service.settings.mail_data_function, user)
    await service.mailer.send(mail, user["email"], values)


async def send_email_change(
    service: Service, connection: Connection, user: User, new_email: str, target: str, pkce: bool = False
) -> None:
    """Start a change of address: a mail with its own code to the new address, and one to the current one."""
    check_frequency(user["email_change_sent_at"], service.mailer.frequency)
    await codes.delete(connection, user["id"], codes.CHANGE_CURRENT)
    await update_user(
        connection, user, email_change=new_email, email_change_confirm_status=0, email_change_token_current=""
    )
    emails = [(codes.CHANGE_NEW, new_email)]
    if service.settings.mailer_secure_email_change_enabled and user["email"]:
        emails.append((codes.CHANGE_CURRENT, user["email"]))
    for secret, address in emails:
        issued = await codes.issue(service.hasher, connection, user, secret, address, pkce)
        values = _values(service, user, "email_change", issued, target)
        await service.mailer.send(
            "email_change", address, values | {"NewEmail": new_email, "SendingTo": address}
        )


async def send_reauthentication(service: Service, connection: Connection, user: User) -> None:
    """Mail a code without a link."""
    check_frequency(user["reauthentication_sent_at"], service.mailer.frequency)
    issued = await codes.issue(service.hasher, connection, user, codes.REAUTHENTICATION, user["email"])
    values = {"Email": user["email"], "Token": issued.code, "Data": user["raw_user_meta_data"]}
    await service.mailer.send("reauthentication", user["email"], values)


async def notify(
    service: Service, connection: Connection, notice: str, to: str, user: User, **values: Any
) -> None:
    """Notify the owner of a change, once it is committed."""
    given = {"Email": user["email"], "Data": user["raw_user_meta_data"], **values}
    await service.notices.add(connection, f"{notice}_notification", to, given)


def notify_paused(service: Service, notice: str, attempt: int, user: User) -> None:
    """Notify the owner of the failed attempt with this number if it was the last one allowed.

    In the background: the time of the response would tell that there is an account.
    """
    if service.attempts.is_last(attempt) and user["email"]:
        service.run_in_background(_notify_paused(service, notice, user))


async def _notify_paused(service: Service, notice: str, user: User) -> None:
    async with service.pool.connection() as connection:
        await notify(service, connection, notice, user["email"], user)


def _values(service: Service, user: User, kind: str, issued: codes.Secret, target: str) -> dict[str, Any]:
    return {
        "ConfirmationURL": service.mailer.action_link(kind, issued.link_token, target),
        "Email": user["email"],
        "Token": issued.code,
        "TokenHash": issued.link_token,
        "Data": user["raw_user_meta_data"],
        "RedirectTo": target,
    }
