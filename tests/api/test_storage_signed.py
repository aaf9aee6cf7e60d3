"""Signed URLs open one object, for one purpose, for a while; they are signed with a secret of their own."""

import base64
import json
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.api.conftest import Owner
from tests.support.files import png
from tests.support.people import Caller, Member
from tests.support.stack import Stack
from tests.support.vault import Vault, open_vault


@pytest.fixture(scope="module")
def vault(stack: Stack, owner: Owner) -> Iterator[Vault]:
    with open_vault(stack, owner) as vault:
        yield vault


@pytest.fixture(scope="module")
def path(vault: Vault, sponsor: Member) -> str:
    path = f"{sponsor.user_id}/receipt.png"
    vault.put(sponsor, path, png()).raise_for_status()
    return path


def signed(vault: Vault, member: Member, path: str, seconds: int = 60) -> str:
    """A fresh signed URL, relative to the storage API."""
    answer = vault.call(member, "POST", f"/object/sign/{vault.bucket}/{path}", {"expiresIn": seconds})
    return str(answer.raise_for_status().json()["signedURL"])


def open_url(stack: Stack, url: str) -> httpx.Response:
    """Follow a signed URL as a browser would: without any key."""
    return httpx.get(f"{stack.url}/storage/v1{url}", timeout=20)


@pytest.mark.threat("T98")
def test_it_opens_without_a_key_until_it_expires(
    stack: Stack, vault: Vault, sponsor: Member, path: str
) -> None:
    url = signed(vault, sponsor, path, 2)
    answer = open_url(stack, url)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    until = time.monotonic() + 10
    while (late := open_url(stack, url)).status_code == 200 and time.monotonic() < until:
        time.sleep(0.1)
    assert (late.status_code, late.json()["code"]) == (400, "InvalidJWT")
    assert late.json()["message"] == '"exp" claim timestamp check failed'


@pytest.mark.threat("T98")
def test_tampering(stack: Stack, vault: Vault, sponsor: Member, path: str) -> None:
    url = signed(vault, sponsor, path)
    base, token = url.split("?token=")
    head, claims, signature = token.split(".")
    longer = json.loads(base64.urlsafe_b64decode(claims + "=="))
    longer["exp"] += 100_000
    edited = base64.urlsafe_b64encode(json.dumps(longer).encode()).rstrip(b"=").decode()
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    other = f"/object/sign/{vault.bucket}/{sponsor.user_id}/other.png"
    cases = {
        f"{base}?token={head}.{edited}.{signature}": "InvalidJWT",
        f"{base}?token={head}.{claims}.{flipped}": "InvalidJWT",
        f"{base}?token={none}.{claims}.": "InvalidJWT",
        f"{base}?token=garbage": "InvalidJWT",
        f"{base}?token={sponsor.token}": "InvalidJWT",
        f"{base}?token={stack.service_key}": "InvalidJWT",
        f"{other}?token={token}": "InvalidSignature",
        base: "InvalidRequest",
    }
    for case, code in cases.items():
        answer = open_url(stack, case)
        assert (answer.status_code, answer.json()["code"]) == (400, code), case


@pytest.mark.threat("T74", "T98")
def test_a_download_token_does_not_upload(stack: Stack, vault: Vault, sponsor: Member, path: str) -> None:
    token = signed(vault, sponsor, path).split("?token=")[1]
    url = f"{stack.url}/storage/v1/object/upload/sign/{vault.bucket}/{path}?token={token}"
    answer = httpx.put(url, content=png(), headers={"content-type": "image/png"}, timeout=20)
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidSignature")
    assert answer.json()["message"] == "Token is not scoped for upload"


@pytest.mark.threat("T74", "T98")
def test_an_upload_token_uploads_once_and_does_not_download(
    stack: Stack, vault: Vault, sponsor: Member
) -> None:
    path = f"{vault.bucket}/{sponsor.user_id}/by-url.png"
    made = vault.call(sponsor, "POST", f"/object/upload/sign/{path}", {}).raise_for_status().json()
    url = f"{stack.url}/storage/v1{made['url']}"
    headers = {"content-type": "image/png"}
    assert httpx.put(url, content=png(), headers=headers, timeout=20).json() == {"Key": path}
    again = httpx.put(url, content=png(), headers=headers, timeout=20).json()
    assert again["code"] == "KeyAlreadyExists"
    answer = open_url(stack, f"/object/sign/{path}?token={made['token']}")
    assert answer.json()["message"] == "Token is not scoped for download"


@pytest.mark.threat("T74")
def test_a_signed_token_is_no_access_token(stack: Stack, vault: Vault, sponsor: Member, path: str) -> None:
    token = signed(vault, sponsor, path).split("?token=")[1]
    answer = vault.call(Caller(stack, token), "POST", f"/object/list/{vault.bucket}", {"prefix": ""})
    assert answer.json()["code"] == "AccessDenied"
    assert (
        httpx.get(
            f"{stack.url}/rest/v1/deposits",
            headers={"apikey": stack.anon_key, "authorization": f"Bearer {token}"},
            timeout=20,
        ).status_code
        == 401
    )
