"""Access to objects: a member reaches the own folder and nothing else, with every verb."""

from collections.abc import Iterator

import httpx
import pytest

from tests.api.conftest import Owner
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import ApiClient, Member, People
from tests.support.stack import Stack


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner) as own_bucket:
        yield own_bucket


@pytest.fixture(scope="module")
def alice(people: People, referrer: Member) -> Member:
    return people.member(referrer.profile_id)


@pytest.fixture(scope="module")
def bob(people: People, referrer: Member) -> Member:
    return people.member(referrer.profile_id)


@pytest.fixture
def hers(own_bucket: BucketFixture, alice: Member) -> Iterator[tuple[str, bytes]]:
    """Yield a file of Alice's and its bytes; the file is restored after the test."""
    path, content = f"{alice.user_id}/receipt.png", png()
    own_bucket.put(alice, path, content).raise_for_status()
    yield path, content
    assert own_bucket.get(alice, path).content == content
    own_bucket.call(own_bucket.service, "DELETE", f"/object/{own_bucket.bucket}/{path}").raise_for_status()


READS = [
    ("GET", "/object/{key}", None),
    ("GET", "/object/authenticated/{key}", None),
    ("GET", "/object/public/{key}", None),
    ("HEAD", "/object/{key}", None),
    ("HEAD", "/object/public/{key}", None),
    ("GET", "/object/info/{key}", None),
    ("GET", "/object/info/public/{key}", None),
    ("POST", "/object/sign/{key}", {"expiresIn": 60}),
    (
        "POST",
        "/object/move",
        {"bucketId": "{bucket}", "sourceKey": "{path}", "destinationKey": "{own}/x.png"},
    ),
    (
        "POST",
        "/object/copy",
        {"bucketId": "{bucket}", "sourceKey": "{path}", "destinationKey": "{own}/x.png"},
    ),
    ("DELETE", "/object/{key}", None),
]


@pytest.mark.threat("T90")
@pytest.mark.parametrize(("verb", "route", "body"), READS)
@pytest.mark.parametrize("who", ["another member", "anonymous"])
def test_anothers_file_does_not_exist(
    own_bucket: BucketFixture,
    hers: tuple[str, bytes],
    bob: Member,
    anonymous: ApiClient,
    who: str,
    verb: str,
    route: str,
    body: dict[str, object] | None,
) -> None:
    client = bob if who == "another member" else anonymous
    values = {
        "bucket": own_bucket.bucket,
        "path": hers[0],
        "key": f"{own_bucket.bucket}/{hers[0]}",
        "own": bob.user_id,
    }
    filled = {k: v.format(**values) if isinstance(v, str) else v for k, v in body.items()} if body else None
    response = own_bucket.call(client, verb, route.format(**values), filled)
    assert 400 <= response.status_code < 500
    assert hers[1] not in response.content
    if verb != "HEAD":
        assert response.json()["statusCode"] in ("403", "404")


@pytest.mark.threat("T90")
@pytest.mark.parametrize("route", ["/object", "/object/info"])
def test_without_any_token_a_private_bucket_does_not_exist(
    stack: Stack, own_bucket: BucketFixture, hers: tuple[str, bytes], route: str
) -> None:
    response = httpx.get(f"{stack.url}/storage/v1{route}/{own_bucket.bucket}/{hers[0]}", timeout=20)
    assert (response.status_code, response.json()["code"]) == (400, "NoSuchBucket")


@pytest.mark.threat("T90")
def test_a_range_of_anothers_file(own_bucket: BucketFixture, hers: tuple[str, bytes], bob: Member) -> None:
    response = own_bucket.get(bob, hers[0], range="bytes=0-3")
    assert (response.status_code, response.json()["code"]) == (400, "NoSuchKey")


@pytest.mark.threat("T92")
def test_lists_show_the_own_folder_only(
    own_bucket: BucketFixture, hers: tuple[str, bytes], alice: Member, bob: Member, anonymous: ApiClient
) -> None:
    listing = f"/object/list/{own_bucket.bucket}"
    seen = {
        who: own_bucket.call(client, "POST", listing, {"prefix": ""}).json()
        for who, client in (("alice", alice), ("bob", bob), ("anonymous", anonymous))
    }
    assert [row["name"] for row in seen["alice"]] == [alice.user_id]
    assert seen["bob"] == seen["anonymous"] == []
    assert own_bucket.call(bob, "POST", listing, {"prefix": alice.user_id}).json() == []
    for folders in (True, False):
        page = {"prefix": f"{alice.user_id}/", "with_delimiter": folders}
        found = own_bucket.call(bob, "POST", f"/object/list-v2/{own_bucket.bucket}", page).json()
        assert found == {"hasNext": False, "folders": [], "objects": []}
    batch = {"expiresIn": 60, "paths": [hers[0]]}
    signed = own_bucket.call(bob, "POST", f"/object/sign/{own_bucket.bucket}", batch).json()
    assert signed[0]["signedURL"] is None
    removed = own_bucket.call(bob, "DELETE", f"/object/{own_bucket.bucket}", {"prefixes": [hers[0]]})
    assert removed.json() == []


@pytest.mark.threat("T94")
@pytest.mark.parametrize("verb", ["POST", "PUT"])
@pytest.mark.parametrize("upsert", ["true", "false"])
def test_a_member_cannot_write_into_anothers_folder(
    own_bucket: BucketFixture, hers: tuple[str, bytes], alice: Member, bob: Member, verb: str, upsert: str
) -> None:
    for path in (hers[0], f"{alice.user_id}/new.png", "root.png", f"x/{bob.user_id}/a.png"):
        route = f"/storage/v1/object/{own_bucket.bucket}/{path}"
        headers = {"x-upsert": upsert, "content-type": "image/png"}
        response = bob.http.request(verb, route, content=png(), headers=headers)
        assert response.json()["code"] == "AccessDenied", response.text
    assert own_bucket.names() == [hers[0]]


@pytest.mark.threat("T94")
def test_a_copy_needs_the_right_to_upload(
    own_bucket: BucketFixture, hers: tuple[str, bytes], alice: Member, bob: Member
) -> None:
    own = f"{bob.user_id}/own.png"
    own_bucket.put(bob, own, png()).raise_for_status()
    asked = {
        "bucketId": own_bucket.bucket,
        "sourceKey": own,
        "destinationKey": f"{alice.user_id}/copy.png",
    }
    response = own_bucket.call(bob, "POST", "/object/copy", asked)
    assert (response.status_code, response.json()["code"]) == (400, "AccessDenied")
    own_bucket.call(bob, "DELETE", f"/object/{own_bucket.bucket}/{own}").raise_for_status()
    assert own_bucket.names() == [hers[0]]


def test_a_name_that_is_taken(own_bucket: BucketFixture, hers: tuple[str, bytes]) -> None:
    service, other = own_bucket.service, "other.png"
    own_bucket.put(service, other, png()).raise_for_status()
    onto = {"bucketId": own_bucket.bucket, "sourceKey": other, "destinationKey": hers[0]}
    for route, body, code in (
        ("/bucket", {"name": own_bucket.bucket}, "BucketAlreadyExists"),
        ("/object/move", onto, "ResourceAlreadyExists"),
        ("/object/copy", onto, "KeyAlreadyExists"),
    ):
        response = own_bucket.call(service, "POST", route, body)
        assert (response.status_code, response.json()["code"]) == (400, code)
    own_bucket.call(service, "DELETE", f"/object/{own_bucket.bucket}/{other}").raise_for_status()


def test_a_bucket_with_objects_is_not_deleted(own_bucket: BucketFixture, hers: tuple[str, bytes]) -> None:
    response = own_bucket.call(own_bucket.service, "DELETE", f"/bucket/{own_bucket.bucket}", {})
    assert (response.status_code, response.json()["code"]) == (400, "ResourceNotEmpty")
    assert own_bucket.names() == [hers[0]]


def test_what_is_said_of_a_file_is_checked_on_arrival(
    own_bucket: BucketFixture, hers: tuple[str, bytes], alice: Member
) -> None:
    new = f"{alice.user_id}/new.png"
    uploaded = own_bucket.put(alice, new, png(), x_robots_tag="nonsense")
    assert (uploaded.status_code, uploaded.json()["error"]) == (400, "invalid_x_robots_tag")
    asked = {
        "bucketId": own_bucket.bucket,
        "sourceKey": hers[0],
        "destinationKey": new,
        "copyMetadata": False,
        "metadata": {"mimetype": "png"},
    }
    copied = own_bucket.call(alice, "POST", "/object/copy", asked)
    assert (copied.status_code, copied.json()["code"]) == (400, "InvalidMimeType")
    assert own_bucket.names() == [hers[0]]


BUCKETS = [
    ("POST", "/bucket", {"name": "{bucket}-own"}, "AccessDenied"),
    ("GET", "/bucket/{bucket}", None, "NoSuchBucket"),
    ("PUT", "/bucket/{bucket}", {"public": True}, "NoSuchBucket"),
    ("DELETE", "/bucket/{bucket}", {}, "NoSuchBucket"),
    ("POST", "/bucket/{bucket}/empty", {}, "AccessDenied"),
    ("POST", "/orphans/sweep", {}, "AccessDenied"),
]


@pytest.mark.threat("T92", "T94")
@pytest.mark.parametrize(("verb", "route", "body", "code"), BUCKETS)
def test_a_member_has_no_right_to_buckets(
    own_bucket: BucketFixture,
    hers: tuple[str, bytes],
    alice: Member,
    verb: str,
    route: str,
    body: dict[str, object] | None,
    code: str,
) -> None:
    named = {"name": f"{own_bucket.bucket}-own"} if body and "name" in body else body
    response = own_bucket.call(alice, verb, route.format(bucket=own_bucket.bucket), named)
    assert (400 <= response.status_code < 500, response.json()["code"]) == (True, code)
    assert own_bucket.call(alice, "GET", "/bucket").json() == []
    assert own_bucket.names() == [hers[0]]


@pytest.mark.threat("T94")
def test_the_own_file_is_not_replaced_without_the_right(
    own_bucket: BucketFixture, hers: tuple[str, bytes], alice: Member
) -> None:
    assert own_bucket.put(alice, hers[0], png()).json()["code"] == "KeyAlreadyExists"
    assert own_bucket.put(alice, hers[0], png(), x_upsert="true").json()["code"] == "AccessDenied"
    route = f"/storage/v1/object/{own_bucket.bucket}/{hers[0]}"
    replaced = alice.http.put(route, content=png(), headers={"content-type": "image/png"})
    assert replaced.json()["code"] == "AccessDenied"


@pytest.mark.threat("T70")
def test_a_token_that_is_not_to_be_trusted(own_bucket: BucketFixture, stack: Stack, alice: Member) -> None:
    head, claims, signature = alice.token.split(".")
    flipped = ("B" if signature[0] != "B" else "C") + signature[1:]
    tokens = {
        "garbage": "Invalid Compact JWS",
        f"{head}.{claims}.{flipped}": "signature verification failed",
        f"{head}.{claims}.": "signature verification failed",
    }
    for token, message in tokens.items():
        client = ApiClient(stack, token)
        response = own_bucket.call(client, "POST", f"/object/list/{own_bucket.bucket}", {"prefix": ""})
        assert response.status_code == 400
        assert response.json() == {
            "statusCode": "403",
            "error": "Unauthorized",
            "message": message,
            "code": "AccessDenied",
        }
