"""What the auth service takes and says more strictly than GoTrue: audiences, metadata, caches, redirects."""

import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.own_auth import PASSWORD, OwnAuth, bearer, own_auth, signed_in, wait_for_notice
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("has none of these limits")


def test_an_audience_of_the_clients_choice_is_ignored(auth: OwnAuth, ada: dict[str, Any]) -> None:
    """Or an account of another one would keep the owner of the address from signing up and recovering."""
    email, other = f"own-{secrets.token_hex(6)}@example.com", {"x-jwt-aud": "elsewhere"}
    headers, body = {"x-real-ip": "10.11.0.1"}, {"email": email, "password": PASSWORD}
    squatted = auth.http.post("/signup", headers=headers | other, json=body).raise_for_status().json()
    assert squatted["aud"] == "authenticated"
    auth.delete_user(squatted["id"])
    taken = auth.http.post("/signup", headers=headers | other, json=body | {"email": ada["email"]})
    assert (taken.status_code, taken.json()["aud"]) == (200, "authenticated"), "looks like any other"
    auth.http.post("/recover", headers=headers | other, json={"email": ada["email"]}).raise_for_status()
    wait_for_notice(auth, ada["email"], "Reset your password")
    assert auth.http.post(
        "/token?grant_type=password",
        headers=headers | other,
        json={"email": ada["email"], "password": PASSWORD},
    ).is_success


class TestMetadata:
    """At most 8 kB: each token carries it, and anybody may sign up."""

    SMALL = "x" * ((8 << 10) - len('{"note":""}'))

    @pytest.mark.parametrize("kind", ["signup", "otp", "magiclink"])
    def test_a_new_account_has_little_of_it(
        self, auth: OwnAuth, ada: dict[str, Any], admin_db: psycopg.Connection[Any], kind: str
    ) -> None:
        new = f"own-{secrets.token_hex(6)}@example.com"
        for email in (new, ada["email"]):
            body = {"email": email, "password": PASSWORD, "data": {"note": self.SMALL + "x"}}
            _rejects_metadata(auth.http.post(f"/{kind}", headers={"x-real-ip": "10.12.0.1"}, json=body))
        found = admin_db.execute("select from auth.users where email = %s", [new])
        assert found.rowcount == 0
        body = {"email": new, "password": PASSWORD, "data": {"note": self.SMALL}}
        auth.http.post(f"/{kind}", headers={"x-real-ip": "10.12.0.1"}, json=body).raise_for_status()
        admin_db.execute("delete from auth.users where email = %s", [new])

    def test_an_account_never_gets_more(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        headers = bearer(signed_in(auth, ada)["access_token"]) | {"x-real-ip": "10.12.0.2"}
        _rejects_metadata(auth.http.put("/user", headers=headers, json={"data": {"note": self.SMALL + "x"}}))
        half = {"data": {"one": self.SMALL[: 5 << 10]}}
        auth.http.put("/user", headers=headers, json=half).raise_for_status()
        _rejects_metadata(
            auth.http.put("/user", headers=headers, json={"data": {"two": self.SMALL[: 5 << 10]}})
        )
        stored = auth.http.get("/user", headers=headers).raise_for_status().json()["user_metadata"]
        assert {"one", "two"} & set(stored) == {"one"}
        swapped = {"data": {"one": None, "two": self.SMALL[: 5 << 10]}}
        assert auth.http.put("/user", headers=headers, json=swapped).status_code == 200

    def test_nor_by_the_service_key(self, auth: OwnAuth, ada: dict[str, Any]) -> None:
        headers, large = bearer(auth.service_key), {"note": self.SMALL + "x"}
        new = f"own-{secrets.token_hex(6)}@example.com"
        for method, path, body in (
            ("POST", "/admin/users", {"email": new, "user_metadata": large}),
            ("PUT", f"/admin/users/{ada['id']}", {"user_metadata": large}),
            ("POST", "/invite", {"email": new, "data": large}),
            (
                "POST",
                "/admin/generate_link",
                {"type": "signup", "email": new, "password": "x", "data": large},
            ),
        ):
            _rejects_metadata(auth.http.request(method, path, headers=headers, json=body))


def _rejects_metadata(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["error_code"]) == (422, "validation_failed")
    assert response.json()["msg"] == "User metadata is too large: the limit is 8 kB"


def test_no_cache_keeps_what_is_personal(auth: OwnAuth, ada: dict[str, Any]) -> None:
    signed_in = auth.sign_in(ada["email"], PASSWORD)
    session, here = bearer(signed_in.json()["access_token"]), {"x-real-ip": "10.13.0.1"}
    for response in (
        signed_in,
        auth.sign_in(ada["email"], "wrong"),
        auth.http.get("/user", headers=session),
        auth.http.get("/user"),
        auth.http.get("/verify?token=x&type=signup", headers=here),
        auth.http.post("/recover", headers=here, content=b"{"),
        auth.http.get("/admin/users", headers=bearer(auth.service_key)),
        auth.http.get("/nowhere"),
    ):
        assert response.headers.get("cache-control") == "no-store", response.url
    for path, rule in (
        ("/settings", None),
        ("/health", None),
        ("/.well-known/jwks.json", "public, max-age=600"),
        ("/.well-known/openid-configuration", "public, max-age=600"),
    ):
        assert auth.http.get(path).headers.get("cache-control") == rule


@pytest.mark.threat("T113")
@pytest.mark.parametrize(
    ("target", "is_followed"),
    [
        ("http://app.example.test:8080/x", True),
        ("http://app.example.test:9090/x", False),
        ("https://app.example.test:8080/x", False),
        ("http://evil.example:8080/x", False),
        ("http://app.example.test:8080@evil.example/x", False),
        ("http://evil.example\\@app.example.test:8080/", False),
        ("http://user:pw@app.example.test:8080/", False),
        ("//evil.example/x", False),
        ("javascript:alert(1)", False),
        ("http://user@docs.example/x", False),
        ("https://user:pw@docs.example/x", False),
        ("harborline://docs.example/x", False),
        ("ftp://docs.example/x", False),
        ("javascript://docs.example/%0aalert(1)", False),
        ("http://127.0.0.1:9999/x", False),
        ("http://127.9.9.9/x", False),
        ("http://[::1]:9999/x", False),
        ("http://[::ffff:127.0.0.1]/x", False),
        ("http://0.0.0.0/x", False),
        ("http://localhost:3000/x", False),
        ("http://app.localhost/x", False),
        ("http://127.1/x", False),
        ("http://0x7f.1/x", False),
        ("http://2130706433/x", False),
        ("http://10.0.0.1/x", False),
        ("https://one.preview.example/x", True),
        ("https://one.two.preview.example/x", False),
        ("https://one.preview.example.evil.example/x", False),
        ("https://one.preview.example/x/y", False),
        ("https://one.previewXexample/x", False),
        ("https://docs.example/a/b/c", True),
        ("http://app.example.test:8080/\r\nset-cookie: a=b", False),
        ("http://app.example.test:8080/a\u00a0sentence", False),
        pytest.param(f"http://app.example.test:8080/{'a' * 1971}", True, id="long"),
        pytest.param(f"http://app.example.test:8080/{'a' * 1972}", False, id="too long"),
    ],
)
def test_a_link_leads_only_where_it_may(stack: Stack, lists: OwnAuth, target: str, is_followed: bool) -> None:
    query = {"token": "x", "type": "signup", "redirect_to": target}
    response = lists.http.get("/verify", params=query, headers={"x-real-ip": "10.3.0.1"})
    assert response.status_code == 303
    base = response.headers["location"].split("#")[0]
    assert (base == target) if is_followed else (base == "http://app.example.test:8080")


@pytest.mark.threat("T113")
@pytest.mark.parametrize(
    ("target", "is_followed"),
    [
        ("http://127.0.0.1:9999/x", True),
        ("http://[::1]:9999/x", True),
        ("http://localhost:3000/x", True),
        ("http://user:pw@127.0.0.1/x", False),
        ("javascript://127.0.0.1/%0aalert(1)", False),
        ("data://127.0.0.1/x", False),
        ("evilapp://127.0.0.1/x", False),
        ("ftp://127.0.0.1/x", False),
        ("http://2130706433/x", False),
        ("https://elsewhere.example/x", False),
    ],
)
def test_a_site_on_loopback_leads_there_too(local: OwnAuth, target: str, is_followed: bool) -> None:
    query = {"token": "x", "type": "signup", "redirect_to": target}
    response = local.http.get("/verify", params=query, headers={"x-real-ip": "10.3.0.1"})
    base = response.headers["location"].split("#")[0]
    assert base == (target if is_followed else "http://127.0.0.1:8080")


@pytest.fixture(scope="module")
def local(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service whose site is on loopback, without limits per address."""
    with own_auth(stack, GOTRUE_SITE_URL="http://127.0.0.1:8080", GOTRUE_RATE_LIMIT_HEADER="") as service:
        yield service


@pytest.fixture(scope="module")
def lists(stack: Stack) -> Iterator[OwnAuth]:
    """Yield an auth service with an allow-list and no limits per address."""
    allowed = "https://*.preview.example/*,https://docs.example/**,http://docs.example/**"
    allowed += ",harborline://**,ftp://**,javascript://**,http://localhost:3000/**,http://*.1/**,http://*.localhost/*"
    with own_auth(stack, GOTRUE_URI_ALLOW_LIST=allowed, GOTRUE_RATE_LIMIT_HEADER="") as service:
        yield service
