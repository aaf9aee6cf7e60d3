"""docker-compose.yml describes the same stack as the native launcher; verified without Docker."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import containers
import environment
import make_keys
from functions.edge.bootstrap.demo_bots import SealingSettings
from functions.edge.bootstrap.settings import BootstrapSettings
from keys import Keys
from settings import SERVICES_WITH_PORTS, Settings
from terminal import Stop
from tests.support.stack import env_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
# What a process of this machine needs and a container has of its own.
NATIVE_ONLY = {"PATH", "HOME", "LANG", "SSL_CERT_FILE", "PYTHONUNBUFFERED", "XDG_DATA_HOME", "TZ"}
# Addresses, secrets and places differ between the two; everything else must be equal.
PLACED = re.compile(
    r"HOST$|PORT$|URL$|URI$|BIND$|SITE$|ADDRESS$|ROOT$|PATH$|SECRET$|KEYS?$|_ISSUER$|ALLOW_LIST$|TEMPLATES_|PASS$|USER$"
    r"|ADMIN_EMAIL$|MAIL_FROM$"
)
# Of what PostgreSQL's official image brings, which is contrib and nothing else, the extensions in use.
CONTRIB = {"pg_trgm"}
# Where a service listens if its environment does not say so.
LISTENS = {"database": "5432", "gateway": "8001", "postgrest": "3000"}


@pytest.fixture
def native(tmp_path: Path) -> tuple[Settings, Keys]:
    """Return a native stack's settings, without starting it."""
    settings = Settings(state=tmp_path, ports=dict.fromkeys(SERVICES_WITH_PORTS, 8000))
    keys = Keys(settings)
    keys.folder.mkdir()
    make_keys.make_missing(keys.folder, "ES256")
    return settings, keys


def env_file(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return the current environment of the containers."""
    return env_of(containers.prepare(settings, keys))


def test_every_image_is_pinned() -> None:
    for name, service in SERVICES.items():
        tag = service["image"].rpartition(":")[2]
        assert re.match(r"v?\d", tag), f"{name}: {service['image']}"
        build = service.get("build")
        if build:
            dockerfile = (ROOT / build["dockerfile"]).read_text()
            for base in re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE):
                assert re.search(r":\d+\.\d+\.\d+", base), base
            for source in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
                for path in source.split():
                    assert (ROOT / path).exists(), path


def test_every_variable_is_given_and_none_is_silently_empty(native: tuple[Settings, Keys]) -> None:
    given = env_file(*native)
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", TEXT))
    assert used <= set(given)
    for reference in re.findall(r"(?<!\$)\$\{[^}]*\}", TEXT):
        assert ":?" in reference or re.fullmatch(
            r"\$\{(SMTP_USER|SMTP_PASS|DEPOSIT_ADDRESS)-\}", reference
        ), reference
    assert all("'" not in value and "\n" not in value for value in given.values())


def test_services_read_the_same_settings_as_native_ones(native: tuple[Settings, Keys]) -> None:
    for name in ("auth", "storage", "edge", "worker", "postgrest", "gateway"):
        wanted = getattr(environment, name)(*native)
        container = SERVICES[name]["environment"]
        names = set(wanted) - NATIVE_ONLY
        if name == "auth":
            # The real GoTrue; the embedded service's own names mean nothing to it.
            names = {entry for entry in names if not entry.startswith("HARBORLINE_AUTH_")}
            names -= {"HOST", "LOG_LEVEL", "DATABASE_POOL_SIZE", "METRICS_PORT"}
        assert set(container) - NATIVE_ONLY == names, name
        for entry in names:
            if not PLACED.search(entry):
                assert str(container[entry]) == wanted[entry], f"{name}: {entry}"


def test_what_is_waited_for_can_be_waited_for() -> None:
    for name, service in SERVICES.items():
        for target, how in service.get("depends_on", {}).items():
            condition = how["condition"]
            awaited = SERVICES[target]
            if condition == "service_healthy":
                ours = awaited.get("build", {}).get("dockerfile") == "functions/Dockerfile"
                assert "healthcheck" in awaited or ours, f"{name} waits for {target}"
            elif condition == "service_completed_successfully":
                assert awaited["restart"] == "no", f"{name} waits for the end of {target}"
            else:
                assert condition == "service_started"


def test_volumes_exist_and_only_the_gateway_is_published() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = re.sub(r"\$\{[^}]*\}", "KEYS", volume).split(":")[0]
            assert source == "KEYS" or source in COMPOSE["volumes"] or (ROOT / source).is_dir(), (
                f"{name}: {volume}"
            )
        published = service.get("ports", [])
        assert not published or name == "gateway" or all(port.startswith("127.0.0.1:") for port in published)


def test_the_database_starts_with_the_native_safety_settings() -> None:
    command = SERVICES["database"]["command"]
    for setting in (
        "max_connections=60",
        "password_encryption=scram-sha-256",
        "log_parameter_max_length_on_error=0",
        "log_parameter_max_length=0",
        "log_error_verbosity=terse",
    ):
        assert f"-c{setting}" in command
    assert "--data-checksums" in SERVICES["database"]["environment"]["POSTGRES_INITDB_ARGS"]


def test_the_image_of_postgresql_has_every_extension_that_must_be_there() -> None:
    folders = ("supabase/bootstrap", "sql/migrations", "functions/storage/migrations")
    demanded = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.sql")):
        text = re.sub(r"--.*", "", path.read_text())
        for name in re.findall(r"create extension (?:if not exists )?(\w+)", text):
            if f"from pg_available_extensions where name = '{name}'" not in text:
                demanded.add(name)
    assert demanded == CONTRIB


@pytest.mark.parametrize("change", ["members", "administrators", "secrets"])
def test_other_keys_make_the_containers_anew_that_read_them(
    native: tuple[Settings, Keys], change: str
) -> None:
    settings, keys = native
    digests = [env_file(settings, keys)["KEYS_DIGEST"]]
    assert env_file(settings, keys)["KEYS_DIGEST"] == digests[0], "for the same keys nothing is made anew"
    if change == "secrets":
        keys.secrets.write_text(keys.secrets.read_text() + "\n")
        digests.append(env_file(settings, keys)["KEYS_DIGEST"])
    else:
        make_keys.ADD[change](keys.folder, "ES256")
        digests.append(env_file(settings, keys)["KEYS_DIGEST"])
        make_keys.RETIRE[change](keys.folder)
        digests.append(env_file(settings, keys)["KEYS_DIGEST"])
    assert len(set(digests)) == len(digests)


def test_who_reads_keys_is_configured_with_their_digest() -> None:
    readers = {name for name, service in SERVICES.items() if ":/keys:ro" in str(service.get("volumes"))}
    assert readers == {"storage", "postgrest", "edge", "seed"}
    for name in readers:
        assert "${KEYS_DIGEST:" in SERVICES[name]["labels"]["harborline.keys"]


def test_up_starts_nothing_that_ends_unawaited(native: tuple[Settings, Keys]) -> None:
    settings, _ = native
    awaited = {
        target
        for service in SERVICES.values()
        for target, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    ending = {name for name, service in SERVICES.items() if service["restart"] == "no"}
    start, first = containers.commands(settings, Path("env"))
    assert set(re.findall(r"--profile (\S+)", start)) == {"mail"}
    for name in ending - awaited:
        assert SERVICES[name]["profiles"] == [name], f"{name} is started by its name alone"
        assert f" run --rm {name} demo" in first


def test_mails_go_to_the_catcher_of_the_demo_or_to_the_operators_server(
    native: tuple[Settings, Keys],
) -> None:
    settings, keys = native
    assert env_file(settings, keys)["SMTP_HOST"] == "mail"
    assert SERVICES["mail"]["profiles"] == ["mail"]
    settings.demo = False
    with pytest.raises(Stop, match="name it in SMTP_HOST"):
        containers.prepare(settings, keys)
    settings.options["SMTP_HOST"] = "mail.example.org"
    given = env_file(settings, keys)
    # Without a port that of submission, never the catcher's.
    assert (given["SMTP_HOST"], given["SMTP_PORT"]) == ("mail.example.org", "587")
    start, first = containers.commands(settings, Path("env"))
    assert "--profile" not in start
    assert " run --rm seed first-administrator " in first


def test_services_ask_each_other_where_they_listen() -> None:
    asked = set()
    for name, service in SERVICES.items():
        own = service.get("environment", {})
        for host, port in re.findall(r"(?:^|[/@ ])([a-z]+):(\d+)(?=/| |$)", " ".join(map(str, own.values()))):
            assert port == LISTENS.get(host) or port == SERVICES[host]["environment"]["PORT"], (
                f"{name}: {host}:{port}"
            )
            asked.add((name, host))
    # With a domain the gateway's site responds to that name alone, so no service inside may use it.
    assert {("edge", "auth"), ("edge", "storage"), ("seed", "auth"), ("seed", "storage")} <= asked
    assert SERVICES["gateway"]["environment"]["INTERNAL_SITE"] == "http://:8001"


def test_the_seed_gets_what_it_needs() -> None:
    given = SERVICES["seed"]["environment"]
    for needed in (BootstrapSettings, SealingSettings):
        required = {name.upper() for name, field in needed.model_fields.items() if field.is_required()}
        assert required <= set(given), needed.__name__
    assert given["DATABASE_URL"].startswith("postgresql://postgres:"), "the owner, not the functions' role"
