"""Access tokens: signed with the project's key, verified with the key that each names."""

import time
import uuid
from collections import OrderedDict
from datetime import datetime
from typing import Any

import orjson
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from functions.core.errors import ApiError
from functions.core.tokens import KeySet, TokenError

_PUBLIC = {"EC": ("kty", "crv", "x", "y"), "RSA": ("kty", "n", "e")}
_KINDS: dict[str, type[ECKey] | type[RSAKey] | type[OctKey]] = {"EC": ECKey, "RSA": RSAKey, "oct": OctKey}
_REMEMBERED = 5000


class Keys:
    """The key set of GOTRUE_JWT_KEYS: exactly one key signs, all verify.

    A token that was verified once is remembered until it expires, so that the next request with it costs
    no signature check.
    """

    def __init__(self, keys: list[dict[str, Any]], issuer: str, lifetime: int) -> None:
        """Take JSON Web Keys, `iss` of the tokens, and the seconds that they live."""
        signing = [key for key in keys if "sign" in key.get("key_ops", [])]
        if len(signing) != 1:
            raise ValueError('GOTRUE_JWT_KEYS must hold exactly one key with "sign" in key_ops')
        self._key = _KINDS[signing[0]["kty"]].import_key(signing[0])
        self._header = {"alg": signing[0]["alg"], "kid": signing[0]["kid"], "typ": "JWT"}
        self._set = KeySet({"keys": keys})
        self._issuer = issuer
        self.lifetime = lifetime
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.public = [_public(key) for key in keys if key["kty"] in _PUBLIC]

    def sign(
        self, user: dict[str, Any], session: dict[str, Any], amr: list[dict[str, Any]]
    ) -> tuple[str, int]:
        """Return an access token for a session, and when it expires (unix seconds)."""
        now = int(time.time())
        claims = {
            "iss": self._issuer,
            "sub": str(user["id"]),
            "aud": user["aud"],
            "exp": now + self.lifetime,
            "iat": now,
            "email": user["email"] or "",
            "phone": user["phone"] or "",
            "app_metadata": user["raw_app_meta_data"] or {},
            "user_metadata": user["raw_user_meta_data"] or {},
            "role": user["role"],
            "aal": session["aal"],
            "amr": amr,
            "session_id": str(session["id"]),
            "is_anonymous": user["is_anonymous"],
        }
        payload = orjson.dumps(claims)
        return jws.serialize_compact(
            self._header, payload, self._key, algorithms=[self._header["alg"]]
        ), now + self.lifetime

    def verify(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that is to be trusted.

        Raises:
            ApiError: 403 bad_jwt.
        """
        claims = self._known.get(token)
        if claims is not None and claims.get("exp", 0) > time.time():
            return claims
        try:
            claims = self._set.verify(token).values
        except TokenError as error:
            raise ApiError(
                403, "bad_jwt", f"invalid JWT: unable to parse or verify signature, {error.reason}"
            ) from error
        self._known[token] = claims
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return claims


def _public(key: dict[str, Any]) -> dict[str, Any]:
    fields = {name: key[name] for name in _PUBLIC[key["kty"]]}
    return fields | {"alg": key["alg"], "kid": key["kid"], "use": "sig", "key_ops": ["verify"]}


def amr_of(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `amr` of a token from rows of mfa_amr_claims, newest first."""
    newest = sorted(claims, key=lambda claim: _unix(claim["updated_at"]), reverse=True)
    return [{"method": claim["method"], "timestamp": int(_unix(claim["updated_at"]))} for claim in newest]


def _unix(moment: datetime | float) -> float:
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


def subject_of(claims: dict[str, Any]) -> uuid.UUID:
    """Return the user's id that a token names.

    Raises:
        ApiError: 403 without `sub` (anon and service keys), 400 when it is no UUID.
    """
    if not claims.get("sub"):
        raise ApiError(403, "bad_jwt", "invalid claim: missing sub claim")
    try:
        return uuid.UUID(str(claims["sub"]))
    except ValueError as error:
        raise ApiError(400, "bad_jwt", "invalid claim: sub claim must be a UUID") from error
