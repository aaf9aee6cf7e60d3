"""The headers and the bytes of a download: nothing that a browser runs, and never more than was asked for."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

import pytest

from functions.core.errors import ApiError
from functions.storage.file_response import _disposition, _range_of, headers_of
from tests.support.people import Member

# RFC 7230's token, and RFC 8187's value.
DISPOSITION = re.compile(
    r"attachment; filename=([\w!#$%&'*+.^`|~-]+); filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[0-9A-F]{2})+)",
    re.ASCII,
)


def row_of(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"size": 10, **metadata}, "updated_at": datetime(2026, 1, 2, tzinfo=UTC)}


@pytest.mark.threat("T95", "T111")
@pytest.mark.parametrize(
    ("kind", "served"),
    [
        ("text/html", "text/plain"),
        ("TEXT/HTML; charset=utf-8", "text/plain"),
        ("image/png", "image/png"),
    ],
)
def test_an_upload_becomes_no_page_of_this_site(kind: str, served: str) -> None:
    assert headers_of(row_of(mimetype=kind))["Content-Type"] == served


def test_search_engines_list_no_file_unless_they_are_asked_to() -> None:
    assert headers_of(row_of())["X-Robots-Tag"] == "none"
    assert headers_of(row_of(xRobotsTag="all"))["X-Robots-Tag"] == "all"


@pytest.mark.threat("T98")
def test_a_file_is_fresh_until_its_signed_url_ends() -> None:
    assert headers_of(row_of())["Cache-Control"] == "no-cache"
    by_url = headers_of(row_of(cacheControl="max-age=31536000"), 1_800_000_000)
    assert parsedate_to_datetime(by_url["Expires"]).timestamp() == 1_800_000_000
    assert "Cache-Control" not in by_url


@pytest.mark.threat("T98")
def test_no_shared_cache_gives_a_file_to_the_next_one() -> None:
    """The original sends no Cache-Control by a signed URL, which anyone on the way may store then."""
    by_url = headers_of(row_of(), 1_800_000_000)
    assert (by_url["Vary"], by_url["CDN-Cache-Control"]) == ("*", "no-store")
    assert not {"Vary", "CDN-Cache-Control"} & set(headers_of(row_of()))


@pytest.mark.parametrize(
    ("header", "size", "found"),
    [
        (None, 10, (0, 10)),
        ("bytes=2-4", 10, (2, 5)),
        ("bytes=2-", 10, (2, 10)),
        ("bytes=2-99", 10, (2, 10)),
        ("bytes=-3", 10, (7, 10)),
        ("bytes=-99", 10, (0, 10)),
    ],
)
def test_a_range_is_within_the_file(header: str | None, size: int, found: tuple[int, int]) -> None:
    assert _range_of(header, size) == found


@pytest.mark.threat("T96")
@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("bytes=-", 10),
        ("bytes=10-", 10),
        ("bytes=4-2", 10),
        ("bytes=0-1,3-4", 10),
        ("lines=0-1", 10),
        ("bytes=0-", 0),
        ("bytes=-1", 0),
        ("bytes=0-" + "9" * 5000, 10),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_range_that_names_no_byte(header: str, size: int) -> None:
    with pytest.raises(ApiError) as rejected:
        _range_of(header, size)
    assert (rejected.value.status, rejected.value.code) == (416, "InvalidRange")


@pytest.mark.parametrize(
    "name", ['a"; x="', "a\r\nx-evil: yes", "\u2603.png", "it's (1)*.png", "a;b,c=d\\e.png", "two words~.png"]
)
def test_the_name_of_a_download_is_written_as_rfc_6266_has_it(name: str) -> None:
    """A token, and a value whose percent escapes are the name."""
    parts = DISPOSITION.fullmatch(_disposition(name))
    assert parts
    assert unquote(parts[1]) == unquote(parts[2]) == name


def test_a_download_is_offered_as_a_file(member: Member) -> None:
    path = member.receipt().split("/public/")[1]
    response = member.http.get(
        f"/storage/v1/object/{path}?download=a%0d%0ab.png", headers={"range": "bytes=0-3"}
    )
    assert (response.status_code, len(response.content)) == (206, 4)
    assert (
        response.headers["content-disposition"]
        == "attachment; filename=a%0D%0Ab.png; filename*=UTF-8''a%0D%0Ab.png"
    )
