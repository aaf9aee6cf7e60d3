"""Which files a bucket of receipts takes: by their bytes, whatever their name and declared type say."""

import io
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from functions.storage.content import check_content
from functions.storage.errors import StorageError
from tests.api.conftest import Owner
from tests.support.bucket_fixture import LIMIT, RECEIPT_TYPES, BucketFixture, open_bucket
from tests.support.files import HTML, PDF, SVG, png
from tests.support.people import Member
from tests.support.stack import Stack

GIF_SCRIPT = b"GIF89a/*" + b"\0" * 20 + b"*/=1;alert(1)"
SCRIPT_PDF = PDF.replace(b"/Type/Catalog", b"/Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>")


def encoded(kind: str, width: int = 30, height: int = 20) -> bytes:
    """Return a real image."""
    file = io.BytesIO()
    Image.new("RGB", (width, height), "navy").save(file, kind)
    return file.getvalue()


def claiming_png(width: int, height: int) -> bytes:
    """Return a small file whose header claims an image of this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


PNG, JPEG, WEBP = png(), encoded("JPEG"), encoded("WEBP")

TAKEN = {
    "png": (PNG, "image/png", "png"),
    "jpeg": (JPEG, "image/jpeg", "jpg"),
    "webp": (WEBP, "image/webp", "webp"),
    "pdf": (PDF, "application/pdf", "pdf"),
    # Served with a sandbox, and only to administrators who ask for it: its script does not run.
    "pdf with a script": (SCRIPT_PDF, "application/pdf", "pdf"),
    "png under another ending": (PNG, "image/png", "html"),
    "png of exactly 25 megapixels": (claiming_png(5000, 5000), "image/png", "png"),
}
REJECTED = {
    "svg": (SVG, "image/svg+xml", "svg"),
    "svg said to be png": (SVG, "image/png", "png"),
    "html": (HTML, "text/html", "html"),
    "html said to be png": (HTML, "image/png", "png"),
    "html said to be jpeg": (HTML, "image/jpeg", "jpg"),
    "html said to be pdf": (HTML, "application/pdf", "pdf"),
    "pdf said to be png": (PDF, "image/png", "png"),
    "png said to be pdf": (PNG, "application/pdf", "pdf"),
    "png said to be jpeg": (PNG, "image/jpeg", "jpg"),
    "jpeg said to be webp": (JPEG, "image/webp", "webp"),
    "gif": (GIF_SCRIPT, "image/gif", "gif"),
    "gif and script at once": (GIF_SCRIPT, "image/png", "png"),
    "script": (b"alert(1)", "text/javascript", "js"),
    "no type": (PNG, "application/octet-stream", "png"),
    "type in capitals": (PNG, "IMAGE/PNG", "png"),
    "type with a parameter": (PNG, "image/png; charset=utf-8", "png"),
    "type that is none": (PNG, "png", "png"),
    "empty": (b"", "image/png", "png"),
    "png signature only": (PNG[:8], "image/png", "png"),
    "jpeg signature only": (JPEG[:3], "image/jpeg", "jpg"),
    "webp signature only": (WEBP[:12], "image/webp", "webp"),
    "html before a pdf": (HTML + PDF, "application/pdf", "pdf"),
    "png without a size": (claiming_png(0, 0), "image/png", "png"),
    "png of 100 megapixels": (claiming_png(10_000, 10_000), "image/png", "png"),
    "program": (b"MZ" + b"\0" * 100, "application/x-msdownload", "exe"),
}


@pytest.fixture(scope="module")
def own_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    with open_bucket(stack, owner, file_size_limit=LIMIT, allowed_mime_types=RECEIPT_TYPES) as own_bucket:
        yield own_bucket


@pytest.fixture(scope="module")
def alice(referrer: Member) -> Member:
    return referrer


@pytest.mark.threat("T95")
@pytest.mark.parametrize("case", TAKEN)
def test_taken(own_bucket: BucketFixture, alice: Member, case: str) -> None:
    content, kind, ending = TAKEN[case]
    path = f"{alice.user_id}/{len(case)}-{kind[-3:]}.{ending}"
    assert own_bucket.put(alice, path, content, kind).status_code == 200
    response = own_bucket.get(alice, path)
    assert response.content == content
    assert response.headers["content-type"] == kind
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]
    own_bucket.call(own_bucket.service, "DELETE", f"/object/{own_bucket.bucket}/{path}").raise_for_status()


# The parameters of a part's type are dropped before it is compared.
IN_A_FORM = [case for case in REJECTED if case != "type with a parameter"]


@pytest.mark.threat("T95")
@pytest.mark.parametrize(
    ("case", "form"),
    [(case, "the file itself") for case in REJECTED] + [(case, "a form") for case in IN_A_FORM],
)
def test_rejected(own_bucket: BucketFixture, alice: Member, case: str, form: str) -> None:
    content, kind, ending = REJECTED[case]
    path = f"{alice.user_id}/1.{ending}"
    if form == "a form":
        url = f"/storage/v1/object/{own_bucket.bucket}/{path}"
        response = alice.http.post(url, files={"cacheControl": (None, "3600"), "": ("a.png", content, kind)})
    else:
        response = own_bucket.put(alice, path, content, kind)
    assert response.status_code == 400
    assert response.json()["code"] in ("InvalidMimeType", "EntityTooLarge")
    assert own_bucket.names() == []


@pytest.mark.threat("T96")
@pytest.mark.parametrize("step", [b"\xff", b"\xff\xe0\x00\x02"])
def test_a_picture_that_never_begins_costs_nothing(tmp_path: Path, step: bytes) -> None:
    path = tmp_path / "padded.jpg"
    path.write_bytes(b"\xff\xd8" + step * (20_000_000 // len(step)))
    started = time.perf_counter()
    with pytest.raises(StorageError):
        check_content(path, "image/jpeg")
    assert time.perf_counter() - started < 1
