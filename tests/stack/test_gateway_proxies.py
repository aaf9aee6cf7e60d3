"""The gateway behind another proxy: who may say a client's address, and what nobody can change."""

import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.stack.test_gateway import FORGED
from tests.stack.test_gateway_logs import logged
from tests.support import plain_http
from tests.support.mail import Mailbox
from tests.support.own_gateway import FILE, PERSON, Gateway, running
from tests.support.stack import Stack, service_env

CLIENT = "203.0.113.9"
PROXY, OTHER = "127.0.0.1", "127.0.0.2"
# What each service is asked; a file and the configuration go another way through the gateway than the rest.
PATHS = {
    **{name: f"/{name}/v1/x" for name in ("rest", "auth", "storage", "functions")},
    "file": FILE,
    "config": "/config.js",
}
FORWARDED = {"x-forwarded-for": CLIENT}


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Start a gateway that trusts 127.0.0.1 and nothing else."""
    with running(tmp_path_factory.mktemp("behind"), TRUSTED_PROXIES=PROXY) as started:
        yield started


@pytest.fixture(scope="module")
def behind_cloudflare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Start one that trusts a network, and in it the header of a content network."""
    folder = tmp_path_factory.mktemp("behind-cloudflare")
    settings = {"TRUSTED_PROXIES": "127.0.0.0/31 2400:cb00::/32", "CLIENT_IP_HEADER": "CF-Connecting-IP"}
    with running(folder, **settings) as started:
        yield started


def seen(gateway: Gateway, headers: Any, address: str = PROXY, path: str = "/auth/v1/x") -> dict[str, str]:
    """Return the headers that a service gets of a request from this address."""
    given = [*PERSON.items(), *(headers.items() if isinstance(headers, dict) else headers)]
    with plain_http.client(address, base_url=f"http://127.0.0.1:{gateway.port}") as http:
        return dict(http.get(path, headers=given).raise_for_status().json()["headers"])


@pytest.mark.threat("T78", "T124")
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_trusted_proxy_says_who_the_client_is(behind: Gateway, path: str) -> None:
    given = seen(behind, FORWARDED, path=path)
    assert (given["x-real-ip"], given["x-forwarded-for"]) == (CLIENT, CLIENT)


@pytest.mark.threat("T78", "T124")
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_any_other_address_says_nothing(behind: Gateway, path: str) -> None:
    given = seen(behind, FORGED, OTHER, path)
    assert "6.6.6.6" not in str(given)
    assert (given["x-real-ip"], given["x-forwarded-for"]) == (OTHER, OTHER)


@pytest.mark.threat("T78", "T124")
def test_a_trusted_proxy_is_believed_in_the_named_header_alone(behind: Gateway) -> None:
    given = seen(behind, FORGED | FORWARDED)
    assert "6.6.6.6" not in str(given)
    assert given["x-real-ip"] == CLIENT
    others = {name: value for name, value in FORGED.items() if name != "x-forwarded-for"}
    assert seen(behind, others)["x-real-ip"] == PROXY


@pytest.mark.threat("T78", "T124")
def test_what_the_client_wrote_before_the_proxy_does_not_count(behind: Gateway) -> None:
    assert seen(behind, {"x-forwarded-for": f"6.6.6.6, {CLIENT}"})["x-real-ip"] == CLIENT
    assert seen(behind, {"x-forwarded-for": f"6.6.6.6, {CLIENT}, {PROXY}"})["x-real-ip"] == CLIENT
    twice = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", CLIENT)]
    assert seen(behind, twice)["x-real-ip"] == CLIENT


@pytest.mark.parametrize("said", ["", "unknown", "' or 1=1", "6.6.6.6.6", ", ,"])
def test_what_is_no_address_is_none(behind: Gateway, said: str) -> None:
    assert seen(behind, {"x-forwarded-for": said})["x-real-ip"] == PROXY


@pytest.mark.threat("T78", "T124")
def test_another_header_may_be_the_one_that_counts(behind_cloudflare: Gateway) -> None:
    sent = {"cf-connecting-ip": CLIENT, "x-forwarded-for": "6.6.6.6"}
    assert seen(behind_cloudflare, sent)["x-real-ip"] == CLIENT
    assert seen(behind_cloudflare, {"x-forwarded-for": "6.6.6.6"})["x-real-ip"] == PROXY
    assert seen(behind_cloudflare, {"cf-connecting-ip": "2001:db8::7"})["x-real-ip"] == "2001:db8::7"
    assert seen(behind_cloudflare, sent, OTHER)["x-real-ip"] == OTHER
    assert "cf-connecting-ip" not in seen(behind_cloudflare, sent)


@pytest.mark.threat("T124")
def test_a_proxy_says_nothing_of_host_and_scheme(behind: Gateway) -> None:
    said = {
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "gopher",
        "forwarded": "host=evil.example",
    }
    given = seen(behind, FORWARDED | said)
    assert "evil.example" not in str(given)
    assert given["x-forwarded-proto"] == "http"


def test_the_log_names_the_client_and_not_the_proxy(behind: Gateway) -> None:
    seen(behind, FORWARDED | {"x-request-id": "own.proxied"})
    assert logged(behind, "own.proxied")["request"]["client_ip"] == CLIENT
    seen(behind, FORWARDED | {"x-request-id": "own.untrusted"}, OTHER)
    assert logged(behind, "own.untrusted")["request"]["client_ip"] == OTHER


@pytest.fixture(scope="module")
def proxied(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Start a gateway in front of the running stack's services that trusts 127.0.0.1."""
    services = service_env("gateway")
    addresses = {name: address for name, address in services.items() if name.endswith("_ADDRESS")}
    settings = {name: services[name] for name in ("SUPABASE_ANON_KEY", "SUPABASE_SERVICE_ROLE_KEY")}
    with running(
        tmp_path_factory.mktemp("proxied"), TRUSTED_PROXIES=PROXY, **addresses, **settings
    ) as started:
        yield started


def ask(
    stack: Stack, gateway: Gateway, path: str, body: Any, headers: Any, address: str = PROXY
) -> httpx.Response:
    """Send a request to the stack through this gateway."""
    with plain_http.client(address, base_url=f"http://127.0.0.1:{gateway.port}", timeout=20) as http:
        return http.post(path, json=body, headers={"apikey": stack.anon_key, **headers})


def any_address() -> str:
    """Return an address that no other test has."""
    return f"203.0.{secrets.randbelow(250)}.{secrets.randbelow(250)}"


@pytest.mark.threat("T78", "T124")
def test_limits_count_the_client_behind_the_proxy(stack: Stack, proxied: Gateway) -> None:
    client, forged = any_address(), any_address()
    name = {"p_username": f"user{secrets.token_hex(4)}"}
    path = "/rest/v1/rpc/is_username_available"
    for _ in range(30):
        assert ask(stack, proxied, path, name, {"x-forwarded-for": client}).status_code == 200
    assert ask(stack, proxied, path, name, {"x-forwarded-for": client}).status_code == 429
    assert ask(stack, proxied, path, name, {"x-forwarded-for": any_address()}).status_code == 200
    # What is not trusted cannot use up somebody else's.
    ask(stack, proxied, path, name, {"x-forwarded-for": forged, "x-real-ip": forged}, OTHER)
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as owner:
        found = "select hits from private.rate_limits where bucket = 'username' and key = %s"
        assert owner.execute(found, [client]).fetchone() == (30,)
        assert owner.execute(found, [forged]).fetchone() is None


@pytest.mark.threat("T78", "T124")
def test_failed_sign_ins_count_against_the_client(stack: Stack, proxied: Gateway) -> None:
    client, forged = any_address(), any_address()
    body = {"action": "login", "email": f"{secrets.token_hex(6)}@example.com", "password": "x"}
    path = "/functions/v1/admin-auth"
    assert ask(stack, proxied, path, body, {"x-forwarded-for": client}).status_code == 401
    assert ask(stack, proxied, path, body, {"x-forwarded-for": forged}, OTHER).status_code == 401
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as owner:
        found = "select count(*) from private.sign_in_failures where kind = 'admin_address' and key = %s"
        assert owner.execute(found, [client]).fetchone() == (1,)
        assert owner.execute(found, [forged]).fetchone() == (0,)


@pytest.mark.threat("T78", "T124")
def test_the_audit_log_names_the_client(stack: Stack, proxied: Gateway) -> None:
    client = any_address()
    people = stack.values["DEMO_ADMIN_EMAIL"], stack.values["DEMO_ADMIN_PASSWORD"]
    body = {"action": "login", "email": people[0], "password": people[1]}
    signed_in = ask(stack, proxied, "/functions/v1/admin-auth", body, {"x-forwarded-for": client})
    assert signed_in.status_code == 200, signed_in.text
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as owner:
        found = "select count(*) from private.audit_log where action = %s and payload ->> 'address' = %s"
        assert owner.execute(found, ["admin.signed_in", client]).fetchone() == (1,)


@pytest.mark.threat("T124")
def test_links_in_mails_lead_to_the_site_whatever_a_proxy_says(stack: Stack, proxied: Gateway) -> None:
    said = {
        "x-forwarded-for": any_address(),
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "https",
    }
    email, mailbox = stack.values["DEMO_MEMBER2_EMAIL"], Mailbox(stack.mail_url)
    before = len(mailbox.to(email))
    asked = ask(stack, proxied, "/auth/v1/recover", {"email": email}, {**said, "host": "evil.example"})
    assert asked.status_code == 200, asked.text
    mail = mailbox.wait_for(email, count=before + 1)
    assert mailbox.link_in(mail).startswith(f"{stack.values['SITE_URL']}/auth/confirm?token_hash=")
    assert "evil.example" not in str(mail["html"])
    mailbox.close()


def test_without_a_trusted_proxy_the_connection_counts(gateway: Gateway) -> None:
    assert seen(gateway, FORWARDED)["x-real-ip"] == PROXY
    assert seen(gateway, FORWARDED, OTHER)["x-real-ip"] == OTHER
