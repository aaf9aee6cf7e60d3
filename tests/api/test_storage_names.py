"""What a name, a type and a header may be in the storage service: each rule by itself, without a service."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from functions.core.errors import ApiError
from functions.storage import validation
from functions.storage.app import make_app
from functions.storage.routes.listing import Page
from functions.storage.schemas import Copy, ListQueryV2, Move
from functions.storage.settings import Settings

UNSAFE = {
    "a control character": "a\x1fb",
    "the last control character of ASCII": "a\x7fb",
    "a control character beyond ASCII": "a\x85b",
    "an escape": "a%2fb",
    "half an escape": "a%",
    "an empty part": "a//b",
    "a slash at the beginning": "/a",
    "a slash at the end": "a/",
    "a dot": "a/./b",
    "two dots": "a/../b",
    "two dots at the end": "a/..",
    "two dots behind a backslash": "a\\..\\b",
    "nothing": "",
}
MISSPELT = {"a bar": "a|b", "a hash": "a#b", "another alphabet": "\u0430", "1,025 characters": "x" * 1025}


@pytest.mark.threat("T93")
@pytest.mark.parametrize("case", UNSAFE)
def test_a_path_is_read_in_one_way(case: str) -> None:
    for check in (validation.check_path, validation.check_key):
        with pytest.raises(ApiError) as rejected:
            check(UNSAFE[case])
        assert rejected.value.code == "InvalidKey"


@pytest.mark.threat("T93")
@pytest.mark.parametrize("case", MISSPELT)
def test_a_name_to_be_stored_has_allowed_characters(case: str) -> None:
    validation.check_path(MISSPELT[case])
    with pytest.raises(ApiError) as rejected:
        validation.check_key(MISSPELT[case])
    assert rejected.value.code == "InvalidKey"
    validation.check_key("x" * 1024)


@pytest.mark.threat("T93")
@pytest.mark.parametrize("prefix", ["../a", "a//", "/", "a/%2e%2e/", "a\\..\\b"])
def test_a_prefix_begins_a_path(prefix: str) -> None:
    assert not validation.begins_path(prefix)
    for good in ("", "a", "a/", "a/.", "..", ".hidden"):
        assert validation.begins_path(good)


KEYS = {"bucketId": "a", "sourceKey": "a", "destinationKey": "b"}
BODIES: list[tuple[Any, dict[str, Any]]] = [
    *((model, KEYS | {name: "../a"}) for model in (Move, Copy) for name in (*KEYS, "destinationBucket")),
]


@pytest.mark.threat("T93")
@pytest.mark.parametrize(("model", "body"), BODIES, ids=range(len(BODIES)))
def test_a_name_in_a_body_is_a_path(model: Any, body: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as rejected:
        model.model_validate(body)
    assert rejected.value.code == "InvalidKey"


def application(folder: Path) -> FastAPI:
    """Return the service's application, which has not been started and so has no database."""
    return make_app(
        Settings(
            port=1, database_url="", jwks_path=folder, signing_secret="x" * 32, storage_url=folder.as_uri()
        )
    )


@pytest.mark.threat("T93")
@pytest.mark.parametrize("path", ["/object/a/%252e", "/object/a/%c0%ae", "/object/a/x%", "/object/a//b"])
async def test_a_path_is_checked_as_it_was_sent(tmp_path: Path, path: str) -> None:
    app = application(tmp_path)
    sent = {"http_version": "1.1", "headers": [], "query_string": b"", "scheme": "http", "root_path": ""}
    scope = {"type": "http", "method": "GET", "raw_path": path.encode(), "path": "/status", **sent}
    started: list[Any] = []

    async def send(message: Any) -> None:
        started.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, send)
    assert started[0]["status"] == 400
    assert b"InvalidKey" in started[1]["body"]


@pytest.mark.threat("T95")
async def test_a_browser_neither_sniffs_nor_runs_a_file(tmp_path: Path) -> None:
    """The service says so itself, whatever the gateway adds."""
    app = application(tmp_path)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://storage") as client:
        for path in ("/status", "/nowhere"):
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert headers["cache-control"] == "no-store"


@pytest.mark.threat("T93")
@pytest.mark.parametrize(
    "name",
    ["", ".", "..", " a", "a ", "a/b", "a\\b", "a%2fb", pytest.param("x" * 101, id="101 characters")],
    ids=repr,
)
def test_a_bucket_is_named_in_plain_characters(name: str) -> None:
    with pytest.raises(ApiError) as rejected:
        validation.check_bucket_name(name)
    assert rejected.value.code == "InvalidBucketName"
    validation.check_bucket_name("x" * 100)


@pytest.mark.threat("T95")
@pytest.mark.parametrize("kind", ["png", "image/", "/png", "image png", "image/png/x", "image/p\nng", ""])
def test_a_content_type_has_two_parts(kind: str) -> None:
    with pytest.raises(ApiError) as rejected:
        validation.check_type_form(kind)
    assert rejected.value.code == "InvalidMimeType"


@pytest.mark.parametrize("allowed", [["image/png"], ["image/*"], ["*/*"], [], None], ids=str)
def test_a_bucket_takes_the_types_that_it_lists(allowed: list[str] | None) -> None:
    validation.check_allowed_type("image/png", allowed)


@pytest.mark.threat("T95")
@pytest.mark.parametrize("kind", ["image/jpeg", "image/PNG", "image/png; x=y", "text/html", "png"])
def test_a_bucket_takes_no_other_type(kind: str) -> None:
    with pytest.raises(ApiError) as rejected:
        validation.check_allowed_type(kind, ["image/png", "text/plain"])
    assert rejected.value.code == "InvalidMimeType"


@pytest.mark.parametrize("text", ["a\r\nx-evil: yes", "a\x7f", "\u2603"])
@pytest.mark.parametrize("field", ["cache_control", "content_type"])
def test_what_becomes_a_header_line_is_one(field: str, text: str) -> None:
    good = {"cache_control": "max-age=60", "content_type": "image/png"}
    with pytest.raises(ApiError) as rejected:
        validation.check_printable(**good | {field: text})
    assert rejected.value.code == "InvalidRequest"
    validation.check_printable(**good)


@pytest.mark.parametrize(
    "value", ["nonsense", "noindex, nonsense", "max-snippet:", "googlebot: nonsense", ""]
)
def test_what_crawlers_are_asked_is_understood(value: str) -> None:
    with pytest.raises(ApiError) as rejected:
        validation.check_robots(value)
    assert rejected.value.extra["error"] == "invalid_x_robots_tag"
    for good in ("noindex", "googlebot: noindex, max-snippet: 20"):
        validation.check_robots(good)


@pytest.mark.threat("T116")
@pytest.mark.parametrize(
    ("order", "column", "last"),
    [("asc", "(select 1)", "a"), ("asc", "owner", "a"), ("asc; select 1", "name", "a"), ("asc", "name", "")],
)
def test_a_cursor_names_a_place_and_a_known_order(order: str, column: str, last: str) -> None:
    made = ListQueryV2(cursor=Page(last, order, column, "").cursor())
    with pytest.raises(ApiError) as rejected:
        Page.read(made)
    assert rejected.value.code == "InvalidParameter"
    assert Page.read(ListQueryV2(cursor=Page("a", "desc", "name", "").cursor())).last == "a"


@pytest.mark.threat("T98")
@pytest.mark.parametrize(
    "changes",
    [{"signing_secret": "x" * 31}, {"pre_request_function": "check"}, {"account_check_function": "a.b.c"}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_setting_that_would_protect_nothing(tmp_path: Path, changes: dict[str, str]) -> None:
    good = {"signing_secret": "x" * 32, "pre_request_function": "public.check", "account_check_function": ""}
    given: dict[str, Any] = {
        "port": 1,
        "database_url": "",
        "jwks_path": tmp_path,
        "storage_url": tmp_path.as_uri(),
    }
    assert Settings(**given, **good)
    with pytest.raises(ValueError, match=next(iter(changes))):
        Settings(**given, **good | changes)
