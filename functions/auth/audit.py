"""The audit log, auth.audit_log_entries; failed sign-ins and codes too, which GoTrue leaves out."""

import uuid
from typing import Any

from psycopg.types.json import Json

from functions.auth.users import NO_INSTANCE, User
from functions.core.database import Connection

_LOG_TYPES = {
    "login": "account",
    "login_failed": "account",
    "logout": "account",
    "user_signedup": "team",
    "user_invited": "team",
    "user_deleted": "team",
    "token_refreshed": "token",
    "token_revoked": "token",
    "user_modified": "user",
    "user_updated_password": "user",
    "user_confirmation_requested": "user",
    "user_recovery_requested": "user",
    "user_reauthenticate_requested": "user",
    "user_repeated_signup": "user",
    "code_failed": "user",
    "factor_in_progress": "factor",
    "challenge_created": "factor",
    "verification_attempted": "factor",
    "verification_failed": "factor",
    "factor_unenrolled": "factor",
    "factor_deleted": "factor",
    "factor_updated": "factor",
}
ADMIN: User = {"id": uuid.UUID(int=0), "email": None, "role": "service_role"}


def payload(action: str, actor: User, traits: dict[str, Any] | None = None) -> Json:
    """Return an action as the column `payload` holds it."""
    entry = {
        "action": action,
        "actor_id": str(actor["id"]),
        "actor_username": actor["email"] or actor["role"] or "",
        "actor_via_sso": False,
        "log_type": _LOG_TYPES[action],
    }
    return Json(entry | ({"traits": traits} if traits else {}))


async def record(
    connection: Connection, action: str, actor: User, traits: dict[str, Any] | None = None, address: str = ""
) -> None:
    """Add one row; `address` is the client's, for factor actions only."""
    await connection.execute(
        "insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address) "
        "values (%s, gen_random_uuid(), %s, now(), %s)",
        [NO_INSTANCE, payload(action, actor, traits), address],
    )
