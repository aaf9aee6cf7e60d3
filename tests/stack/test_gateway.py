"""The one door: security headers, CORS, Supabase's key check, forged addresses, limits, what stays hidden."""

import json
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import health
from keys import Keys
from settings import SERVICES_WITH_PORTS, Settings
from tests.stack.conftest import ANON, SERVICE, SLOW_SECONDS, Gateway, free_port

KEY = {"apikey": ANON}
CSP = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "connect-src 'self'",
        "img-src 'self' blob: data:",
        "font-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    ]
)
# Those that are programs of this stack, and what a program of theirs may tell of itself.
SERVICES = ("auth", "storage", "functions")
SERVICE_PAGES = ("metrics", "docs", "redoc", "openapi.json")
POST = "POST /functions/v1/x HTTP/1.1\r\nHost: x\r\n"
TOO_LARGE = b"x" * (2 * 2**20)


@pytest.mark.threat("T112")
@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/", 200, b""),
        ("GET", "/dashboard", 200, b""),
        ("GET", "/assets/app-1a2b.js", 200, b""),
        ("GET", "/assets/none.js", 404, b""),
        ("GET", "/none.txt", 404, b""),
        ("GET", "/metrics", 404, b""),
        ("GET", "/config.js", 200, b""),
        ("GET", "/rest/v1/deposits", 401, b""),
        ("GET", "/functions/v1/x", 200, b""),
        ("OPTIONS", "/rest/v1/deposits", 204, b""),
        ("POST", "/functions/v1/x", 413, TOO_LARGE),
        ("GET", "/storage/v1/bucket", 502, b""),
    ],
)
def test_security_headers_are_on_every_answer(
    gateway: Gateway, method: str, path: str, status: int, body: bytes
) -> None:
    answer = gateway.http.request(method, path, content=body)
    assert answer.status_code == status
    assert answer.headers.get_list("content-security-policy") == [CSP]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "strict-origin-when-cross-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    seconds = int(answer.headers["strict-transport-security"].split("max-age=")[1].split(";")[0])
    assert seconds >= 365 * 24 * 3600
    assert "server" not in answer.headers
    assert "via" not in answer.headers


@pytest.mark.threat("T114")
@pytest.mark.parametrize("origin", ["https://foreign.example", "null"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/rest/v1/deposits"),
        ("GET", "/auth/v1/user"),
        ("GET", "/functions/v1/x"),
        ("GET", "/storage/v1/bucket"),
    ],
)
def test_any_origin_may_ask_and_no_credentials_are_allowed(
    gateway: Gateway, method: str, path: str, origin: str
) -> None:
    for key in (KEY, {}):
        answer = gateway.http.request(method, path, headers={"origin": origin, **key})
        assert answer.headers.get_list("access-control-allow-origin") == ["*"]
        assert "access-control-allow-credentials" not in answer.headers
        assert "content-range" in answer.headers["access-control-expose-headers"].lower()


def test_preflight_is_answered_at_the_edge_with_every_header_of_the_stock_clients(gateway: Gateway) -> None:
    wanted = (
        "authorization,apikey,content-type,x-client-info,x-supabase-api-version,x-upsert,prefer,x-retry-count"
    )
    answer = gateway.http.options(
        "/storage/v1/object/receipts/x",
        headers={
            "origin": "https://foreign.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": wanted,
        },
    )
    assert answer.status_code == 204
    allowed = {name.strip() for name in answer.headers["access-control-allow-headers"].split(",")}
    assert set(wanted.split(",")) <= allowed
    assert {"POST", "PATCH", "DELETE", "PUT"} <= set(
        answer.headers["access-control-allow-methods"].split(", ")
    )


@pytest.mark.parametrize("path", ["/rest/v1/deposits", "/auth/v1/token", "/auth/v1/health"])
def test_keys_are_asked_for_in_supabase_words(gateway: Gateway, path: str) -> None:
    missing = gateway.http.get(path)
    assert (missing.status_code, missing.json()) == (401, {"message": "No API key found in request"})
    wrong = gateway.http.get(path, headers={"apikey": "guess"})
    assert (wrong.status_code, wrong.json()) == (401, {"message": "Invalid authentication credentials"})
    for key in (ANON, SERVICE):
        assert gateway.http.get(path, headers={"apikey": key}).status_code == 200
        assert gateway.http.get(path, params={"apikey": key}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/auth/v1/verify",
        "/auth/v1/callback",
        "/auth/v1/authorize",
        "/auth/v1/.well-known/jwks.json",
        "/functions/v1/x",
    ],
)
def test_links_and_functions_need_no_key(gateway: Gateway, path: str) -> None:
    assert gateway.http.get(path).status_code == 200


def test_the_key_stands_in_for_a_missing_authorization(gateway: Gateway) -> None:
    alone = gateway.http.get("/rest/v1/deposits", headers=KEY).json()
    assert alone["headers"]["authorization"] == ANON
    both = gateway.http.get("/rest/v1/deposits", headers={**KEY, "authorization": "Bearer token"}).json()
    assert both["headers"]["authorization"] == "Bearer token"


def test_the_prefix_is_taken_off(gateway: Gateway) -> None:
    seen = gateway.http.get("/rest/v1/deposits?select=*&id=eq.1", headers=KEY).json()
    assert seen["path"] == "/deposits?select=*&id=eq.1"


@pytest.mark.threat("T78", "T124")
def test_forged_addresses_never_reach_a_service(gateway: Gateway) -> None:
    forged = {
        "x-real-ip": "6.6.6.6",
        "x-forwarded-for": "6.6.6.6",
        "x-forwarded-user": "6.6.6.6",
        "x-client-ip": "6.6.6.6",
        "x-cluster-client-ip": "6.6.6.6",
        "x-original-forwarded-for": "6.6.6.6",
        "x-user-id": "6.6.6.6",
        "true-client-ip": "6.6.6.6",
        "cf-connecting-ip": "6.6.6.6",
        "fastly-client-ip": "6.6.6.6",
        "sb-forwarded-for": "6.6.6.6",
        "forwarded": "for=6.6.6.6",
    }
    for path in ("/rest/v1/x", "/auth/v1/user", "/functions/v1/x"):
        headers = gateway.http.get(path, headers={**KEY, **forged}).json()["headers"]
        assert "6.6.6.6" not in json.dumps(headers)
        assert headers["x-real-ip"] == "127.0.0.1"
        assert headers["x-forwarded-for"] == "127.0.0.1"


@pytest.mark.threat("T126")
def test_bodies_are_limited_and_refused_in_one_shape(gateway: Gateway) -> None:
    for path in ("/rest/v1/x", "/functions/v1/x"):
        answer = gateway.http.post(path, headers=KEY, content=TOO_LARGE)
        assert answer.status_code == 413
        assert answer.json()["code"] == "payload_too_large"
        assert answer.json()["error"] == answer.json()["message"]
    assert gateway.http.post("/functions/v1/x", content=b"x" * 2**20).json()["bytes"] == 2**20


def test_a_service_that_is_down_is_a_plain_sentence(gateway: Gateway) -> None:
    answer = gateway.http.get("/storage/v1/bucket", headers=KEY)
    assert answer.status_code == 502
    assert answer.json() == {
        "code": "try_again",
        "message": "The server is busy. Try again.",
        "error": "The server is busy. Try again.",
    }


def test_more_than_can_be_done_is_refused_soon(gateway: Gateway) -> None:
    def ask(_: int) -> tuple[int, str, float]:
        answer = gateway.http.get("/rest/v1/slow", headers=KEY, timeout=20)
        return answer.status_code, answer.headers.get("retry-after", ""), answer.elapsed.total_seconds()

    with ThreadPoolExecutor(110) as crowd:
        answers = list(crowd.map(ask, range(110)))
    done = [answer for answer in answers if answer[0] == 200]
    refused = [answer for answer in answers if answer[0] != 200]
    # Who waited for a place may have got one.
    assert 56 <= len(done) < 110
    assert {(status, again) for status, again, _ in refused} == {(503, "1")}
    assert max(seconds for *_, seconds in refused) < SLOW_SECONDS
    assert gateway.http.get("/rest/v1/x", headers=KEY).status_code == 200


@pytest.mark.threat("T126")
def test_slow_bodies_keep_nobody_out(gateway: Gateway) -> None:
    start = f"POST /rest/v1/x HTTP/1.1\r\nHost: x\r\napikey: {ANON}\r\nContent-Length: 1000\r\n\r\nsome"
    slow = [socket.create_connection(("127.0.0.1", gateway.port), 5) for _ in range(80)]
    try:
        for connection in slow:
            connection.sendall(start.encode())
        time.sleep(0.5)
        assert gateway.http.get("/rest/v1/x", headers=KEY).status_code == 200
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.threat("T126")
def test_a_filter_of_1300_ids_fits_and_100_kb_of_headers_do_not(gateway: Gateway) -> None:
    ids = ",".join(["8047ea26-4e1c-47e1-8082-44bdc998e7b7"] * 1300)
    assert gateway.http.get(f"/rest/v1/x?id=in.({ids})", headers=KEY).status_code == 200
    assert gateway.http.get("/rest/v1/x", headers={**KEY, "x-junk": "j" * 100_000}).status_code == 431


@pytest.mark.threat("T119")
@pytest.mark.parametrize(
    "path",
    [
        "/metrics",
        "/ready",
        "/live",
        "/health",
        "/debug/pprof/",
        "/.git/config",
        "/.env",
        "/.htaccess",
        "/.git/HEAD",
        "/assets/app-1a2b.js.map",
        "/assets/",
        "/assets",
        *(f"/{service}/v1/{page}" for service in SERVICES for page in SERVICE_PAGES),
        "/server-status.php",
        "/wp-login.php",
        "/backup.sql",
        "/index.php",
        "/package.json",
        "/config.json",
        "/web.config",
        "/%2e%2e/%2e%2e/etc/passwd.txt",
        "/id_rsa.pem",
    ],
)
def test_nothing_behind_the_door_is_shown(gateway: Gateway, path: str) -> None:
    answer = gateway.http.get(path, headers=KEY)
    assert answer.status_code == 404 or (path == "/assets" and "<title>app" in answer.text)
    assert "SECRET" not in answer.text


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("page", SERVICE_PAGES)
def test_a_page_can_read_that_it_is_closed(gateway: Gateway, service: str, page: str) -> None:
    answer = gateway.http.get(f"/{service}/v1/{page}", headers=KEY)
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/rest/v1/docs", 200),
        ("/rest/v1/rpc/metrics", 200),
        ("/rest/v1/openapi.json", 200),
        ("/auth/v1/admin/users/metrics", 200),
        ("/functions/v1/site.map", 200),
        # Storage is down: this is as far as the door lets through.
        ("/storage/v1/object/receipts/site.map", 502),
        ("/storage/v1/object/receipts/a/docs", 502),
        ("/storage/v1/object/receipts/openapi.json", 502),
    ],
)
def test_what_people_name_is_not_closed(gateway: Gateway, path: str, status: int) -> None:
    answer = gateway.http.get(path, headers=KEY)
    assert answer.status_code == status
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]


@pytest.mark.threat("T126")
@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK"])
def test_odd_methods_are_refused(gateway: Gateway, method: str) -> None:
    status, _ = _raw(gateway, f"{method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert 400 <= status < 500


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    "request_text",
    [
        f"{POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
        f"{POST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET  / HTTP/9.9\r\nHost: x\r\n\r\n",
    ],
)
def test_ambiguous_requests_are_never_two(gateway: Gateway, request_text: str) -> None:
    status, rest = _raw(gateway, request_text)
    assert status == 400 or (status == 200 and rest.count(b"HTTP/1.1 2") == 1)


def test_pages_are_fresh_and_assets_are_kept(gateway: Gateway) -> None:
    assert gateway.http.get("/").headers["cache-control"] == "no-store"
    assert gateway.http.get("/admin/deposits").headers["cache-control"] == "no-store"
    assert gateway.http.get("/config.js").headers["cache-control"] == "no-store"
    assert "immutable" in gateway.http.get("/assets/app-1a2b.js").headers["cache-control"]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_answers_are_compressed(gateway: Gateway, coding: str) -> None:
    with gateway.http.stream("GET", "/", headers={"accept-encoding": coding}) as answer:
        assert answer.headers["content-encoding"] == coding


@pytest.mark.threat("T120")
def test_the_app_is_told_the_public_key_and_nothing_else(gateway: Gateway) -> None:
    answer = gateway.http.get("/config.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.text == f'globalThis.HARBORLINE_CONFIG = {{ supabaseUrl: "", supabaseKey: "{ANON}" }};'


def test_with_a_domain_the_gateway_is_asked_inside(gateway: Gateway, tmp_path: Path) -> None:
    ports = dict.fromkeys(SERVICES_WITH_PORTS, 9) | {"internal": gateway.internal}
    settings = Settings(state=tmp_path, ports=ports, options={"SITE_DOMAIN": "members.example"})
    keys = Keys(settings)
    keys.__dict__["values"] = {"SUPABASE_ANON_KEY": ANON}
    assert health.answers(*health.questions(settings, keys)["gateway"])
    settings.ports["internal"] = free_port()
    assert not health.answers(*health.questions(settings, keys)["gateway"])


def test_a_gateway_that_cannot_have_its_port_does_not_answer_inside_either(gateway: Gateway) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        places = {
            "GATEWAY_SITE": f"http://:{other.getsockname()[1]}",
            "INTERNAL_SITE": f"http://:{free_port()}",
        }
        second = subprocess.run(
            gateway.command, env=gateway.environment | places, capture_output=True, timeout=60, check=False
        )
    assert second.returncode != 0
    assert b"address already in use" in second.stderr + second.stdout


def _raw(gateway: Gateway, text: str) -> tuple[int, bytes]:
    """Send bytes as they are; the status of the first answer and everything received."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=5) as connection:
        connection.sendall(text.encode())
        connection.settimeout(3)
        received = b""
        try:
            while part := connection.recv(65536):
                received += part
        except TimeoutError:
            pass
    fields: list[Any] = received.split(b" ", 2)
    return int(fields[1]), received
