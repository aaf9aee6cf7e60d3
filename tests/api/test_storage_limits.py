"""Size and time: what is too large, too slow or untrue is refused while it arrives, and nothing is kept."""

import contextlib
import http.client
import json
import select
import socket
import time
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.api.conftest import Owner
from tests.support.files import png
from tests.support.people import Member
from tests.support.stack import Stack
from tests.support.vault import LIMIT, Vault, open_vault

PIECE = b"\x89PNG" * 16_384


@pytest.fixture(scope="module")
def vault(stack: Stack, owner: Owner) -> Iterator[Vault]:
    with open_vault(stack, owner, file_size_limit=LIMIT) as vault:
        yield vault


@pytest.fixture(autouse=True)
def _nothing_kept(vault: Vault) -> Iterator[None]:
    yield
    assert vault.names() == []


def send(
    stack: Stack,
    member: Member,
    path: str,
    headers: dict[str, str],
    pieces: Iterable[bytes],
    pause: float = 0,
) -> tuple[int, dict[str, str]]:
    """Send pieces until the server has heard enough; returns the answer's status and body."""
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
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, body


def chunked(pieces: int) -> Iterator[bytes]:
    """A body whose length is not said."""
    for _ in range(pieces):
        yield b"%x\r\n%s\r\n" % (len(PIECE), PIECE)
    yield b"0\r\n\r\n"


def object_path(vault: Vault, member: Member) -> str:
    return f"/storage/v1/object/{vault.bucket}/{member.user_id}/big.png"


@pytest.mark.threat("T96")
def test_a_length_above_the_limit_is_refused_unread(stack: Stack, vault: Vault, member: Member) -> None:
    headers = {"Content-Type": "image/png", "Content-Length": str(45 * 1024 * 1024)}
    status, body = send(stack, member, object_path(vault, member), headers, iter([PIECE]))
    assert (status, body["code"], body["statusCode"]) == (400, "EntityTooLarge", "413")


@pytest.mark.threat("T96")
def test_five_gigabytes_do_not_pass_the_door(stack: Stack, vault: Vault, member: Member) -> None:
    headers = {"Content-Type": "image/png", "Content-Length": str(5 * 1024**3)}
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=15)
    named = {"apikey": stack.anon_key, "Authorization": f"Bearer {member.token}", **headers}
    connection.putrequest("POST", object_path(vault, member))
    for name, value in named.items():
        connection.putheader(name, value)
    connection.endheaders(PIECE)
    assert connection.getresponse().status in (400, 413)
    connection.close()


@pytest.mark.threat("T96")
def test_a_chunked_body_keeps_to_the_limit(stack: Stack, vault: Vault, member: Member) -> None:
    headers = {"Content-Type": "image/png", "Transfer-Encoding": "chunked"}
    status, body = send(stack, member, object_path(vault, member), headers, chunked(LIMIT // len(PIECE) + 2))
    assert (status, body["code"]) == (400, "EntityTooLarge")


@pytest.mark.threat("T96")
def test_a_form_keeps_to_the_limit(vault: Vault, member: Member) -> None:
    content = {"": ("a.png", PIECE * (LIMIT // len(PIECE) + 1), "image/png")}
    answer = member.http.post(object_path(vault, member), files=content)
    assert (answer.status_code, answer.json()["code"]) == (400, "EntityTooLarge")


@pytest.mark.threat("T96")
def test_ten_megabytes_of_metadata(vault: Vault, member: Member) -> None:
    fields = {"metadata": (None, json.dumps({"a": "b" * 10_000_000})), "": ("a.png", png(), "image/png")}
    answer = member.http.post(object_path(vault, member), files=fields)
    assert (answer.status_code, answer.json()["code"]) == (400, "EntityTooLarge")


@pytest.mark.threat("T96")
def test_a_form_of_empty_fields(vault: Vault, member: Member) -> None:
    field = b'--B\r\nContent-Disposition: form-data; name="%d"\r\n\r\n\r\n'
    headers = {"content-type": "multipart/form-data; boundary=B"}
    content = b"".join(field % number for number in range(40_000)) + b"--B--\r\n"
    answer = member.http.post(object_path(vault, member), content=content, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "EntityTooLarge")


def test_a_form_that_ends_too_early(stack: Stack, vault: Vault, member: Member) -> None:
    text = (
        b'--B\r\nContent-Disposition: form-data; name=""; filename="a"\r\nContent-Type: image/png\r\n\r\nabc'
    )
    headers = {"content-type": "multipart/form-data; boundary=B"}
    answer = member.http.post(object_path(vault, member), content=text, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidRequest")


@pytest.mark.threat("T96")
def test_a_length_that_promises_more_than_comes(stack: Stack, vault: Vault, member: Member) -> None:
    parts = urlsplit(stack.url)
    connection = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=20)
    head = (
        f"POST {object_path(vault, member)} HTTP/1.1\r\nHost: {parts.netloc}\r\napikey: {stack.anon_key}\r\n"
        f"Authorization: Bearer {member.token}\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\n"
    )
    connection.sendall(head.encode() + b"only this")
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(20)
    answer = connection.recv(1000)
    connection.close()
    assert b" 200 " not in answer.split(b"\r\n", 1)[0]


@pytest.mark.threat("T96")
def test_one_byte_a_second_ends_in_time(stack: Stack, vault: Vault, member: Member) -> None:
    started = time.monotonic()
    headers = {"Content-Type": "image/png", "Content-Length": "3600"}
    status, body = send(stack, member, object_path(vault, member), headers, [b"x"] * 14, 1)
    assert status == 408
    assert body["code"] == "RequestTimeout"
    assert time.monotonic() - started < 18
