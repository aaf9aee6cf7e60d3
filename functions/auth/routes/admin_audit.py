"""GET /admin/audit: the audit log, newest first."""

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.authentication import require_admin
from functions.auth.errors import invalid
from functions.auth.pagination import read_page
from functions.auth.responses import json_response
from functions.auth.service import service_of
from functions.auth.users import NO_INSTANCE

_SCOPES = {
    "author": "payload ->> 'actor_username'",
    "action": "payload ->> 'action'",
    "type": "payload ->> 'log_type'",
}


async def list_entries(request: Request) -> Response:
    """Return a page of entries; `query=author:x`, `action:x` or `type:x` looks for a part of that field."""
    service = service_of(request)
    await require_admin(service, request)
    scope, _, wanted = request.query_params.get("query", "").partition(":")
    if scope and scope not in _SCOPES:
        raise invalid(f"Invalid query scope: {scope}")
    source = "from auth.audit_log_entries where instance_id = %(instance)s"
    if scope:
        source += f" and position(lower(%(wanted)s) in lower({_SCOPES[scope]})) > 0"
    entries, headers = await read_page(
        service.pool,
        request,
        "select id, payload, created_at, ip_address",
        source,
        "created_at desc, id",
        {"instance": NO_INSTANCE, "wanted": wanted},
    )
    return json_response(entries, headers=headers)
