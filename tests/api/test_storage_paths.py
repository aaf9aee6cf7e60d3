"""Forty names that try to leave their folder: none is stored under another name, none reaches a file."""

import http.client
import posixpath
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.api.conftest import Owner
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import Member
from tests.support.stack import Stack

# As they stand in the request line, below the member's own folder.
CLIMBING = [
    "../x.png",
    "../../x.png",
    "a/../../x.png",
    "..%2fx.png",
    "%2e%2e/x.png",
    "%2e%2e%2fx.png",
    "%2E%2E%2F%2E%2E%2Fx.png",
    "%252e%252e%252fx.png",
    "%252e%252e/x.png",
    "..%252fx.png",
    "..%5cx.png",
    "..\\x.png",
    "..\\..\\x.png",
    "a/..\\x.png",
    "%5c%5chost%5cshare",
    "./x.png",
    "a/./x.png",
    "%2e/x.png",
    ".",
    "..",
    "a/..",
    "a/.",
    "%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "../../../../../../etc/passwd",
    "..;/x.png",
    "%c0%ae%c0%ae/x.png",
    "%e2%80%a5/x.png",
    "%ef%bc%8e%ef%bc%8e/x.png",
    "%ef%bc%8e%ef%bc%8e%ef%bc%8fx.png",
    "x%00.png",
    "x.png%00.html",
    "%00",
    "x%0a.png",
    "x%0d%0aSet-Cookie:a=b.png",
    "x%7f.png",
    "x%1b.png",
    "x%7c.png",
    "%23/x.png",
    "%25/x.png",
    "x" * 5000,
]
# "..;" is a name like any other, and a gateway may tidy "." away: both stay inside the folder.
HARMLESS = {"..;/x.png", "./x.png", "a/./x.png", "%2e/x.png", "a/."}


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner) as own_bucket:
        yield own_bucket


@pytest.fixture(autouse=True)
def _empty(own_bucket: BucketFixture) -> None:
    """Every test starts with an empty bucket."""
    own_bucket.call(own_bucket.service, "POST", f"/bucket/{own_bucket.bucket}/empty", {}).raise_for_status()


def raw(stack: Stack, token: str, verb: str, target: str, body: bytes | None) -> tuple[int, bytes]:
    """Return a request whose path no client library has normalised."""
    parts = urlsplit(stack.url)
    context = ssl.create_default_context()
    connection = (
        http.client.HTTPSConnection(parts.netloc, timeout=20, context=context)
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.netloc, timeout=20)
    )
    connection.putrequest(verb, target, skip_accept_encoding=True)
    connection.putheader("apikey", stack.anon_key)
    connection.putheader("Authorization", f"Bearer {token}")
    if body is not None:
        connection.putheader("Content-Type", "image/png")
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def test_there_are_forty() -> None:
    assert len(set(CLIMBING)) == 40


@pytest.mark.threat("T93")
@pytest.mark.parametrize("name", CLIMBING, ids=lambda name: name[:40])
def test_climbing_names_are_rejected(
    stack: Stack, own_bucket: BucketFixture, member: Member, tmp_path: Path, name: str
) -> None:
    canary = tmp_path / "canary"
    canary.write_text("untouched")
    target = f"/storage/v1/object/{own_bucket.bucket}/{member.user_id}/{name}"
    # Who climbs out of the storage API altogether finds the web app, which has one page for every path.
    outside = not posixpath.normpath(unquote(target)).startswith("/storage/v1/object/")
    for verb, body in (("POST", png()), ("GET", None)):
        status, content = raw(stack, member.token, verb, target, body)
        assert 400 <= status < 500 or outside or name in HARMLESS
        assert b"untouched" not in content
        assert b"root:" not in content
    assert canary.read_text() == "untouched"
    names = own_bucket.names()
    assert all(stored.startswith(f"{member.user_id}/") for stored in names)
    assert not names or name in HARMLESS


@pytest.mark.threat("T93")
def test_a_destination_cannot_climb_either(own_bucket: BucketFixture, member: Member) -> None:
    path = f"{member.user_id}/a.png"
    own_bucket.put(member, path, png()).raise_for_status()
    for verb in ("move", "copy"):
        for name in ("../x.png", f"{member.user_id}/../x.png", "/etc/../passwd", "a\\b", "x\u0000y", "", "."):
            body = {"bucketId": own_bucket.bucket, "sourceKey": path, "destinationKey": name}
            response = own_bucket.call(member, "POST", f"/object/{verb}", body)
            assert response.status_code == 400, (verb, name, response.text)
    assert own_bucket.names() == [path]
