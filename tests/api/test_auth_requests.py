"""What the auth service says of paths, methods and bodies before it asks the database."""

from collections.abc import AsyncIterator

import httpx
import orjson
import pytest
from joserfc.jwk import OctKey

from functions.auth.app import make_app
from functions.auth.settings import AuthSettings


@pytest.fixture
async def auth() -> AsyncIterator[httpx.AsyncClient]:
    """Return the application, called in-process; it has no database."""
    key = OctKey.import_key("x" * 40, {"kid": "own", "alg": "HS256"}).as_dict(private=True)
    settings = AuthSettings(
        **{
            "port": 1,
            "database_url": "",
            "API_EXTERNAL_URL": "http://auth.example.test",
            "GOTRUE_SITE_URL": "http://app.example.test",
            "GOTRUE_JWT_SECRET": "y" * 40,
            "GOTRUE_JWT_KEYS": orjson.dumps([{**key, "key_ops": ["sign", "verify"]}]).decode(),
        }
    )
    transport = httpx.ASGITransport(make_app(settings))
    async with httpx.AsyncClient(transport=transport, base_url="http://auth.example.test") as client:
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
