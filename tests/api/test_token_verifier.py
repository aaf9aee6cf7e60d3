"""The token verifier of auth, storage and functions: what it accepts, and why it rejects the rest.

PostgREST has its own, tested in test_auth_tokens.py; authorisation.csv shows that every endpoint uses one.
"""

import base64
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import hashes, hmac
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from functions.auth.keys import Keys
from functions.core.errors import ApiError
from functions.core.tokens import LEEWAY_SECONDS, KeySet, TokenError

Key = RSAKey | ECKey | OctKey
NOW = int(time.time())
SECRET = "x" * 40
MEMBERS = RSAKey.generate_key(2048, {"kid": "members", "alg": "RS256"})
ADMINISTRATORS = RSAKey.generate_key(2048, {"kid": "administrators", "alg": "RS256"})
CURVE = ECKey.generate_key("P-256", {"kid": "curve", "alg": "ES256"})
SHARED = OctKey.import_key(SECRET, {"kid": "shared", "alg": "HS256"})
# The members' key, which any RSA algorithm may use.
ANY_WAY = RSAKey.import_key(MEMBERS.as_pem(private=True))
STRANGER = RSAKey.generate_key(2048, {"kid": "members", "alg": "RS256"})
KEY_SET = KeySet(
    {
        "keys": [
            *(key.as_dict(private=False) for key in (MEMBERS, ADMINISTRATORS, CURVE)),
            SHARED.as_dict(private=True),
        ]
    }
)
CLAIMS = {"sub": "ada", "role": "authenticated", "aud": "authenticated", "exp": NOW + 3600}
ALGORITHMS = ["RS256", "RS512", "PS256", "ES256", "HS256"]


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def signed(key: Key = MEMBERS, payload: Any = CLAIMS, **header: Any) -> str:
    """Return a token of a key; a header of None is left out."""
    names = {"alg": key.get("alg"), "kid": key.get("kid"), "typ": "JWT", **header}
    protected = {name: value for name, value in names.items() if value is not None}
    content = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    return jws.serialize_compact(protected, content, key, algorithms=ALGORITHMS)


def claiming(key: Key = MEMBERS, **changes: Any) -> str:
    """Return a token with other claims; None leaves one out."""
    claims = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not None}
    return signed(key, claims)


def unsigned(header: Any, signature: str = "") -> str:
    """Return a good token's claims under any header."""
    return f"{encoded(orjson.dumps(header))}.{signed().split('.')[1]}.{signature}"


def by_secret(secret: bytes, **header: Any) -> str:
    """Signed with HS256, whatever is taken for the secret."""
    head, claims, _ = unsigned({"alg": "HS256", "typ": "JWT", **header}).split(".")
    mac = hmac.HMAC(secret, hashes.SHA256())
    mac.update(f"{head}.{claims}".encode())
    return f"{head}.{claims}.{encoded(mac.finalize())}"


def with_signature(change: Callable[[bytearray], object]) -> str:
    head, claims, signature = signed().split(".")
    raw = bytearray(base64.urlsafe_b64decode(signature + "=="))
    change(raw)
    return f"{head}.{claims}.{encoded(bytes(raw))}"


def under_another_signature() -> str:
    head, _, signature = signed().split(".")
    return f"{head}.{signed(payload={**CLAIMS, 'role': 'service_role'}).split('.')[1]}.{signature}"


PUBLIC_PEM = MEMBERS.as_pem(private=False)
PUBLIC_NUMBER = base64.urlsafe_b64decode(str(MEMBERS.as_dict(private=False)["n"]) + "==")

TAKEN = {
    "a member's key": signed(),
    "a key on a curve": signed(CURVE),
    "the shared key": signed(SHARED),
    "the shared key, unnamed": signed(SHARED, kid=None),
    "within the grace after its end": claiming(exp=NOW - LEEWAY_SECONDS + 1),
    "within the grace before its start": claiming(nbf=NOW + LEEWAY_SECONDS),
    "without an end": claiming(exp=None),
    "a service key without an audience": claiming(SHARED, role="service_role", aud=None),
    "without a role": claiming(role=None, aud=None),
}
REJECTED = {
    "no algorithm": (unsigned({"alg": "none", "typ": "JWT"}), "signature"),
    "no algorithm, with the key's name": (unsigned({"alg": "none", "kid": "members"}), "signature"),
    "no algorithm in disguise": (unsigned({"alg": "nOnE", "kid": "members"}), "signature"),
    "no algorithm is named": (unsigned({"kid": "members"}), "malformed"),
    "the public key as secret": (by_secret(PUBLIC_PEM, kid="members"), "signature"),
    "the public key as secret, unnamed": (by_secret(PUBLIC_PEM), "signature"),
    "the public number as secret": (by_secret(PUBLIC_NUMBER), "signature"),
    "an empty secret, the key a path": (by_secret(b"", kid="../../../../dev/null"), "signature"),
    "the key an SQL query": (by_secret(b"secret", kid="' union select 'secret"), "signature"),
    "somebody else's shared secret": (by_secret(b"y" * 40, kid="shared"), "signature"),
    "an own key with the real name": (signed(STRANGER), "signature"),
    "an own key in the header": (signed(STRANGER, jwk=STRANGER.as_dict(private=False)), "malformed"),
    "an own key behind an address": (
        signed(STRANGER, kid="x", jku="http://127.0.0.1:1/jwks.json"),
        "signature",
    ),
    "another key of the project": (signed(MEMBERS, kid="administrators"), "signature"),
    "an unknown key": (signed(kid="another"), "signature"),
    "a key's name that is a list": (unsigned({"alg": "RS256", "kid": ["members"]}), "signature"),
    "another hash": (signed(ANY_WAY, alg="RS512", kid="members"), "signature"),
    "another padding": (signed(ANY_WAY, alg="PS256", kid="members"), "signature"),
    "a flipped signature": (with_signature(lambda raw: raw.__setitem__(100, raw[100] ^ 1)), "signature"),
    "a shorter signature": (with_signature(lambda raw: raw.pop()), "signature"),
    "an empty signature": (with_signature(bytearray.clear), "signature"),
    "other claims": (under_another_signature(), "signature"),
    "claims that are no JSON": (signed(payload=b"{"), "signature"),
    "claims that are a list": (signed(payload=[CLAIMS]), "malformed"),
    "two roles": (claiming(role=["authenticated"]), "malformed"),
    "a header that is a list": (unsigned(["RS256"]), "malformed"),
    "expired": (claiming(exp=NOW - LEEWAY_SECONDS), "expired"),
    "expired half a minute before": (claiming(exp=NOW - 31), "expired"),
    "an end that is no number": (claiming(exp="soon"), "expired"),
    "not yet": (claiming(nbf=NOW + LEEWAY_SECONDS + 1), "expired"),
    "a start that is no number": (claiming(nbf="soon"), "expired"),
    "for somebody else": (claiming(aud="somebody-else"), "audience"),
    "for several": (claiming(aud=["authenticated"]), "audience"),
    "a member's without an audience": (claiming(aud=None), "audience"),
    "an administrator's without an audience": (claiming(role="platform_admin", aud=None), "audience"),
    **{
        f"no token: {text[:8]}": (text, "malformed") for text in ("", "-", "a.b.c", "..", "é.é.é", "a" * 9000)
    },
}


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the moment at which the tokens were made, however long the tests before have taken."""
    monkeypatch.setattr(time, "time", lambda: NOW)


@pytest.mark.parametrize("case", TAKEN)
def test_taken(case: str) -> None:
    assert KEY_SET.verify(TAKEN[case]).values


@pytest.mark.threat("T70", "T71", "T72", "T73")
@pytest.mark.parametrize("case", REJECTED)
def test_rejected(case: str) -> None:
    token, reason = REJECTED[case]
    with pytest.raises(TokenError) as rejected:
        KEY_SET.verify(token)
    assert rejected.value.reason == reason


@pytest.mark.threat("T71")
def test_a_remembered_token_still_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """The auth service checks no signature twice."""
    keys = Keys([{**MEMBERS.as_dict(private=True), "key_ops": ["sign", "verify"]}], "test", 3600)
    token = signed(payload={**CLAIMS, "exp": NOW + 60})
    for seconds in (0, 59, 60 + LEEWAY_SECONDS - 1):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: NOW + seconds)
        assert keys.verify(token)["sub"] == "ada"
    monkeypatch.setattr(time, "time", lambda: NOW + 60 + LEEWAY_SECONDS)
    with pytest.raises(ApiError, match="expired"):
        keys.verify(token)


def test_a_token_without_a_role_is_anonymous() -> None:
    assert KEY_SET.verify(TAKEN["without a role"]).role == "anon"
