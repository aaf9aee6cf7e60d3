"""admin-accounts: administrators' accounts, kept by super administrators.

A password is generated here, shown once in the response, and stored as a hash only.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from email_validator import EmailNotValidError, validate_email
from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from functions.core.errors import ApiError
from functions.edge.support import passwords
from functions.edge.support.dependencies import (
    Administrator,
    Principal,
    json_result,
    log_audit_entries,
)
from functions.edge.support.schemas import AdministratorRequest, Reason
from functions.edge.support.services import Services, SharedServices
from functions.edge.support.sql_functions import SqlFunction

router = APIRouter()

Role = Literal["super_admin", "finance_admin", "support_admin"]
FullName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
INVALID_EMAIL = ApiError(400, "invalid_input", "This is not an email address.")


class ListAccounts(AdministratorRequest):
    """List all accounts."""

    action: Literal["list"]


class CreateAccount(AdministratorRequest):
    """Make a new account; its password is generated."""

    action: Literal["create"]
    email: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=255)]
    full_name: FullName
    role: Role


class UpdateAccount(AdministratorRequest):
    """Change an account; another role, or none, ends its sessions."""

    action: Literal["update"]
    admin_id: UUID
    full_name: FullName | None = None
    role: Role | None = None
    is_active: bool | None = None


class ResetPassword(AdministratorRequest):
    """Replace a forgotten password."""

    action: Literal["reset_password"]
    admin_id: UUID


class ResetTwoStep(AdministratorRequest):
    """Remove the second factor of a lost device; the reason says how it was made sure who asks."""

    action: Literal["reset_two_step"]
    admin_id: UUID
    reason: Reason


class EndSessions(AdministratorRequest):
    """End an account's sessions; of one's own, all others."""

    action: Literal["end_sessions"]
    admin_id: UUID


Action = Annotated[
    ListAccounts | CreateAccount | UpdateAccount | ResetPassword | ResetTwoStep | EndSessions,
    Field(discriminator="action"),
]


@router.post("/admin-accounts")
async def admin_accounts(principal: Administrator, action: Action, services: SharedServices) -> Response:
    """Respond by action; super administrators only."""
    match action:
        case CreateAccount():
            _require_email(action.email)
            return await _with_password(
                services, principal, "edge.create_administrator", action.email, action.full_name, action.role
            )
        case UpdateAccount():
            return await principal.call(
                "public.update_administrator",
                action.admin_id,
                action.full_name,
                action.role,
                action.is_active,
            )
        case ResetPassword():
            return await _with_password(services, principal, "edge.reset_admin_password", action.admin_id)
        case ResetTwoStep():
            return await principal.call("public.reset_two_step", action.admin_id, action.reason)
        case EndSessions():
            return await principal.call("public.end_admin_sessions", action.admin_id)
        case ListAccounts():
            return await principal.call("public.list_administrators")


async def _with_password(
    services: Services, principal: Principal, function: SqlFunction, *arguments: Any
) -> Response:
    """Call a function that takes a hash last, and add the password to its result."""
    password = passwords.generate_password()
    hashed = await services.passwords.hash(password)
    async with principal.service_transaction() as connection:
        text = await json_result(connection, function, principal.id, *arguments, hashed)
    log_audit_entries(text)
    return Response(orjson.dumps({**orjson.loads(text), "password": password}), media_type="application/json")


def _require_email(text: str) -> None:
    try:
        validate_email(text, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        raise INVALID_EMAIL from error
