"""Administrators' access tokens: RS256, signed with a key that signs nothing else.

A token counts only while its `sid` row in admin_sessions lives and the administrator is active; the
database checks that on every request. The token itself is stored nowhere.
"""

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson
from joserfc import jwt
from joserfc.jwk import RSAKey

ROLE = "platform_admin"


@dataclass(frozen=True)
class AdminKey:
    """The signing key, its id, and the issuer that the tokens name."""

    key: RSAKey
    key_id: str
    issuer: str

    @classmethod
    def read(cls, path: Path, origin: str) -> "AdminKey":
        """Read the private JWK; `origin` is the gateway's."""
        document = orjson.loads(path.read_bytes())
        return cls(RSAKey.import_key(document), document["kid"], f"{origin}/functions/v1/admin-auth")

    def sign(self, admin_id: str, session_token: str, expires_at: datetime) -> str:
        """A token for one administrator's session, valid as long as the session at most."""
        claims = {
            "iss": self.issuer,
            "aud": "authenticated",
            "sub": admin_id,
            "sid": session_token,
            "role": ROLE,
            "iat": int(time.time()),
            "exp": int(expires_at.timestamp()),
        }
        return jwt.encode({"alg": "RS256", "kid": self.key_id, "typ": "JWT"}, claims, self.key)
