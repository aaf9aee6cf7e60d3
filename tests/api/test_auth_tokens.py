"""Tokens that no service may accept: forged ones at PostgREST, and what the auth service requires.

PostgREST verifies by itself; the verifier that the other services share is in test_token_verifier.py.
"""

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import hashes, hmac
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from tests.support import plain_http
from tests.support.own_auth import PASSWORD, OwnAuth, bearer
from tests.support.people import ApiClient, Member
from tests.support.stack import Stack

Forger = Callable[[str, dict[str, Any]], str]
REJECTED = {400, 401, 403}


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _claims(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = orjson.loads(_decode(token.split(".")[1]))
    return claims


def _kid(token: str) -> str:
    return str(orjson.loads(_decode(token.split(".")[0]))["kid"])


def _hmac_signed(header: dict[str, Any], token: str, secret: bytes) -> str:
    signed = f"{_encode(orjson.dumps(header))}.{token.split('.')[1]}"
    mac = hmac.HMAC(secret, hashes.SHA256())
    mac.update(signed.encode())
    return f"{signed}.{_encode(mac.finalize())}"


def _public_pem(key: dict[str, Any]) -> bytes:
    kinds: dict[str, type[RSAKey] | type[ECKey]] = {"RSA": RSAKey, "EC": ECKey}
    public = kinds[key["kty"]].import_key({k: v for k, v in key.items() if k not in {"key_ops", "use"}})
    return public.as_pem(private=False)


def _no_algorithm(token: str, key: dict[str, Any]) -> str:
    return f"{_encode(orjson.dumps({'alg': 'none', 'typ': 'JWT'}))}.{token.split('.')[1]}."


def _no_algorithm_in_disguise(token: str, key: dict[str, Any]) -> str:
    header = {"alg": "nOnE", "typ": "JWT", "kid": _kid(token)}
    return f"{_encode(orjson.dumps(header))}.{token.split('.')[1]}."


def _public_key_as_secret(token: str, key: dict[str, Any]) -> str:
    return _hmac_signed({"alg": "HS256", "typ": "JWT", "kid": _kid(token)}, token, _public_pem(key))


def _public_number_as_secret(token: str, key: dict[str, Any]) -> str:
    secret = _decode(key.get("n") or key["x"])
    return _hmac_signed({"alg": "HS256", "typ": "JWT"}, token, secret)


def _own_key_in_the_header(token: str, key: dict[str, Any]) -> str:
    own = RSAKey.generate_key(2048, {"kid": _kid(token)})
    header = {"alg": "RS256", "kid": _kid(token), "jwk": own.as_dict(private=False)}
    return jwt.encode(header, _claims(token), own)


def _own_key_behind_an_address(token: str, key: dict[str, Any]) -> str:
    own = RSAKey.generate_key(2048, {"kid": "x"})
    header = {"alg": "RS256", "kid": "x", "jku": "http://127.0.0.1:1/jwks.json"}
    return jwt.encode(header, _claims(token), own)


def _empty_file_as_key(token: str, key: dict[str, Any]) -> str:
    return _hmac_signed({"alg": "HS256", "kid": "../../../../dev/null"}, token, b"")


def _sql_as_key(token: str, key: dict[str, Any]) -> str:
    return _hmac_signed({"alg": "HS256", "kid": "' union select 'secret"}, token, b"secret")


def _flipped_signature(token: str, key: dict[str, Any]) -> str:
    head, payload, signature = token.split(".")
    raw = bytearray(_decode(signature))
    raw[len(raw) // 2] ^= 1
    return f"{head}.{payload}.{_encode(bytes(raw))}"


def _empty_signature(token: str, key: dict[str, Any]) -> str:
    return ".".join([*token.split(".")[:2], ""])


def _other_claims(token: str, key: dict[str, Any]) -> str:
    head, _, signature = token.split(".")
    changed = {**_claims(token), "role": "service_role"}
    return f"{head}.{_encode(orjson.dumps(changed))}.{signature}"


def _own_key_with_the_real_id(token: str, key: dict[str, Any]) -> str:
    own = RSAKey.generate_key(2048, {"kid": _kid(token)})
    return jwt.encode({"alg": "RS256", "kid": _kid(token)}, _claims(token), own)


FORGERIES: list[Forger] = [
    _no_algorithm,
    _no_algorithm_in_disguise,
    _public_key_as_secret,
    _public_number_as_secret,
    _own_key_in_the_header,
    _own_key_behind_an_address,
    _empty_file_as_key,
    _sql_as_key,
    _flipped_signature,
    _empty_signature,
    _other_claims,
    _own_key_with_the_real_id,
]


@pytest.fixture(scope="module")
def published(stack: Stack) -> dict[str, Any]:
    """Return the published public key."""
    response = plain_http.get(f"{stack.url}/auth/v1/.well-known/jwks.json").raise_for_status()
    keys: list[dict[str, Any]] = response.json()["keys"]
    assert all(not {"d", "k", "p", "q"} & set(key) for key in keys), "only public numbers are published"
    return keys[0]


@pytest.mark.threat("T70")
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__[1:])
def test_a_forged_token_is_rejected(
    stack: Stack, referrer: Member, published: dict[str, Any], forge: Forger
) -> None:
    assert referrer.rows("profiles", "select=id").status_code == 200
    response = ApiClient(stack, forge(referrer.token, published)).rows("profiles", "select=id")
    assert response.status_code in REJECTED, response.text


@pytest.fixture(scope="module")
def claims(auth: OwnAuth) -> Iterator[dict[str, Any]]:
    """Yield the claims of a signed-in member."""
    user = auth.new_user(PASSWORD)
    session = auth.sign_in(user["email"], PASSWORD).raise_for_status().json()
    yield _claims(session["access_token"])
    auth.delete_user(user["id"])


class TestClaimsThatTheSignerMayNotMake:
    """Tokens with a good signature and claims that do not hold, at an auth service whose key the test has."""

    def _ask(self, auth: OwnAuth, claims: dict[str, Any]) -> tuple[int, str | None]:
        response = auth.http.get("/user", headers=bearer(auth.signed(claims)))
        return response.status_code, response.headers.get("x-sb-error-code")

    def test_the_claims_as_they_are(self, auth: OwnAuth, claims: dict[str, Any]) -> None:
        assert self._ask(auth, claims) == (200, None)

    @pytest.mark.threat("T71")
    @pytest.mark.parametrize(
        "changes", [{"exp": int(time.time()) - 31}, {"sub": None}], ids=["expired", "nobody"]
    )
    def test_claims_that_do_not_hold(
        self, auth: OwnAuth, claims: dict[str, Any], changes: dict[str, Any]
    ) -> None:
        changed = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        assert self._ask(auth, changed) == (403, "bad_jwt")

    def test_a_subject_that_is_no_id(self, auth: OwnAuth, claims: dict[str, Any]) -> None:
        assert self._ask(auth, {**claims, "sub": "me"}) == (400, "bad_jwt")

    @pytest.mark.threat("T75")
    @pytest.mark.parametrize(("method", "path"), [("GET", "/user"), ("POST", "/logout")])
    def test_another_members_session(
        self, auth: OwnAuth, claims: dict[str, Any], method: str, path: str
    ) -> None:
        other = auth.new_user(PASSWORD)
        token = auth.signed({**claims, "sub": other["id"]})
        response = auth.http.request(method, path, headers=bearer(token))
        assert (response.status_code, response.json()["error_code"]) == (403, "session_not_found")
        auth.delete_user(other["id"])

    @pytest.mark.threat("T65", "T73")
    @pytest.mark.parametrize("role", ["postgres", "authenticator", "supabase_admin_", "authenticated"])
    def test_only_the_service_key_administers(self, auth: OwnAuth, claims: dict[str, Any], role: str) -> None:
        metadata = {"role": "service_role"}
        changed = {**claims, "role": role, "app_metadata": metadata, "user_metadata": metadata}
        response = auth.http.get("/admin/users", headers=bearer(auth.signed(changed)))
        assert (response.status_code, response.json()["error_code"]) == (403, "not_admin")


@pytest.mark.threat("T70")
def test_another_projects_service_key_opens_nothing(stack: Stack) -> None:
    own = OctKey.import_key("a-secret-of-somebody-else-32-bytes!!")
    token = jwt.encode({"alg": "HS256", "typ": "JWT"}, {"role": "service_role", "iss": "supabase"}, own)
    response = ApiClient(stack, token).http.get("/auth/v1/admin/users")
    assert response.status_code in REJECTED
