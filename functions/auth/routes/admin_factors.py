"""/admin/users/{id}/factors: seeing and removing a user's second factors."""

from psycopg.errors import UniqueViolation
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit, factors
from functions.auth.authentication import require_admin
from functions.auth.emails import notify
from functions.auth.request_parsing import Body
from functions.auth.responses import json_response
from functions.auth.routes.admin_users import path_user
from functions.auth.service import service_of
from functions.auth.users import User, factor_json, find_user
from functions.core.database import transaction


class FactorBody(Body):
    """Fields of a factor that an administrator may change."""

    friendly_name: str | None = None


async def list_factors(request: Request) -> Response:
    """Return all factors of a user, without their secrets."""
    service = service_of(request)
    await require_admin(service, request)
    async with service.pool.connection() as connection:
        user = await path_user(connection, request)
    return json_response([factor_json(factor) for factor in user["factors"] or []])


def _named(user: User, factor_id: object) -> dict[str, object]:
    return next(factor_json(factor) for factor in user["factors"] if factor["id"] == str(factor_id))


async def update(request: Request) -> Response:
    """Rename a factor. Raises ApiError 422 when another one of the user has the name."""
    service = service_of(request)
    await require_admin(service, request)
    body = await FactorBody.read(request)
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        factor = await factors.lock_factor(connection, request, user)
        if body.friendly_name:
            try:
                await connection.execute(
                    "update auth.mfa_factors set friendly_name = %s, updated_at = now() where id = %s",
                    [body.friendly_name, factor["id"]],
                )
            except UniqueViolation as error:
                raise factors.name_conflict(body.friendly_name) from error
        traits = {"user_id": str(user["id"]), "factor_id": str(factor["id"]), "factor_type": "totp"}
        await audit.record(connection, "factor_updated", audit.ADMIN, traits)
        user = await find_user(connection, user["id"]) or user
    return json_response(_named(user, factor["id"]))


async def delete(request: Request) -> Response:
    """Remove a factor; sessions that it stepped up fall back to aal1."""
    service = service_of(request)
    await require_admin(service, request)
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        factor = await factors.lock_factor(connection, request, user)
        traits = {"user_id": str(user["id"]), "factor_id": str(factor["id"])}
        await audit.record(connection, "factor_deleted", audit.ADMIN, traits)
        await factors.remove(connection, factor["id"])
        if service.settings.notify_factor_unenrolled and user["email"]:
            await notify(service, connection, "mfa_factor_unenrolled", user["email"], user, FactorType="totp")
    return json_response(_named(user, factor["id"]))
