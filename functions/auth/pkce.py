"""PKCE: a code in the link that only the client that asked can exchange for a session."""

import base64
import hashlib
import hmac
import re
import uuid
from datetime import datetime, timedelta
from typing import Any

from functions.auth.errors import invalid
from functions.auth.request_parsing import Body
from functions.core.database import Connection
from functions.core.errors import ApiError

_LIFETIME = timedelta(seconds=300)
# Link type: the flow's provider_type and authentication_method (which becomes `amr`).
METHODS = {
    "signup": ("email", "email/signup"),
    "invite": ("email", "invite"),
    "recovery": ("recovery", "recovery"),
    "magiclink": ("magiclink", "magiclink"),
    "email_change": ("email_change", "email_change"),
}


class PkceBody(Body):
    """A request for a mail whose link may end in a code instead of tokens."""

    code_challenge: str | None = None
    code_challenge_method: str | None = None


def wants_pkce(body: PkceBody) -> bool:
    """Return whether the pair is there and well-formed. Raises ApiError 400 when half or malformed."""
    challenge, method = body.code_challenge or "", body.code_challenge_method or ""
    if not challenge and not method:
        return False
    if not challenge or not method:
        raise invalid("PKCE flow requires code_challenge_method and code_challenge")
    if not 43 <= len(challenge) <= 128:
        raise invalid("code challenge has to be between 43 and 128 characters")
    if not re.fullmatch(r"[A-Za-z0-9._~-]+", challenge):
        allowed = "alphanumeric characters, hyphens, periods, underscores and tildes"
        raise invalid(f"code challenge can only contain {allowed}")
    if method.lower() not in {"s256", "plain"}:
        raise invalid(f'unsupported code_challenge method "{method}"')
    return True


async def begin(connection: Connection, user_id: uuid.UUID, kind: str, body: PkceBody) -> None:
    """Remember the challenge of a request that mails a link of this kind."""
    provider, method = METHODS[kind]
    await connection.execute(
        """
        insert into auth.flow_state (id, user_id, auth_code, code_challenge_method, code_challenge,
            provider_type, authentication_method, created_at, updated_at)
        values (gen_random_uuid(), %s, %s, %s, %s, %s, %s, now(), now())
        """,
        [
            user_id,
            str(uuid.uuid4()),
            (body.code_challenge_method or "").lower(),
            body.code_challenge,
            provider,
            method,
        ],
    )


async def issue(connection: Connection, user_id: uuid.UUID, kind: str) -> str:
    """Return the code for an opened link, from the newest request. Raises ApiError 400 without one."""
    row = await (
        await connection.execute(
            """
            update auth.flow_state set auth_code_issued_at = now(), updated_at = now()
            where id = (select id from auth.flow_state where user_id = %s and authentication_method = %s
                        order by created_at desc limit 1)
            returning auth_code
            """,
            [user_id, METHODS[kind][1]],
        )
    ).fetchone()
    if row is None:
        raise ApiError(400, "flow_state_not_found", "No associated flow state found.")
    return str(row["auth_code"])


async def redeem(connection: Connection, code: str, verifier: str) -> dict[str, Any]:
    """Exchange a code once; returns user_id and authentication_method.

    Raises:
        ApiError: 404 unknown or used, 422 too old, 400 wrong verifier (the code stays usable).
    """
    flow = await (
        await connection.execute("select * from auth.flow_state where auth_code = %s for update", [code])
    ).fetchone()
    if flow is None or flow["user_id"] is None:
        raise ApiError(404, "flow_state_not_found", "invalid flow state, no valid flow state found")
    since: datetime = flow["created_at"]
    if flow["authentication_method"] == "magiclink" and flow["auth_code_issued_at"]:
        since = flow["auth_code_issued_at"]
    if datetime.now(since.tzinfo) > since + _LIFETIME:
        raise ApiError(422, "flow_state_expired", "invalid flow state, flow state has expired")
    if flow["code_challenge_method"] == "s256":
        digest = hashlib.sha256(verifier.encode()).digest()
        verifier = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    if not hmac.compare_digest(verifier.encode(), flow["code_challenge"].encode()):
        raise ApiError(
            400, "bad_code_verifier", "code challenge does not match previously saved code verifier"
        )
    await connection.execute("delete from auth.flow_state where id = %s", [flow["id"]])
    return flow
