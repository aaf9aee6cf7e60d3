"""Proof that the owner is there: a stolen session must not be enough to take the account.

private.member_session() of the database asks the same of the same rows, for what is no credential.
"""

from datetime import datetime, timedelta
from typing import Any

from functions.auth import codes
from functions.auth.authentication import Principal
from functions.auth.emails import notify_paused
from functions.auth.service import Service
from functions.auth.typed_codes import purpose_of_code
from functions.auth.users import has_verified_factor
from functions.core.errors import ApiError

# How long a session that began with a mailed link may set a password without the current one.
_LINK_WINDOW = timedelta(hours=1)
_LINK_METHODS = {"otp", "magiclink", "recovery", "invite", "email/signup"}
# How long the code of a new factor counts only with the password.
_FACTOR_IS_NEW = timedelta(hours=24)


async def check_proof(
    service: Service, principal: Principal, act: str, current: str | None, address: str
) -> None:
    """Require the code of an account that has a factor, else the current password or a fresh sign-in with it.

    Args:
        act: what is done, as in `adding an authenticator`.

    Raises:
        ApiError: 400 without the password or with a wrong one, 403 without the code.
    """
    if service.settings.password_change_window:
        await _check(service, principal, act, current, address, is_mailed=False)


async def check_proof_for_password(
    service: Service, principal: Principal, current: str | None, nonce: str | None, address: str
) -> None:
    """Do the same for a new password, for which a mailed link counts as the current one.

    So does the code from /reauthenticate, which settings may ask for.

    Raises:
        ApiError: 400, 403 or 422 without proof.
    """
    settings = service.settings
    window = settings.password_change_window
    wants_password = settings.require_current_password or bool(window)
    is_mailed = principal.entered_within(_LINK_WINDOW, _LINK_METHODS)
    asks_for_nonce = _is_old(principal) and not (window and has_verified_factor(principal.user))
    if settings.require_reauthentication and not (current and wants_password) and (nonce or asks_for_nonce):
        await _check_nonce(service, principal, nonce)
        is_mailed = True
    if wants_password:
        await _check(service, principal, "setting new password", current, address, is_mailed=is_mailed)


def check_code(service: Service, principal: Principal, act: str) -> None:
    """Require the code of an account that has a factor, where no password can be sent.

    Raises:
        ApiError: 403 without it.
    """
    window = service.settings.password_change_window
    if not window:
        return
    _check_code(principal, act, window)
    if not _has_password(principal, window):
        message = f"Sign in again with your password and the code from your authenticator app before {act}."
        raise ApiError(403, "reauthentication_needed", message)


async def _check(
    service: Service, principal: Principal, act: str, current: str | None, address: str, *, is_mailed: bool
) -> None:
    settings = service.settings
    window = settings.password_change_window
    if window and has_verified_factor(principal.user):
        _check_code(principal, act, window)
    if current:
        await _check_current(service, principal, current, address)
        return
    if is_mailed or (not settings.require_current_password and _has_password(principal, window)):
        return
    raise ApiError(400, "current_password_required", f"Current password required when {act}.")


def _check_code(principal: Principal, act: str, window: timedelta) -> None:
    if not (principal.is_aal2 and principal.entered_within(window, {"totp"})):
        message = f"Enter the code from your authenticator app again before {act}."
        raise ApiError(403, "reauthentication_needed", message)


def _has_password(principal: Principal, window: timedelta) -> bool:
    """Return whether the password was entered, or is not needed beside the code of an older factor."""
    return principal.entered_within(window, {"password"}) or any(
        _is_proven(principal, factor) for factor in principal.user["factors"] or []
    )


def _is_proven(principal: Principal, factor: dict[str, Any]) -> bool:
    session = principal.session
    if session is None or factor["id"] != str(session["factor_id"]) or factor["status"] != "verified":
        return False
    # When it was verified: one that was begun can wait for its first code.
    verified_at = datetime.fromisoformat(factor["updated_at"])
    return bool(session["now"] - verified_at >= _FACTOR_IS_NEW)


async def _check_current(service: Service, principal: Principal, current: str, address: str) -> None:
    user = principal.user
    async with service.pool.connection() as connection:
        at_home = await service.password_attempts.is_at_home(connection, user, address)
    async with (
        service.passwords.slot(user["email"] or "", at_home=True) as matches,
        service.password_attempts.begin_password(user["email"], address, at_home=at_home) as attempt,
    ):
        is_right = await matches(current, user["encrypted_password"])
    if not is_right:
        notify_paused(service, "sign_in_blocked", attempt.number, user)
        raise ApiError(400, "current_password_invalid", "The current password is not right.")
    await service.password_attempts.forgive(attempt)


async def _check_nonce(service: Service, principal: Principal, nonce: str | None) -> None:
    if not nonce:
        raise ApiError(400, "reauthentication_needed", "Password update requires reauthentication")
    user = principal.user
    if not await purpose_of_code(service, user, [codes.REAUTHENTICATION], user["email"], nonce):
        raise ApiError(422, "reauthentication_not_valid", "Nonce has expired or is invalid")


def _is_old(principal: Principal) -> bool:
    session = principal.session
    return session is None or session["now"] - session["created_at"] > timedelta(hours=24)
