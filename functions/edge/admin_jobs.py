"""admin-jobs: what the worker does, and a mail that was given up once more."""

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from functions.edge.door import Administrator
from functions.edge.shapes import Shape

router = APIRouter()


class ListJobs(Shape):
    """Mail that waits or failed, jobs that failed for good, the last check of the books."""

    action: Literal["list"]


class RetryMail(Shape):
    """One failed mail."""

    action: Literal["retry_mail"]
    id: Annotated[int, Field(ge=1, lt=2**63)]


@router.post("/admin-jobs")
async def admin_jobs(
    caller: Administrator, request: Annotated[ListJobs | RetryMail, Field(discriminator="action")]
) -> Response:
    """Answer by action; super administrators only."""
    if isinstance(request, RetryMail):
        return await caller.call("public.retry_mail", request.id)
    return await caller.call("public.list_jobs")
