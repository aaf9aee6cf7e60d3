"""admin-accounts: administrators' accounts, kept by super administrators.

A password is generated here, shown once in the answer, and stored as a hash only.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from email_validator import EmailNotValidError, validate_email
from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from functions.core.errors import Refusal
from functions.edge import generated, passwords
from functions.edge.door import Administrator, Caller, json_of
from functions.edge.shapes import Reason, Shape

router = APIRouter()

Role = Literal["super_admin", "finance_admin", "support_admin"]
FullName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
BAD_EMAIL = Refusal(400, "invalid_input", "This is no e-mail address.")


class ListAccounts(Shape):
    """All of them."""

    action: Literal["list"]


class CreateAccount(Shape):
    """A new account; its password is generated."""

    action: Literal["create"]
    email: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=255)]
    full_name: FullName
    role: Role


class UpdateAccount(Shape):
    """What changes; another role, or none, ends the sessions of the account."""

    action: Literal["update"]
    admin_id: UUID
    full_name: FullName | None = None
    role: Role | None = None
    is_active: bool | None = None


class ResetPassword(Shape):
    """A forgotten password."""

    action: Literal["reset_password"]
    admin_id: UUID


class ResetTwoStep(Shape):
    """A lost device, and how it was made sure who asks."""

    action: Literal["reset_two_step"]
    admin_id: UUID
    reason: Reason


Action = Annotated[
    ListAccounts | CreateAccount | UpdateAccount | ResetPassword | ResetTwoStep, Field(discriminator="action")
]


@router.post("/admin-accounts")
async def admin_accounts(caller: Administrator, action: Action) -> Response:
    """Answer by action; super administrators only."""
    match action:
        case CreateAccount():
            _require_email(action.email)
            return await _with_password(
                caller, "edge.create_administrator", action.email, action.full_name, action.role
            )
        case UpdateAccount():
            return await caller.call(
                "public.update_administrator",
                action.admin_id,
                action.full_name,
                action.role,
                action.is_active,
            )
        case ResetPassword():
            return await _with_password(caller, "edge.reset_admin_password", action.admin_id)
        case ResetTwoStep():
            return await caller.call("public.reset_two_step", action.admin_id, action.reason)
        case ListAccounts():
            return await caller.call("public.list_administrators")


async def _with_password(caller: Caller, function: str, *arguments: Any) -> Response:
    """Call a function that takes a hash last, and add the password to what it answers."""
    password = generated.password()
    hashed = await passwords.hash_password(password)
    async with caller.service_transaction() as connection:
        answer = orjson.loads(await json_of(connection, function, caller.id, *arguments, hashed))
    return Response(orjson.dumps({**answer, "password": password}), media_type="application/json")


def _require_email(text: str) -> None:
    try:
        validate_email(text, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        raise BAD_EMAIL from error
