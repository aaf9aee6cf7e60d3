"""admin-settings: the operator's values, what is missing before real money, and the way out of demo mode."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from psycopg.types.json import Jsonb
from pydantic import Field, StringConstraints

from functions.edge.door import Administrator
from functions.edge.shapes import Shape

router = APIRouter()

STEPS = {
    "list": "public.list_settings",
    "readiness": "public.get_readiness",
    "send_test_mail": "public.send_test_mail",
    "confirm_test_mail": "public.confirm_test_mail",
    "leave_demo": "public.leave_demo",
}


class Step(Shape):
    """One thing without parameters."""

    action: Literal["list", "readiness", "send_test_mail", "confirm_test_mail", "leave_demo"]


class Change(Shape):
    """One value; its type and limits are the setting's."""

    action: Literal["change"]
    key: Annotated[str, StringConstraints(max_length=63)]
    value: Any


@router.post("/admin-settings")
async def admin_settings(
    caller: Administrator, request: Annotated[Step | Change, Field(discriminator="action")]
) -> Response:
    """Answer by action; super administrators only."""
    if isinstance(request, Change):
        return await caller.call("public.change_setting", request.key, Jsonb(request.value))
    return await caller.call(STEPS[request.action])
