"""What the auth service says of paths, methods and bodies before it asks the database."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from functions.auth.app import ROUTES, make_app
from functions.auth.codes import Hasher
from functions.auth.settings import AuthSettings

SHARED = OctKey.import_key("x" * 40, {"kid": "own", "alg": "HS256"})
CURVE = ECKey.generate_key("P-256", {"kid": "curve", "alg": "ES256"})
SIGNING = {**SHARED.as_dict(private=True), "key_ops": ["sign", "verify"]}
VERIFYING = {**CURVE.as_dict(private=True), "key_ops": ["verify"]}
EMAIL, PASSWORD = "somebody@example.com", "harbour-lantern-41"


def _settings(**given: Any) -> AuthSettings:
    return AuthSettings(
        **{
            "port": 1,
            "database_url": "",
            "API_EXTERNAL_URL": "http://auth.example.test",
            "GOTRUE_SITE_URL": "http://app.example.test",
            "GOTRUE_JWT_SECRET": "y" * 40,
            "GOTRUE_JWT_KEYS": orjson.dumps([SIGNING, VERIFYING]).decode(),
            **given,
        }
    )


def _client(**settings: Any) -> httpx.AsyncClient:
    """Return a client of the application, called in-process; it has no database."""
    transport = httpx.ASGITransport(make_app(_settings(**settings)))
    return httpx.AsyncClient(transport=transport, base_url="http://auth.example.test")


def _token(**claims: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {jwt.encode({'alg': 'HS256', 'kid': 'own'}, claims, SHARED)}"}


@pytest.fixture
async def auth() -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the application with the product's settings."""
    async with _client() as client:
        yield client


@pytest.mark.parametrize("path", ["/settings", "/settings/", "/settings//"])
async def test_slashes_at_the_end_do_not_count(auth: httpx.AsyncClient, path: str) -> None:
    assert (await auth.get(path)).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/nowhere", "/settings/more", "/settings%0A", "//settings", "/factors//verify"]
)
async def test_an_unknown_path(auth: httpx.AsyncClient, path: str) -> None:
    response = await auth.get(path)
    assert (response.status_code, response.text) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("HEAD", "/settings", "GET"),
        ("PATCH", "/user", "GET, PUT"),
        ("OPTIONS", "/token", "POST"),
        # Another path fits this one too, with a parameter and this method.
        ("DELETE", "/user/identities/authorize", "GET"),
    ],
)
async def test_a_method_that_a_path_does_not_have(
    auth: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    response = await auth.request(method, path)
    assert (response.status_code, response.headers["allow"], response.content) == (405, allowed, b"")


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("/signup", b'{"email": 1, "password": true}', "email has the wrong type"),
        ("/signup", b'{"code_challenge": 1, "data": []}', "data has the wrong type"),
        ("/signup", b'{"code_challenge": 1}', "code_challenge has the wrong type"),
        ("/otp", b'{"create_user": 0}', "create_user has the wrong type"),
        ("/signup", b"{", "unexpected end of data: line 1 column 2 (char 1)"),
        ("/signup", b"[]", "the body is not an object"),
        ("/signup", b'{"x": "\\u0000"}', "a text holds a NUL character"),
        ("/signup", b'{"x": ' + b"[" * 101 + b"]" * 101 + b"}", "the body is nested too deeply"),
    ],
)
async def test_a_body_that_cannot_be_read(
    auth: httpx.AsyncClient, path: str, body: bytes, problem: str
) -> None:
    response = await auth.post(path, content=body)
    assert (response.status_code, response.json()["error_code"]) == (400, "bad_json")
    assert response.json()["msg"] == f"Could not parse request body as JSON: {problem}"


CHALLENGE = "a" * 43
PHONE = {"phone": "+441632960000"}
CODE, LINK = {"type": "signup", "token": "x"}, {"type": "signup", "token_hash": "x"}


def _challenge(challenge: str, method: str = "s256") -> dict[str, Any]:
    return {"email": EMAIL, "code_challenge": challenge, "code_challenge_method": method}


INVALID, NO_PHONE = (400, "validation_failed"), (400, "phone_provider_disabled")
SIGN_IN, SIGN_UP = "POST /token?grant_type=password", {"email": EMAIL, "password": PASSWORD}
BOTH = PHONE | SIGN_UP
# A request with its body, its status and code, and a part of the text.
REJECTED: dict[str, tuple[str, dict[str, Any], tuple[int, str], str]] = {
    "an unknown grant": ("POST /token", {}, (400, "invalid_credentials"), "unsupported_grant_type"),
    "a wallet": ("POST /token?grant_type=web3", {}, (422, "web3_provider_disabled"), "is disabled"),
    "an outside sign-in": (
        "POST /token?grant_type=id_token",
        {"id_token": "x"},
        (400, "provider_disabled"),
        "(issuer",
    ),
    "sign-in by two names": (SIGN_IN, BOTH, INVALID, "should be provided on login"),
    "sign-in by phone": (SIGN_IN, PHONE, (422, "phone_provider_disabled"), "Phone logins are disabled"),
    "sign-in by no name": (SIGN_IN, {}, INVALID, "missing email or phone"),
    "a malformed refresh token": (
        "POST /token?grant_type=refresh_token",
        {},
        INVALID,
        "Refresh token is not valid",
    ),
    "half an exchange": ("POST /token?grant_type=pkce", {"auth_code": "x"}, INVALID, "should be non-empty"),
    "sign-up by phone": ("POST /signup", BOTH | {"email": ""}, NO_PHONE, "Phone signups are disabled"),
    "sign-up by two names": ("POST /signup", BOTH, INVALID, "should be provided on signup"),
    "sign-up without a password": ("POST /signup", {"email": EMAIL}, INVALID, "requires a valid password"),
    "a short password": (
        "POST /signup",
        SIGN_UP | {"password": "x7-y9"},
        (422, "weak_password"),
        "at least 6",
    ),
    **{
        f"the own {what} as a password": (
            "POST /signup",
            SIGN_UP | {"email": "june.n@example.org", "password": password, "data": {"username": "june_1"}},
            (422, "weak_password"),
            "known to be weak",
        )
        for what, password in (("address", "June.N@example.org"), ("name", "JUNE_1"))
    },
    "a common password": (
        "POST /signup",
        SIGN_UP | {"password": "123456"},
        (422, "weak_password"),
        "known to be weak",
    ),
    "a long password": (
        "POST /signup",
        SIGN_UP | {"password": "x" * 73},
        INVALID,
        "cannot be longer than 72",
    ),
    "much metadata": (
        "POST /signup",
        {"data": {"x": "x" * 8192}},
        (422, "validation_failed"),
        "the limit is 8 kB",
    ),
    "a long address": ("POST /signup", SIGN_UP | {"email": "x" * 250 + "@a.test"}, INVALID, "is too long"),
    "an address of no form": ("POST /signup", SIGN_UP | {"email": "somebody"}, INVALID, "invalid format"),
    "an address with the sign of Kelvin": (
        "POST /signup",
        SIGN_UP | {"email": "\u212aate@a.test"},
        INVALID,
        "invalid format",
    ),
    "recovery of nobody": ("POST /recover", {}, INVALID, "Password recovery requires an email"),
    "a link for nobody": (
        "POST /magiclink",
        {},
        (422, "validation_failed"),
        "Password recovery requires an email",
    ),
    "a challenge without its method": (
        "POST /recover",
        _challenge(CHALLENGE, ""),
        INVALID,
        "PKCE flow requires",
    ),
    "a short challenge": (
        "POST /recover",
        _challenge(CHALLENGE[1:]),
        INVALID,
        "between 43 and 128 characters",
    ),
    "a long challenge": (
        "POST /recover",
        _challenge(CHALLENGE * 3),
        INVALID,
        "between 43 and 128 characters",
    ),
    "a challenge of other characters": (
        "POST /recover",
        _challenge(CHALLENGE + "+"),
        INVALID,
        "can only contain",
    ),
    "an unknown method of a challenge": (
        "POST /recover",
        _challenge(CHALLENGE, "md5"),
        INVALID,
        'method "md5"',
    ),
    "a code by two names": ("POST /otp", BOTH, INVALID, "Only an email address or phone number"),
    "a code by another channel": ("POST /otp", SIGN_UP | {"channel": "sms"}, INVALID, "Channel should only"),
    "a code for nobody": ("POST /otp", {}, INVALID, "One of email or phone must be set"),
    "a code by phone": ("POST /otp", PHONE, NO_PHONE, "Phone logins are disabled"),
    "an unknown mail again": (
        "POST /resend",
        {"email": EMAIL, "type": "recovery"},
        INVALID,
        "one of these types",
    ),
    "a sign-up again for nobody": ("POST /resend", {"type": "signup"}, INVALID, "requires an email address"),
    "a change again for nobody": ("POST /resend", {"type": "email_change"}, INVALID, "Missing email address"),
    "a text message again": ("POST /resend", PHONE | {"type": "sms"}, NO_PHONE, "Phone logins are disabled"),
    "a link without a type": ("GET /verify?token=x", {}, INVALID, "requires a verification type"),
    "a link without a token": ("GET /verify?type=signup", {}, INVALID, "requires a token or a token hash"),
    "a code without a type": ("POST /verify", {}, INVALID, "requires a verification type"),
    "neither link nor code": ("POST /verify", {"type": "signup"}, INVALID, "requires either a token"),
    "a link with an address": (
        "POST /verify",
        LINK | {"email": EMAIL},
        INVALID,
        "Only the token_hash and type",
    ),
    "a code for a phone": (
        "POST /verify",
        CODE | {"phone": "+15550100199"},
        (400, "phone_provider_disabled"),
        "Phone logins are disabled",
    ),
    "a code without an address": ("POST /verify", CODE, INVALID, "should be provided on verify"),
    "a code for an address of no form": (
        "POST /verify",
        CODE | {"email": "x"},
        (422, "validation_failed"),
        "format",
    ),
    "a provider that is off": ("GET /authorize?provider=google", {}, INVALID, "provider is not enabled"),
    "an unknown provider": ("GET /authorize?provider=y", {}, INVALID, "Provider y could not be found"),
    "an OAuth server": ("GET /oauth/authorize", {}, (404, "feature_disabled"), "OAuth server is disabled"),
    "single sign-on": ("POST /sso", {}, (404, "saml_provider_disabled"), "SAML 2.0 is disabled"),
    "passkeys": ("GET /passkeys", {}, (404, "passkey_disabled"), "Passkeys are disabled"),
    "no token": ("GET /user", {}, (401, "no_authorization"), "requires a valid Bearer token"),
}
# The same of the service key; each is invalid.
REJECTED_OF_SERVICE: dict[str, tuple[str, dict[str, Any], str]] = {
    "an invitation of nobody": ("POST /invite", {}, "An email address is required"),
    "an unknown link": ("POST /admin/generate_link", {"email": EMAIL, "type": "x"}, "link type requested: x"),
    "an account of nobody": ("POST /admin/users", {}, "Cannot create a user without either"),
    "an unknown order": ("GET /admin/users?sort=email", {}, "bad field for sort 'email'"),
    "an unknown direction": ("GET /admin/users?sort=created_at+up", {}, "bad direction for sort 'up'"),
    "an unknown page": ("GET /admin/users?page=x", {}, "Bad Pagination Parameters"),
    "an unknown part of the audit log": ("GET /admin/audit?query=where:x", {}, "Invalid query scope: where"),
}


@pytest.mark.parametrize("case", REJECTED)
async def test_a_request_that_is_rejected_as_it_stands(auth: httpx.AsyncClient, case: str) -> None:
    request, body, error, text = REJECTED[case]
    response = await auth.request(*request.split(" "), json=body)
    assert (response.status_code, response.json()["error_code"]) == error
    assert text in response.json()["msg"]


@pytest.mark.parametrize("case", REJECTED_OF_SERVICE)
async def test_a_request_of_the_service_key_that_is_rejected(auth: httpx.AsyncClient, case: str) -> None:
    request, body, text = REJECTED_OF_SERVICE[case]
    response = await auth.request(*request.split(" "), json=body, headers=_token(role="service_role"))
    assert (response.status_code, response.json()["error_code"]) == INVALID
    assert text in response.json()["msg"]


ADMINISTRATIVE = [
    f"{method} {route.path}"
    for route in ROUTES
    if route.path.startswith(("/admin", "/invite"))
    for method in sorted(route.endpoints)
]


@pytest.mark.threat("T65")
@pytest.mark.parametrize("endpoint", ADMINISTRATIVE)
async def test_every_administrative_endpoint_asks_for_the_service_key(
    auth: httpx.AsyncClient, endpoint: str
) -> None:
    response = await auth.request(*endpoint.split(" "), json={}, headers=_token(role="anon"))
    assert (response.status_code, response.json()["error_code"]) == (403, "not_admin")


async def test_a_session_that_is_no_id(auth: httpx.AsyncClient) -> None:
    claims = {"sub": "0" * 32, "role": "authenticated", "aud": "authenticated", "session_id": "x"}
    response = await auth.get("/user", headers=_token(**claims))
    assert (response.status_code, response.json()["error_code"]) == (403, "bad_jwt")
    assert response.json()["msg"] == "invalid claim: session_id claim must be a UUID"


async def test_no_private_number_is_published(auth: httpx.AsyncClient) -> None:
    published = (await auth.get("/.well-known/jwks.json")).json()["keys"]
    assert [(key["kid"], sorted(key)) for key in published] == [
        ("curve", ["alg", "crv", "key_ops", "kid", "kty", "use", "x", "y"])
    ]


async def test_where_tokens_come_of_and_are_verified(auth: httpx.AsyncClient) -> None:
    """As OpenID Connect Discovery asks: the keys of this issuer, and no algorithm but theirs."""
    said = (await auth.get("/.well-known/openid-configuration")).raise_for_status().json()
    assert said["jwks_uri"] == f"{said['issuer']}/.well-known/jwks.json"
    assert said["id_token_signing_alg_values_supported"] == ["ES256"]
    required = {
        "authorization_endpoint",
        "token_endpoint",
        "response_types_supported",
        "subject_types_supported",
    }
    assert required <= set(said)


async def test_no_address_signs_up_while_that_is_off() -> None:
    async with _client(GOTRUE_DISABLE_SIGNUP=True) as auth:
        response = await auth.post("/signup", json={"email": EMAIL})
    assert (response.status_code, response.json()["error_code"]) == (422, "signup_disabled")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"GOTRUE_MAILER_AUTOCONFIRM": True}, "addresses are always confirmed by mail here"),
        ({"GOTRUE_JWT_SECRET": ""}, "GOTRUE_JWT_SECRET must be set"),
        ({"GOTRUE_JWT_KEYS": orjson.dumps([VERIFYING]).decode()}, "exactly one key"),
        ({"GOTRUE_JWT_KEYS": orjson.dumps([SIGNING, SIGNING]).decode()}, "exactly one key"),
        ({"GOTRUE_SMTP_MAX_FREQUENCY": "soon"}, 'invalid duration "soon"'),
        ({"GOTRUE_SMTP_MAX_FREQUENCY": "3000000h"}, 'invalid duration "3000000h"'),
    ],
    ids=["no confirmation", "no secret", "no key that signs", "two that do", "no duration", "342 years"],
)
def test_settings_that_no_service_starts_with(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make_app(_settings(**changed))


@pytest.mark.parametrize(
    "uri",
    ["https://postgres/hooks/sign_up", "pg-functions://postgres/sign_up"],
    ids=["a web page", "no schema"],
)
def test_a_hook_that_is_no_function(uri: str) -> None:
    settings = _settings(HARBORLINE_AUTH_MAIL_DATA_URI=uri)
    with pytest.raises(ValueError, match="MAIL_DATA_URI must be pg-functions"):
        assert settings.mail_data_function


def test_a_stored_code_is_of_one_account_purpose_and_address() -> None:
    """Or the same six digits would do elsewhere, and a copy of the database would name them."""
    given = (uuid.UUID(int=1), "recovery_token", EMAIL, "123456")
    others = (uuid.UUID(int=2), "confirmation_token", "else@example.com", "123457")
    hashes = [
        Hasher("key").of_code(*given),
        *(Hasher("key").of_code(*given[:n], other, *given[n + 1 :]) for n, other in enumerate(others)),
        Hasher("other key").of_code(*given),
    ]
    assert len(set(hashes)) == 6


async def test_a_request_ends_after_ten_seconds(
    auth: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of the loop jumps, so that nothing waits."""
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    clock = loop.time

    async def trickle() -> AsyncIterator[bytes]:
        yield b"{"
        begun.set()
        await asyncio.Event().wait()

    request = asyncio.create_task(auth.post("/signup", content=trickle()))
    await begun.wait()
    monkeypatch.setattr(loop, "time", lambda: clock() + 10)
    await asyncio.wait({request}, timeout=1)
    assert request.done()
    assert (request.result().status_code, request.result().json()["error_code"]) == (504, "request_timeout")


@pytest.mark.parametrize(
    "body", [b"null", b"{}", b'{"email": null}', b'{"x": ' + b"[" * 99 + b"]" * 99 + b"}"]
)
async def test_null_is_the_same_as_nothing(auth: httpx.AsyncClient, body: bytes) -> None:
    response = await auth.post("/signup", content=body)
    assert (response.status_code, response.json()["error_code"]) == (422, "anonymous_provider_disabled")


async def test_a_body_beyond_a_mebibyte(auth: httpx.AsyncClient) -> None:
    assert (await auth.post("/signup", content=b'"' + b"x" * (1 << 20))).status_code == 413


@pytest.mark.parametrize("headers", ["authorization, x-client-info", "apikey"])
async def test_a_preflight_grants_known_headers_only(auth: httpx.AsyncClient, headers: str) -> None:
    asked = {"origin": "http://app.example.test", "access-control-request-method": "POST"}
    response = await auth.options("/token", headers=asked | {"access-control-request-headers": headers})
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (204, "*")
    granted = response.headers.get("access-control-allow-headers")
    assert granted == (headers if "apikey" not in headers else None)
