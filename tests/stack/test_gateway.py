"""The gateway: security headers, CORS, Supabase's key check, forged addresses, limits, what stays hidden."""

import contextlib
import csv
import json
import re
import socket
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from launcher import health
from launcher.keys import Keys
from launcher.settings import SERVICES_WITH_PORTS, Settings
from tests.stack.conftest import ANON, ROOT, SERVICE, SLOW_SECONDS, Gateway, free_port

KEY = {"apikey": ANON}
# The gateway looks whether a token is there; PostgREST verifies it.
PERSON = {**KEY, "authorization": "Bearer a.persons.token"}
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
HARDENING = {
    "content-security-policy": [CSP],
    "x-content-type-options": ["nosniff"],
    "referrer-policy": ["strict-origin-when-cross-origin"],
    "cross-origin-opener-policy": ["same-origin"],
    "server": [],
    "via": [],
}
OPEN_TO_ALL = {"access-control-allow-origin": ["*"], "access-control-allow-credentials": []}
A_YEAR = 365 * 24 * 3600
# Those that are services of this stack, and the headers in which a service may name itself.
SERVICES = ("auth", "storage", "functions")
SERVICE_PAGES = ("metrics", "docs", "redoc", "openapi.json")
POST = "POST /functions/v1/x HTTP/1.1\r\nHost: x\r\n"
TOO_LARGE = b"x" * (2 * 2**20)


@dataclass(frozen=True)
class Route:
    """One request, and how its response differs from the usual one."""

    path: str
    status: int
    method: str = "GET"
    key: str = ANON
    origin: str = ""
    body: bytes = b""
    cache: str = ""
    token: str = ""

    def ask(self, http: httpx.Client) -> httpx.Response:
        """Send it."""
        headers = {"apikey": self.key, "origin": self.origin, "authorization": self.token}
        given = {name: value for name, value in headers.items() if value}
        return http.request(self.method, self.path, headers=given, content=self.body)

    def __str__(self) -> str:
        """As a failure names it."""
        key = "with" if self.key else "without"
        return f"{self.method} {self.path} {key} a key{f' from {self.origin}' if self.origin else ''}"


PAGES = (
    Route("/", 200, cache="no-store", key=""),
    Route("/dashboard", 200, key=""),
    Route("/admin/deposits", 200, cache="no-store", key=""),
    Route("/config.js", 200, cache="no-store", key=""),
    Route("/assets/app-1a2b.js", 200, cache="immutable", key=""),
    Route("/assets/none.js", 404, key=""),
    Route("/none.txt", 404, key=""),
)
FROM_ANYWHERE = (
    *(
        Route(path, status, origin=origin, key=key)
        for origin in ("https://foreign.example", "null")
        for key, path, status in (
            (ANON, "/rest/v1/rpc/get_platform", 200),
            (ANON, "/rest/v1/deposits", 401),
            ("", "/rest/v1/deposits", 401),
            (ANON, "/auth/v1/user", 200),
            ("", "/auth/v1/user", 401),
            (ANON, "/functions/v1/x", 200),
            ("", "/functions/v1/x", 200),
            # Storage is down.
            (ANON, "/storage/v1/bucket", 502),
            ("", "/storage/v1/bucket", 502),
        )
    ),
    Route("/rest/v1/deposits", 204, method="OPTIONS", key=""),
    Route("/functions/v1/x", 413, method="POST", key="", body=TOO_LARGE),
)
# They end like a page of a program. Storage is down: this is as far as the gateway lets it through.
NAMED_BY_PEOPLE = (
    Route("/rest/v1/docs", 200, token=PERSON["authorization"]),
    Route("/rest/v1/rpc/metrics", 200, token=PERSON["authorization"]),
    Route("/rest/v1/openapi.json", 200, token=PERSON["authorization"]),
    Route("/auth/v1/admin/users/metrics", 200),
    Route("/functions/v1/site.map", 200),
    Route("/storage/v1/object/receipts/site.map", 502),
    Route("/storage/v1/object/receipts/a/docs", 502),
    Route("/storage/v1/object/receipts/openapi.json", 502),
)
CLOSED_PAGES = tuple(Route(f"/{service}/v1/{page}", 404) for service in SERVICES for page in SERVICE_PAGES)
SPELLINGS = (
    "/auth/v1/openapi.json/",
    "/auth/v1/openapi.json//",
    "/auth/v1//openapi.json",
    "/auth//v1/openapi.json",
    "/%2fauth/v1/openapi.json",
    "/auth/v1/openapi%2ejson",
    "/auth/v1/%6fpenapi.json",
    "/auth/v1/openapi.json%2f",
    "/auth/v1%2fopenapi.json",
    "/auth/v1/%2e/openapi.json",
    "/auth/v1/x/%2e%2e/openapi.json",
    "/auth/v1/OpenAPI.json",
    "/AUTH/v1/openapi.json",
    "/auth/v1/docs/oauth2-redirect",
    "/storage/v1/openapi.json/",
    "/functions/v1/metrics/",
    "/metrics/",
    "/%2fmetrics",
    "/METRICS",
    "/%6detrics",
    "/ready/",
    "/debug",
)
CLOSED = (
    *(
        Route(path, 404)
        for path in (
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
            "/server-status.php",
            "/wp-login.php",
            "/backup.sql",
            "/index.php",
            "/package.json",
            "/config.json",
            "/web.config",
            "/%2e%2e/%2e%2e/etc/passwd.txt",
            "/id_rsa.pem",
        )
    ),
    *CLOSED_PAGES,
    *(Route(path, 404) for path in SPELLINGS),
)
Responses = dict[Route, httpx.Response]


@pytest.fixture(scope="module")
def responses(gateway: Gateway) -> Responses:
    """Return the response of every route; each is requested once."""
    routes = (*PAGES, *FROM_ANYWHERE, *NAMED_BY_PEOPLE, *CLOSED, Route("/assets", 200))
    with ThreadPoolExecutor(8) as several:
        return dict(zip(routes, several.map(lambda route: route.ask(gateway.http), routes), strict=True))


def unlike(responses: Responses, headers: dict[str, list[str]], routes: Iterable[Route]) -> list[str]:
    """Return the routes whose responses have other headers, with those headers."""
    return [
        f"{route}: {name} is {found}, not {wanted}"
        for route in routes
        for name, wanted in headers.items()
        if (found := responses[route].headers.get_list(name)) != wanted
    ]


def test_every_route_responds_as_the_table_says(responses: Responses) -> None:
    found = {str(route): response.status_code for route, response in responses.items()}
    assert found == {str(route): route.status for route in responses}


@pytest.mark.threat("T112")
def test_security_headers_are_on_every_response(responses: Responses) -> None:
    assert unlike(responses, HARDENING, responses) == []
    for route, response in responses.items():
        promised = response.headers["strict-transport-security"].split("max-age=")[1].split(";")[0]
        assert int(promised) >= A_YEAR, f"{route}: strict-transport-security"


@pytest.mark.threat("T114")
def test_any_origin_may_ask_and_no_credentials_are_allowed(responses: Responses) -> None:
    assert unlike(responses, OPEN_TO_ALL, (*FROM_ANYWHERE, *NAMED_BY_PEOPLE, *CLOSED_PAGES)) == []
    for route in FROM_ANYWHERE:
        if route.origin:
            exposed = responses[route].headers["access-control-expose-headers"]
            assert "content-range" in exposed.lower(), f"{route}: access-control-expose-headers"


@pytest.mark.threat("T119")
def test_nothing_behind_the_gateway_is_shown(responses: Responses) -> None:
    shown = [str(route) for route in CLOSED if responses[route].status_code != 404]
    assert shown == []
    # No file: the app is served, as for any path of its own.
    assert "<title>app" in responses[Route("/assets", 200)].text
    assert [str(route) for route, response in responses.items() if "SECRET" in response.text] == []


def test_pages_are_fresh_and_assets_are_cached(responses: Responses) -> None:
    wrong = [
        f"{route}: cache-control is {stored}"
        for route, response in responses.items()
        if route.cache and route.cache not in (stored := response.headers["cache-control"])
    ]
    assert wrong == []


def test_the_gateway_responds_to_preflight_with_every_header_of_the_stock_clients(gateway: Gateway) -> None:
    wanted = (
        "authorization,apikey,content-type,x-client-info,x-supabase-api-version,x-upsert,prefer,x-retry-count"
    )
    response = gateway.http.options(
        "/storage/v1/object/receipts/x",
        headers={
            "origin": "https://foreign.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": wanted,
        },
    )
    assert response.status_code == 204
    allowed = {name.strip() for name in response.headers["access-control-allow-headers"].split(",")}
    assert set(wanted.split(",")) <= allowed
    assert {"POST", "PATCH", "DELETE", "PUT"} <= set(
        response.headers["access-control-allow-methods"].split(", ")
    )


def test_keys_are_asked_for_in_supabase_words(gateway: Gateway) -> None:
    for path in ("/rest/v1/deposits", "/auth/v1/token", "/auth/v1/health"):
        missing = gateway.http.get(path)
        assert (missing.status_code, missing.json()) == (401, {"message": "No API key found in request"}), (
            path
        )
        wrong = gateway.http.get(path, headers={"apikey": "guess"})
        stopped = {"message": "Invalid authentication credentials"}
        assert (wrong.status_code, wrong.json()) == (401, stopped), path
        token = {"authorization": PERSON["authorization"]}
        for key in (ANON, SERVICE):
            assert gateway.http.get(path, headers=PERSON | {"apikey": key}).status_code == 200, (
                f"{path} {key}"
            )
            assert gateway.http.get(path, params={"apikey": key}, headers=token).status_code == 200, (
                f"{path}?{key}"
            )


def test_links_and_functions_need_no_key(gateway: Gateway) -> None:
    for path in (
        "/auth/v1/verify",
        "/auth/v1/callback",
        "/auth/v1/authorize",
        "/auth/v1/.well-known/jwks.json",
        "/functions/v1/x",
    ):
        assert gateway.http.get(path).status_code == 200, path


def test_the_key_stands_in_for_a_missing_authorization(gateway: Gateway) -> None:
    alone = gateway.http.get("/auth/v1/user", headers=KEY).json()
    assert alone["headers"]["authorization"] == ANON
    both = gateway.http.get("/rest/v1/deposits", headers={**KEY, "authorization": "Bearer token"}).json()
    assert both["headers"]["authorization"] == "Bearer token"


def test_the_prefix_is_taken_off(gateway: Gateway) -> None:
    seen = gateway.http.get("/rest/v1/deposits?select=*&id=eq.1", headers=PERSON).json()
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
        headers = gateway.http.get(path, headers={**PERSON, **forged}).json()["headers"]
        assert "6.6.6.6" not in json.dumps(headers)
        assert headers["x-real-ip"] == "127.0.0.1"
        assert headers["x-forwarded-for"] == "127.0.0.1"


@pytest.mark.threat("T126")
def test_bodies_are_limited_with_one_error_format(gateway: Gateway) -> None:
    for path in ("/rest/v1/x", "/functions/v1/x"):
        response = gateway.http.post(path, headers=PERSON, content=TOO_LARGE)
        assert response.status_code == 413
        assert response.json()["code"] == "payload_too_large"
        assert response.json()["error"] == response.json()["message"]
    assert gateway.http.post("/functions/v1/x", content=b"x" * 2**20).json()["bytes"] == 2**20


def test_a_service_that_is_down_is_a_plain_sentence(gateway: Gateway) -> None:
    response = gateway.http.get("/storage/v1/bucket", headers=KEY)
    assert response.status_code == 502
    assert response.json() == {
        "code": "try_again",
        "message": "The server is busy. Try again.",
        "error": "The server is busy. Try again.",
    }


def test_overload_is_rejected_soon(gateway: Gateway) -> None:
    def ask(_: int) -> tuple[int, str, float]:
        response = gateway.http.get("/rest/v1/slow", headers=PERSON, timeout=20)
        return response.status_code, response.headers.get("retry-after", ""), response.elapsed.total_seconds()

    with ThreadPoolExecutor(110) as crowd:
        responses = list(crowd.map(ask, range(110)))
    done = [response for response in responses if response[0] == 200]
    rejected = [response for response in responses if response[0] != 200]
    # Who waited for a place may have got one.
    assert 56 <= len(done) < 110
    assert {(status, again) for status, again, _ in rejected} == {(503, "1")}
    assert max(seconds for *_, seconds in rejected) < SLOW_SECONDS
    assert gateway.http.get("/rest/v1/x", headers=PERSON).status_code == 200


@pytest.mark.threat("T126")
def test_slow_bodies_block_no_other_client(gateway: Gateway) -> None:
    token = f"apikey: {ANON}\r\nAuthorization: Bearer x\r\n"
    start = f"POST /rest/v1/x HTTP/1.1\r\nHost: x\r\n{token}Content-Length: 1000\r\n\r\nsome"
    slow = [socket.create_connection(("127.0.0.1", gateway.port), 5) for _ in range(80)]
    try:
        for connection in slow:
            connection.sendall(start.encode())
        time.sleep(0.5)
        assert gateway.http.get("/rest/v1/x", headers=PERSON).status_code == 200
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.threat("T126")
def test_a_filter_of_1300_ids_fits_and_100_kb_of_headers_do_not(gateway: Gateway) -> None:
    ids = ",".join(["8047ea26-4e1c-47e1-8082-44bdc998e7b7"] * 1300)
    assert gateway.http.get(f"/rest/v1/x?id=in.({ids})", headers=PERSON).status_code == 200
    assert gateway.http.get("/rest/v1/x", headers={**PERSON, "x-junk": "j" * 100_000}).status_code == 431


@pytest.mark.threat("T126")
def test_odd_methods_are_rejected(gateway: Gateway) -> None:
    for method in ("TRACE", "CONNECT", "TRACK"):
        status, _ = _raw(gateway, f"{method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert 400 <= status < 500, method


@pytest.mark.threat("T126")
def test_ambiguous_requests_are_never_two(gateway: Gateway) -> None:
    for text in (
        f"{POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
        f"{POST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET  / HTTP/9.9\r\nHost: x\r\n\r\n",
    ):
        status, rest = _raw(gateway, text)
        assert status == 400 or (status == 200 and rest.count(b"HTTP/1.1 2") == 1), text


def test_responses_are_compressed(gateway: Gateway) -> None:
    for coding in ("gzip", "zstd"):
        with gateway.http.stream("GET", "/", headers={"accept-encoding": coding}) as response:
            assert response.headers["content-encoding"] == coding


@pytest.mark.threat("T120")
def test_the_app_gets_the_public_key_and_nothing_else(gateway: Gateway) -> None:
    response = gateway.http.get("/config.js")
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.text == f'globalThis.HARBORLINE_CONFIG = {{ supabaseUrl: "", supabaseKey: "{ANON}" }};'


def test_with_a_domain_the_gateway_is_asked_inside(gateway: Gateway, tmp_path: Path) -> None:
    ports = dict.fromkeys(SERVICES_WITH_PORTS, 9) | {"internal": gateway.internal}
    settings = Settings(state=tmp_path, ports=ports, options={"SITE_DOMAIN": "members.example"})
    keys = Keys(settings)
    keys.__dict__["values"] = {"SUPABASE_ANON_KEY": ANON}
    assert health.is_healthy(health.requests(settings, keys)["gateway"])
    settings.ports["internal"] = free_port()
    assert not health.is_healthy(health.requests(settings, keys)["gateway"])


def test_a_gateway_that_cannot_have_its_port_does_not_respond_inside_either(gateway: Gateway) -> None:
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


def _public_functions() -> set[str]:
    """Return the functions that the matrix of the database lets role anon execute."""
    with (ROOT / "tests" / "db" / "authz_matrix.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["role"], row["verb"]) == ("anon", "EXECUTE")]
    return {row["object"].partition("(")[0] for row in rows if "." not in row["object"]}


@pytest.mark.threat("T122")
def test_an_anonymous_client_reaches_what_the_database_lets_anyone_call_and_nothing_else(
    gateway: Gateway,
) -> None:
    functions = _public_functions()
    assert len(functions) == 4
    listed = re.search(r"`\^/rpc/\(([a-z_|]+)\)\$`", (ROOT / "supabase/gateway/Caddyfile").read_text())
    assert listed
    assert set(listed[1].split("|")) == functions
    for name in functions:
        assert gateway.http.get(f"/rest/v1/rpc/{name}", headers=KEY).status_code == 200, name
        response = gateway.http.post(f"/rest/v1/rpc/{name}", headers=KEY, json={"p_a": "x" * 400})
        assert response.status_code == 200, name


@pytest.mark.threat("T122")
@pytest.mark.parametrize(
    "headers",
    [
        [("apikey", ANON)],
        [("apikey", ANON), ("authorization", f"Bearer {ANON}")],
        [("apikey", ANON), ("authorization", f"bearer {ANON}")],
        [("apikey", ANON), ("authorization", f"BEARER   {ANON}")],
        [("apikey", ANON), ("authorization", ANON)],
        [("apikey", ANON), ("authorization", "")],
        [("apikey", ANON), ("authorization", "Bearer")],
        [("apikey", ANON), ("authorization", "Basic a.persons.token")],
        [("apikey", SERVICE)],
    ],
)
def test_the_public_key_in_any_spelling_is_rejected_in_postgrest_words(
    gateway: Gateway, headers: list[tuple[str, str]]
) -> None:
    for method, path, name in (
        ("GET", "/rest/v1/deposits?select=a0:profiles(*)", "table deposits"),
        ("PATCH", "/rest/v1/profiles?id=eq.1", "table profiles"),
        ("POST", "/rest/v1/rpc/get_member_dashboard", "function get_member_dashboard"),
        ("GET", "/rest/v1/%64eposits", "table deposits"),
    ):
        response = gateway.http.request(method, path, headers=headers)
        assert (response.status_code, response.json()) == (
            401,
            {"code": "42501", "details": None, "hint": None, "message": f"permission denied for {name}"},
        ), f"{method} {path}"
        assert response.headers["www-authenticate"] == "Bearer"
    for path in ("/rest/v1/", "/rest/v1/rpc/get_platform/x", "/rest/v1/rpc/x%22y", "/rest/v1/x/../deposits"):
        response = gateway.http.get(path, headers=headers)
        assert (response.status_code, response.json()["code"]) == (401, "42501"), path


def test_the_public_key_in_the_query_is_no_token(gateway: Gateway) -> None:
    for token in ({}, {"authorization": f"Bearer {ANON}"}):
        response = gateway.http.get("/rest/v1/deposits", params={"apikey": ANON}, headers=token)
        assert (response.status_code, response.json()["code"]) == (401, "42501")


def test_anonymous_arguments_are_short(gateway: Gateway) -> None:
    url = "/rest/v1/rpc/get_sponsor"
    assert gateway.http.post(url, headers=KEY, json={"p_referral_code": "x" * 500}).status_code == 413
    assert gateway.http.post(url, headers=KEY, content=TOO_LARGE).status_code == 413
    assert gateway.http.get(f"{url}?p_referral_code={'x' * 500}", headers=KEY).status_code == 400


@pytest.mark.parametrize("name", ["authorization", "apikey"])
def test_a_header_that_says_who_asks_comes_once(gateway: Gateway, name: str) -> None:
    """Of two, one service would take the first and another the last."""
    first = PERSON[name]
    for path in ("/rest/v1/x", "/auth/v1/user", "/storage/v1/bucket", "/functions/v1/x"):
        for twice in ([(name, first), (name, "other")], [(name, f"{first}, other")]):
            rest = [(other, value) for other, value in PERSON.items() if other != name]
            response = gateway.http.get(path, headers=[*rest, *twice])
            assert (response.status_code, response.json()["code"]) == (400, "invalid_request"), path


IDS = ",".join(["8047ea26-4e1c-47e1-8082-44bdc998e7b7"] * 1000)
CONDITION = "id.not.is.null"


def embedded(number: int) -> str:
    """Return a question for that many embedded resources."""
    return "select=" + ",".join(f"a{n}:profiles!x(id)" for n in range(number))


def tree(number: int, inner: str = "or") -> str:
    """Return a question with that many conditions in a tree."""
    half = ",".join([CONDITION] * (number // 2))
    return f"and=({','.join([CONDITION] * (number - number // 2))},not.{inner}({half}))"


def plain(number: int) -> str:
    """Return a question with that many conditions one after the other."""
    return "&".join(["id=not.is.null"] * number)


def encoded(question: str) -> str:
    """Return it with every character encoded that PostgREST decodes, save what parts parameters."""
    return "".join(c if c in "&=" else f"%{ord(c):02x}" for c in question)


def half_encoded(question: str) -> str:
    """Return it as browsers write it."""
    return question.replace("(", "%28").replace(")", "%29").replace(",", "%2C")


SPELLED = (str, encoded, half_encoded)


@pytest.mark.threat("T122")
@pytest.mark.parametrize(
    "question",
    [
        *(spell(question) for spell in SPELLED for question in (embedded(11), tree(51), plain(51))),
        # `;` parts parameters too.
        plain(51).replace("&", ";"),
        f"{plain(1)};{embedded(11)}",
        # PostgREST takes the first, or all.
        f"select=id&{embedded(11)}",
        f"{tree(26)}&{tree(26)}",
        f"{plain(25)}&{tree(26)}",
        f"profiles.{tree(51)}",
        f"profiles.not.{tree(51)}",
        "select=" + "...profiles(" * 11 + "id" + ")" * 11,
        "or=" + "(or" * 51 + "(id.is.null)" + ")" * 51,
        # What looks like a list or a text in quotes is none.
        "or=(a.eq.x.in.(y," + ",".join([CONDITION] * 51) + ")",
        'or=(a.eq.".in.(",' + ",".join([CONDITION] * 51) + ',b.eq.")")',
        'or=(a.in.("x",' + ",".join([CONDITION] * 51) + ")",
        "&!or=" + tree(51).removeprefix("and="),
        "order=" + ",".join(["id"] * 102),
        "profiles.order=" + ",".join(["id"] * 102),
        "select=" + ",".join(["id"] * 102),
        "columns=" + ",".join(["id"] * 102),
        "on_conflict=" + ",".join(["id"] * 102),
        f"select={'x' * 200}(id)",
        "a." * 1000 + "id=eq.1",
        "&".join(["limit=1"] * 400),
    ],
)
def test_a_question_that_asks_too_much_goes_no_further(gateway: Gateway, question: str) -> None:
    for method in ("GET", "PATCH"):
        response = gateway.http.request(method, f"/rest/v1/deposits?{question}", headers=PERSON)
        assert (response.status_code, response.json()["code"]) == (400, "too_complex"), question[:200]


@pytest.mark.threat("T122")
@pytest.mark.parametrize(
    "question",
    [
        "",
        *(
            spell(question)
            for spell in SPELLED
            for question in (embedded(10), tree(50), plain(50), f"{plain(20)}&{tree(30)}")
        ),
        f"select=id&{plain(50)}&order=id.asc,amount.desc&limit=1&offset=2",
        f"id=in.({IDS})",
        f"id=not.in.%28{IDS.replace(',', ' ,')}%29".replace(" ", ""),
        f"or=(id.in.({IDS}),amount.gt.5)",
        "or=(created_at.in.(%222026-01-01T00:00:00.000+00:00%22" + ",1.5" * 100 + "),amount.gt.5)",
        "reference_number=ilike.*" + "a,(b" * 100,
        "select=" + ",".join(["id"] * 100),
    ],
)
def test_a_question_of_the_largest_size_goes_through_as_it_is(gateway: Gateway, question: str) -> None:
    response = gateway.http.get(f"/rest/v1/deposits?{question}", headers=PERSON)
    assert response.status_code == 200, question[:200]
    seen = response.json()
    assert seen["path"].partition("?")[2] == question
    assert not {"x-query", "x-columns", "x-conditions", "x-keys", "x-names"} & set(seen["headers"])


def test_the_web_app_asks_for_far_less() -> None:
    sources = [path.read_text() for path in (ROOT / "web" / "src").rglob("*.ts*")]
    selects = [found for text in sources for found in re.findall(r"\.select\(\s*['\"`]([^'\"`]*)", text)]
    assert selects
    assert max(select.count("(") for select in selects) <= 5
    assert max(select.count(",") for select in selects) <= 50
    filters = r"\.(?:eq|neq|gte?|lte?|i?like|is|in|or|not|filter|contains|overlaps)\("
    assert max(len(re.findall(filters, text)) for text in sources) <= 25


@pytest.mark.threat("T122")
@pytest.mark.parametrize(
    "content",
    [
        json.dumps({f"k{n}": 1 for n in range(200)}),
        json.dumps({"x" * 501: 1}),
        json.dumps({"x" * 501: 1}).replace('":', '"\n\t :'),
        json.dumps({'x\\"' * 200: 1}),
        json.dumps([{"a" * 50: {"b" * 500: 1}}]),
    ],
)
def test_the_names_of_arguments_are_few_and_short(gateway: Gateway, content: str) -> None:
    response = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=content)
    assert (response.status_code, response.json()["code"]) == (400, "too_complex")


def test_what_arguments_say_may_be_long(gateway: Gateway) -> None:
    content = json.dumps({"p_text": 'a": "b\\' * 2000, "p_list": ["x"] * 1000, "p_filters": {"a": [1, {}]}})
    response = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=content)
    assert response.json()["bytes"] == len(content)
    large = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, json={"p_text": "x" * 70_000})
    assert (large.status_code, large.json()["code"]) == (413, "payload_too_large")
    query = "&".join(f"argument_{n}_{'x' * 20}=1" for n in range(20))
    assert gateway.http.get(f"/rest/v1/rpc/x?{query}", headers=PERSON).status_code == 400
    assert gateway.http.get(f"/rest/v1/{'x' * 101}", headers=PERSON).status_code == 400


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "Text/CSV"])
def test_arguments_are_json(gateway: Gateway, kind: str) -> None:
    headers = PERSON | {"content-type": kind}
    response = gateway.http.post("/rest/v1/rpc/x", headers=headers, content="a=1&b=2")
    assert (response.status_code, response.json()["code"]) == (415, "PGRST102")


def _raw(gateway: Gateway, text: str) -> tuple[int, bytes]:
    """Send raw bytes; return the status of the first response and everything received."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connection:
        connection.sendall(text.encode())
        received = connection.recv(65536)
        # A second response would follow at once.
        connection.settimeout(1)
        with contextlib.suppress(TimeoutError):
            while part := connection.recv(65536):
                received += part
    fields: list[Any] = received.split(b" ", 2)
    return int(fields[1]), received
