"""Schemas that the requests of several endpoints share."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000)]
Decision = Literal["approve", "reject"]


class AdministratorRequest(BaseModel):
    """What an administrator sends: camelCase names, also as snake_case; an unknown name is an error.

    Members' requests ignore unknown names, as Supabase's functions do.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class ListRequest(AdministratorRequest):
    """Filters of an administrator's list; an empty object asks for all pending rows and the newest others."""

    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    page_size: Annotated[int, Field(ge=1, le=500)] | None = None
    search: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] | None = None
    status: Annotated[str, StringConstraints(max_length=20)] | None = None
    sort: Annotated[str, StringConstraints(max_length=60)] | None = None

    def filters(self) -> dict[str, object]:
        """Return what was asked, by the names of the wire; nothing that was left out."""
        return self.model_dump(by_alias=True, exclude_none=True)
