"""Names that another layer could read as other names are rejected by every operation, however spelt.

Each is sent through the gateway and to the service itself, and the bucket is read again as its owner.
"""

import http.client
import json
import posixpath
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.api.conftest import Owner
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import Member
from tests.support.stack import Stack, service_env

# As they stand in the request line, below the member's own folder.
CLIMBING = [
    "../x.png",
    "../../x.png",
    "a/../../x.png",
    "a/../x.png",
    "..%2fx.png",
    "a/..%2Fx.png",
    "%2e%2e/x.png",
    "%2e%2e%2fx.png",
    "%2E%2E%2F%2E%2E%2Fx.png",
    "%252e%252e%252fx.png",
    "%252e%252e/x.png",
    "..%252fx.png",
    "a%252fx.png",
    "%25252e%25252e/x.png",
    "..%5cx.png",
    "..%255cx.png",
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
    "a//x.png",
    "a/%2fx.png",
    "a%2f%2fx.png",
    "/x.png",
    "a/",
    "a%2f",
    "",
    "%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "../../../../../../etc/passwd",
    "%c0%ae%c0%ae/x.png",
    "x%00.png",
    "x.png%00.html",
    "%00",
    "x%0a.png",
    "x%0d%0aSet-Cookie:a=b.png",
    "x%7f.png",
    "x%1b.png",
    "x%c2%85.png",
    "x%2500.png",
    "%25/x.png",
    "x%25zz.png",
    "x%",
    "x%2",
    "x%zz.png",
]
# Names with letters that are not allowed: nothing is stored under them.
MISSPELT = [
    "%e2%80%a5/x.png",
    "%ef%bc%8e%ef%bc%8e/x.png",
    "%ef%bc%8e%ef%bc%8e%ef%bc%8fx.png",
    "x%7c.png",
    "%23/x.png",
    "x" * 5000,
]
# Each takes a name in its URL; `{key}` is bucket and name.
BY_URL = [
    ("POST", "/object/{key}"),
    ("PUT", "/object/{key}"),
    ("GET", "/object/{key}"),
    ("HEAD", "/object/{key}"),
    ("GET", "/object/authenticated/{key}"),
    ("HEAD", "/object/authenticated/{key}"),
    ("GET", "/object/public/{key}"),
    ("HEAD", "/object/public/{key}"),
    ("GET", "/object/info/{key}"),
    ("GET", "/object/info/authenticated/{key}"),
    ("GET", "/object/info/public/{key}"),
    ("POST", "/object/sign/{key}"),
    ("GET", "/object/sign/{key}"),
    ("HEAD", "/object/sign/{key}"),
    ("POST", "/object/upload/sign/{key}"),
    ("PUT", "/object/upload/sign/{key}"),
    ("DELETE", "/object/{key}"),
]
# Each takes a name in its body, as it stands there: nothing decodes it before the service does.
UNSAFE_NAMES = [
    "../{own}/a.png",
    "{own}/../{own}/a.png",
    "{own}/./a.png",
    "{own}/..",
    "//{own}/a.png",
    "/{own}/a.png",
    "{own}//a.png",
    "{own}/a.png//",
    "{own}/%2e%2e/a.png",
    "{own}%2Fa.png",
    "{own}/%252e%252e/a.png",
    "{own}/%",
    "{own}/%zz",
    "{own}\\..\\a.png",
    "{own}/..\\a.png",
    "{own}/a\u0000.png",
    "{own}/a\n.png",
    "{own}/a\x7f.png",
    "{own}/a\x85.png",
    ".",
    "..",
    "/",
]
BY_BODY: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/object/copy", {"bucketId": "{bucket}", "sourceKey": "{name}", "destinationKey": "{new}"}),
    ("POST", "/object/copy", {"bucketId": "{bucket}", "sourceKey": "{good}", "destinationKey": "{name}"}),
    ("POST", "/object/copy", {"bucketId": "{name}", "sourceKey": "{good}", "destinationKey": "{new}"}),
    (
        "POST",
        "/object/copy",
        {
            "bucketId": "{bucket}",
            "sourceKey": "{good}",
            "destinationKey": "{new}",
            "destinationBucket": "{name}",
        },
    ),
    ("POST", "/object/move", {"bucketId": "{bucket}", "sourceKey": "{name}", "destinationKey": "{new}"}),
    ("POST", "/object/move", {"bucketId": "{bucket}", "sourceKey": "{good}", "destinationKey": "{name}"}),
    ("POST", "/object/move", {"bucketId": "{name}", "sourceKey": "{good}", "destinationKey": "{new}"}),
    (
        "POST",
        "/object/move",
        {
            "bucketId": "{bucket}",
            "sourceKey": "{good}",
            "destinationKey": "{new}",
            "destinationBucket": "{name}",
        },
    ),
]


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner) as own_bucket:
        yield own_bucket


@pytest.fixture(autouse=True)
def _empty(own_bucket: BucketFixture) -> None:
    """Every test starts with an empty bucket."""
    own_bucket.call(own_bucket.service, "POST", f"/bucket/{own_bucket.bucket}/empty", {}).raise_for_status()


@pytest.fixture(scope="module", params=["gateway", "service"])
def address(request: pytest.FixtureRequest, stack: Stack) -> str:
    """Return the address of the storage API, behind the gateway and in front of it."""
    if request.param == "gateway":
        return f"{stack.url}/storage/v1"
    return f"http://127.0.0.1:{service_env('storage')['PORT']}"


def raw(
    address: str, headers: dict[str, str], verb: str, target: str, body: bytes | None
) -> tuple[int, bytes]:
    """Return a response to a request whose path no client library has normalised."""
    parts = urlsplit(address)
    connection = (
        http.client.HTTPSConnection(parts.netloc, timeout=20, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.netloc, timeout=20)
    )
    connection.putrequest(verb, parts.path + target, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def _is_outside(address: str, target: str) -> bool:
    """Return whether the gateway sees another place than the storage API: the web app has a page for all."""
    path = urlsplit(address).path
    return bool(path) and not posixpath.normpath(unquote(path + target)).startswith(path + "/")


def _snapshot(owner: Owner, bucket: str) -> list[dict[str, Any]]:
    return owner.execute(
        "select name, version, owner_id from storage.objects where bucket_id = %s order by name", [bucket]
    ).fetchall()


@pytest.mark.threat("T93")
@pytest.mark.parametrize("name", CLIMBING + MISSPELT, ids=lambda name: name[:40] or "empty")
def test_unsafe_names_in_urls(
    stack: Stack, owner: Owner, own_bucket: BucketFixture, referrer: Member, address: str, name: str
) -> None:
    own_bucket.put(referrer, f"{referrer.user_id}/x.png", png()).raise_for_status()
    before = _snapshot(owner, own_bucket.bucket)
    headers = {
        "apikey": stack.anon_key,
        "Authorization": f"Bearer {referrer.token}",
        "Content-Type": "image/png",
    }
    # What is no URL at all ends in the gateway, in its own words, and it hangs up on who still sends.
    is_no_url = stack.url in address and name.endswith(("%", "%2", "%zz.png"))
    for verb, route in BY_URL:
        if name in MISSPELT and (verb, route) not in BY_URL[:2]:
            continue
        for upsert in ("false", "true"):
            target = route.format(key=f"{own_bucket.bucket}/{referrer.user_id}/{name}")
            if _is_outside(address, target):
                continue
            body, sent = png(), headers | {"x-upsert": upsert}
            if "/sign/" in route:
                target += "?token=x"
            if verb == "POST" and "/sign/" in route:
                body, sent = b'{"expiresIn": 60}', sent | {"Content-Type": "application/json"}
            if is_no_url:
                body = b""
            status, content = raw(address, sent, verb, target, body if verb in ("POST", "PUT") else None)
            assert status == 400, (verb, target)
            if verb != "HEAD" and not is_no_url:
                assert json.loads(content)["code"] == "InvalidKey", (verb, target)
            assert b"root:" not in content
    assert _snapshot(owner, own_bucket.bucket) == before


@pytest.mark.threat("T93")
@pytest.mark.parametrize(
    "bucket", [".", "..", "%2e%2e", "%252e", "", "{bucket}%00", "{bucket}%", "%2f{bucket}"]
)
def test_unsafe_buckets_in_urls(
    stack: Stack, owner: Owner, own_bucket: BucketFixture, referrer: Member, address: str, bucket: str
) -> None:
    before = _snapshot(owner, own_bucket.bucket)
    key = f"{bucket.format(bucket=own_bucket.bucket)}/{referrer.user_id}/x.png"
    headers = {"apikey": stack.anon_key, "Authorization": f"Bearer {referrer.token}"}
    for verb, route in BY_URL:
        target = route.format(key=key)
        if not _is_outside(address, target):
            assert raw(address, headers, verb, target + "?token=x", None)[0] == 400, (verb, route)
    for verb, route in (
        ("GET", "/bucket/{}"),
        ("PUT", "/bucket/{}"),
        ("DELETE", "/bucket/{}"),
        ("POST", "/bucket/{}/empty"),
        ("POST", "/object/list/{}"),
        ("POST", "/object/list-v2/{}"),
        ("DELETE", "/object/{}"),
    ):
        target = route.format(bucket.format(bucket=own_bucket.bucket))
        if not _is_outside(address, target):
            assert raw(address, headers, verb, target, None)[0] == 400, (verb, target)
    assert _snapshot(owner, own_bucket.bucket) == before


@pytest.mark.threat("T93")
def test_a_bucket_is_not_named_as_a_place(own_bucket: BucketFixture) -> None:
    for name in (".", "..", "a/b", "../a", "a%2fb", ""):
        response = own_bucket.call(own_bucket.service, "POST", "/bucket", {"name": name})
        assert (response.status_code, response.json()["code"]) == (400, "InvalidBucketName"), name


def _filled(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format(**values)
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    return value


@pytest.mark.threat("T93")
@pytest.mark.parametrize("name", UNSAFE_NAMES, ids=repr)
def test_unsafe_names_in_bodies(owner: Owner, own_bucket: BucketFixture, referrer: Member, name: str) -> None:
    good = f"{referrer.user_id}/a.png"
    own_bucket.put(referrer, good, png()).raise_for_status()
    before = _snapshot(owner, own_bucket.bucket)
    values = {
        "bucket": own_bucket.bucket,
        "good": good,
        "new": f"{referrer.user_id}/new.png",
        "name": name.format(own=referrer.user_id),
    }
    for verb, route, body in BY_BODY:
        response = own_bucket.call(referrer, verb, route.format(**values), _filled(body, values))
        assert (response.status_code, response.json()["code"]) == (400, "InvalidKey"), (route, body)
    assert _snapshot(owner, own_bucket.bucket) == before


@pytest.mark.threat("T93")
@pytest.mark.parametrize("name", [*UNSAFE_NAMES, "", "a\0b"], ids=repr)
def test_a_name_that_nothing_can_have_finds_nothing_and_stops_no_other(
    own_bucket: BucketFixture, referrer: Member, name: str
) -> None:
    good, name = f"{referrer.user_id}/a.png", name.format(own=referrer.user_id)
    own_bucket.put(referrer, good, png()).raise_for_status()

    def ask(verb: str, route: str, body: Any) -> Any:
        return own_bucket.call(referrer, verb, f"{route}/{own_bucket.bucket}", body).raise_for_status().json()

    if name:
        assert ask("POST", "/object/list", {"prefix": name}) == []
        for asked in ({"prefix": name}, {"prefix": name, "with_delimiter": True}):
            page = ask("POST", "/object/list-v2", asked)
            assert page == {"hasNext": False, "folders": [], "objects": []}
    first, second = ask("POST", "/object/sign", {"expiresIn": 60, "paths": [name, good]})
    assert (first["path"], first["signedURL"], first["error"]) == (
        name,
        None,
        "Either the object does not exist or you do not have access to it",
    )
    assert (second["path"], second["error"]) == (good, None)
    removed = ask("DELETE", "/object", {"prefixes": [name, good]})
    assert [row["name"] for row in removed] == [good]


@pytest.mark.threat("T93")
def test_a_prefix_is_empty_or_ends_in_one_slash(own_bucket: BucketFixture, referrer: Member) -> None:
    own_bucket.put(referrer, f"{referrer.user_id}/a.png", png()).raise_for_status()
    for prefix, name in (
        ("", referrer.user_id),
        (referrer.user_id, "a.png"),
        (f"{referrer.user_id}/", "a.png"),
    ):
        listed = own_bucket.call(
            referrer, "POST", f"/object/list/{own_bucket.bucket}", {"prefix": prefix}
        ).json()
        assert [row["name"] for row in listed] == [name]


def test_the_name_of_an_uploaded_file_counts_nowhere(own_bucket: BucketFixture, referrer: Member) -> None:
    path = f"{referrer.user_id}/x.png"
    response = referrer.http.post(
        f"/storage/v1/object/{own_bucket.bucket}/{path}", files={"": ("../../y.png", png(), "image/png")}
    )
    assert response.json()["Key"] == f"{own_bucket.bucket}/{path}"
    assert own_bucket.names() == [path]


def test_a_boundary_that_is_too_long(own_bucket: BucketFixture, referrer: Member) -> None:
    for length, status in ((256, 200), (257, 400), (4000, 400)):
        boundary = "b" * length
        part = f'--{boundary}\r\nContent-Disposition: form-data; name=""; filename="x"\r\n'
        form = f"{part}Content-Type: image/png\r\n\r\n".encode() + png() + f"\r\n--{boundary}--\r\n".encode()
        path = f"{referrer.user_id}/{length}.png"
        response = own_bucket.put(referrer, path, form, f"multipart/form-data; boundary={boundary}")
        assert response.status_code == status, response.text
    assert own_bucket.names() == [f"{referrer.user_id}/256.png"]
