"""Verification of access tokens against the project's key set.

The algorithm is bound to the key that the token names: a token never chooses how it is checked.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OctKey, RSAKey

LEEWAY_SECONDS = 30
PERSONAL_ROLES = frozenset({"authenticated", "platform_admin"})

Key = RSAKey | ECKey | OctKey


class TokenError(Exception):
    """The token is not to be trusted; `reason` is one of malformed, signature, expired, audience."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Claims:
    """Verified claims of a token, and the id of the key that signed it."""

    values: dict[str, Any]
    key_id: str

    @property
    def role(self) -> str:
        """The database role; a token without one is anonymous."""
        return str(self.values.get("role") or "anon")

    @property
    def subject(self) -> str | None:
        """`sub`: the member's auth.users id, or the administrator's id."""
        value = self.values.get("sub")
        return str(value) if value is not None else None


class KeySet:
    """The public keys (RS256, ES256) and the legacy shared key (HS256) of this project."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._keys: dict[str, tuple[str, Key]] = {}
        for entry in document["keys"]:
            self._keys[entry["kid"]] = (entry["alg"], _import(entry))

    @classmethod
    def read(cls, path: Path) -> "KeySet":
        """Read a JWKS file; each key has `kid` and `alg`."""
        return cls(orjson.loads(path.read_bytes()))

    def verify(self, token: str) -> Claims:
        """Check signature, expiry and audience.

        Raises:
            TokenError: with the first reason found.
        """
        key_id, algorithm, key = self._key_of(token)
        try:
            verified = jws.deserialize_compact(token, key, algorithms=[algorithm])
            values = orjson.loads(verified.payload)
        except (JoseError, ValueError) as error:
            raise TokenError("signature") from error
        if not isinstance(values, dict):
            raise TokenError("malformed")
        if not isinstance(values.get("role", ""), str | None):
            raise TokenError("malformed")
        _check_times(values)
        if values.get("aud", "authenticated") != "authenticated":
            raise TokenError("audience")
        if values.get("role") in PERSONAL_ROLES and "aud" not in values:
            raise TokenError("audience")
        return Claims(values, key_id)

    def _key_of(self, token: str) -> tuple[str, str, Key]:
        try:
            header = jws.extract_compact(token.encode()).headers()
        except (JoseError, ValueError, UnicodeError) as error:
            raise TokenError("malformed") from error
        key_id = header.get("kid")
        if key_id is None and header.get("alg") == "HS256":
            key_id = next((kid for kid, (alg, _) in self._keys.items() if alg == "HS256"), None)
        # A token may name its key with any JSON, a list too.
        if not isinstance(key_id, str) or self._keys.get(key_id, ("",))[0] != header.get("alg"):
            raise TokenError("signature")
        algorithm, key = self._keys[key_id]
        return key_id, algorithm, key


def _import(entry: dict[str, Any]) -> Key:
    kinds: dict[str, type[Key]] = {"RSA": RSAKey, "EC": ECKey, "oct": OctKey}
    return kinds[entry["kty"]].import_key(entry)


def _check_times(values: dict[str, Any]) -> None:
    now = time.time()
    expires, not_before = values.get("exp"), values.get("nbf")
    if expires is not None and (not isinstance(expires, int | float) or expires + LEEWAY_SECONDS <= now):
        raise TokenError("expired")
    if not_before is not None and (
        not isinstance(not_before, int | float) or not_before - LEEWAY_SECONDS > now
    ):
        raise TokenError("expired")
