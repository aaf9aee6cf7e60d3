"""Tokens of signed URLs: HS256 with a secret of their own, bound to one object and one purpose."""

import time
from typing import Any, Literal

import orjson
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from functions.storage.errors import invalid_parameter, invalid_signature, invalid_token

Scope = Literal["download", "upload"]
# The end of the year 9999: later times have no HTTP date.
LATEST = 253_402_300_799


class Signer:
    """Signs and verifies; the algorithm is fixed, whatever a token's header says."""

    def __init__(self, secret: str) -> None:
        self._key = OctKey.import_key(secret.encode())

    def sign(self, scope: Scope, path: str, lifetime: int, **claims: Any) -> str:
        """Return a token for `bucket/name`, valid for `lifetime` seconds.

        Raises:
            ApiError: InvalidParameter when it would outlive every calendar.
        """
        now = int(time.time())
        if now + lifetime > LATEST:
            raise invalid_parameter("expiresIn is too large")
        payload = {"url": path, "scope": scope, **claims, "iat": now, "exp": now + lifetime}
        return jws.serialize_compact({"alg": "HS256"}, orjson.dumps(payload), self._key)

    def verify(self, token: str, scope: Scope, path: str) -> dict[str, Any]:
        """Return the claims of a token for exactly this path and purpose.

        Raises:
            ApiError: InvalidJWT or InvalidSignature.
        """
        try:
            jws.extract_compact(token.encode())
        except (JoseError, ValueError) as error:
            raise invalid_token("Invalid Compact JWS") from error
        try:
            claims = orjson.loads(jws.deserialize_compact(token, self._key, algorithms=["HS256"]).payload)
        except (JoseError, ValueError) as error:
            raise invalid_token("signature verification failed") from error
        if not isinstance(claims, dict) or not isinstance(claims.get("exp"), int | float):
            raise invalid_token("signature verification failed")
        if claims["exp"] <= time.time():
            raise invalid_token('"exp" claim timestamp check failed')
        # Tokens from before scopes existed tell by their claims what they are for.
        if claims.get("scope", "upload" if "upsert" in claims else "download") != scope:
            raise invalid_signature(f"Token is not scoped for {scope}")
        if claims.get("url") != path:
            raise invalid_signature("Invalid signature")
        return claims
