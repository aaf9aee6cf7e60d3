"""Which files a bucket of receipts takes: by their bytes, whatever their name and declared type say."""

import io
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from functions.core.errors import ApiError
from functions.storage.mime_sniffing import check_content
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
def elsewhere(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    """Yield a bucket that takes anything."""
    with open_bucket(stack, owner) as elsewhere:
        yield elsewhere


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


@pytest.mark.threat("T95")
@pytest.mark.parametrize("route", ["/object/copy", "/object/move"])
def test_bytes_that_another_bucket_did_not_check_stay_there(
    own_bucket: BucketFixture, elsewhere: BucketFixture, route: str
) -> None:
    service = elsewhere.service
    elsewhere.put(service, "page.png", HTML, x_upsert="true").raise_for_status()
    asked = {
        "bucketId": elsewhere.bucket,
        "sourceKey": "page.png",
        "destinationBucket": own_bucket.bucket,
        "destinationKey": "page.png",
    }
    response = elsewhere.call(service, "POST", route, asked)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidMimeType")
    assert (own_bucket.names(), elsewhere.names()) == ([], ["page.png"])


@pytest.mark.parametrize("route", ["/object/copy", "/object/move"])
def test_bytes_that_were_checked_may_go_where_they_would_be(
    own_bucket: BucketFixture, elsewhere: BucketFixture, route: str
) -> None:
    service = own_bucket.service
    own_bucket.put(service, "a.png", PNG).raise_for_status()
    asked = {"bucketId": own_bucket.bucket, "sourceKey": "a.png", "destinationKey": "b.png"}
    own_bucket.call(service, "POST", route, asked).raise_for_status()
    away = asked | {"sourceKey": "b.png", "destinationBucket": elsewhere.bucket}
    own_bucket.call(service, "POST", route, away).raise_for_status()
    assert "b.png" in elsewhere.names()
    own_bucket.call(service, "POST", f"/bucket/{own_bucket.bucket}/empty", {}).raise_for_status()
    elsewhere.call(service, "POST", f"/bucket/{elsewhere.bucket}/empty", {}).raise_for_status()


def jpeg_of(*segments: bytes) -> bytes:
    return b"\xff\xd8" + b"".join(segments)


def webp_of(kind: bytes, frame: bytes) -> bytes:
    """Return the beginning of a WebP whose only chunk is this one."""
    return (b"RIFF\x40\0\0\0WEBP" + kind + b"\x20\0\0\0" + frame).ljust(40, b"\x01")


# 2 bytes of length, 8 bits, 16 by 16; and the same fields where they are no frame.
FRAME = b"\0\x0b\x08\0\x10\0\x10\x01\x01\x11\0"
GENUINE = {
    "jpeg": (jpeg_of(b"\xff\xe0\0\x04ab", b"\xff\xc0" + FRAME), "image/jpeg"),
    "padded jpeg": (jpeg_of(b"\xff\xff\xff\xe0\0\x02", b"\xff\xc2" + FRAME), "image/jpeg"),
    "lossy webp": (webp_of(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x10\0\x10\0"), "image/webp"),
    "lossless webp": (webp_of(b"VP8L", b"\x2f\x0f\0\0\0"), "image/webp"),
    "extended webp": (webp_of(b"VP8X", b"\0\0\0\0\x0f\0\0\x0f\0\0"), "image/webp"),
    "png": (claiming_png(30, 20), "image/png"),
    "pdf": (b"%PDF-2.0", "application/pdf"),
}
FORGED = {
    "another signature of a png": (b"\x89PNX" + claiming_png(30, 20)[4:], "image/png"),
    "another first chunk of a png": (claiming_png(30, 20).replace(b"IHDR", b"IDAT"), "image/png"),
    "a png that ends in its size": (claiming_png(0x01010101, 0x01010101)[:23], "image/png"),
    "another signature of a jpeg": (b"\xff\xd9" + GENUINE["jpeg"][0][2:], "image/jpeg"),
    "a jpeg's frame without a marker": (jpeg_of(b"\0\xc0" + FRAME), "image/jpeg"),
    "a jpeg's scan before its frame": (jpeg_of(b"\xff\xda\0\x02", b"\xff\xc0" + FRAME), "image/jpeg"),
    "a jpeg's end before its frame": (jpeg_of(b"\xff\xd9\0\x02", b"\xff\xc0" + FRAME), "image/jpeg"),
    "a jpeg's table alone": (jpeg_of(b"\xff\xc4" + FRAME, b"\xff\xd9\0\x02"), "image/jpeg"),
    "a jpeg without a height": (jpeg_of(b"\xff\xc0\0\x0b\x08\0\0\0\x10"), "image/jpeg"),
    "a webp outside of a RIFF": (b"RIFX" + GENUINE["lossy webp"][0][4:], "image/webp"),
    "a RIFF of sound": (GENUINE["lossy webp"][0].replace(b"WEBP", b"WAVE"), "image/webp"),
    "a webp that ends in its size": (GENUINE["lossy webp"][0][:29], "image/webp"),
    "a lossy webp without its code": (webp_of(b"VP8 ", b"\0\0\0\x9d\x01\x2b\x10\0\x10\0"), "image/webp"),
    "a lossless webp without its code": (webp_of(b"VP8L", b"\x2e\x0f\0\0\0"), "image/webp"),
    "another frame of a webp": (webp_of(b"VP9 ", b"\0\0\0\x9d\x01\x2a\x10\0\x10\0"), "image/webp"),
    "another signature of a pdf": (b"%PDX-1.4", "application/pdf"),
    "a pdf without a version": (b"%PDF-x.y", "application/pdf"),
}


@pytest.mark.threat("T95")
@pytest.mark.parametrize("case", GENUINE)
def test_a_header_of_its_type(tmp_path: Path, case: str) -> None:
    content, kind = GENUINE[case]
    (tmp_path / "file").write_bytes(content)
    check_content(tmp_path / "file", kind)


@pytest.mark.threat("T95")
@pytest.mark.parametrize("case", FORGED)
def test_a_header_that_is_only_nearly_of_its_type(tmp_path: Path, case: str) -> None:
    content, kind = FORGED[case]
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ApiError) as rejected:
        check_content(tmp_path / "file", kind)
    assert rejected.value.code == "InvalidMimeType"


@pytest.mark.threat("T96")
@pytest.mark.parametrize("size", [(5000, 5001), (25_000_001, 1)])
def test_an_image_of_more_than_25_megapixels(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "file").write_bytes(claiming_png(*size))
    with pytest.raises(ApiError) as rejected:
        check_content(tmp_path / "file", "image/png")
    assert rejected.value.code == "EntityTooLarge"


@pytest.mark.threat("T96")
@pytest.mark.parametrize("step", [b"\xff", b"\xff\xe0\x00\x02"], ids=["padding", "segments"])
def test_a_picture_begins_within_ten_thousand_steps(tmp_path: Path, step: bytes) -> None:
    frame = b"\xff\xc0\x00\x11\x08" + (100).to_bytes(2, "big") * 2
    path = tmp_path / "padded.jpg"
    path.write_bytes(b"\xff\xd8" + step * 9_999 + frame)
    check_content(path, "image/jpeg")
    path.write_bytes(b"\xff\xd8" + step * 10_000 + frame)
    with pytest.raises(ApiError) as rejected:
        check_content(path, "image/jpeg")
    assert rejected.value.code == "InvalidMimeType"


@pytest.mark.threat("T96")
@pytest.mark.parametrize("step", [b"\xff", b"\xff\xe0\x00\x02"])
def test_a_picture_that_never_begins_costs_nothing(tmp_path: Path, step: bytes) -> None:
    path = tmp_path / "padded.jpg"
    path.write_bytes(b"\xff\xd8" + step * (20_000_000 // len(step)))
    # What it costs itself, whatever else runs.
    started = time.thread_time()
    with pytest.raises(ApiError):
        check_content(path, "image/jpeg")
    assert time.thread_time() - started < 1
