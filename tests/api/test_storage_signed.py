"""Signed URLs open one object, for one purpose, for a while; they are signed with a secret of their own."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from joserfc import jws
from joserfc.jwk import OctKey

from functions.core.errors import ApiError
from functions.storage.signing import Signer
from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import ApiClient, Member
from tests.support.stack import Stack
from tests.support.states import set_member


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner) as own_bucket:
        yield own_bucket


@pytest.fixture(scope="module")
def path(own_bucket: BucketFixture, referrer: Member) -> str:
    path = f"{referrer.user_id}/receipt.png"
    own_bucket.put(referrer, path, png()).raise_for_status()
    return path


def signed(own_bucket: BucketFixture, member: ApiClient, path: str, seconds: int = 60) -> str:
    """Return a fresh signed URL, relative to the storage API."""
    response = own_bucket.call(
        member, "POST", f"/object/sign/{own_bucket.bucket}/{path}", {"expiresIn": seconds}
    )
    return str(response.raise_for_status().json()["signedURL"])


SECRET = "x" * 40
SIGNER = Signer(SECRET)
NOW = int(time.time())
CLAIMS = {"url": "receipts/a.png", "scope": "download", "exp": NOW + 3600}


def by_hand(claims: Any, secret: str = SECRET, algorithm: str = "HS256") -> str:
    """Return a token of any claims, which the service itself would not sign."""
    key = OctKey.import_key(secret)
    return jws.serialize_compact(
        {"alg": algorithm}, json.dumps(claims).encode(), key, algorithms=["HS256", "HS512"]
    )


def unsigned(claims: Any) -> str:
    head, payload = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "none"}, claims)
    )
    return f"{head}.{payload}."


UNTRUSTED = "signature verification failed"
TOKENS = {
    "no token": ("x", "Invalid Compact JWS"),
    "unsigned": (unsigned(CLAIMS), UNTRUSTED),
    "another algorithm": (by_hand(CLAIMS, algorithm="HS512"), UNTRUSTED),
    "another secret": (by_hand(CLAIMS, secret="y" * 40), UNTRUSTED),
    "a list": (by_hand([CLAIMS]), UNTRUSTED),
    "no end": (by_hand({**CLAIMS, "exp": None}), UNTRUSTED),
    "an end that is no number": (by_hand({**CLAIMS, "exp": "soon"}), UNTRUSTED),
    "expired": (by_hand({**CLAIMS, "exp": NOW - 1}), '"exp" claim timestamp check failed'),
    "another object": (by_hand({**CLAIMS, "url": "receipts/b.png"}), "Invalid signature"),
    "another purpose": (by_hand({**CLAIMS, "scope": "upload"}), "Token is not scoped for download"),
    "an older token for an upload": (
        by_hand({"url": CLAIMS["url"], "upsert": False, "exp": NOW + 3600}),
        "Token is not scoped for download",
    ),
}


@pytest.mark.threat("T98", "T74")
@pytest.mark.parametrize("case", TOKENS)
def test_a_token_opens_one_object_for_one_purpose_until_its_end(case: str) -> None:
    assert SIGNER.verify(by_hand(CLAIMS), "download", "receipts/a.png") == CLAIMS
    token, message = TOKENS[case]
    with pytest.raises(ApiError) as rejected:
        SIGNER.verify(token, "download", "receipts/a.png")
    assert rejected.value.message == message


@pytest.mark.threat("T98")
def test_no_token_outlives_the_calendar() -> None:
    assert SIGNER.sign("download", "receipts/a.png", 253_402_300_799 - int(time.time()) - 10)
    with pytest.raises(ApiError) as rejected:
        SIGNER.sign("download", "receipts/a.png", 253_402_300_799)
    assert rejected.value.code == "InvalidParameter"


def open_url(stack: Stack, url: str) -> httpx.Response:
    """Follow a signed URL as a browser would: without any key."""
    return plain_http.get(f"{stack.url}/storage/v1{url}", timeout=20)


@pytest.mark.threat("T98")
def test_it_opens_without_a_key_until_it_expires(
    stack: Stack, own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    # Long enough that it is opened in time where all takes long.
    url = signed(own_bucket, referrer, path, 6)
    response = open_url(stack, url)
    assert response.status_code == 200
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-content-type-options"] == "nosniff"
    until = time.monotonic() + 20
    while (late := open_url(stack, url)).status_code == 200 and time.monotonic() < until:
        time.sleep(0.1)
    assert (late.status_code, late.json()["code"]) == (400, "InvalidJWT")
    assert late.json()["message"] == '"exp" claim timestamp check failed'


@pytest.mark.threat("T98")
def test_tampering(stack: Stack, own_bucket: BucketFixture, referrer: Member, path: str) -> None:
    url = signed(own_bucket, referrer, path)
    base, token = url.split("?token=")
    head, claims, signature = token.split(".")
    longer = json.loads(base64.urlsafe_b64decode(claims + "=="))
    longer["exp"] += 100_000
    edited = base64.urlsafe_b64encode(json.dumps(longer).encode()).rstrip(b"=").decode()
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    other = f"/object/sign/{own_bucket.bucket}/{referrer.user_id}/other.png"
    cases = {
        f"{base}?token={head}.{edited}.{signature}": "InvalidJWT",
        f"{base}?token={head}.{claims}.{flipped}": "InvalidJWT",
        f"{base}?token={none}.{claims}.": "InvalidJWT",
        f"{base}?token=garbage": "InvalidJWT",
        f"{base}?token={referrer.token}": "InvalidJWT",
        f"{base}?token={stack.service_key}": "InvalidJWT",
        f"{other}?token={token}": "InvalidSignature",
        base: "InvalidRequest",
    }
    for case, code in cases.items():
        response = open_url(stack, case)
        assert (response.status_code, response.json()["code"]) == (400, code), case


@pytest.mark.threat("T74", "T98")
def test_a_download_token_does_not_upload(
    stack: Stack, own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    token = signed(own_bucket, referrer, path).split("?token=")[1]
    url = f"{stack.url}/storage/v1/object/upload/sign/{own_bucket.bucket}/{path}?token={token}"
    response = plain_http.put(url, content=png(), headers={"content-type": "image/png"}, timeout=20)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidSignature")
    assert response.json()["message"] == "Token is not scoped for upload"


@pytest.mark.threat("T74", "T98")
def test_an_upload_token_uploads_once_and_does_not_download(
    stack: Stack, own_bucket: BucketFixture, referrer: Member
) -> None:
    path = f"{own_bucket.bucket}/{referrer.user_id}/by-url.png"
    made = own_bucket.call(referrer, "POST", f"/object/upload/sign/{path}", {}).raise_for_status().json()
    url = f"{stack.url}/storage/v1{made['url']}"
    headers = {"content-type": "image/png"}
    assert plain_http.put(url, content=png(), headers=headers, timeout=20).json() == {"Key": path}
    again = plain_http.put(url, content=png(), headers=headers, timeout=20).json()
    assert again["code"] == "KeyAlreadyExists"
    response = open_url(stack, f"/object/sign/{path}?token={made['token']}")
    assert response.json()["message"] == "Token is not scoped for download"


@pytest.mark.threat("T74")
def test_a_signed_token_is_no_access_token(
    stack: Stack, own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    token = signed(own_bucket, referrer, path).split("?token=")[1]
    response = own_bucket.call(
        ApiClient(stack, token), "POST", f"/object/list/{own_bucket.bucket}", {"prefix": ""}
    )
    assert response.json()["code"] == "AccessDenied"
    assert (
        plain_http.get(
            f"{stack.url}/rest/v1/deposits",
            headers={"apikey": stack.anon_key, "authorization": f"Bearer {token}"},
            timeout=20,
        ).status_code
        == 401
    )


def _claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


@pytest.mark.threat("T98")
def test_a_persons_url_lives_a_day_at_most(own_bucket: BucketFixture, referrer: Member, path: str) -> None:
    day, years = 24 * 3600, 10 * 365 * 24 * 3600
    for seconds, lifetime in ((60, 60), (day, day), (day + 1, day), (years, day), (2**53, day)):
        one = signed(own_bucket, referrer, path, seconds)
        many = own_bucket.call(
            referrer,
            "POST",
            f"/object/sign/{own_bucket.bucket}",
            {"expiresIn": seconds, "paths": [path]},
        ).json()[0]["signedURL"]
        for url in (one, many):
            claims = _claims(url.split("?token=")[1])
            assert claims["exp"] - claims["iat"] == lifetime, seconds
    for_years = _claims(signed(own_bucket, own_bucket.service, path, years).split("?token=")[1])
    assert for_years["exp"] - for_years["iat"] == years


@pytest.mark.threat("T35", "T98")
@pytest.mark.parametrize("status", ["suspended", "disabled"])
def test_a_persons_urls_stop_with_the_account(
    stack: Stack, owner: Owner, own_bucket: BucketFixture, member: Member, status: str
) -> None:
    path, new = f"{member.user_id}/a.png", f"{member.user_id}/new.png"
    own_bucket.put(member, path, png()).raise_for_status()
    url = signed(own_bucket, member, path)
    upload = own_bucket.call(member, "POST", f"/object/upload/sign/{own_bucket.bucket}/{new}", {}).json()[
        "url"
    ]
    by_service = signed(own_bucket, own_bucket.service, path)
    assert open_url(stack, url).status_code == 200
    set_member(owner, member.user_id, account_status=status)
    response = open_url(stack, url)
    assert (response.status_code, response.json()["code"]) == (403, f"account_{status}")
    assert plain_http.head(f"{stack.url}/storage/v1{url}", timeout=20).status_code == 403
    stored = plain_http.put(
        f"{stack.url}/storage/v1{upload}", content=png(), headers={"content-type": "image/png"}, timeout=20
    )
    assert (stored.status_code, stored.json()["code"]) == (403, f"account_{status}")
    assert new not in own_bucket.names()
    assert open_url(stack, by_service).status_code == 200
    set_member(owner, member.user_id, account_status="active")
    assert open_url(stack, url).status_code == 200
    own_bucket.call(own_bucket.service, "DELETE", f"/object/{own_bucket.bucket}/{path}").raise_for_status()


@pytest.mark.threat("T98")
@pytest.mark.parametrize("verb", ["GET", "HEAD"])
def test_a_signed_address_without_a_good_token(
    stack: Stack, own_bucket: BucketFixture, path: str, verb: str
) -> None:
    url = f"{stack.url}/storage/v1/object/sign/{own_bucket.bucket}/{path}?token=x"
    assert httpx.request(verb, url, timeout=20).status_code == 400


@pytest.mark.threat("T94", "T98")
def test_an_upload_url_needs_the_right_to_upload(
    own_bucket: BucketFixture, referrer: Member, member: Member
) -> None:
    key = f"{own_bucket.bucket}/{referrer.user_id}/anothers.png"
    response = own_bucket.call(member, "POST", f"/object/upload/sign/{key}", {})
    assert (response.status_code, response.json()["code"]) == (400, "AccessDenied")


def test_an_upload_url_is_made_for_a_name_that_is_free(
    own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    response = own_bucket.call(referrer, "POST", f"/object/upload/sign/{own_bucket.bucket}/{path}", {})
    assert (response.status_code, response.json()["code"]) == (400, "KeyAlreadyExists")


@pytest.mark.threat("T98")
def test_an_upload_url_lives_two_hours_and_its_file_is_its_makers(
    stack: Stack, owner: Owner, own_bucket: BucketFixture, referrer: Member
) -> None:
    name = f"{referrer.user_id}/owned.png"
    made = own_bucket.call(referrer, "POST", f"/object/upload/sign/{own_bucket.bucket}/{name}", {}).json()
    claims = _claims(made["token"])
    assert claims["exp"] - claims["iat"] == 2 * 3600
    url = f"{stack.url}/storage/v1{made['url']}"
    httpx.put(url, content=png(), headers={"content-type": "image/png"}, timeout=20).raise_for_status()
    stored = owner.execute(
        "select owner_id from storage.objects where bucket_id = %s and name = %s", [own_bucket.bucket, name]
    ).fetchone()
    assert stored == {"owner_id": referrer.user_id}


def test_images_are_not_transformed(
    stack: Stack, own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    key, transform = f"{own_bucket.bucket}/{path}", {"width": 10}
    url = signed(own_bucket, referrer, path)
    responses = [
        own_bucket.call(referrer, "POST", f"/object/sign/{key}", {"expiresIn": 60, "transform": transform}),
        own_bucket.call(
            referrer,
            "POST",
            f"/object/sign/{own_bucket.bucket}",
            {"expiresIn": 60, "paths": [path], "transform": transform},
        ),
        own_bucket.call(referrer, "GET", f"/object/{key}?transform=width:10"),
        own_bucket.call(referrer, "GET", f"/object/authenticated/{key}?transform=width:10"),
        own_bucket.call(referrer, "GET", f"/object/info/{key}?transform=width:10"),
        own_bucket.call(referrer, "GET", f"/render/image/authenticated/{key}?width=10"),
        open_url(stack, f"{url}&transform=width:10"),
        open_url(stack, url.replace("/object/sign/", "/render/image/sign/")),
    ]
    for response in responses:
        assert (response.status_code, response.json()["code"]) == (400, "InvalidRequest")
        assert "images are served as they were uploaded" in response.json()["message"]


def test_personal_responses_are_stored_nowhere(
    own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    key = f"{own_bucket.bucket}/{path}"
    for verb, route, body in (
        ("POST", f"/object/sign/{key}", {"expiresIn": 60}),
        ("POST", f"/object/sign/{own_bucket.bucket}", {"expiresIn": 60, "paths": [path]}),
        ("POST", f"/object/upload/sign/{own_bucket.bucket}/{referrer.user_id}/b.png", {}),
        ("POST", f"/object/list/{own_bucket.bucket}", {"prefix": ""}),
        ("GET", f"/object/info/{key}", None),
        ("GET", f"/object/{own_bucket.bucket}/{referrer.user_id}/missing.png", None),
    ):
        response = own_bucket.call(referrer, verb, route, body)
        assert response.headers["cache-control"] == "no-store", route
