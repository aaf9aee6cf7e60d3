"""Bodies and query strings that are not as documented: one error each, in the original's exact words."""

from typing import Any

import pytest

from tests.support.people import ApiClient
from tests.support.stack import Stack

BUCKET, LIST, MOVE, SIGN = "/bucket", "/object/list/none", "/object/move", "/object/sign/none"
JSON = "application/json"
NOT_JSON = f"Body is not valid JSON but content-type is set to '{JSON}'"
SIZE = r'must match pattern "^\d+(\.\d+)?([bB]|[kKmMgGtT][bB])?$"'

BODIES: list[tuple[str, str, Any, str]] = [
    ("POST", BUCKET, {}, "body must have required property 'name'"),
    ("POST", BUCKET, {"name": None}, "body/name must be string"),
    ("POST", BUCKET, {"name": "a", "public": "yes"}, "body/public must be boolean"),
    ("POST", BUCKET, {"name": "a", "file_size_limit": -1}, "body/file_size_limit must be >= 0"),
    ("POST", BUCKET, {"name": "a", "file_size_limit": True}, "body/file_size_limit must be integer"),
    ("POST", BUCKET, {"name": "a", "file_size_limit": "5 MB"}, f"body/file_size_limit {SIZE}"),
    (
        "POST",
        BUCKET,
        {"name": "a", "allowed_mime_types": {}},
        "body/allowed_mime_types must be array,null",
    ),
    (
        "POST",
        BUCKET,
        {"name": "a", "allowed_mime_types": ["a/b", {}]},
        "body/allowed_mime_types/1 must be string",
    ),
    ("PUT", f"{BUCKET}/none", {"x": 1}, "body must have required property 'public'"),
    ("POST", LIST, {"prefix": "", "limit": "0"}, "body/limit must be >= 1"),
    ("POST", LIST, {"prefix": "", "limit": 1.5}, "body/limit must be integer"),
    ("POST", LIST, {"prefix": "", "sortBy": []}, "body/sortBy must be object"),
    ("POST", LIST, {"prefix": "", "sortBy": {}}, "body/sortBy must have required property 'column'"),
    (
        "POST",
        LIST,
        {"prefix": "", "sortBy": {"column": "id"}},
        "body/sortBy/column must be equal to one of the allowed values",
    ),
    # What is missing comes first, and then what was sent first.
    ("POST", LIST, {"limit": 0}, "body must have required property 'prefix'"),
    ("POST", LIST, {"offset": -1, "limit": 0, "prefix": ""}, "body/offset must be >= 0"),
    ("POST", LIST, {"limit": 0, "offset": -1, "prefix": ""}, "body/limit must be >= 1"),
    (
        "POST",
        LIST,
        {"prefix": "", "sortBy": {"order": "up", "column": "id"}, "limit": 0},
        "body/sortBy/order must be equal to one of the allowed values",
    ),
    (
        "POST",
        MOVE,
        {"bucketId": "", "sourceKey": "a", "destinationKey": "b"},
        "body/bucketId must NOT have fewer than 1 characters",
    ),
    ("POST", SIGN, {"expiresIn": 1, "paths": []}, "body/paths must NOT have fewer than 1 items"),
    ("POST", SIGN, {"expiresIn": 1, "paths": [{}] * 1001}, "body/paths must NOT have more than 1000 items"),
    ("DELETE", "/object/none", {"prefixes": None}, "body/prefixes must be array"),
    ("POST", BUCKET, {"name": "a", "file_size_limit": "\u0665MB"}, f"body/file_size_limit {SIZE}"),
]
CONTENTS = [
    (b"", JSON, f"Body cannot be empty when content-type is set to '{JSON}'"),
    (b"{", JSON, NOT_JSON),
    (b"[" * 100_000, JSON, NOT_JSON),
    (b'{"prefix":"\xff"}', JSON, NOT_JSON),
    (b"[]", JSON, "body must be object"),
    (b'{"prefix":""}', "text/plain", "body must be object"),
    (b'{"prefix":""}', "json", "Invalid Content-Type header"),
    (b'{"prefix":""}' + b" " * 2**20, JSON, "Request body is too large"),
    (b'{"prefix":"","prefix":null}', f"{JSON}; charset=utf-8", "body/prefix must be string"),
]
QUERIES = [
    ("/bucket?limit=0", "querystring/limit must be >= 1"),
    ("/bucket?limit=x", "querystring/limit must be integer"),
    ("/bucket?offset=-1&limit=0", "querystring/offset must be >= 0"),
    ("/bucket?limit=5&limit=0", "querystring/limit must be >= 1"),
    ("/bucket?sortColumn=owner", "querystring/sortColumn must be equal to one of the allowed values"),
    ("/object/sign/none/a.txt", "querystring must have required property 'token'"),
]


@pytest.fixture(scope="module")
def service(stack: Stack) -> ApiClient:
    return ApiClient(stack, stack.service_key)


@pytest.mark.parametrize(("method", "path", "body", "text"), BODIES)
def test_body_that_is_not_as_documented(
    service: ApiClient, method: str, path: str, body: Any, text: str
) -> None:
    response = service.http.request(method, f"/storage/v1{path}", json=body)
    assert response.status_code == 400
    assert response.json() == {
        "statusCode": "400",
        "error": "Error",
        "message": text,
        "code": "InvalidRequest",
    }


@pytest.mark.parametrize(("content", "kind", "text"), CONTENTS, ids=range(len(CONTENTS)))
def test_body_that_is_not_json(service: ApiClient, content: bytes, kind: str, text: str) -> None:
    headers = {"content-type": kind}
    response = service.http.post(f"/storage/v1{LIST}", content=content, headers=headers)
    assert (response.status_code, response.json()["message"]) == (400, text)


@pytest.mark.parametrize(("path", "text"), QUERIES)
def test_query_string_that_is_not_as_documented(service: ApiClient, path: str, text: str) -> None:
    response = service.http.get(f"/storage/v1{path}")
    assert (response.status_code, response.json()["message"]) == (400, text)


def test_bad_token_is_reported_before_the_body_is_read(stack: Stack) -> None:
    response = ApiClient(stack, "x.y.z").http.post(f"/storage/v1{LIST}", content=b"{")
    assert response.json()["message"] == "Invalid Compact JWS"


def test_values_are_coerced(service: ApiClient) -> None:
    body = {"prefix": 5, "limit": "1e1", "offset": 0.0, "sortBy": {"column": "name"}}
    assert service.http.post(f"/storage/v1{LIST}", json=body).json() == []
    response = service.http.request("DELETE", "/storage/v1/object/none", json={"prefixes": "a.txt"})
    assert response.json() == []


@pytest.mark.parametrize(("content", "kind"), [(b"[]", JSON), (b"{}", "text/plain")])
def test_a_body_that_does_not_count_is_an_object_too(service: ApiClient, content: bytes, kind: str) -> None:
    response = service.http.post(
        "/storage/v1/bucket/none/empty", content=content, headers={"content-type": kind}
    )
    assert (response.status_code, response.json()["message"]) == (400, "body must be object")


def test_a_bucket_that_is_not_there(service: ApiClient) -> None:
    response = service.http.get("/storage/v1/object/none/a.txt")
    assert (response.status_code, response.json()["code"]) == (400, "NoSuchBucket")


MISSPELT: list[tuple[str, str, Any]] = [
    ("GET", "/object/none/a%7Cb", None),
    ("GET", "/object/public/none/a%7Cb", None),
    ("POST", "/object/sign/none/a%7Cb", {"expiresIn": 1}),
    ("POST", "/object/copy", {"bucketId": "none", "sourceKey": "a", "destinationKey": "a|b"}),
    ("POST", MOVE, {"bucketId": "none", "sourceKey": "a", "destinationKey": "a|b"}),
]


@pytest.mark.threat("T93")
@pytest.mark.parametrize(("method", "path", "body"), MISSPELT)
def test_a_name_that_no_object_can_have(service: ApiClient, method: str, path: str, body: Any) -> None:
    response = service.http.request(method, f"/storage/v1{path}", json=body)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidKey")


@pytest.mark.threat("T93", "T95")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": "a|b", "id": "good"}, "InvalidBucketName"),
        ({"name": "good", "id": "a|b"}, "InvalidBucketName"),
        ({"name": "good", "allowed_mime_types": ["image/png", "png"]}, "InvalidMimeType"),
        ({"name": "good", "file_size_limit": "51TB"}, "EntityTooLarge"),
    ],
)
def test_a_bucket_that_cannot_be(service: ApiClient, changes: dict[str, Any], code: str) -> None:
    response = service.http.post("/storage/v1/bucket", json=changes)
    assert (response.status_code, response.json()["code"]) == (400, code)
