"""An upload on its way: how fast it must come, what is written, and what is left of one that fails."""

import errno
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from starlette.requests import ClientDisconnect, Request

from functions.core.errors import ApiError
from functions.storage import garbage_collector, request_parsing, service, upload, upload_parser
from functions.storage.mime_sniffing import is_checked
from functions.storage.queries import Upload
from functions.storage.service import Principal, RequestContext
from functions.storage.store import ByteStore
from functions.storage.transfers import Transfer
from functions.storage.upload_parser import IncomingFile, WrittenFile, write_file
from functions.storage.validation import PLACEHOLDER
from functions.storage.versions import with_bytes
from tests.support.files import HTML, png

VERSION = "11111111-1111-4111-8111-111111111111"
RECEIPTS = {"file_size_limit": 1000, "allowed_mime_types": ["image/png"]}
Clock = list[float]


async def arriving(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


class Sender:
    """A client whose pieces take time, as the clock of `request_parsing` says."""

    def __init__(self, clock: Clock, *pieces: tuple[float, bytes]) -> None:
        self.clock = clock
        self.pieces = pieces

    async def stream(self) -> AsyncIterator[bytes]:
        for seconds, piece in self.pieces:
            self.clock[0] += seconds
            yield piece
        raise ClientDisconnect


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stop the clock by which uploads are timed: waiting longer than is left of it ends at once."""
    moment = [1000.0]

    @asynccontextmanager
    async def piece_within(_: Transfer, seconds: float) -> AsyncIterator[None]:
        before = moment[0]
        yield
        if moment[0] - before > seconds:
            raise TimeoutError

    monkeypatch.setattr(request_parsing, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    monkeypatch.setattr(Transfer, "piece_within", piece_within)
    return moment


MEBIBYTE = b"x" * 2**20


@pytest.mark.threat("T96")
@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([(9, b"x")], "Aborted"),
        ([(11, b"x")], "RequestTimeout"),
        ([(0, MEBIBYTE), (9, b"x")], "Aborted"),
        ([(0, MEBIBYTE), (11, b"x")], "RequestTimeout"),
        ([(9, MEBIBYTE)] * 20, "Aborted"),
        ([(9, b"x" * 4096)] * 2, "RequestTimeout"),
        ([(9, b"x" * 20_000)] * 2, "RequestTimeout"),
        ([(4, b"x" * 20_000)] * 20, "Aborted"),
    ],
    ids=[
        "a pause",
        "a long pause",
        "a pause after much",
        "a long pause after much",
        "fast enough",
        "a drop now and then",
        "too slow on average",
        "fast enough on average",
    ],
)
async def test_an_upload_that_comes_too_slowly_ends(
    clock: Clock, pieces: list[tuple[float, bytes]], code: str
) -> None:
    """Each client goes away at the end of its pieces, if it is not sent away before."""
    sender: Any = Sender(clock, *pieces)
    with pytest.raises(ApiError) as ended:
        async for _ in request_parsing.arriving(sender, Transfer()):
            pass
    assert ended.value.code == code


def request_of(content: bytes, kind: str = "multipart/form-data; boundary=B") -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    return Request({"type": "http", "headers": [(b"content-type", kind.encode())]}, receive)


def part(head: bytes, content: bytes) -> bytes:
    return b"--B\r\nContent-Disposition: form-data; " + head + b"\r\n\r\n" + content + b"\r\n"


FILE = part(b'name=""; filename="a.png"\r\nContent-Type: image/png', b"bytes")
END = b"--B--\r\n"
LARGE = b"x" * (2**20 + 1)
FORMS = {
    "no form": (b"garbage" + END, "The form is broken or incomplete"),
    "no file": (part(b'name="cacheControl"', b"60") + END, "No content provided"),
    "a form that ends in its file": (FILE[:-6], "The form is broken or incomplete"),
    "a large field": (part(b'name="metadata"', LARGE) + FILE + END, "The form's fields are too large"),
    "a large field behind the file": (
        FILE + part(b'name="x"', LARGE) + END,
        "The form's fields are too large",
    ),
    "many long names": (
        part(b'name="' + b"x" * 1000 + b'"', b"") * 1100 + FILE + END,
        "The form's fields are too large",
    ),
    "a line end in a field": (
        part(b'name="cacheControl"', b"60\r\nx-evil: yes") + FILE + END,
        "cacheControl and contentType must be printable",
    ),
    "a line end in a type": (
        part(b'name="contentType"', b"image/png\nx-evil: yes") + FILE + END,
        "cacheControl and contentType must be printable",
    ),
}


@pytest.mark.threat("T96")
@pytest.mark.parametrize("case", FORMS)
async def test_a_form_that_is_rejected(case: str) -> None:
    content, message = FORMS[case]
    with pytest.raises(ApiError) as rejected:
        await received(request_of(content))
    assert rejected.value.message == message


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("multipart/form-data", "No content provided"),
        (f"multipart/form-data; boundary={'B' * 257}", "The form is broken or incomplete"),
    ],
)
async def test_a_form_without_a_boundary_that_can_be(kind: str, message: str) -> None:
    with pytest.raises(ApiError) as rejected:
        await received(request_of(FILE + END, kind))
    assert rejected.value.message == message


async def test_a_form_has_one_file() -> None:
    second = FILE.replace(b"bytes", b"more bytes").replace(b"image/png", b"text/html")
    file, content = await received(request_of(FILE + second + END))
    assert (content, file.content_type) == (b"bytes", "image/png")


async def received(request: Request) -> tuple[IncomingFile, bytes]:
    """Return what a request claims of its file, and the file."""
    file = await upload_parser.parse_upload(request, Transfer())
    return file, b"".join([piece async for piece in file.pieces])


def context_of(folder: Path, used: float = 0) -> Any:
    """Return a request's context with a real store, on a disk that is so many percent full."""
    store = ByteStore(folder.as_uri(), folder)
    store.used_percent = lambda: used  # type: ignore[method-assign]
    settings = SimpleNamespace(file_size_limit=5000, disk_limit_percent=90, orphan_age_seconds=3600)
    return SimpleNamespace(service=SimpleNamespace(store=store, settings=settings, pool=None))


def file_of(content: bytes, kind: str = "image/png") -> IncomingFile:
    return IncomingFile(kind, "no-cache", {}, len(content), arriving(content))


def upload_of(upsert: bool = False) -> Upload:
    return Upload("storage.object.upload", "receipts", "a.png", upsert, None, None, version=VERSION)


def touch(path: Path) -> None:
    path.write_bytes(b"half")


def make_old(folder: Path, *words: str) -> None:
    """Let files whose name holds one of the words be two hours old."""
    before = time.time() - 2 * 3600
    for path in folder.rglob("*"):
        if any(word in path.name for word in words):
            os.utime(path, (before, before))


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.mark.threat("T96", "T97")
@pytest.mark.parametrize(
    ("bucket", "name", "limit"),
    [
        (RECEIPTS, "a.png", 1000),
        (RECEIPTS | {"file_size_limit": None}, "a.png", 5000),
        (RECEIPTS | {"file_size_limit": 10**9}, "a.png", 5000),
        (RECEIPTS, f"a/{PLACEHOLDER}", 0),
    ],
    ids=["the bucket's", "the service's", "a bucket's beyond the service's", "a placeholder's"],
)
def test_the_lowest_limit_holds(tmp_path: Path, bucket: Any, name: str, limit: int) -> None:
    context = context_of(tmp_path)
    assert upload._check_limits(context, bucket, name, file_of(b"x" * limit)) == limit
    with pytest.raises(ApiError) as rejected:
        upload._check_limits(context, bucket, name, file_of(b"x" * (limit + 1)))
    assert rejected.value.code == "EntityTooLarge"


@pytest.mark.threat("T97")
def test_a_disk_that_is_nearly_full_takes_nothing(tmp_path: Path) -> None:
    upload._check_limits(context_of(tmp_path, 90), RECEIPTS, "a.png", file_of(b""))
    with pytest.raises(ApiError) as rejected:
        upload._check_limits(context_of(tmp_path, 90.1), RECEIPTS, "a.png", file_of(b""))
    assert (rejected.value.status, rejected.value.code) == (507, "DiskFull")


@pytest.mark.threat("T95")
def test_a_type_that_the_bucket_does_not_list(tmp_path: Path) -> None:
    with pytest.raises(ApiError) as rejected:
        upload._check_limits(context_of(tmp_path), RECEIPTS, "a.png", file_of(b"", "text/html"))
    assert rejected.value.code == "InvalidMimeType"


def test_a_bucket_with_a_type_that_bytes_do_not_show_promises_nothing() -> None:
    assert is_checked(["image/png", "application/pdf"])
    for allowed in (["image/png", "text/plain"], ["image/*"], [], None):
        assert not is_checked(allowed)


@pytest.mark.threat("T95", "T97")
@pytest.mark.parametrize(
    ("content", "failure", "code"),
    [
        (HTML, None, "InvalidMimeType"),
        (b"x" * 1001, None, "EntityTooLarge"),
        (b"", OSError(errno.ENOSPC, "full"), "DiskFull"),
        (b"", OSError(errno.EIO, "broken"), ""),
    ],
    ids=["another type", "too large", "a full disk", "a broken disk"],
)
async def test_an_upload_that_fails_leaves_no_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, failure: OSError | None, code: str
) -> None:
    async def write_half(_: object, path: Path, __: int) -> WrittenFile:
        touch(path)
        assert failure
        raise failure

    if failure:
        monkeypatch.setattr(upload, "write_file", write_half)
    with pytest.raises((ApiError, OSError)) as rejected:
        await upload._store_bytes(context_of(tmp_path), RECEIPTS, upload_of(), file_of(content), 1000)
    assert getattr(rejected.value, "code", "") == code
    assert files_in(tmp_path) == set()


async def test_a_file_gets_its_place_when_it_is_of_its_type(tmp_path: Path) -> None:
    content = png()
    written = await upload._store_bytes(
        context_of(tmp_path), RECEIPTS, upload_of(), file_of(content), len(content)
    )
    assert written.size == len(content)
    assert (tmp_path / "objects" / VERSION[:2] / VERSION).read_bytes() == content
    assert files_in(tmp_path / "uploads") == set()


@pytest.mark.threat("T101")
@pytest.mark.parametrize(
    ("failure", "stays"),
    [(psycopg.errors.InsufficientPrivilege("no"), False), (psycopg.OperationalError("gone"), True)],
    ids=["the row is rejected", "the row may be there"],
)
async def test_bytes_stay_only_if_their_row_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: psycopg.Error, stays: bool
) -> None:
    async def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(upload, "write", fail)
    context = context_of(tmp_path)
    await stored(context.service.store, VERSION)
    with pytest.raises(psycopg.Error):
        await upload.write_row(context, upload_of())
    assert files_in(tmp_path) == ({VERSION} if stays else set())


async def test_replaced_bytes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def replace(*_: object) -> tuple[dict[str, str], str]:
        return {"id": "x"}, "before"

    monkeypatch.setattr(upload, "write", replace)
    context = context_of(tmp_path)
    for version in ("before", VERSION):
        await stored(context.service.store, version)
    await upload.write_row(context, upload_of(upsert=True))
    assert files_in(tmp_path) == {VERSION}


async def stored(store: ByteStore, version: str) -> None:
    store.arrival(version).write_bytes(b"bytes")
    await store.keep(version)


async def test_a_row_whose_bytes_are_missing_is_looked_for_twice() -> None:
    """Once more, because its successor may be there; a third time would be one for ever."""
    asked = 0

    async def find() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        assert asked < 3
        return {"version": VERSION}

    async def use(_: object) -> None:
        raise FileNotFoundError

    with pytest.raises(ApiError) as rejected:
        await with_bytes(find, use)
    assert rejected.value.code == "NoSuchKey"


async def test_an_upload_is_written_a_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    write = upload_parser._write_all

    def noting(file: Any, data: bytes) -> None:
        sizes.append(len(data))
        write(file, data)

    monkeypatch.setattr(upload_parser, "_write_all", noting)
    pieces = arriving(*[bytes(64 * 1024)] * 32)
    assert (await write_file(pieces, tmp_path / "a", 2**21)).size == 2**21
    assert max(sizes) <= 512 * 1024


async def test_an_upload_to_a_server_is_sent_in_few_parts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part lies in memory until it is sent."""
    store, sent = ByteStore("memory:///", tmp_path), []

    async def put(*_: object, max_concurrency: int) -> None:
        sent.append(max_concurrency)

    monkeypatch.setattr("obstore.put_async", put)
    await stored(store, VERSION)
    assert sent
    assert max(sent) <= 2


@pytest.mark.threat("T101")
async def test_a_power_cut_undoes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is flushed, and then the folder that names it."""
    flushed: list[str] = []
    flush = os.fsync

    def noting(handle: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        flush(handle)

    monkeypatch.setattr(os, "fsync", noting)
    store = ByteStore(tmp_path.as_uri(), tmp_path)
    await write_file(arriving(b"bytes"), store.arrival(VERSION), 10)
    assert flushed == [VERSION]
    await store.keep(VERSION)
    assert flushed == [VERSION, VERSION[:2], "objects"]


@pytest.mark.threat("T108")
async def test_no_other_user_of_the_machine_reads_the_files(tmp_path: Path) -> None:
    store = ByteStore(tmp_path.as_uri(), tmp_path)
    await stored(store, VERSION)
    for folder in (tmp_path / "objects", tmp_path / "uploads", tmp_path / "objects" / VERSION[:2]):
        assert folder.stat().st_mode & 0o077 == 0, folder


class Database:
    """What the garbage collector asks of the database: which of these versions have a row."""

    def __init__(self, known: set[str]) -> None:
        self.known = known

    def __call__(self, *_: object) -> "Database":
        return self

    async def __aenter__(self) -> "Database":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def execute(self, _: str, versions: list[list[str]]) -> "Database":
        return self

    async def fetchall(self) -> list[dict[str, str]]:
        return [{"version": version} for version in self.known]


@pytest.mark.threat("T101")
async def test_only_old_bytes_without_a_row_are_garbage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = context_of(tmp_path)
    store = context.service.store
    monkeypatch.setattr(garbage_collector, "transaction_as", Database({"aa-old-with-row"}))
    for version in ("aa-old-with-row", "bb-old", "cc-new", "dd-copied"):
        await stored(store, version)
    for arrival in ("ee-old-arrival", "ff-new-arrival"):
        touch(store.arrival(arrival))
    make_old(tmp_path, "old", "copied")
    # Its time is that of its source, which is old, unless the copy makes it new.
    await store.copy("dd-copied", "gg-copy")
    assert await garbage_collector.collect_garbage(context.service) == 2
    assert files_in(tmp_path) == {"aa-old-with-row", "cc-new", "dd-copied", "gg-copy", "ff-new-arrival"}


@pytest.mark.threat("T128")
async def test_policies_see_the_request_without_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    class Transaction(Database):
        def __call__(self, *values: object, rolled_back: bool) -> "Database":
            given.extend([*values, rolled_back])
            return self

    monkeypatch.setattr(service, "transaction_as", Transaction(set()))
    headers = {"authorization": "1", "apikey": "2", "cookie": "3", "x-client-info": "4"}
    request = SimpleNamespace(
        headers=headers,
        method="GET",
        url=SimpleNamespace(path="/object/a/b"),
        app=SimpleNamespace(state=SimpleNamespace(service=SimpleNamespace(pool="pool"))),
    )
    context = RequestContext(request)  # type: ignore[arg-type]
    principal = Principal("anon", {"role": "anon"}, "token")
    async with context.transaction_as(principal, "storage.object.list"):
        pass
    assert given[:3] == ["pool", "anon", {"role": "anon"}]
    assert given[3]["headers"] == '{"x-client-info":"4"}'
    assert given[4] is False
