"""Codes that a person types: wrong ones count against the code that was mailed, wherever they were typed."""

from functions.auth import codes
from functions.auth.emails import notify
from functions.auth.limits.attempts import Key, subject_of_email
from functions.auth.service import Service
from functions.auth.users import User


async def purpose_of_code(
    service: Service, user: User | None, kinds: list[str], address: str, code: str
) -> str | None:
    """Return for which of these purposes the code is right, if any.

    The attempt that reaches the limit makes the code void and notifies the owner. Attempts count until the
    code ends; the next one begins with none, so that guessing is bounded by the mails: one a minute to an
    address, and not more in an hour than its shares of the budget. An address that has no code, or no
    account, is counted as well: the response takes as long.
    """
    keys = {kind: _key(service, user, kind, address) for kind in kinds}
    attempts = await service.code_attempts.count(list(keys.values()))
    numbers = dict(zip(kinds, attempts, strict=True))
    if user is None:
        return None
    lifetime, limit = service.settings.mailer_otp_exp, service.settings.code_attempts
    pending = [kind for kind in kinds if codes.has_code(user, kind, lifetime)]
    for kind in pending:
        code_hash = service.hasher.of_code(user["id"], kind, address, code)
        if numbers[kind] <= limit and codes.code_fits(user, kind, code_hash, lifetime):
            await service.code_attempts.uncount(keys[other] for other in pending)
            return kind
    for kind in pending:
        if service.code_attempts.is_last(numbers[kind]):
            # In the background: the time of the response would tell that there was a code.
            service.run_in_background(_void(service, user, kind))
    return None


def _key(service: Service, user: User | None, kind: str, address: str) -> Key:
    """Return what stands for the code, which its hash names; without one, for the address."""
    if user is not None and codes.has_code(user, kind, service.settings.mailer_otp_exp):
        return "code", f"{user['id']} {kind} {subject_of_email(user[kind])}"
    return "code", subject_of_email(f"{kind} {address}")


async def _void(service: Service, user: User, kind: str) -> None:
    async with service.pool.connection() as connection:
        await codes.void_code(connection, user, kind)
        if user["email"]:
            await notify(service, connection, "code_blocked", user["email"], user)
