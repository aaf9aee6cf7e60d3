"""admin-jobs: the worker's jobs and e-mails; an e-mail that was given up is sent once more."""

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from functions.edge.support.dependencies import Administrator
from functions.edge.support.schemas import AdministratorRequest

router = APIRouter()


class ListJobs(AdministratorRequest):
    """List e-mails that wait or failed, jobs that failed for good, and the last ledger check."""

    action: Literal["list"]


class RetryMail(AdministratorRequest):
    """Send one failed e-mail again."""

    action: Literal["retry_mail"]
    id: Annotated[int, Field(ge=1, lt=2**63)]


@router.post("/admin-jobs")
async def admin_jobs(
    principal: Administrator, request: Annotated[ListJobs | RetryMail, Field(discriminator="action")]
) -> Response:
    """Respond by action; super administrators only."""
    if isinstance(request, RetryMail):
        return await principal.call("public.retry_mail", request.id)
    return await principal.call("public.list_jobs")
