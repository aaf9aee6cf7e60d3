"""admin-settings: the operator's values, what is missing before real money, and the way out of demo mode."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from psycopg.types.json import Jsonb
from pydantic import Field, StringConstraints

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest
from functions.edge.support.sql_functions import SqlFunction

router = APIRouter()

FUNCTIONS: dict[str, SqlFunction] = {
    "list": "public.list_settings",
    "readiness": "public.get_readiness",
    "send_test_mail": "public.send_test_mail",
    "confirm_test_mail": "public.confirm_test_mail",
    "leave_demo": "public.leave_demo",
}


class Command(AdministratorRequest):
    """An action without parameters."""

    action: Literal["list", "readiness", "send_test_mail", "confirm_test_mail", "leave_demo"]


class Change(AdministratorRequest):
    """A new value; its type and limits are the setting's."""

    action: Literal["change"]
    key: Annotated[str, StringConstraints(max_length=63)]
    value: Any


@router.post("/admin-settings")
async def admin_settings(
    principal: Administrator, request: Annotated[Command | Change, Field(discriminator="action")]
) -> Response:
    """Respond by action; super administrators only."""
    if isinstance(request, Change):
        return await principal.call("public.change_setting", request.key, Jsonb(request.value))
    return await principal.call(FUNCTIONS[request.action])
