"""The stock Python client's storage calls, end to end."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import md5

import pytest
from storage3.exceptions import StorageApiError
from supabase import Client, create_client

from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import Member
from tests.support.stack import Stack


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner) as own_bucket:
        yield own_bucket


@pytest.fixture(scope="module")
def service(stack: Stack) -> Client:
    return create_client(stack.url, stack.service_key)


@pytest.fixture
def client(stack: Stack, member: Member) -> Client:
    client = create_client(stack.url, stack.anon_key)
    client.auth.sign_in_with_password({"email": member.email, "password": member.password})
    return client


def test_a_members_files(client: Client, own_bucket: BucketFixture, member: Member) -> None:
    files, content = client.storage.from_(own_bucket.bucket), png()
    path = f"{member.user_id}/a b.png"
    made = files.upload(path, content, {"content-type": "image/png", "cache-control": "60"})
    assert made.path == path
    assert files.download(path) == content
    assert files.exists(path)
    assert not files.exists(f"{member.user_id}/none.png")
    assert files.info(path)["size"] == len(content)
    assert [row["name"] for row in files.list(member.user_id)] == ["a b.png"]
    url = files.create_signed_url(path, 60)["signedURL"]
    assert plain_http.get(url, timeout=20).content == content
    batch = files.create_signed_urls([path, "none"], 60)
    assert [bool(row["error"]) for row in batch] == [False, True]
    public = files.get_public_url(path)
    assert plain_http.get(public, timeout=20).status_code == 400
    assert [row["name"] for row in files.remove([path])] == [path]


def test_a_signed_upload(client: Client, own_bucket: BucketFixture, member: Member) -> None:
    files, content, path = client.storage.from_(own_bucket.bucket), png(), f"{member.user_id}/signed.png"
    made = files.create_signed_upload_url(path)
    files.upload_to_signed_url(path, made["token"], content, {"content-type": "image/png"})
    assert files.download(path) == content


def test_errors_have_code_and_message(client: Client, own_bucket: BucketFixture) -> None:
    with pytest.raises(StorageApiError) as rejected:
        client.storage.from_(own_bucket.bucket).upload("somewhere/else.png", png())
    assert rejected.value.message == "new row violates row-level security policy"
    with pytest.raises(StorageApiError) as missing:
        client.storage.from_(own_bucket.bucket).download("none")
    assert missing.value.message == "Object not found"


def test_buckets_copies_and_moves_of_the_service_key(service: Client, own_bucket: BucketFixture) -> None:
    name = f"{own_bucket.bucket}-more"
    service.storage.create_bucket(name, options={"public": True, "file_size_limit": 1000})
    assert service.storage.get_bucket(name).public
    assert name in [bucket.name for bucket in service.storage.list_buckets()]
    files = service.storage.from_(name)
    files.upload("a.txt", b"one")
    files.copy("a.txt", "b.txt")
    files.move("b.txt", "c/d.txt")
    files.update("a.txt", b"two")
    assert files.download("a.txt") == b"two"
    assert plain_http.get(files.get_public_url("c/d.txt"), timeout=20).content == b"one"
    service.storage.update_bucket(name, {"public": False})
    assert plain_http.get(files.get_public_url("c/d.txt"), timeout=20).status_code == 400
    with pytest.raises(StorageApiError):
        service.storage.delete_bucket(name)
    service.storage.empty_bucket(name)
    service.storage.delete_bucket(name)


@contextmanager
def writing(own_bucket: BucketFixture, path: str) -> Iterator[Future[None]]:
    """Yield an object that is overwritten continuously until the future is done."""

    def write() -> None:
        response = own_bucket.put(own_bucket.service, path, png(), x_upsert="true")
        assert response.status_code == 200, response.text

    def write_often() -> None:
        for _ in range(80):
            write()

    write()
    with ThreadPoolExecutor(1) as parallel:
        future = parallel.submit(write_often)
        yield future
        future.result()


def test_a_reader_parallel_to_a_writer_always_finds_a_version(own_bucket: BucketFixture) -> None:
    """The bytes that a replacement takes away may be those whose row was just read."""
    found = []
    with writing(own_bucket, "replaced.png") as work:
        while not work.done():
            found.append(own_bucket.get(own_bucket.service, "replaced.png").status_code)
    assert set(found) == {200}


def test_a_copy_parallel_to_a_writer_is_of_one_version(own_bucket: BucketFixture) -> None:
    """Bytes and metadata belong together, also when the bytes first found were deleted."""
    asked = {"bucketId": own_bucket.bucket, "sourceKey": "copied.png", "destinationKey": "copy.png"}
    found = []
    with writing(own_bucket, "copied.png") as work:
        while not work.done():
            copied = own_bucket.call(
                own_bucket.service, "POST", "/object/copy", asked, **{"x-upsert": "true"}
            )
            found.append((copied.status_code, copied.text if copied.status_code != 200 else ""))
            copy = own_bucket.get(own_bucket.service, "copy.png")
            assert copy.headers["etag"] == f'"{md5(copy.content).hexdigest()}"'
    assert set(found) == {(200, "")}


@pytest.mark.parametrize(
    ("version", "knows_types"),
    [("2.17.3", False), ("2.18.0", True), ("x", True), (f"{'9' * 5000}.0", True)],
    ids=["before", "since", "none", "too long a number"],
)
def test_the_type_of_a_bucket_is_for_clients_that_know_it(
    stack: Stack, version: str, knows_types: bool
) -> None:
    key = stack.service_key
    headers = {"apikey": key, "authorization": f"Bearer {key}", "x-client-info": f"supabase-py/{version}"}
    listed = plain_http.get(f"{stack.url}/storage/v1/bucket", headers=headers).raise_for_status().json()
    assert {"type" in bucket for bucket in listed} == {knows_types}
