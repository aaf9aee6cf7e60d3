"""Size and time: what is too large, too slow or mislabelled is rejected on arrival, and nothing is stored."""

import asyncio
import contextlib
import http.client
import json
import select
import socket
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from starlette.types import Message

from functions.core.errors import ApiError
from functions.storage.file_response import PacedResponse
from functions.storage.transfers import ARRIVALS, Limits, Transfer, Transfers
from tests.api.conftest import Owner
from tests.support.bucket_fixture import LIMIT, BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import Member, new_address
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


def begun(stack: Stack, method: str, path: str, token: str = "", address: str = "") -> socket.socket:
    """Begin a request whose body does not come."""
    parts = urlsplit(stack.url)
    connection = socket.create_connection(
        (parts.hostname or "", parts.port or 80), 20, (address, 0) if address else None
    )
    head = f"{method} /storage/v1{path} HTTP/1.1\r\nHost: {parts.netloc}\r\napikey: {stack.anon_key}\r\n"
    who = f"Authorization: Bearer {token}\r\n" if token else ""
    connection.sendall(f"{head}{who}Content-Type: image/png\r\nContent-Length: 1000\r\n\r\nsome".encode())
    return connection


def responses(slow: list[socket.socket], count: int, seconds: float) -> list[str]:
    """Return so many of the responses that these get, or what comes in time; take them off the list."""
    found, until = list[str](), time.monotonic() + seconds
    while len(found) < count and (left := until - time.monotonic()) > 0:
        for one in select.select(slow, [], [], left)[0]:
            slow.remove(one)
            found.append(one.recv(4096).decode())
    return found


@pytest.mark.threat("T96")
@pytest.mark.parametrize("kind", ["upload", "replacement", "signed upload", "anyone's signed upload"])
def test_one_person_leaves_places_to_the_others(
    stack: Stack, own_bucket: BucketFixture, member: Member, referrer: Member, kind: str
) -> None:
    """Two bodies are read and four may wait; the seventh ends at once, the four soon."""
    key = f"{own_bucket.bucket}/{member.user_id}/slow.png"
    # By a URL of the service key it is the client's network that has places.
    signer = own_bucket.service if kind == "anyone's signed upload" else member
    made = own_bucket.call(signer, "POST", f"/object/upload/sign/{key}").json()["url"]
    method, path = {"upload": ("POST", f"/object/{key}"), "replacement": ("PUT", f"/object/{key}")}.get(
        kind, ("PUT", made)
    )
    address = new_address(stack)
    with contextlib.ExitStack() as held:
        slow = [
            held.enter_context(contextlib.closing(begun(stack, method, path, member.token, address)))
            for _ in range(7)
        ]
        rejected = responses(slow, 2, 1.5)
        assert len(rejected) == 1
        rejected += responses(slow, 6, 3.5)
        assert len(rejected) == 5
        for response in rejected:
            assert response.startswith("HTTP/1.1 429 ")
            assert "\r\nretry-after: 1\r\n" in response.lower()
            assert '"SlowDown"' in response
        listed = own_bucket.call(member, "POST", f"/object/list/{own_bucket.bucket}", {"prefix": ""})
        assert listed.status_code == 200
        assert own_bucket.put(referrer, f"{referrer.user_id}/a.png", png()).status_code == 200
    own_bucket.call(referrer, "DELETE", f"/object/{own_bucket.bucket}/{referrer.user_id}/a.png")


@pytest.mark.threat("T96")
def test_slow_bodies_of_many_clients_end_where_another_waits(
    stack: Stack, own_bucket: BucketFixture, member: Member
) -> None:
    """By URLs of the service key a client is its network; each has two of the twelve places."""
    key = f"{own_bucket.bucket}/{member.user_id}"
    made = own_bucket.call(own_bucket.service, "POST", f"/object/upload/sign/{key}/slow.png").json()["url"]
    with contextlib.ExitStack() as held:
        slow = [
            held.enter_context(contextlib.closing(begun(stack, "PUT", made, address=address)))
            for address in (new_address(stack) for _ in range(6))
            for _ in range(2)
        ]
        time.sleep(1)
        large = png() + bytes(2**20)
        with ThreadPoolExecutor(6) as browser:
            names = [f"{member.user_id}/{number}.png" for number in range(6)]
            sent = browser.map(lambda name: own_bucket.put(member, name, large).status_code, names)
            assert set(sent) == {200}
        assert responses(slow, 1, 8)[0].startswith("HTTP/1.1 408 ")
    own_bucket.call(member, "DELETE", f"/object/{own_bucket.bucket}", {"prefixes": names})


@pytest.mark.threat("T96")
def test_one_person_who_does_not_read_leaves_places_to_the_others(
    stack: Stack, owner: Owner, member: Member, referrer: Member
) -> None:
    """Four files are sent to a person at once; another one waits, and is rejected soon."""
    with open_bucket(stack, owner) as large, contextlib.ExitStack() as held:
        for who, content in ((member, png() + bytes(2**20)), (referrer, png())):
            assert large.put(who, f"{who.user_id}/a.png", content).status_code == 200
        path = f"/object/{large.bucket}/{member.user_id}/a.png"
        slow = [held.enter_context(contextlib.closing(unread(stack, path, member.token))) for _ in range(5)]
        first = sorted(one.recv(12).decode()[9:] for one in slow)
        assert first == ["200", "200", "200", "200", "429"]
        assert large.get(referrer, f"{referrer.user_id}/a.png").status_code == 200


@pytest.mark.threat("T96")
def test_one_person_who_reads_parts_of_files_slowly_makes_no_other_wait(
    stack: Stack, owner: Owner, member: Member, referrer: Member
) -> None:
    """The service is done with such a part long before the client is."""
    with open_bucket(stack, owner) as large, contextlib.ExitStack() as held:
        for who in (member, referrer):
            assert large.put(who, f"{who.user_id}/a.png", png() + bytes(100_000)).status_code == 200
        path = f"/object/{large.bucket}/{member.user_id}/a.png"
        for _ in range(260):
            slow = unread(stack, path, member.token, "Range: bytes=0-65000\r\n")
            assert held.enter_context(contextlib.closing(slow)).recv(12).decode()[9:] == "206"
        assert large.get(referrer, f"{referrer.user_id}/a.png").status_code == 200
        assert large.put(referrer, f"{referrer.user_id}/b.png", png()).status_code == 200


def unread(stack: Stack, path: str, token: str, more: str = "") -> socket.socket:
    """Ask for a file with little room for it, in packets of the internet's size."""
    parts = urlsplit(stack.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
    connection.settimeout(20)
    connection.connect((parts.hostname or "", parts.port or 80))
    head = f"GET /storage/v1{path} HTTP/1.1\r\nHost: {parts.netloc}\r\napikey: {stack.anon_key}\r\n"
    connection.sendall(f"{head}Authorization: Bearer {token}\r\n{more}\r\n".encode())
    return connection


@pytest.mark.threat("T96")
async def test_a_file_that_is_read_too_slowly_ends_where_another_waits() -> None:
    """The client that reads it gets no end of it, so it is not taken for the whole."""
    places, sent = Transfers(Limits(1, 9, 1, 9)), list[Message]()

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield PIECE

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 3:
            await asyncio.Event().wait()

    async def respond() -> None:
        async with places.place("slow") as transfer:
            await PacedResponse(transfer, pieces(), 200, {}).stream_response(send)

    slow = asyncio.create_task(respond())
    await asyncio.sleep(0.05)
    async with places.place("another"):
        await slow
    assert [message.get("more_body") for message in sent] == [None, True, True]


class Senders:
    """Clients of the service's places, without a network."""

    def __init__(self) -> None:
        self.arrivals = Transfers(ARRIVALS)
        self.served: list[str] = []
        self._sent: list[asyncio.Task[None]] = []

    @contextlib.asynccontextmanager
    async def reading(self, count: int) -> AsyncIterator[list[Transfer]]:
        """Hold places, each of another client; then await those that were sent meanwhile."""
        async with contextlib.AsyncExitStack() as held:
            places = [self.arrivals.place(f"client {number}") for number in range(count)]
            bodies = [await held.enter_async_context(place) for place in places]
            for body in bodies:
                async with body.piece_within(1):
                    pass
            yield bodies
        await asyncio.gather(*self._sent)

    async def send(self, *clients: str) -> None:
        """Send a body of each; `served` has who was read, and who was rejected with what."""
        self._sent += [asyncio.create_task(self._send(client)) for client in clients]
        await asyncio.sleep(0.05)

    async def _send(self, client: str) -> None:
        try:
            async with self.arrivals.place(client):
                self.served.append(client)
        except ApiError as error:
            self.served.append(f"{client}: {error.status}")


@pytest.mark.threat("T96")
async def test_where_another_waits_the_body_that_is_farthest_behind_ends() -> None:
    """But not one that has just begun, was fast or has come, and one at a time."""
    senders, second = Senders(), 32 * 1024
    async with senders.reading(12) as bodies:
        await senders.send("another")
        assert not any(body.ended for body in bodies)
        bodies[0].complete()
        for body in bodies[3:]:
            body.advance(100 * second)
            assert body.due
            assert 1.9 < body.due - time.monotonic() < 2.1
        bodies[3].due = (bodies[1].due or 0) - 1
        bodies[3].advance(3 * second)
        await asyncio.sleep(0.8)
        assert [number for number, body in enumerate(bodies) if body.ended] == [1]
        with pytest.raises(TimeoutError):
            async with bodies[1].piece_within(1):
                pass
        await senders.send("client 1", "client 2")
    assert senders.served == ["another", "client 2", "client 1"], "who was slow comes last"


@pytest.mark.threat("T96")
async def test_where_too_many_wait_those_that_were_slow_leave_and_then_of_whom_most_wait() -> None:
    senders = Senders()
    async with senders.reading(12) as bodies:
        bodies[0].due = 1
        await senders.send("client 0", "many", "many", *(f"other {number}" for number in range(45)))
        await senders.send("one more")
        assert senders.served == ["client 0: 503"]
        await senders.send("yet one more")
        assert senders.served[1:] == ["many: 503"]
    assert len(senders.served) == 50
