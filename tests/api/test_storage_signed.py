"""Signed URLs open one object, for one purpose, for a while; they are signed with a secret of their own."""

import base64
import json
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.api.conftest import Owner
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import ApiClient, Member
from tests.support.stack import Stack


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner) as own_bucket:
        yield own_bucket


@pytest.fixture(scope="module")
def path(own_bucket: BucketFixture, referrer: Member) -> str:
    path = f"{referrer.user_id}/receipt.png"
    own_bucket.put(referrer, path, png()).raise_for_status()
    return path


def signed(own_bucket: BucketFixture, member: Member, path: str, seconds: int = 60) -> str:
    """Return a fresh signed URL, relative to the storage API."""
    response = own_bucket.call(
        member, "POST", f"/object/sign/{own_bucket.bucket}/{path}", {"expiresIn": seconds}
    )
    return str(response.raise_for_status().json()["signedURL"])


def open_url(stack: Stack, url: str) -> httpx.Response:
    """Follow a signed URL as a browser would: without any key."""
    return httpx.get(f"{stack.url}/storage/v1{url}", timeout=20)


@pytest.mark.threat("T98")
def test_it_opens_without_a_key_until_it_expires(
    stack: Stack, own_bucket: BucketFixture, referrer: Member, path: str
) -> None:
    url = signed(own_bucket, referrer, path, 2)
    response = open_url(stack, url)
    assert response.status_code == 200
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-content-type-options"] == "nosniff"
    until = time.monotonic() + 10
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
    response = httpx.put(url, content=png(), headers={"content-type": "image/png"}, timeout=20)
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
    assert httpx.put(url, content=png(), headers=headers, timeout=20).json() == {"Key": path}
    again = httpx.put(url, content=png(), headers=headers, timeout=20).json()
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
        httpx.get(
            f"{stack.url}/rest/v1/deposits",
            headers={"apikey": stack.anon_key, "authorization": f"Bearer {token}"},
            timeout=20,
        ).status_code
        == 401
    )
