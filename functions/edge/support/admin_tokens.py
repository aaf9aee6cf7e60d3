"""Administrators' access tokens: RS256, signed with a key that signs nothing else.

Each also holds a secret of its own, `jti`, of which the database knows the hash: PostgREST does not tell
which key signed a token, and without the secret one signed with another key is no session.

After a change of the key its file names the former ones that still verify, until they are retired.
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
    """The signing key, its id, the issuer that the tokens name, and the ids of all keys that verify."""

    key: RSAKey
    key_id: str
    issuer: str
    trusted: frozenset[str]

    @classmethod
    def read(cls, path: Path, origin: str) -> "AdminKey":
        """Read the private JWK; `origin` is the gateway's."""
        document = orjson.loads(path.read_bytes())
        key_id: str = document["kid"]
        trusted = frozenset([key_id, *document.get("former", [])])
        issuer = f"{origin}/functions/v1/admin-auth"
        return cls(RSAKey.import_key(document), key_id, issuer, trusted)

    def sign(self, admin_id: str, session_token: str, secret: str, expires_at: datetime) -> str:
        """Return a token for one administrator's session, valid as long as the session at most."""
        claims = {
            "iss": self.issuer,
            "aud": "authenticated",
            "sub": admin_id,
            "sid": session_token,
            "jti": secret,
            "role": ROLE,
            "iat": int(time.time()),
            "exp": int(expires_at.timestamp()),
        }
        return jwt.encode({"alg": "RS256", "kid": self.key_id, "typ": "JWT"}, claims, self.key)
