"""docker-compose.yml describes the same stack as the native launcher; read without Docker."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from functions.edge.bootstrap.demo_bots import EncryptionSettings
from functions.edge.bootstrap.settings import BootstrapSettings
from launcher import cluster, compose, environment
from launcher.keys import Keys
from launcher.settings import SERVICES_WITH_PORTS, Settings
from launcher.terminal import Stop
from tests.support.stack import env_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
# Services that read an environment of supabase/services, by the name of its file.
READERS = {
    "auth": "auth",
    "gotrue": "auth",
    "storage": "storage",
    "edge": "edge",
    "seed": "edge",
    "worker": "worker",
    "postgrest": "postgrest",
    "gateway": "gateway",
}
# Of what PostgreSQL's official image brings, which is contrib and nothing else, the extensions in use.
CONTRIB = {"pg_trgm"}


@pytest.fixture
def native(tmp_path: Path) -> tuple[Settings, Keys]:
    """Return a native stack's settings, without starting it."""
    settings = Settings(state=tmp_path, ports=dict.fromkeys(SERVICES_WITH_PORTS, 8000))
    keys = Keys(settings)
    keys.make()
    return settings, keys


def env_file(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return what docker-compose.yml is given now."""
    return env_of(compose.prepare(settings, keys))


def environment_of(settings: Settings, name: str) -> dict[str, str]:
    """Return what a container of that name is given, once `prepare` has written it."""
    text = (settings.state / "containers" / f"{READERS[name]}.env").read_text()
    return dict(re.findall(r"^(\w+)='([^']*)'$", text, re.MULTILINE))


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
    assert used == {*given} - {"COMPOSE_PROFILES"}
    assert all(":?" in reference for reference in re.findall(r"(?<!\$)\$\{[^}]*\}", TEXT))
    assert all("'" not in value and "\n" not in value for value in given.values())


def test_each_service_reads_the_settings_of_the_native_one(native: tuple[Settings, Keys]) -> None:
    settings, keys = native
    env_file(settings, keys)
    for name, file in READERS.items():
        assert SERVICES[name]["env_file"] == [f"${{CONTAINERS:?Variable not set}}/{file}.env"], name
        assert set(SERVICES[name].get("environment", {})) <= {"DATABASE_URL"}, "each setting stands once"
        given, wanted = environment_of(settings, name), environment.service(file, settings, keys)
        assert {*given} == {*wanted} - {*environment.base()}, name
        assert "127.0.0.1" not in "".join(given.values()).replace(settings.origin, ""), name
    assert environment_of(settings, "auth")["GOTRUE_RATE_LIMIT_HEADER"], "never without its limits"
    # With a domain the gateway's site serves that name alone, so containers ask each other.
    assert environment_of(settings, "gateway")["INTERNAL_SITE"] == "http://:8001"
    assert environment_of(settings, "seed")["AUTH_INTERNAL_URL"] == "http://auth:9999"
    for host, _ in compose.ADDRESSES.values():
        assert host in SERVICES


def test_our_auth_runs_unless_a_real_gotrue_is_asked_for(native: tuple[Settings, Keys]) -> None:
    assert env_file(*native)["COMPOSE_PROFILES"].split(",")[0] == "auth"
    assert SERVICES["auth"]["profiles"] == ["auth"]
    assert SERVICES["auth"]["command"] == ["python", "-m", "functions.auth"]
    assert SERVICES["gotrue"]["profiles"] == ["gotrue"]
    assert SERVICES["gotrue"]["image"].startswith("supabase/gotrue:")
    assert SERVICES["gotrue"]["networks"]["default"]["aliases"] == ["auth"]
    for service in SERVICES.values():
        awaited = service.get("depends_on", {})
        for name in {"auth", "gotrue"} & set(awaited):
            assert awaited[name] == {"condition": "service_healthy", "required": False}
        assert ("auth" in awaited) == ("gotrue" in awaited)


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
            source = re.sub(r"\$\{[^}]*\}", "CONTAINERS", volume).split(":")[0]
            assert source == "CONTAINERS/keys" or source in COMPOSE["volumes"] or (ROOT / source).is_dir(), (
                f"{name}: {volume}"
            )
        published = service.get("ports", [])
        assert not published or name == "gateway" or all(port.startswith("127.0.0.1:") for port in published)


def test_the_database_starts_with_the_native_safety_settings() -> None:
    command = SERVICES["database"]["command"]
    for setting in (
        f"max_connections={cluster.connections('product')}",
        "password_encryption=scram-sha-256",
        "log_parameter_max_length_on_error=0",
        "log_parameter_max_length=0",
        "log_error_verbosity=terse",
        "recovery_init_sync_method=${CRASH_SYNC_METHOD:?Variable not set}",
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
        keys.renew(change)
        digests.append(env_file(settings, keys)["KEYS_DIGEST"])
        keys.retire(change, now=True)
        digests.append(env_file(settings, keys)["KEYS_DIGEST"])
    assert len(set(digests)) == len(digests)


def test_who_reads_keys_is_configured_with_their_digest() -> None:
    readers = {name for name, service in SERVICES.items() if "/keys:/keys:ro" in str(service.get("volumes"))}
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
    _, first = compose.commands(Path("env"), settings)
    for name in ending - awaited:
        assert SERVICES[name]["profiles"] == [name], f"{name} is started by its name alone"
        assert f" run --rm {name} demo" in first


def test_mails_go_to_the_catcher_of_the_demo_or_to_the_operators_server(
    native: tuple[Settings, Keys],
) -> None:
    settings, keys = native
    assert env_file(settings, keys)["COMPOSE_PROFILES"] == "auth,mail"
    assert environment_of(settings, "worker")["SMTP_HOST"] == "mail"
    assert SERVICES["mail"]["profiles"] == ["mail"]
    assert "${MAIL_PATH:" in SERVICES["mail"]["environment"]["MAILDEV_BASE_PATHNAME"]
    assert env_file(settings, keys)["MAIL_PATH"] == keys.mail_path
    settings.demo = False
    with pytest.raises(Stop, match="name it in SMTP_HOST"):
        compose.prepare(settings, keys)
    settings.options["SMTP_HOST"] = "mail.example.org"
    assert env_file(settings, keys)["COMPOSE_PROFILES"] == "auth"
    given = environment_of(settings, "worker")
    # Without a port that of submission, never the catcher's.
    assert (given["SMTP_HOST"], given["SMTP_PORT"]) == ("mail.example.org", "587")
    assert " run --rm seed first-administrator " in compose.commands(Path("env"), settings)[1]


def test_the_seed_is_given_what_it_needs(native: tuple[Settings, Keys]) -> None:
    env_file(*native)
    given = environment_of(native[0], "seed") | SERVICES["seed"]["environment"]
    for needed in (BootstrapSettings, EncryptionSettings):
        required = {name.upper() for name, field in needed.model_fields.items() if field.is_required()}
        assert required <= set(given), needed.__name__
    assert given["DATABASE_URL"].startswith("postgresql://postgres:"), "the owner, not the role of edge"
