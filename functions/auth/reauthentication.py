"""Proof that who changes a password is the owner: a stolen session must not be enough to take the account."""

from datetime import UTC, datetime, timedelta

from functions.auth import codes
from functions.auth.authentication import Principal
from functions.auth.code_attempts import fitting_kind
from functions.auth.emails import notify_paused
from functions.auth.service import Service
from functions.core.errors import ApiError

# How long a session that began with a mailed link may set a password without the current one.
_LINK_WINDOW = timedelta(hours=1)
_LINK_METHODS = {"otp", "magiclink", "recovery", "invite", "email/signup"}


async def check_proof(
    service: Service, principal: Principal, current: str | None, nonce: str | None, address: str
) -> None:
    """Require the current password, a fresh sign-in, or the code from /reauthenticate if settings ask.

    Raises:
        ApiError: 400 or 422 without proof.
    """
    settings = service.settings
    wants_password = settings.require_current_password or bool(settings.password_change_window)
    if current and wants_password:
        await _check_current(service, principal, current, address)
        return
    if settings.require_reauthentication and (nonce or _is_old(principal)):
        await _check_nonce(service, principal, nonce)
        return
    if not wants_password or _came_by_link(principal):
        return
    if settings.require_current_password or not _signed_in_within(principal, settings.password_change_window):
        message = "Current password required when setting new password."
        raise ApiError(400, "current_password_required", message)


async def _check_current(service: Service, principal: Principal, current: str, address: str) -> None:
    user = principal.user
    async with (
        service.passwords.slot(),
        service.password_attempts.begin(user["email"], user, address) as attempt,
    ):
        is_right = await service.passwords.matches(current, user["encrypted_password"])
    if not is_right:
        notify_paused(service, "sign_in_blocked", attempt.number, user)
        raise ApiError(400, "current_password_invalid", "The current password is not right.")
    await service.password_attempts.forgive(attempt)


async def _check_nonce(service: Service, principal: Principal, nonce: str | None) -> None:
    if not nonce:
        raise ApiError(400, "reauthentication_needed", "Password update requires reauthentication")
    user = principal.user
    if not await fitting_kind(service, user, [codes.REAUTHENTICATION], user["email"], nonce):
        raise ApiError(422, "reauthentication_not_valid", "Nonce has expired or is invalid")


def _is_old(principal: Principal) -> bool:
    session = principal.session
    return session is None or datetime.now(UTC) - session["created_at"] > timedelta(hours=24)


def _came_by_link(principal: Principal) -> bool:
    return any(
        entry["method"] in _LINK_METHODS and _since(entry["updated_at"]) < _LINK_WINDOW
        for entry in principal.amr
    )


def _signed_in_within(principal: Principal, window: timedelta) -> bool:
    return any(
        entry["method"] == "password" and _since(entry["updated_at"]) < window for entry in principal.amr
    )


def _since(unix: float) -> timedelta:
    return timedelta(seconds=datetime.now(UTC).timestamp() - float(unix))
