"""bot-subscription: let a bot trade with the member's own MT5 account, or stop it.

The MT5 password is encrypted before it reaches SQL; unsubscribing erases it.
"""

from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, Response
from pydantic import BaseModel, StringConstraints

from functions.core.errors import ApiError
from functions.core.failpoints import crash_here
from functions.edge.support.dependencies import Member, Principal, json_result
from functions.edge.support.services import Services, SharedServices

router = APIRouter()

FIELDS_MISSING = ApiError(400, "fields_required", "MT5 server, login and password are required")
TOO_LONG = ApiError(400, "invalid_input", "An MT5 password has at most 256 characters.")
MAX_PASSWORD = 256


class BotRequest(BaseModel):
    """Which bot, and for a subscription the MT5 account it trades with."""

    bot_name: Literal["Scout", "Ranger", "Sentinel"]
    action: Literal["subscribe", "unsubscribe"]
    mt5_server: Annotated[str, StringConstraints(strip_whitespace=True, max_length=128)] = ""
    mt5_login: Annotated[str, StringConstraints(strip_whitespace=True, max_length=64)] = ""
    mt5_password: str = ""


@router.post("/bot-subscription")
async def bot_subscription(principal: Member, request: BotRequest, services: SharedServices) -> Response:
    """Respond `{success, subscription}`."""
    if request.action == "subscribe":
        text = await _subscribe(principal, request, services)
    else:
        async with principal.service_transaction() as connection:
            text = await json_result(connection, "edge.unsubscribe_bot", principal.id, request.bot_name)
    return Response(text, media_type="application/json")


async def _subscribe(principal: Principal, request: BotRequest, services: Services) -> str:
    if not (request.mt5_server and request.mt5_login and request.mt5_password):
        raise FIELDS_MISSING
    if len(request.mt5_password) > MAX_PASSWORD:
        raise TOO_LONG
    subscription_id = str(uuid4())
    ciphertext = services.encryptor.encrypt(
        request.mt5_password, "bot_secrets", subscription_id, principal.id
    )
    crash_here("bot.after_encrypt")
    async with principal.service_transaction() as connection:
        return await json_result(
            connection,
            "edge.subscribe_bot",
            principal.id,
            subscription_id,
            request.bot_name,
            request.mt5_server,
            request.mt5_login,
            len(request.mt5_password),
            ciphertext.key_id,
            ciphertext.data,
        )
