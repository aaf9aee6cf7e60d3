"""Codes that a person types: each wrong one counts against account and purpose, wherever it was typed."""

from functions.auth import codes
from functions.auth.emails import notify
from functions.auth.service import Service
from functions.auth.users import User


async def fitting_kind(service: Service, user: User, kinds: list[str], address: str, code: str) -> str | None:
    """Return for which of these purposes the code is right, if any.

    The attempt that reaches the limit makes the code void and notifies the owner.
    """
    lifetime, limit = service.settings.mailer_otp_exp, service.settings.code_attempts
    pending = [kind for kind in kinds if codes.has_code(user, kind, lifetime)]
    numbers = {kind: await service.attempts.count("code", _subject(user, kind), limit) for kind in pending}
    for kind, number in numbers.items():
        code_hash = service.hasher.of_code(user["id"], kind, address, code)
        if number <= limit and codes.code_fits(user, kind, code_hash, lifetime):
            for other in pending:
                await service.attempts.clear("code", _subject(user, other))
            return kind
    for kind, number in numbers.items():
        if number == limit > 0:
            await _void(service, user, kind)
    return None


def _subject(user: User, kind: str) -> str:
    return f"{user['id']} {kind}"


async def _void(service: Service, user: User, kind: str) -> None:
    async with service.pool.connection() as connection:
        await codes.void_code(connection, user, kind)
        if user["email"]:
            await notify(service, connection, "code_blocked", user["email"], user)
