"""docker-compose.yml describes the same stack as the native launcher; judged without Docker."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import containers
import environment
from keys import Keys
from settings import DATABASE_ROLES, SERVICES_WITH_PORTS, Settings

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


@pytest.fixture
def native(tmp_path: Path) -> tuple[Settings, Keys]:
    """A native stack's settings, without starting it."""
    settings = Settings(state=tmp_path, ports=dict.fromkeys(SERVICES_WITH_PORTS, 8000))
    keys = Keys(settings)
    names = ("JWT_SECRET", "SIGNING_SECRET", "SUPABASE_ANON_KEY", "SUPABASE_SERVICE_ROLE_KEY")
    keys.__dict__["values"] = {name: "secret" for name in names} | {
        f"PASSWORD_{role}": "secret" for role in DATABASE_ROLES
    }
    keys.__dict__["gotrue"] = "[]"
    return settings, keys


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


def test_every_variable_is_given_and_none_is_silently_empty(
    native: tuple[Settings, Keys], tmp_path: Path
) -> None:
    given = containers.values(*native, tmp_path)
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", TEXT))
    assert used <= set(given)
    for reference in re.findall(r"(?<!\$)\$\{[^}]*\}", TEXT):
        assert ":?" in reference or re.fullmatch(
            r"\$\{(SMTP_USER|SMTP_PASS|DEPOSIT_ADDRESS)-\}", reference
        ), reference
    assert all("'" not in value and "\n" not in value for value in given.values())


@pytest.mark.parametrize("name", ["auth", "storage", "edge", "worker", "postgrest", "gateway"])
def test_services_read_the_same_settings_as_native_ones(native: tuple[Settings, Keys], name: str) -> None:
    wanted = getattr(environment, name)(*native)
    container = SERVICES[name]["environment"]
    names = set(wanted) - NATIVE_ONLY
    if name == "auth":
        # The real GoTrue; the embedded service's own names mean nothing to it.
        names = {entry for entry in names if not entry.startswith("HARBORLINE_AUTH_")}
        names -= {"HOST", "LOG_LEVEL", "DATABASE_POOL_SIZE", "METRICS_PORT"}
    assert set(container) - NATIVE_ONLY == names
    for entry in names:
        if not PLACED.search(entry):
            assert str(container[entry]) == wanted[entry], entry


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
