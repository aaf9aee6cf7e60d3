"""GET /admin/audit: the audit log, newest first."""

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.authentication import require_admin
from functions.auth.errors import invalid
from functions.auth.pagination import page_headers, page_of
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
    page, size = page_of(request)
    condition = "instance_id = %(instance)s"
    if scope:
        condition += f" and position(lower(%(wanted)s) in lower({_SCOPES[scope]})) > 0"
    parameters = {
        "instance": NO_INSTANCE,
        "wanted": wanted,
        "size": size,
        "skip": (page - 1) * size,
    }
    async with service.pool.connection() as connection:
        counted = await connection.execute(
            f"select count(*) as n from auth.audit_log_entries where {condition}", parameters
        )
        total = (await counted.fetchone() or {"n": 0})["n"]
        rows = await connection.execute(
            f"select id, payload, created_at, ip_address from auth.audit_log_entries where {condition} "
            "order by created_at desc, id limit %(size)s offset %(skip)s",
            parameters,
        )
        entries = await rows.fetchall()
    return json_response(entries, headers=page_headers(request, "/admin/audit", page, size, total))
