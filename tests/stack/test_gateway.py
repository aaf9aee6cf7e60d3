"""The gateway: security headers, CORS, Supabase's key check, forged addresses, pages, what stays hidden."""

import gzip
import json
import socket
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from launcher.keys import Keys
from launcher.services import health
from launcher.settings import SERVICES_WITH_PORTS, Settings
from tests.support.own_gateway import ANON, KEY, PERSON, SERVICE, TOKEN, Gateway, running
from tests.support.ports import free_port

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
    "strict-transport-security": [],
    "x-content-type-options": ["nosniff"],
    "x-frame-options": ["DENY"],
    "referrer-policy": ["strict-origin-when-cross-origin"],
    "cross-origin-opener-policy": ["same-origin"],
    "permissions-policy": ["camera=(), geolocation=(), microphone=(), payment=(), usb=()"],
    "server": [],
    "via": [],
}
EXPOSED = (
    "Content-Range, Content-Profile, Content-Length, ETag, Location, Retry-After, X-Request-Id, "
    "X-Sb-Error-Code, X-Supabase-Api-Version, X-Total-Count, Link"
)
OPEN_TO_ALL = {
    "access-control-allow-origin": ["*"],
    "access-control-allow-credentials": [],
    "access-control-expose-headers": [EXPOSED],
}
# Those that are services of this stack, and the headers in which a service may name itself.
SERVICES = ("auth", "storage", "functions")
SERVICE_PAGES = ("metrics", "docs", "redoc", "openapi.json", "anonymous-access")
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
    Route("/", 200, cache="no-cache", key=""),
    Route("/dashboard", 200, cache="no-cache", key=""),
    Route("/admin/deposits", 200, cache="no-cache", key=""),
    Route("/dashboard/", 200, cache="no-cache", key=""),
    Route("/none", 404, cache="no-cache", key=""),
    Route("/config.js", 200, key=""),
    Route("/assets/app-1a2b.js", 200, cache="public, max-age=31536000, immutable", key=""),
    Route("/assets/none.js", 404, cache="no-store", key=""),
    Route("/none.txt", 404, cache="no-store", key=""),
    Route("/.well-known/security.txt", 200, key=""),
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
            (ANON, "/storage/v1/bucket", 200),
            ("", "/storage/v1/bucket", 200),
        )
    ),
    *(Route(f"/{service}/v1/down", 502, token=TOKEN) for service in ("rest", *SERVICES)),
    Route("/rest/v1/deposits", 204, method="OPTIONS", key=""),
    Route("/functions/v1/x", 413, method="POST", key="", body=TOO_LARGE),
)
# They end like a page of a program.
NAMED_BY_PEOPLE = (
    Route("/rest/v1/docs", 200, token=TOKEN),
    Route("/rest/v1/rpc/metrics", 200, token=TOKEN),
    Route("/rest/v1/openapi.json", 200, token=TOKEN),
    Route("/auth/v1/admin/users/metrics", 200),
    Route("/functions/v1/site.map", 200),
    Route("/storage/v1/object/receipts/site.map", 200),
    Route("/storage/v1/object/receipts/a/docs", 200),
    Route("/storage/v1/object/receipts/openapi.json", 200),
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
            "/theme.js.map",
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
    routes = (*PAGES, *FROM_ANYWHERE, *NAMED_BY_PEOPLE, *CLOSED, Route("/assets", 404))
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


@pytest.mark.parametrize("path", ["/", "/none.txt", "/rest/v1/deposits", "/functions/v1/down"])
def test_with_https_browsers_insist_on_it(encrypted: Gateway, path: str) -> None:
    # A connection of its own: an early response ends it.
    response = httpx.get(f"https://localhost:{encrypted.port}{path}", verify=False, trust_env=False)
    assert response.headers.get_list("strict-transport-security") == ["max-age=5; preload"]


@pytest.mark.threat("T114")
def test_any_origin_may_ask_and_no_credentials_are_allowed(responses: Responses) -> None:
    asked = [
        route for route in (*FROM_ANYWHERE, *NAMED_BY_PEOPLE, *CLOSED_PAGES) if route.method != "OPTIONS"
    ]
    assert unlike(responses, OPEN_TO_ALL, asked) == []


@pytest.mark.threat("T119")
def test_nothing_behind_the_gateway_is_shown(responses: Responses) -> None:
    shown = [str(route) for route in CLOSED if responses[route].status_code != 404]
    assert shown == []
    # By the gateway itself, which does not even look for a file of that name.
    operators = ("/metrics", "/metrics/", "/METRICS", "/ready", "/live", "/health", "/debug/pprof/", "/.env")
    assert [path for path in operators if responses[Route(path, 404)].text != "Not found"] == []
    # A folder is no page.
    assert "<title>404" in responses[Route("/assets", 404)].text
    assert [str(route) for route, response in responses.items() if "SECRET" in response.text] == []


def test_pages_are_fresh_and_assets_are_cached(responses: Responses) -> None:
    wrong = [
        f"{route}: cache-control is {stored}"
        for route, response in responses.items()
        if route.cache and route.cache not in (stored := response.headers.get("cache-control", ""))
    ]
    assert wrong == []


def test_what_the_tables_say_is_asked_for_each_time(gateway: Gateway) -> None:
    response = gateway.http.get("/rest/v1/rpc/get_platform", headers=KEY)
    assert response.headers["cache-control"] == "no-store"


PREFLIGHT = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    "access-control-allow-headers": "authorization, apikey, content-type, x-client-info",
    "access-control-max-age": "7200",
    "vary": "Access-Control-Request-Headers",
}
# Of Supabase; there is none of them here.
ABSENT_APIS = (
    "realtime/v1/websocket",
    "realtime/v1/api/broadcast",
    "graphql/v1",
    "pg/tables",
    "pg-meta/default/query",
    "analytics/v1/query",
    "mcp",
    "some-new-one/v2/x",
    "rest/v2/deposits",
    "auth/v1",
)


@pytest.mark.parametrize(
    "path",
    ["rest/v1/deposits", "auth/v1/user", "storage/v1/bucket", "functions/v1/x", "auth/v1/docs", *ABSENT_APIS],
)
def test_a_preflight_allows_every_header_that_it_asks_for(gateway: Gateway, path: str) -> None:
    asks = {"origin": "https://foreign.example", "access-control-request-method": "POST"}
    for headers in ("", "authorization,sentry-trace,x-my-custom-header,x-region"):
        asked = {"access-control-request-headers": headers} if headers else {}
        response = gateway.http.options(f"/{path}", headers=asks | asked)
        assert (response.status_code, response.text) == (204, "")
        wanted = PREFLIGHT | ({"access-control-allow-headers": headers} if headers else {})
        assert {name: response.headers[name] for name in PREFLIGHT} == wanted


@pytest.mark.parametrize("path", ABSENT_APIS)
def test_an_api_that_is_not_there_says_so_to_every_method(gateway: Gateway, path: str) -> None:
    upgrade = {"connection": "upgrade", "upgrade": "websocket"}
    for method, more in (("GET", {}), ("GET", upgrade), ("POST", {}), ("PUT", {}), ("DELETE", {})):
        headers = {"accept-encoding": "br", **more}
        response = gateway.http.request(method, f"/{path}", headers=headers, content=b"{}" * 9)
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
        assert response.headers["content-type"] == "application/json; charset=utf-8"
        assert response.headers["access-control-allow-origin"] == "*"
        assert "content-encoding" not in response.headers


@pytest.mark.parametrize("path", ["/", "/none", "/dashboard", "/assets/app-1a2b.js", "/none.txt"])
def test_what_is_no_api_is_read_alone(gateway: Gateway, path: str) -> None:
    """The response is as long, and as compressed, as its headers say."""
    (gateway.web / "404.html.br").write_bytes(b"compressed")
    (gateway.web / "assets" / "app-1a2b.js.br").write_bytes(b"compressed")
    for method in ("POST", "PUT", "OPTIONS"):
        response = gateway.http.request(method, path, headers={"accept-encoding": "br"})
        assert (response.status_code, response.text) == (405, "405 Method Not Allowed")
        assert response.headers["allow"] == "GET, HEAD"
        assert "content-encoding" not in response.headers


@pytest.mark.parametrize("path", ["/rest/v1/deposits", "/auth/v1/token", "/auth/v1/health"])
def test_keys_are_asked_for_in_supabase_words(gateway: Gateway, path: str) -> None:
    missing = gateway.http.get(path)
    assert (missing.status_code, missing.json()) == (401, {"message": "No API key found in request"})
    assert missing.headers["content-type"] == "application/json"
    stopped = {"message": "Invalid authentication credentials"}
    for place in ("headers", "params"):
        wrong = gateway.http.get(path, **{place: {"apikey": "guess"}})
        assert (wrong.status_code, wrong.json()) == (401, stopped), place
        assert wrong.headers["content-type"] == "application/json"
    for kind in ("sb_publishable_x", "sb_secret_x"):
        for place in ("headers", "params"):
            new = gateway.http.get(path, **{place: {"apikey": kind}})
            assert new.status_code == 401
            assert new.json()["message"].startswith(
                "Keys that begin with sb_publishable_ or sb_secret_ are not"
            )
    token = {"authorization": TOKEN}
    for key in (ANON, SERVICE):
        assert gateway.http.get(path, headers=PERSON | {"apikey": key}).status_code == 200, key
        assert gateway.http.get(path, params={"apikey": key}, headers=token).status_code == 200, key


def test_links_and_functions_need_no_key(gateway: Gateway) -> None:
    for path in (
        "/auth/v1/verify",
        "/auth/v1/callback",
        "/auth/v1/authorize",
        "/auth/v1/.well-known/jwks.json",
        "/auth/v1/.well-known/openid-configuration",
        "/functions/v1/x",
    ):
        assert gateway.http.get(path).status_code == 200, path


@pytest.mark.parametrize("path", ["rest/v1/rpc/get_platform", "auth/v1/user", "storage/v1/bucket"])
def test_the_key_stands_in_for_a_missing_authorization(gateway: Gateway, path: str) -> None:
    alone = gateway.http.get(f"/{path}", headers=KEY).json()
    assert alone["headers"]["authorization"] == (f"Bearer {ANON}" if "storage" in path else ANON)
    both = gateway.http.get(f"/{path}", headers=PERSON).json()
    assert both["headers"]["authorization"] == TOKEN
    elsewhere = gateway.http.get(f"/{path}", params=KEY).json()
    assert "authorization" not in elsewhere["headers"]


def test_the_prefix_is_taken_off(gateway: Gateway) -> None:
    seen = gateway.http.get("/rest/v1/deposits?select=*&id=eq.1", headers=PERSON).json()
    assert seen["path"] == "/deposits?select=*&id=eq.1"
    # Storage itself rejects a path that is not tidy.
    for path in ("/a//b", "/a/%2e%2e/b"):
        assert gateway.http.get(f"/storage/v1/object{path}").json()["path"] == f"/object{path}"


def test_several_preferences_arrive_as_one_header(gateway: Gateway) -> None:
    several = [*PERSON.items(), ("prefer", "return=minimal"), ("prefer", "count=exact")]
    seen = gateway.http.get("/rest/v1/deposits", headers=several).json()
    assert seen["headers"]["prefer"] == "return=minimal,count=exact"


@pytest.mark.parametrize(
    "prefer",
    [
        ["tx=rollback"],
        ["TX=Rollback"],
        ["return=representation, tx=rollback"],
        ["return=minimal;tx=rollback"],
        ["return=minimal", "tx=rollback"],
        ["tx=rollback", "return=minimal"],
        ['tx = "rollback" ,count=exact'],
    ],
)
def test_what_would_be_saved_is_not_said_to_be_rolled_back(gateway: Gateway, prefer: list[str]) -> None:
    headers = [*PERSON.items(), *(("prefer", value) for value in prefer)]
    response = gateway.http.post("/rest/v1/deposits", headers=headers, json={})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_input")
    assert "tx=rollback" in response.json()["message"]
    assert response.headers["x-request-id"]
    for other in ("tx=commit", "resolution=merge-duplicates"):
        headers = [*PERSON.items(), ("prefer", other)]
        assert gateway.http.post("/rest/v1/deposits", headers=headers, json={}).status_code == 200, other


def test_no_response_repeats_the_address_in_a_header(gateway: Gateway) -> None:
    """Node takes 16 kB of headers."""
    assert "content-location" not in gateway.http.get("/rest/v1/deposits", headers=PERSON).headers


def test_no_service_is_asked_to_compress(gateway: Gateway) -> None:
    asked = httpx.Headers({**KEY, "accept-encoding": ""})
    seen = gateway.http.get("/functions/v1/x", headers=asked).json()
    assert not seen["headers"].get("accept-encoding")


FORGED = {
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


@pytest.mark.threat("T78", "T124")
@pytest.mark.parametrize("service", ["rest", *SERVICES])
def test_forged_addresses_never_reach_a_service(gateway: Gateway, service: str) -> None:
    seen = gateway.http.get(f"/{service}/v1/x", headers={**PERSON, **FORGED}).json()["headers"]
    assert "6.6.6.6" not in json.dumps(seen)
    assert seen["x-real-ip"] == "127.0.0.1"
    assert seen["x-forwarded-for"] == "127.0.0.1"


def test_the_gateway_numbers_what_has_no_number(gateway: Gateway) -> None:
    for path in ("/rest/v1/rpc/get_platform", "/auth/v1/user", "/functions/v1/x"):
        numbers = {gateway.http.get(path, headers=KEY).json()["headers"]["x-request-id"] for _ in range(3)}
        assert len({UUID(number) for number in numbers}) == 3, path


def test_what_is_no_number_is_replaced(gateway: Gateway) -> None:
    for number in ("x" * 65, "two words", '"}{"forged": 1}', "<script>"):
        headers = {**KEY, "x-request-id": number}
        response = gateway.http.get("/rest/v1/rpc/get_platform", headers=headers)
        given = response.json()["headers"]["x-request-id"]
        assert str(UUID(given)) == given, number


def test_a_service_that_is_down_is_a_plain_sentence(responses: Responses) -> None:
    for service in ("rest", *SERVICES):
        response = responses[Route(f"/{service}/v1/down", 502, token=TOKEN)]
        assert response.headers["content-type"] == "application/json"
        assert response.headers["retry-after"] == "1"
        assert response.json() == {
            "code": "try_again",
            "message": "The server is busy. Try again.",
            "error": "The server is busy. Try again.",
        }


def test_what_no_api_says_is_short_and_is_not_stored(responses: Responses) -> None:
    for path in ("/assets/none.js", "/none.txt"):
        response = responses[Route(path, 404, cache="no-store", key="")]
        assert response.text == "404 Not Found"
        assert response.headers["content-type"] == "text/plain; charset=utf-8"


def test_responses_are_compressed(gateway: Gateway) -> None:
    for coding in ("gzip", "zstd"):
        with gateway.http.stream("GET", "/", headers={"accept-encoding": coding}) as response:
            assert response.headers["content-encoding"] == coding


def test_each_page_has_its_file_and_every_other_address_is_no_page(responses: Responses) -> None:
    titles = {
        Route("/", 200, cache="no-cache", key=""): "index",
        Route("/dashboard", 200, cache="no-cache", key=""): "dashboard",
        Route("/admin/deposits", 200, cache="no-cache", key=""): "admin/deposits",
        Route("/none", 404, cache="no-cache", key=""): "404",
    }
    wrong = [str(route) for route, title in titles.items() if f"<title>{title}<" not in responses[route].text]
    assert wrong == []


def test_a_page_with_the_sites_address_in_it_goes_before_the_builds(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    with running(tmp_path) as gateway:
        assert "<title>terms<" in gateway.http.get("/terms").text, "another build took them away"
        pages.mkdir()
        (pages / "terms.html").write_text("<title>addressed</title>")
        (pages / "terms.html.gz").write_bytes(gzip.compress(b"<title>compressed</title>"))
        plain = gateway.http.get("/terms", headers={"accept-encoding": ""})
        assert (plain.text, plain.headers["cache-control"]) == ("<title>addressed</title>", "no-cache")
        assert (
            gateway.http.get("/terms/", headers={"accept-encoding": "gzip"}).text
            == "<title>compressed</title>"
        )
        for path, title in (("/dashboard", "dashboard"), ("/", "index"), ("/none", "404")):
            assert f"<title>{title}<" in gateway.http.get(path).text


def test_a_page_that_has_not_changed_is_not_sent_again(gateway: Gateway) -> None:
    tag = gateway.http.get("/dashboard").headers["etag"]
    again = gateway.http.get("/dashboard", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_the_configuration_comes_from_the_functions(gateway: Gateway) -> None:
    seen = gateway.http.get("/config.js", headers={"if-none-match": '"a"'}).json()
    assert (seen["method"], seen["path"], seen["headers"]["if-none-match"]) == ("GET", "/config.js", '"a"')
    assert seen["headers"]["x-real-ip"] == "127.0.0.1"
    # Others never reach them.
    assert gateway.http.post("/config.js").text.startswith("globalThis")


@pytest.mark.threat("T120")
def test_without_the_functions_the_app_gets_the_public_key_and_nothing_else(tmp_path: Path) -> None:
    with running(tmp_path, EDGE_ADDRESS=f"127.0.0.1:{free_port()}") as gateway:
        assert_key_alone(gateway.http.get("/config.js"))


@pytest.mark.threat("T120")
def test_and_so_it_does_when_they_reject_the_request(gateway: Gateway) -> None:
    assert_key_alone(gateway.http.get("/config.js?denied"))


def assert_key_alone(response: httpx.Response) -> None:
    """Assert that the configuration starts the app without the settings."""
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["cache-control"] == "no-store"
    assert response.text == f'globalThis.HARBORLINE_CONFIG = {{ supabaseUrl: "", supabaseKey: "{ANON}" }};'


@pytest.mark.threat("T125")
def test_the_gateway_listens_at_its_address_and_nowhere_else(gateway: Gateway) -> None:
    for port in (gateway.port, gateway.internal, int(gateway.environment["CADDY_ADMIN"].rpartition(":")[2])):
        # Any other address of the loopback interface stands for the network's.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(gateway.environment["CADDY_ADMIN"].rpartition(":")[2])), 5)


@pytest.mark.threat("T120")
def test_no_file_repeats_the_keys_of_the_configuration(gateway: Gateway) -> None:
    assert not list(Path(gateway.environment["XDG_CONFIG_HOME"]).rglob("*.json"))


def test_with_a_domain_the_gateway_is_asked_inside(gateway: Gateway, tmp_path: Path) -> None:
    ports = dict.fromkeys(SERVICES_WITH_PORTS, 9) | {"internal": gateway.internal}
    settings = Settings(state=tmp_path, ports=ports, options={"SITE_DOMAIN": "members.example"})
    keys = Keys(settings)
    keys.__dict__["values"] = {"SUPABASE_ANON_KEY": ANON, "SIGNING_SECRET": "unused"}
    assert health.is_healthy(health.requests(settings, keys)["gateway"])
    settings.ports["internal"] = free_port()
    assert not health.is_healthy(health.requests(settings, keys)["gateway"])


def test_a_gateway_that_cannot_have_its_port_does_not_respond_inside_either(gateway: Gateway) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        places = {
            "GATEWAY_SITE": f"http://:{other.getsockname()[1]}",
            "INTERNAL_PORT": str(free_port()),
        }
        second = subprocess.run(
            gateway.command, env=gateway.environment | places, capture_output=True, timeout=60, check=False
        )
    assert second.returncode != 0
    assert b"address already in use" in second.stderr + second.stdout


@pytest.mark.parametrize("name", ["authorization", "apikey"])
def test_a_header_that_says_who_asks_comes_once(gateway: Gateway, name: str) -> None:
    """Of two, one service would take the first and another the last."""
    first = PERSON[name]
    for path in ("/rest/v1/x", "/auth/v1/user", "/storage/v1/bucket", "/functions/v1/x"):
        for twice in ([(name, first), (name, "other")], [(name, f"{first}, other")]):
            rest = [(other, value) for other, value in PERSON.items() if other != name]
            response = gateway.http.get(path, headers=[*rest, *twice])
            assert (response.status_code, response.json()["code"]) == (400, "invalid_request"), path


@pytest.mark.threat("T122", "T124")
@pytest.mark.parametrize(
    "name", ["authorization", "apikey", "prefer", "content-type", "x-request-id", "x-real-ip"]
)
def test_a_client_has_no_header_taken_away_behind_the_gateway(gateway: Gateway, name: str) -> None:
    """As `Connection` asks a proxy to do: what the gateway looked at would not be what the service sees."""
    headers = {"prefer": "return=minimal", "content-type": "text/plain", "x-request-id": "one", **PERSON}
    response = gateway.http.get("/rest/v1/deposits", headers={**headers, "connection": name})
    assert name in response.json()["headers"]


@pytest.mark.threat("T122")
@pytest.mark.parametrize("path", ["/rest/v1/x", "/auth/v1/user", "/storage/v1/bucket", "/functions/v1/x"])
def test_a_service_is_asked_for_no_other_protocol(gateway: Gateway, path: str) -> None:
    asked = {**PERSON, "connection": "upgrade", "upgrade": "websocket"}
    assert "upgrade" not in gateway.http.post(path, headers=asked).json()["headers"]


@pytest.mark.threat("T126")
def test_little_is_sent_to_storage_without_a_token(gateway: Gateway) -> None:
    large, path = b"x" * (2 * 2**20 + 1), "/storage/v1/object/receipts/a.png"
    for token in ("", f"Bearer {ANON}", ANON, f"bearer  {ANON}", "Basic a.persons.token"):
        headers = KEY | ({"authorization": token} if token else {})
        assert gateway.http.post(path, headers=headers, content=large).status_code == 413, token
    for token in (TOKEN, TOKEN.removeprefix("Bearer ")):
        headers = KEY | {"authorization": token}
        assert gateway.http.post(path, headers=headers, content=large).json()["bytes"] == len(large), token
    signed = "/storage/v1/object/upload/sign/receipts/a.png?token=x"
    assert gateway.http.put(signed, headers=KEY, content=large).json()["bytes"] == len(large)
