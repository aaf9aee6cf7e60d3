"""admin-reveal-mt5-password: show one MT5 password to an administrator; each look is audited."""

from uuid import UUID

from fastapi import APIRouter

from functions.core.database import transaction
from functions.core.errors import ApiError
from functions.edge.support.crypto import Ciphertext, DecryptionError
from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest
from functions.edge.support.services import SharedServices

router = APIRouter()

RATE_LIMITED = ApiError(429, "too_many_requests", "You have looked at many passwords. Wait a minute.")
UNDECRYPTABLE = ApiError(
    409, "seal_broken", "This password cannot be opened. The member has to subscribe again."
)


class RevealRequest(AdministratorRequest):
    """One subscription."""

    subscription_id: UUID


@router.post("/admin-reveal-mt5-password")
async def admin_reveal_mt5_password(
    principal: Administrator, request: RevealRequest, services: SharedServices
) -> dict[str, str]:
    """Respond `{password}`; at most 20 a minute."""
    async with transaction(services.pool) as connection:
        cursor = await connection.execute(
            "select edge.consume_rate_limit('reveal_mt5', %s, 20, interval '1 minute') as allowed",
            [principal.id],
        )
        row = await cursor.fetchone()
    if not row or not row["allowed"]:
        raise RATE_LIMITED
    async with principal.service_transaction() as connection:
        cursor = await connection.execute(
            "select * from edge.encrypted_mt5_password(%s, %s)", [principal.id, request.subscription_id]
        )
        found = await cursor.fetchone() or {}
    ciphertext = Ciphertext(found["key_id"], bytes(found["secret"]))
    try:
        password = services.encryptor.decrypt(
            ciphertext, "bot_secrets", str(request.subscription_id), str(found["user_id"])
        )
    except DecryptionError as error:
        raise UNDECRYPTABLE from error
    return {"password": password}
