"""SQL functions of the product that take part in sign-ups: one may reject them, one adds to their mails."""

import uuid
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from functions.auth.users import User
from functions.core.database import Connection, Pool, transaction
from functions.core.errors import ApiError, is_transient

_NEVER = "0001-01-01T00:00:00Z"


async def before_user_created(
    pool: Pool, function: tuple[str, str] | None, user: User, address: str, *, reserves: bool = True
) -> None:
    """Ask the hook, in a transaction of its own, for at most 2 seconds.

    Without `reserves` nothing stays of what it writes.

    Raises:
        ApiError: the hook's own status and text; 500 when the function fails.
        psycopg.Error: the database is away or too slow.
    """
    if function is None:
        return
    try:
        async with transaction(pool, rolled_back=not reserves) as connection:
            await connection.execute("set local statement_timeout = '2s'")
            query = sql.SQL("select {}.{}(%s) as response").format(*map(sql.Identifier, function))
            row = await (await connection.execute(query, [Jsonb(_event(user, address))])).fetchone()
    except psycopg.Error as error:
        if is_transient(error):
            raise
        message = f"Error running hook URI: pg-functions://postgres/{function[0]}/{function[1]}"
        raise ApiError(500, "unexpected_failure", message) from error
    rejection = ((row or {}).get("response") or {}).get("error") or {}
    if rejection.get("message"):
        status, code = int(rejection.get("http_code") or 500), str(rejection.get("code") or "")
        raise ApiError(status, code, str(rejection["message"]))


async def mail_data(connection: Connection, function: tuple[str, str] | None, user: User) -> dict[str, Any]:
    """Return what a mail about a sign-up can name: its metadata, over which the product's own values win.

    Raises:
        ApiError: 500 when the function fails: a sign-up could name what it likes instead.
        psycopg.Error: the database is away or too slow.
    """
    data: dict[str, Any] = user["raw_user_meta_data"] or {}
    if function is None:
        return data
    query = sql.SQL("select {}.{}(%s) as data").format(*map(sql.Identifier, function))
    try:
        row = await (await connection.execute(query, [Jsonb({"user": {"user_metadata": data}})])).fetchone()
    except psycopg.Error as error:
        if is_transient(error):
            raise
        raise ApiError(500, "unexpected_failure", f"Error running {function[0]}.{function[1]}") from error
    return {**data, **((row or {}).get("data") or {})}


def _event(user: User, address: str) -> dict[str, Any]:
    return {
        "user": {
            "id": str(user["id"]),
            "aud": user["aud"],
            "role": "",
            "email": user["email"],
            "phone": "",
            "app_metadata": user["raw_app_meta_data"],
            "user_metadata": user["raw_user_meta_data"],
            "identities": [],
            "created_at": _NEVER,
            "updated_at": _NEVER,
            "is_anonymous": False,
        },
        "metadata": {
            "name": "before-user-created",
            "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "uuid": str(uuid.uuid4()),
            "ip_address": address,
        },
    }
