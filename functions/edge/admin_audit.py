"""admin-audit: the audit log of administrators and the system, newest first."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Response
from psycopg.types.json import Jsonb
from pydantic import Field, StringConstraints

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest

router = APIRouter()


class AuditRequest(AdministratorRequest):
    """Filters; `action` may be the part before the dot, as in `deposit`, and days are UTC, both included."""

    page: Annotated[int, Field(ge=1, le=100_000)] | None = None
    page_size: Annotated[int, Field(ge=1, le=500)] | None = None
    admin_id: UUID | None = None
    action: Annotated[str, StringConstraints(max_length=60)] | None = None
    object_id: UUID | None = None
    first_day: Annotated[date | None, Field(alias="from")] = None
    last_day: Annotated[date | None, Field(alias="to")] = None
    search: Annotated[str, StringConstraints(max_length=200)] | None = None


@router.post("/admin-audit")
async def admin_audit(principal: Administrator, request: AuditRequest | None = None) -> Response:
    """Respond `{entries, total, administrators}`; support administrators see their own actions."""
    filters = request.model_dump(mode="json", by_alias=True, exclude_none=True) if request else {}
    return await principal.call("public.list_audit", Jsonb(filters))
