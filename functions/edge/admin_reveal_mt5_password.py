"""admin-reveal-mt5-password: show one MT5 password to an administrator; each look is audited."""

from uuid import UUID

from fastapi import APIRouter

from functions.core.database import transaction
from functions.core.errors import Refusal
from functions.edge.door import Administrator, Shared
from functions.edge.sealing import SealBroken, Sealed
from functions.edge.shapes import Shape

router = APIRouter()

TOO_MANY = Refusal(429, "too_many_requests", "You have looked at many passwords. Wait a minute.")
BROKEN = Refusal(409, "seal_broken", "This password cannot be opened. The member has to subscribe again.")


class RevealRequest(Shape):
    """One subscription."""

    subscription_id: UUID


@router.post("/admin-reveal-mt5-password")
async def admin_reveal_mt5_password(
    caller: Administrator, request: RevealRequest, services: Shared
) -> dict[str, str]:
    """Answer `{password}`; at most 20 a minute."""
    async with transaction(services.pool) as connection:
        cursor = await connection.execute(
            "select edge.consume_rate_limit('reveal_mt5', %s, 20, interval '1 minute') as allowed",
            [caller.id],
        )
        row = await cursor.fetchone()
    if not row or not row["allowed"]:
        raise TOO_MANY
    async with caller.service_transaction() as connection:
        cursor = await connection.execute(
            "select * from edge.encrypted_mt5_password(%s, %s)", [caller.id, request.subscription_id]
        )
        found = await cursor.fetchone() or {}
    sealed = Sealed(found["key_id"], bytes(found["secret"]))
    try:
        password = services.sealer.open(
            sealed, "bot_secrets", str(request.subscription_id), str(found["user_id"])
        )
    except SealBroken as error:
        raise BROKEN from error
    return {"password": password}
