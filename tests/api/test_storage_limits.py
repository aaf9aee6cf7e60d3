"""Size and time: what is too large, too slow or mislabelled is rejected on arrival, and nothing is stored."""

import contextlib
import http.client
import json
import select
import socket
import time
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.api.conftest import Owner
from tests.support.bucket_fixture import LIMIT, BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import ApiClient, Member
from tests.support.stack import Stack

PIECE = b"\x89PNG" * 16_384


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner, file_size_limit=LIMIT) as own_bucket:
        yield own_bucket


@pytest.fixture(autouse=True)
def _nothing_stored(own_bucket: BucketFixture) -> Iterator[None]:
    yield
    assert own_bucket.names() == []


def send(
    stack: Stack,
    member: Member,
    path: str,
    headers: dict[str, str],
    pieces: Iterable[bytes],
    pause: float = 0,
) -> tuple[int, dict[str, str]]:
    """Send pieces until the server responds; return the response's status and body."""
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=40)
    connection.putrequest("POST", path)
    for name, value in {
        "apikey": stack.anon_key,
        "Authorization": f"Bearer {member.token}",
        **headers,
    }.items():
        connection.putheader(name, value)
    connection.endheaders()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for piece in pieces:
            connection.send(piece)
            if pause and select.select([connection.sock], [], [], pause)[0]:
                break
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, body


def chunked(pieces: int) -> Iterator[bytes]:
    """Yield a body without a Content-Length."""
    for _ in range(pieces):
        yield b"%x\r\n%s\r\n" % (len(PIECE), PIECE)
    yield b"0\r\n\r\n"


def object_path(own_bucket: BucketFixture, member: Member) -> str:
    return f"/storage/v1/object/{own_bucket.bucket}/{member.user_id}/big.png"


@pytest.mark.threat("T96")
def test_a_length_above_the_limit_is_rejected_unread(
    stack: Stack, own_bucket: BucketFixture, member: Member
) -> None:
    headers = {"Content-Type": "image/png", "Content-Length": str(45 * 1024 * 1024)}
    status, body = send(stack, member, object_path(own_bucket, member), headers, iter([PIECE]))
    assert (status, body["code"], body["statusCode"]) == (400, "EntityTooLarge", "413")


@pytest.mark.threat("T96")
def test_five_gigabytes_do_not_pass_the_gateway(
    stack: Stack, own_bucket: BucketFixture, member: Member
) -> None:
    headers = {"Content-Type": "image/png", "Content-Length": str(5 * 1024**3)}
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=15)
    named = {"apikey": stack.anon_key, "Authorization": f"Bearer {member.token}", **headers}
    connection.putrequest("POST", object_path(own_bucket, member))
    for name, value in named.items():
        connection.putheader(name, value)
    connection.endheaders(PIECE)
    assert connection.getresponse().status in (400, 413)
    connection.close()


@pytest.mark.threat("T96")
def test_a_chunked_body_keeps_to_the_limit(stack: Stack, own_bucket: BucketFixture, member: Member) -> None:
    headers = {"Content-Type": "image/png", "Transfer-Encoding": "chunked"}
    status, body = send(
        stack, member, object_path(own_bucket, member), headers, chunked(LIMIT // len(PIECE) + 2)
    )
    assert (status, body["code"]) == (400, "EntityTooLarge")


@pytest.mark.threat("T96")
def test_a_form_keeps_to_the_limit(own_bucket: BucketFixture, member: Member) -> None:
    content = {"": ("a.png", PIECE * (LIMIT // len(PIECE) + 1), "image/png")}
    response = member.http.post(object_path(own_bucket, member), files=content)
    assert (response.status_code, response.json()["code"]) == (400, "EntityTooLarge")


@pytest.mark.threat("T96")
def test_ten_megabytes_of_metadata(own_bucket: BucketFixture, member: Member) -> None:
    fields = {"metadata": (None, json.dumps({"a": "b" * 10_000_000})), "": ("a.png", png(), "image/png")}
    response = member.http.post(object_path(own_bucket, member), files=fields)
    assert (response.status_code, response.json()["code"]) == (400, "EntityTooLarge")


@pytest.mark.threat("T96")
def test_a_form_of_empty_fields(own_bucket: BucketFixture, member: Member) -> None:
    field = b'--B\r\nContent-Disposition: form-data; name="%d"\r\n\r\n\r\n'
    headers = {"content-type": "multipart/form-data; boundary=B"}
    content = b"".join(field % number for number in range(40_000)) + b"--B--\r\n"
    response = member.http.post(object_path(own_bucket, member), content=content, headers=headers)
    assert (response.status_code, response.json()["code"]) == (400, "EntityTooLarge")


def test_a_form_that_ends_too_early(stack: Stack, own_bucket: BucketFixture, member: Member) -> None:
    text = (
        b'--B\r\nContent-Disposition: form-data; name=""; filename="a"\r\nContent-Type: image/png\r\n\r\nabc'
    )
    headers = {"content-type": "multipart/form-data; boundary=B"}
    response = member.http.post(object_path(own_bucket, member), content=text, headers=headers)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidRequest")


@pytest.mark.threat("T96")
def test_a_length_that_promises_more_than_comes(
    stack: Stack, own_bucket: BucketFixture, member: Member
) -> None:
    parts = urlsplit(stack.url)
    connection = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=20)
    head = (
        f"POST {object_path(own_bucket, member)} HTTP/1.1\r\n"
        f"Host: {parts.netloc}\r\napikey: {stack.anon_key}\r\n"
        f"Authorization: Bearer {member.token}\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\n"
    )
    connection.sendall(head.encode() + b"only this")
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(20)
    response = connection.recv(1000)
    connection.close()
    assert b" 200 " not in response.split(b"\r\n", 1)[0]


@pytest.mark.threat("T96")
def test_one_byte_a_second_ends_in_time(stack: Stack, own_bucket: BucketFixture, member: Member) -> None:
    started = time.monotonic()
    headers = {"Content-Type": "image/png", "Content-Length": "3600"}
    status, body = send(stack, member, object_path(own_bucket, member), headers, [b"x"] * 14, 1)
    assert status == 408
    assert body["code"] == "RequestTimeout"
    assert time.monotonic() - started < 18


def begun(stack: Stack, token: str, method: str, path: str) -> socket.socket:
    """Begin a request whose body does not come."""
    parts = urlsplit(stack.url)
    connection = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=20)
    head = f"{method} /storage/v1{path} HTTP/1.1\r\nHost: {parts.netloc}\r\napikey: {stack.anon_key}\r\n"
    kind = "Content-Type: image/png\r\nContent-Length: 1000\r\n"
    connection.sendall(f"{head}Authorization: Bearer {token}\r\n{kind}\r\nsome".encode())
    return connection


@pytest.mark.threat("T96")
@pytest.mark.parametrize("kind", ["upload", "replacement", "signed upload", "list"])
def test_one_person_leaves_places_to_the_others(
    stack: Stack, own_bucket: BucketFixture, member: Member, referrer: Member, kind: str
) -> None:
    """Six requests may wait for their bodies; the seventh ends at once."""
    key = f"{own_bucket.bucket}/{member.user_id}/slow.png"
    made = own_bucket.call(member, "POST", f"/object/upload/sign/{key}")
    method, path = {
        "upload": ("POST", f"/object/{key}"),
        "replacement": ("PUT", f"/object/{key}"),
        "signed upload": ("PUT", made.json()["url"]),
        "list": ("POST", f"/object/list/{own_bucket.bucket}"),
    }[kind]

    def listed(client: ApiClient) -> httpx.Response:
        return own_bucket.call(client, "POST", f"/object/list/{own_bucket.bucket}", {"prefix": ""})

    with contextlib.ExitStack() as held:
        slow = [
            held.enter_context(contextlib.closing(begun(stack, member.token, method, path))) for _ in range(7)
        ]
        # One of them comes last. After ten seconds the others would end too.
        (last,) = select.select(slow, [], [], 8)[0]
        response = last.recv(4096)
        assert response.startswith(b"HTTP/1.1 429 ")
        assert b'"SlowDown"' in response
        assert listed(member).status_code == 429
        assert listed(referrer).status_code == 200
        assert listed(own_bucket.service).status_code == 200
    until = time.monotonic() + 6
    while (freed := listed(member)).status_code == 429 and time.monotonic() < until:
        time.sleep(0.02)
    assert freed.status_code == 200
