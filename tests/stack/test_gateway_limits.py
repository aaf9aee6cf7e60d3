"""The limits of the gateway: bodies, addresses, headers, methods, and what is not plainly one request."""

import pytest

from tests.support.own_gateway import FILE, MIB, PERSON, POST, Gateway

OF_STORAGE = "51 MiB of a file, and 2 MiB of anything else"


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    ("path", "most", "said"),
    [
        ("/rest/v1/x", MIB, "1 MiB"),
        ("/auth/v1/x", 2 * MIB, "2 MiB"),
        ("/functions/v1/x", MIB, "1 MiB"),
        ("/storage/v1/object/list/receipts", 2 * MIB, OF_STORAGE),
        (f"{FILE}/x", 51 * MIB, OF_STORAGE),
    ],
    ids=["rest", "auth", "functions", "list", "file"],
)
def test_bodies_are_limited_with_one_error_format(gateway: Gateway, path: str, most: int, said: str) -> None:
    response = gateway.http.post(path, headers=PERSON, content=b"x" * (most + 1))
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/json"
    sentence = f"This is larger than the server accepts. The most is {said}."
    assert response.json() == {"code": "payload_too_large", "message": sentence, "error": sentence}
    assert response.headers["access-control-allow-origin"] == "*"
    if path != f"{FILE}/x":
        assert gateway.http.post(path, headers=PERSON, content=b"x" * most).json()["bytes"] == most


@pytest.mark.threat("T126")
def test_a_body_of_unknown_length_that_becomes_too_large(gateway: Gateway) -> None:
    """A matcher reads it and fails, without a status."""
    parts = (b'"' + b"x" * 65536 for _ in range(40))
    response = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=parts)
    assert (response.status_code, response.json()["code"]) == (413, "payload_too_large")


@pytest.mark.threat("T126")
def test_a_filter_of_1300_ids_fits_however_it_is_written(gateway: Gateway) -> None:
    for comma in (",", "%2C"):
        ids = comma.join(["8047ea26-4e1c-47e1-8082-44bdc998e7b7"] * 1300)
        seen = gateway.http.get(f"/rest/v1/x?id=in.({ids})", headers=PERSON)
        assert seen.status_code == 200
        assert len(seen.json()["path"]) < 49_000, "PostgREST takes 50 kB of address and headers"


@pytest.mark.threat("T126")
@pytest.mark.parametrize("path", [f"x?id=eq.{'x' * 50_000}", "x?too-long"], ids=["here", "there"])
def test_an_address_that_postgrest_does_not_take_is_too_long_in_words(gateway: Gateway, path: str) -> None:
    """It says so itself where other headers fill the rest: the only response of its that is no JSON."""
    for method, body in (("GET", b""), ("POST", b"x" * 9000)):
        response = gateway.http.request(method, f"/rest/v1/{path}", headers=PERSON, content=body)
        assert (response.status_code, response.json()["code"]) == (414, "uri_too_long")
        assert "at most 50,000 characters" in response.json()["message"]
        assert response.headers["access-control-allow-origin"] == "*"


def test_other_responses_of_postgrest_are_passed_on(gateway: Gateway) -> None:
    for query, status in (("wrong", 400), ("text", 200)):
        response = gateway.http.get(f"/rest/v1/x?{query}", headers=PERSON)
        assert (response.status_code, response.text) == (status, '"said"')


@pytest.mark.parametrize("said", ["away", "no-place"])
def test_what_postgrest_says_of_itself_is_said_in_words(gateway: Gateway, said: str) -> None:
    """It names the address of the database."""
    for method, body in (("GET", b""), ("POST", b"x" * 9000)):
        response = gateway.http.request(method, f"/rest/v1/x?{said}", headers=PERSON, content=body)
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json()["message"] == "The server is busy. Try again."


def test_what_sql_raises_is_passed_on(gateway: Gateway) -> None:
    response = gateway.http.get("/rest/v1/x?raised", headers=PERSON)
    assert (response.status_code, response.text) == (503, '"said"')


@pytest.mark.threat("T126")
def test_200_kb_of_headers_do_not_fit(gateway: Gateway) -> None:
    assert gateway.http.get("/rest/v1/x", headers={**PERSON, "x-junk": "j" * 200_000}).status_code == 431


@pytest.mark.threat("T126")
@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK"])
def test_odd_methods_are_rejected(gateway: Gateway, method: str) -> None:
    for path in ("/", "/functions/v1/x"):
        _, received = gateway.raw(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert received.startswith(b"HTTP/1.1 405 "), path
        assert received.endswith(b"Method not allowed"), path


@pytest.mark.threat("T126")
def test_ambiguous_requests_are_never_two(gateway: Gateway) -> None:
    for text in (
        f"{POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
        f"{POST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET  / HTTP/9.9\r\nHost: x\r\n\r\n",
    ):
        status, rest = gateway.raw(text)
        assert status == 400 or (status == 200 and rest.count(b"HTTP/1.1 2") == 1), text
