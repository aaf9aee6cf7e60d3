"""/admin/users/{id}/factors: seeing and removing a user's second factors."""

from psycopg.errors import UniqueViolation
from starlette.requests import Request
from starlette.responses import Response

from functions.auth import audit
from functions.auth.admin_users import path_user
from functions.auth.answers import json_response
from functions.auth.bearer import require_admin
from functions.auth.bodies import read_fields
from functions.auth.database import transaction
from functions.auth.factors import name_taken, own_factor, remove
from functions.auth.letters import notify
from functions.auth.service import Service
from functions.auth.users import User, factor_json, find_user


async def list_factors(service: Service, request: Request) -> Response:
    """All factors of a user, without their secrets."""
    await require_admin(service, request)
    async with service.pool.connection() as connection:
        user = await path_user(connection, request)
    return json_response([factor_json(factor) for factor in user["factors"] or []])


def _named(user: User, factor_id: object) -> dict[str, object]:
    return next(factor_json(factor) for factor in user["factors"] if factor["id"] == str(factor_id))


async def update(service: Service, request: Request) -> Response:
    """Rename a factor. Raises AuthError 422 when another one of the user has the name."""
    await require_admin(service, request)
    body = await read_fields(request, {"friendly_name": "text"})
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        factor = await own_factor(connection, request, user)
        if body["friendly_name"]:
            try:
                await connection.execute(
                    "update auth.mfa_factors set friendly_name = %s, updated_at = now() where id = %s",
                    [body["friendly_name"], factor["id"]],
                )
            except UniqueViolation as error:
                raise name_taken(body["friendly_name"]) from error
        traits = {"user_id": str(user["id"]), "factor_id": str(factor["id"]), "factor_type": "totp"}
        await audit.record(connection, "factor_updated", audit.ADMIN, traits)
        user = await find_user(connection, user["id"]) or user
    return json_response(_named(user, factor["id"]))


async def delete(service: Service, request: Request) -> Response:
    """Remove a factor; sessions that it stepped up fall back to aal1."""
    await require_admin(service, request)
    async with transaction(service.pool) as connection:
        user = await path_user(connection, request, lock=True)
        factor = await own_factor(connection, request, user)
        traits = {"user_id": str(user["id"]), "factor_id": str(factor["id"])}
        await audit.record(connection, "factor_deleted", audit.ADMIN, traits)
        await remove(connection, factor["id"])
    if service.settings.notify_factor_unenrolled and user["email"]:
        await notify(service, "mfa_factor_unenrolled", user["email"], user, FactorType="totp")
    return json_response(_named(user, factor["id"]))
