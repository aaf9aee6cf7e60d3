"""What an operator says of the site and what stands in front of it; what makes no sense is said in words."""

import json
from pathlib import Path

import pytest

from launcher.containers import compose
from launcher.host import environment
from launcher.keys import Keys
from launcher.options import HSTS_SECONDS
from launcher.services import health
from launcher.settings import SERVICES_WITH_PORTS, STORED_OPTIONS, Settings, load_or_create
from launcher.terminal import Stop

PUBLISHED = "173.245.48.0/20\n103.21.244.0/22\n2400:cb00::/32\n"


def options_of(state: Path, **given: str) -> dict[str, str]:
    """Return the options that `make up` stores when it is given these."""
    return load_or_create({"STATE": str(state), **given}).options


def settings_of(state: Path, **options: str) -> Settings:
    """Return the settings of a stack that is not started."""
    return Settings(state=state, ports=dict.fromkeys(SERVICES_WITH_PORTS, 8000), options=options)


def env_of_service(name: str, settings: Settings) -> dict[str, str]:
    """Return the environment of one of its services."""
    keys = Keys(settings)
    keys.make()
    return environment.service(name, settings, keys)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "http://example.org",
        "https://example.org:8443",
        "http://10.0.0.7:8080",
        "https://[2001:db8::1]",
    ],
)
def test_a_site_url_is_an_origin(tmp_path: Path, url: str) -> None:
    assert options_of(tmp_path, SITE_URL=url)["SITE_URL"] == url


@pytest.mark.parametrize(
    "url",
    [
        *(
            "example.org",
            "//example.org",
            "ftp://example.org",
            "https://",
            "https://example.org/",
            "https://a b.org",
        ),
        *(
            "https://example.org/app",
            "https://example.org?a",
            "https://example.org#a",
            "https://user@example.org",
        ),
        *(
            "https://EXAMPLE.org",
            "https://example.org:443",
            "http://example.org:80",
            "https://example.org:99999",
        ),
        *(
            "https://*.example.org",
            "https://**",
            "https://example.org,https://evil.org",
            "https://-a.org",
            "https://a'b.org",
        ),
        *("https://example.org\n", "HTTPS://example.org", "https://[1::2::3]", "https://exämple.org"),
    ],
)
def test_what_is_no_origin_is_rejected_in_words(tmp_path: Path, url: str) -> None:
    with pytest.raises(Stop, match=r"(?s)SITE_URL=.* is no origin such as https://example.org"):
        options_of(tmp_path, SITE_URL=url)
    assert not (tmp_path / "settings.json").exists(), "nothing is stored"


def test_a_domain_and_a_site_url_must_agree(tmp_path: Path) -> None:
    agreed = options_of(tmp_path / "a", SITE_DOMAIN="example.org", SITE_URL="https://example.org")
    assert agreed["SITE_DOMAIN"] == "example.org"
    for url in ("https://www.example.org", "http://example.org", "https://example.org:8443"):
        with pytest.raises(Stop, match="do not agree"):
            options_of(tmp_path / "b", SITE_DOMAIN="example.org", SITE_URL=url)


@pytest.mark.parametrize("name", ["SITE_DOMAIN", "SITE_HOST"])
@pytest.mark.parametrize(
    "value", ["https://example.org", "example.org {", "a b", "*.example.org", "example.org:80"]
)
def test_a_name_is_a_name(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(Stop, match=f"{name}=.* is no host name"):
        options_of(tmp_path, **{name: value})


def test_the_site_url_is_the_address_of_everything_and_the_gateway_listens_as_before(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, SITE_URL="https://example.org", SITE_HOST="10.0.0.7")
    auth, gateway = env_of_service("auth", settings), env_of_service("gateway", settings)
    assert auth["GOTRUE_SITE_URL"] == "https://example.org"
    assert auth["GOTRUE_URI_ALLOW_LIST"] == "https://example.org/**"
    assert auth["GOTRUE_JWT_ISSUER"] == auth["API_EXTERNAL_URL"] == "https://example.org/auth/v1"
    assert env_of_service("edge", settings)["SUPABASE_URL"] == "https://example.org"
    assert env_of_service("worker", settings)["SITE_URL"] == "https://example.org"
    assert (gateway["GATEWAY_SITE"], gateway["GATEWAY_BIND"]) == ("http://:8000", "10.0.0.7")
    # The name may lead to another machine, or nowhere yet.
    asked = health.requests(settings, Keys(settings))["gateway"].url
    assert str(asked) == "http://10.0.0.7:8000/auth/v1/health"
    given = compose.values(settings, Keys(settings))
    assert (given["SITE_URL"], given["GATEWAY_SITE"]) == ("https://example.org", "http://:8000")


def test_proxies_are_addresses_and_networks(tmp_path: Path) -> None:
    given = {
        "127.0.0.1": "127.0.0.1",
        "10.0.0.0/8, 192.168.1.4": "10.0.0.0/8 192.168.1.4",
        "private_ranges": "private_ranges",
        PUBLISHED: "173.245.48.0/20 103.21.244.0/22 2400:cb00::/32",
        "fd00::1,\n  ::1": "fd00::1 ::1",
    }
    for text, stored in given.items():
        assert options_of(tmp_path, TRUSTED_PROXIES=text)["TRUSTED_PROXIES"] == stored
    gateway = env_of_service("gateway", settings_of(tmp_path, TRUSTED_PROXIES="127.0.0.1"))
    assert (gateway["TRUSTED_PROXIES"], gateway["CLIENT_IP_HEADER"]) == ("127.0.0.1", "X-Forwarded-For")


@pytest.mark.parametrize(
    "text", ["nginx", "10.0.0.1/8", "300.0.0.1", "10.0.0.0/33", "127.0.0.1 }", "a;b", "*"]
)
def test_what_is_no_network_is_rejected_in_words(tmp_path: Path, text: str) -> None:
    with pytest.raises(Stop, match=r"TRUSTED_PROXIES: .* is no address and no network"):
        options_of(tmp_path, TRUSTED_PROXIES=text)


@pytest.mark.parametrize("text", ["0.0.0.0/0", "10.0.0.0/8 ::/0"])
def test_not_everybody_is_a_proxy(tmp_path: Path, text: str) -> None:
    with pytest.raises(Stop, match="is everybody"):
        options_of(tmp_path, TRUSTED_PROXIES=text)


def test_a_header_belongs_to_a_proxy_and_is_a_name(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="name the proxy's addresses in TRUSTED_PROXIES"):
        options_of(tmp_path, CLIENT_IP_HEADER="CF-Connecting-IP")
    for name in ("X Y", "X-Real-IP }", "X-Real-IP:", "*"):
        with pytest.raises(Stop, match="is no name of a header"):
            options_of(tmp_path, TRUSTED_PROXIES="127.0.0.1", CLIENT_IP_HEADER=name)


def hsts(state: Path, **options: str) -> str | None:
    """Return the header that the gateway is told to send."""
    return env_of_service("gateway", settings_of(state, **options)).get("HSTS")


def test_browsers_insist_on_https_as_far_as_the_operator_says(tmp_path: Path) -> None:
    assert HSTS_SECONDS == 604800
    assert hsts(tmp_path) is None
    assert hsts(tmp_path, SITE_URL="http://example.org", HSTS_SECONDS="9") is None
    for where in ({"SITE_DOMAIN": "example.org"}, {"SITE_URL": "https://example.org"}):
        assert hsts(tmp_path, **where) == "max-age=604800"
        assert hsts(tmp_path, **where, HSTS_SECONDS="0") == "max-age=0"
        assert hsts(tmp_path, **where, HSTS_SUBDOMAINS="1") == "max-age=604800; includeSubDomains"
        all_of_it = {"HSTS_SECONDS": "31536000", "HSTS_SUBDOMAINS": "1", "HSTS_PRELOAD": "1"}
        assert hsts(tmp_path, **where, **all_of_it) == "max-age=31536000; includeSubDomains; preload"


def test_what_browsers_would_not_take_is_rejected_in_words(tmp_path: Path) -> None:
    for seconds in ("-1", "1d", "1e3", "007", "9999999999"):
        with pytest.raises(Stop, match="is no number of seconds"):
            options_of(tmp_path, HSTS_SECONDS=seconds)
    for name in ("HSTS_SUBDOMAINS", "HSTS_PRELOAD"):
        with pytest.raises(Stop, match=f"{name} is 1 or 0"):
            options_of(tmp_path, **{name: "yes"})
    for lacking in ({"HSTS_SUBDOMAINS": "1"}, {"HSTS_SECONDS": "31536000"}):
        with pytest.raises(Stop, match="HSTS_PRELOAD=1 needs"):
            options_of(tmp_path, HSTS_PRELOAD="1", **lacking)


def test_options_are_stored_until_they_are_given_empty(tmp_path: Path) -> None:
    assert options_of(tmp_path, SITE_URL="https://example.org")["SITE_URL"] == "https://example.org"
    assert options_of(tmp_path)["SITE_URL"] == "https://example.org"
    assert "SITE_URL" not in options_of(tmp_path, SITE_URL="")
    assert len(set(STORED_OPTIONS)) == len(STORED_OPTIONS)


def test_the_port_of_a_domain_ends_with_it(tmp_path: Path) -> None:
    with_domain = load_or_create({"STATE": str(tmp_path), "SITE_DOMAIN": "example.org"})
    assert with_domain.ports["gateway"] == 443
    behind = load_or_create({"STATE": str(tmp_path), "SITE_DOMAIN": "", "SITE_URL": "https://example.org"})
    assert behind.ports["gateway"] not in (80, 443)
    again = load_or_create({"STATE": str(tmp_path)})
    assert again.ports == behind.ports, "chosen once"


def test_mail_is_encrypted_but_to_the_catcher(tmp_path: Path) -> None:
    for name, port in (("auth", "GOTRUE_SMTP_PORT"), ("worker", "SMTP_PORT")):
        caught = env_of_service(name, settings_of(tmp_path))
        assert (caught["SMTP_TLS"], caught[port]) == ("none", "8000")
        own = env_of_service(name, settings_of(tmp_path, SMTP_HOST="mail.example.org"))
        assert "SMTP_TLS" not in own, "as its port is used"
        said = env_of_service(name, settings_of(tmp_path, SMTP_HOST="mail.example.org", SMTP_TLS="implicit"))
        assert said["SMTP_TLS"] == "implicit"
    keys = Keys(settings_of(tmp_path))
    assert compose.values(settings_of(tmp_path), keys)["SMTP_TLS"] == "none"
    assert compose.values(settings_of(tmp_path, SMTP_HOST="mail.example.org"), keys)["SMTP_TLS"] == ""


def test_mail_in_clear_stays_on_this_machine(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        assert options_of(tmp_path, SMTP_HOST=host, SMTP_TLS="none")["SMTP_TLS"] == "none"
    for host in ("mail.example.org", "10.0.0.7", "localhost.example.org"):
        with pytest.raises(Stop, match="SMTP_TLS=none would send passwords and sign-in links to"):
            options_of(tmp_path / "other", SMTP_HOST=host, SMTP_TLS="none")
    with pytest.raises(Stop, match="is none of starttls, implicit, none"):
        options_of(tmp_path / "other", SMTP_HOST="mail.example.org", SMTP_TLS="yes")
    with pytest.raises(Stop, match="name it in SMTP_HOST"):
        options_of(tmp_path / "other", SMTP_TLS="starttls")


# What several machines share.
SHARED = {"DATABASE_SERVER": "db1", "STORAGE_URL": "s3://receipts", "SITE_URL": "https://example.org"}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("db1.example.org", "db1.example.org:5432"),
        ("db1, db2:6432", "db1:5432,db2:6432"),
        ("10.0.0.5:5433 10.0.0.6", "10.0.0.5:5433,10.0.0.6:5432"),
        ("[2001:db8::1]:5433,[2001:db8::2]", "[2001:db8::1]:5433,[2001:db8::2]:5432"),
    ],
)
def test_servers_of_the_database_are_stored_with_their_ports(tmp_path: Path, given: str, stored: str) -> None:
    assert options_of(tmp_path, DATABASE_SERVER=given)["DATABASE_SERVER"] == stored


@pytest.mark.parametrize(
    "options",
    [
        {"DATABASE_SERVER": "postgresql://db1/postgres"},
        {"DATABASE_SERVER": "db1:99999"},
        {"DATABASE_SERVER": "db1,db1:5432"},
        {"DATABASE_SERVER": "2001:db8::1"},
        {"DATABASE_SERVER": "DB1"},
        {"DATABASE_OWNER": "harborline"},
        {"DATABASE_SERVER": "db1", "DATABASE_OWNER": 'a"b'},
        {"DATABASE_SERVER": "db1", "DATABASE_CA": "ca.pem"},
        {"DATABASE_SERVER": "db1", "DATABASE_CA": "/nowhere/ca.pem"},
        {"DATABASE_SERVER": "db1", "MONITORING": "1"},
        {"DATABASE_SERVER": "db1", "AUTH_BIN": "/opt/auth"},
        {"INSTANCES": "0"},
        {"INSTANCES": "9"},
        {"INSTANCES": "two"},
        {"INSTANCES": "2", "AUTH_BIN": "/opt/auth"},
        {"MACHINES": "2"},
        {"MACHINE": "1"},
        {"MACHINES": "1", "MACHINE": "1"} | SHARED,
        {"MACHINES": "two", "MACHINE": "1"} | SHARED,
        {"MACHINES": "2", "MACHINE": "3"} | SHARED,
        {"MACHINES": "2", "MACHINE": "1"} | SHARED | {"DATABASE_SERVER": ""},
        {"MACHINES": "2", "MACHINE": "1"} | SHARED | {"STORAGE_URL": "file:///srv/receipts"},
        {"MACHINES": "2", "MACHINE": "1"} | SHARED | {"SITE_URL": ""},
        {"MACHINES": "2", "MACHINE": "2"} | SHARED | {"BACKUP_REPOSITORY": "/srv/backups"},
    ],
)
def test_a_database_elsewhere_and_instances_are_rejected_in_words(
    tmp_path: Path, options: dict[str, str]
) -> None:
    with pytest.raises(Stop):
        options_of(tmp_path, **options)


def test_a_server_elsewhere_is_spoken_to_encrypted_and_one_on_this_machine_need_not_be(
    tmp_path: Path,
) -> None:
    far, near = (settings_of(tmp_path / name, DATABASE_SERVER=name) for name in ("db1", "127.0.0.1"))
    given = env_of_service("edge", far)["DATABASE_URL"]
    assert "@db1/postgres?" in given
    assert "target_session_attrs=read-write" in given
    assert "sslmode=verify-full" in given
    assert "tcp_user_timeout" in given
    assert "sslmode=disable" in env_of_service("edge", near)["DATABASE_URL"]
    one = Keys(far).database_url("postgres", server="db2:5432")
    assert "@db2:5432/postgres?" in one
    assert "tcp_user_timeout" not in one, "who is no client of libpq's has none"


def test_instances_have_ports_of_their_own_and_the_gateway_knows_all(tmp_path: Path) -> None:
    settings = load_or_create({"STATE": str(tmp_path), "INSTANCES": "3"})
    keys = Keys(settings)
    keys.make()
    ports = [environment.service("edge", settings, keys, number)["PORT"] for number in (1, 2, 3)]
    assert len(set(ports)) == 3
    assert environment.service("auth", settings, keys, 2)["HARBORLINE_INSTANCES"] == "3"
    gateway = environment.service("gateway", settings, keys, 3)
    internal = gateway["INTERNAL_ADDRESS"]
    assert gateway["GATEWAY_SITE"] == environment.service("gateway", settings, keys)["GATEWAY_SITE"]
    assert gateway["EDGE_ADDRESS"].split() == [f"127.0.0.1:{port}" for port in ports]
    stored = gateway["STORAGE_ADDRESS"].split()
    assert gateway["STORAGE_FILES_ADDRESS"].split() == [f"tcp/{address}" for address in stored]
    assert gateway["BALANCING"] == "balanced"
    # One knows the services of its own number, with which it is replaced.
    auth = environment.service("auth", settings, keys, 3)["PORT"]
    assert environment.service("edge", settings, keys, 3)["AUTH_INTERNAL_URL"] == f"http://127.0.0.1:{auth}"
    asked = health.requests(settings, keys)
    assert {"edge", "edge-2", "edge-3", "postgrest-3"} <= asked.keys()
    # At the port of all gateways which of them responds would be chance.
    assert asked["gateway-3"].url == f"http://{internal}/confirmation.html"
    fewer = load_or_create({"STATE": str(tmp_path), "INSTANCES": ""})
    assert "BALANCING" not in environment.service("gateway", fewer, keys)
    assert set(fewer.ports) == set(SERVICES_WITH_PORTS)


def test_of_several_machines_one_has_the_files_and_limits_are_divided_by_all(tmp_path: Path) -> None:
    places = {"INSTANCES": "2", "MACHINES": "3", "STATE": str(tmp_path)} | SHARED
    first = load_or_create(places | {"MACHINE": "1"})
    Keys(first).make()
    of_auth, of_worker = env_of_service("auth", first), env_of_service("worker", first)
    assert of_auth["HARBORLINE_INSTANCES"] == "6"
    assert "KEEPS_FILES" not in of_worker
    third = load_or_create(places | {"MACHINE": "3"})
    of_worker = env_of_service("worker", third)
    assert of_worker["KEEPS_FILES"] == "false"
    assert json.loads(of_worker["DISK_FOLDERS"]).keys() == {"machine 3"}


def test_another_machine_makes_no_keys_of_its_own(tmp_path: Path) -> None:
    second = load_or_create({"STATE": str(tmp_path), "MACHINES": "2", "MACHINE": "2"} | SHARED)
    with pytest.raises(Stop, match="the keys of the first"):
        Keys(second).make()
    assert not (tmp_path / "keys").exists()
