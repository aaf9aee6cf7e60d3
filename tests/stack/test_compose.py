"""docker-compose.yml describes the same stack as the native launcher; read without Docker."""

import re
from pathlib import Path

import jsonschema_rs
import orjson
import pytest
import yaml
from pydantic_settings import BaseSettings

from functions.auth.settings import AuthSettings
from functions.edge.bootstrap.demo_bots import EncryptionSettings
from functions.edge.bootstrap.settings import BootstrapSettings
from functions.edge.support.settings import EdgeSettings
from functions.storage.settings import Settings as StorageSettings
from functions.worker.settings import WorkerSettings
from launcher.containers import compose
from launcher.database import cluster
from launcher.host import environment
from launcher.keys import Keys
from launcher.settings import SERVICES_WITH_PORTS, Settings
from launcher.terminal import Stop
from tests.support.compose_project import EXTENDED, ROOT, described, file, read_env

FILES = ("", "domain", "backups", "restore")
ALL = described(*FILES)
SERVICES = described("", "backups")
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
# What Python services read; the others read all that they are given.
MODELS: dict[str, tuple[type[BaseSettings], ...]] = {
    "auth": (AuthSettings,),
    "storage": (StorageSettings,),
    "edge": (EdgeSettings,),
    "seed": (BootstrapSettings, EncryptionSettings),
    "worker": (WorkerSettings,),
}
# Those that run as the user of an image that this project does not build.
USERS = {"gotrue", "postgrest", "mail", "bootstrap", "grants", "passwords"}
# Of what PostgreSQL's official image brings, which is contrib and nothing else, the extensions in use.
CONTRIB = {"pg_trgm"}
# https://github.com/compose-spec/compose-go, schema/compose-spec.json of v2.16.2.
SCHEMA = orjson.loads((ROOT / "tests" / "stack" / "compose-spec.json").read_bytes())
NASTY = r"""it's "quoted" \back\\slash\ $HOME ${X:-y} #hash `tick` \0134 \n ünï€ \"""" + "\\"


@pytest.fixture
def native(tmp_path: Path) -> tuple[Settings, Keys]:
    """Return a native stack's settings, without starting it."""
    return stack(tmp_path)


def stack(state: Path, **options: str) -> tuple[Settings, Keys]:
    """Return the settings and keys of a stack that is not started."""
    settings = Settings(state=state, ports=dict.fromkeys(SERVICES_WITH_PORTS, 8000), options=options)
    keys = Keys(settings)
    keys.make()
    return settings, keys


def env_file(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return what docker-compose.yml is given now."""
    return read_env(compose.prepare(settings, keys))


def environment_of(settings: Settings, name: str) -> dict[str, str]:
    """Return what a container of that name has in its environment, once `prepare` has written it."""
    (path,) = SERVICES[name]["env_file"]
    return read_env(settings.state / "containers" / path.rpartition("/")[2]) | SERVICES[name].get(
        "environment", {}
    )


def secrets_of(settings: Settings, name: str) -> dict[str, str]:
    """Return the texts in a container's /run/secrets, by the names that it reads."""
    folder = settings.state / "containers" / "secrets"
    return {
        entry["target"]: (folder / entry["source"]).read_text() for entry in SERVICES[name].get("secrets", [])
    }


@pytest.mark.parametrize("path", [*map(file, FILES), EXTENDED], ids=lambda path: path.name)
def test_the_files_are_what_the_compose_specification_allows(path: Path) -> None:
    described_here = yaml.safe_load(path.read_text())
    assert [
        error.message for error in jsonschema_rs.Draft202012Validator(SCHEMA).iter_errors(described_here)
    ] == []
    described_here["services"][min(described_here["services"])]["privilege"] = True
    assert not jsonschema_rs.Draft202012Validator(SCHEMA).is_valid(described_here), "it sees what is wrong"


def test_every_image_is_pinned() -> None:
    dockerfiles = {"supabase/gateway/Dockerfile"}
    for name, service in ALL.items():
        build, image = service.get("build"), service["image"]
        if build:
            assert re.fullmatch(r"\$\{COMPOSE_PROJECT_NAME:\?Variable not set\}/[a-z]+:\d+", image), name
            dockerfiles.add(build["dockerfile"])
        else:
            assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+(\.\d+)?(-\w+)?", image), f"{name}: {image}"
    assert len(dockerfiles) == 4
    for path in dockerfiles:
        dockerfile = (ROOT / path).read_text()
        for base in re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE):
            assert re.search(r":\d+\.\d+", base), base
        for source in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
            for copied in source.split():
                assert (ROOT / copied).exists(), copied
    bases = {SERVICES["bootstrap"]["image"], "postgres:15.18-bookworm"}
    assert len(bases) == 1, "the client that sets the database up is of the server's version"
    assert f"FROM {bases.pop()}\n" in (ROOT / "supabase" / "stack" / "database.Dockerfile").read_text()


@pytest.mark.parametrize("options", [{}, {"SITE_DOMAIN": "example.org", "SMTP_HOST": "mail.example.org"}])
def test_every_variable_is_given_and_none_is_silently_empty(tmp_path: Path, options: dict[str, str]) -> None:
    given = env_file(*stack(tmp_path, **options))
    assert_every_variable_is_given(given)
    assert [Path(path).name for path in given["COMPOSE_FILE"].split(":")] == [
        "docker-compose.yml",
        *(["docker-compose.domain.yml"] if options else []),
    ]


def assert_every_variable_is_given(given: dict[str, str]) -> None:
    """Compare an env file with what the files that it names ask for."""
    text = "".join(Path(path).read_text() for path in given["COMPOSE_FILE"].split(":"))
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", text))
    assert used - {"COMPOSE_PROJECT_NAME"} == {name for name in given if not name.startswith("COMPOSE_")}
    assert all(given.values())
    assert all(":?" in reference for reference in re.findall(r"(?<!\$)\$\{[^}]*\}", text))


def test_each_service_reads_the_settings_of_the_native_one(native: tuple[Settings, Keys]) -> None:
    settings, keys = native
    env_file(settings, keys)
    for name, file_name in READERS.items():
        given, secrets = environment_of(settings, name), secrets_of(settings, name)
        own = {"PGRST_DB_URI"} if name == "postgrest" else set()
        assert given.keys() & secrets.keys() == own, f"{name}: each setting stands once"
        wanted = environment.service(file_name, settings, keys)
        absent = {setting for setting, text in secrets.items() if not text}
        assert {*given, *secrets} - absent == {*wanted} - {*environment.base()}, name
        assert "127.0.0.1" not in str(given | secrets).replace(settings.origin, ""), name
    assert environment_of(settings, "auth")["GOTRUE_RATE_LIMIT_HEADER"], "never without its limits"
    # With a domain the gateway's site serves that name alone, so containers ask each other.
    assert environment_of(settings, "gateway")["INTERNAL_PORT"] == "8001"
    assert environment_of(settings, "seed")["AUTH_INTERNAL_URL"] == "http://auth:9999"
    for host, _ in compose.ADDRESSES.values():
        assert host in SERVICES


def names_of(model: type[BaseSettings]) -> set[str]:
    """Return the variables, or files in /run/secrets, that a service looks for."""
    found: set[str] = set()
    for name, field in model.model_fields.items():
        alias = field.validation_alias or name
        found |= {str(choice).upper() for choice in getattr(alias, "choices", [alias])}
    return found


@pytest.mark.threat("T137")
def test_a_container_has_the_keys_and_secrets_that_its_settings_read_and_no_other(
    native: tuple[Settings, Keys],
) -> None:
    settings, keys = native
    env_file(settings, keys)
    source = re.compile(r"^\$\{CONTAINERS:\?Variable not set\}/keys\b[^:]*:([^:]+):ro$")
    for name, service in SERVICES.items():
        mounted = {found[1] for volume in service.get("volumes", []) if (found := source.match(volume))}
        given = environment_of(settings, name) if "env_file" in service else {}
        if models := MODELS.get(name):
            read = set().union(*map(names_of, models))
            assert secrets_of(settings, name).keys() <= read, name
            given = {setting: text for setting, text in given.items() if setting in read}
        paths = {text.removeprefix("@") for text in given.values()}
        assert mounted == {path for path in paths if path.startswith("/keys/")}, name
        assert {Path(path).name for path in mounted} <= set(compose.MOUNTED), name


def test_what_is_secret_lies_in_files_wherever_the_service_reads_them(tmp_path: Path) -> None:
    settings, keys = stack(tmp_path, SMTP_HOST="mail.example.org", SMTP_PASS="the password of the mail")
    given = env_file(settings, keys)
    public = {"SUPABASE_ANON_KEY", "LEGACY_KEY_ID"}
    hidden = {text for name, text in keys.values.items() if name not in public} | {"the password of the mail"}
    # A real GoTrue and Caddy read the environment alone; behind the gateway that key is checked again.
    exempt = {"gotrue": hidden, "gateway": {keys.values["SUPABASE_SERVICE_ROLE_KEY"]}}
    for name in READERS:
        found = {text for text in hidden if text in str(environment_of(settings, name))}
        assert found <= exempt.get(name, set()), name
        for setting in compose.SECRETS.get(READERS[name], ()) if name not in ("gotrue", "seed") else ():
            assert setting in secrets_of(settings, name), name
    assert not any(text in str(given) for text in hidden)
    for service in SERVICES.values():
        assert not any(
            "PASSWORD" in setting for setting in service.get("environment", {}) if "FILE" not in setting
        )
    folder = settings.state / "containers"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "secrets" / "worker.SMTP_PASS").stat().st_mode & 0o777 == 0o644
    for secret in yaml.safe_load(file().read_text())["secrets"].values():
        assert Path(secret["file"].replace("${CONTAINERS:?Variable not set}", str(folder))).is_file()


def test_a_secret_arrives_as_it_was_given_whatever_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, keys = stack(tmp_path / "stack", SMTP_HOST="mail.example.org", SMTP_USER=NASTY, SMTP_PASS=NASTY)
    env_file(settings, keys)
    given = environment_of(settings, "worker")
    assert given["SMTP_USER"] == environment_of(settings, "gotrue")["GOTRUE_SMTP_PASS"] == NASTY
    for name, text in given.items():
        monkeypatch.setenv(name, text)
    folder = tmp_path / "secrets"
    folder.mkdir()
    for name, text in secrets_of(settings, "worker").items():
        (folder / name).write_text(text)
    read = WorkerSettings(_secrets_dir=folder)
    assert (read.smtp_user, read.smtp_pass) == (NASTY, NASTY)
    assert read.alarm_webhook_key == keys.values["ALARM_WEBHOOK_KEY"]


def test_a_value_is_written_so_that_no_reader_ends_it_early_or_fills_it_in(tmp_path: Path) -> None:
    settings, keys = stack(tmp_path, SMTP_HOST="mail.example.org", SMTP_USER='a"b\\c$d')
    env_file(settings, keys)
    text = (settings.state / "containers" / "worker.env").read_text()
    # compose-go reads \0042 and \0134 as the characters of these numbers, and \$ as a dollar sign.
    assert r'SMTP_USER="a\0042b\0134c\$d"' + "\n" in text


@pytest.mark.parametrize("name", ["SMTP_USER", "SMTP_PASS"])
@pytest.mark.parametrize("text", ["two\nlines", "carriage\rreturn", "zero\x00"])
def test_a_value_of_several_lines_is_rejected_in_words(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(Stop, match=f"{name} holds a line break"):
        env_file(*stack(tmp_path, **{"SMTP_HOST": "mail.example.org", name: text}))


def test_a_secret_with_blanks_around_it_is_rejected_in_words(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="SMTP_PASS holds a line break, or blanks at an end"):
        env_file(*stack(tmp_path, SMTP_HOST="mail.example.org", SMTP_PASS=" secret"))


def test_receipts_on_an_s3_server_are_read_and_written_there(tmp_path: Path) -> None:
    access = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key$", "AWS_REGION": "eu-1"}
    place = {"STORAGE_URL": "s3://bucket/prefix", "AWS_ENDPOINT": "https://s3.example.org", **access}
    settings, keys = stack(tmp_path, **place)
    env_file(settings, keys)
    given = environment_of(settings, "storage")
    assert {name: given[name] for name in place} == place
    # Not in memory, where /tmp is.
    assert given["SPOOL_PATH"].startswith("/objects/")
    settings.options["STORAGE_URL"] = "file:///srv/receipts"
    with pytest.raises(Stop, match="STORAGE_URL= python3 supabase/stack containers"):
        env_file(settings, keys)


def test_our_auth_runs_unless_a_real_gotrue_is_asked_for(native: tuple[Settings, Keys]) -> None:
    assert env_file(*native)["COMPOSE_PROFILES"].split(",")[0] == "auth"
    assert SERVICES["auth"]["profiles"] == ["auth"]
    assert SERVICES["auth"]["command"] == ["python", "-m", "functions.auth"]
    assert SERVICES["gotrue"]["profiles"] == ["gotrue"]
    assert SERVICES["gotrue"]["image"].startswith("supabase/gotrue:")
    assert SERVICES["gotrue"]["networks"]["services"]["aliases"] == ["auth"]
    assert set(SERVICES["gotrue"]["networks"]) == set(SERVICES["auth"]["networks"])
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
                assert has_health(target), f"{name} waits for {target}"
            elif condition == "service_completed_successfully":
                assert awaited["restart"] == "no", f"{name} waits for the end of {target}"
            else:
                assert condition == "service_started"


def has_health(name: str) -> bool:
    """Return whether Docker asks a container how it is."""
    built = SERVICES[name].get("build", {}).get("dockerfile") == "functions/Dockerfile"
    return "healthcheck" in SERVICES[name] or built


def test_whatever_goes_on_is_asked_how_it_is() -> None:
    assert "\nHEALTHCHECK " in (ROOT / "functions" / "Dockerfile").read_text()
    going_on = {name for name, service in SERVICES.items() if service["restart"] != "no"}
    # Its image has nothing that could ask.
    assert {name for name in going_on if not has_health(name)} == {"postgrest"}
    assert "http://postgrest:3001/ready" in SERVICES["gateway"]["healthcheck"]["test"][1]


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_container_gains_no_right_and_takes_no_more_than_its_share(name: str) -> None:
    service = ALL[name]
    assert service["cap_drop"] == ["ALL"]
    # Without it Caddy's file, which has it, would not start.
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "gateway" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["tmpfs"][0] == "/tmp:size=64m,mode=1777"
    assert all("size=" in mounted for mounted in service["tmpfs"]), "it lies in memory"
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "4"}}
    assert service["mem_limit"]
    assert service["cpus"]
    assert service["pids_limit"] > 0
    assert "privileged" not in service
    assert "network_mode" not in service
    assert "docker.sock" not in str(service)


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_container_runs_as_root(name: str) -> None:
    service = ALL[name]
    if name in USERS:
        assert service["user"] in ("1000:1000", "postgres")
        return
    last = re.findall(r"^USER (\S+)", (ROOT / service["build"]["dockerfile"]).read_text(), re.MULTILINE)[-1]
    assert last not in ("root", "0")
    assert "user" not in service


def test_the_services_are_the_user_whose_receipts_the_backups_read() -> None:
    dockerfile = (ROOT / "functions" / "Dockerfile").read_text()
    assert f"useradd --uid {compose.compose_backups.USER} " in dockerfile


def test_only_who_needs_it_reaches_the_database_and_the_outside() -> None:
    networks = yaml.safe_load(file().read_text())["networks"]
    assert {name for name, network in networks.items() if not network} == {"outside", "public"}
    assert networks["database"] == networks["services"] == {"internal": True}
    members = {
        network: {name for name, service in described("").items() if network in service["networks"]}
        for network in networks
    }
    assert members["public"] == {"gateway"}
    assert members["outside"] == {"auth", "gotrue", "storage", "worker", "mail"}
    assert "gateway" not in members["database"]
    assert described("")["database"]["networks"] == ["database"]
    assert set(described("")["gateway"]["networks"]) == {"services", "public"}
    assert all(service["networks"] for service in ALL.values()), "never the common default one"
    assert SERVICES["backups"]["networks"] == ["archive"]
    assert SERVICES["database"]["networks"] == ["database", "archive"]
    assert [name for name, service in SERVICES.items() if "archive" in service["networks"]] == [
        "database",
        "backups",
    ]


def test_volumes_exist_and_only_the_gateway_is_published() -> None:
    for name in FILES:
        volumes = {v for part in FILES for v in yaml.safe_load(file(part).read_text()).get("volumes", {})}
        for service, here in described(name).items():
            for volume in here.get("volumes", []):
                source = re.sub(r"\$\{(\w+)[^}]*\}", r"\1", volume).split(":")[0]
                assert (
                    source == "BACKUP_FOLDER"
                    or source.startswith("CONTAINERS/")
                    or source in volumes
                    or (ROOT / source).is_dir()
                ), f"{service}: {volume}"
            published = here.get("ports", [])
            assert (
                not published
                or service == "gateway"
                or all(port.startswith("127.0.0.1:") for port in published)
            )


def test_a_domain_has_https_with_http_leading_there_and_http_3(tmp_path: Path) -> None:
    given = env_file(*stack(tmp_path / "domain", SITE_DOMAIN="example.org"))
    assert given["HTTP_PUBLISH"] == "80:80"
    assert described("", "domain")["gateway"]["ports"][1:] == ["443:443", "443:443/udp"]
    assert SERVICES["gateway"]["sysctls"] == {"net.ipv4.ip_unprivileged_port_start": 0}
    assert env_file(*stack(tmp_path / "without"))["HTTP_PUBLISH"] == "127.0.0.1:8000:8000"
    assert env_file(*stack(tmp_path / "six", SITE_HOST="::1"))["HTTP_PUBLISH"] == "[::1]:8000:8000"


def test_two_stacks_of_a_machine_share_nothing(tmp_path: Path) -> None:
    first, second = (env_file(*stack(tmp_path / name)) for name in ("first", "second"))
    assert first["COMPOSE_PROJECT_NAME"] != second["COMPOSE_PROJECT_NAME"]
    for name in FILES:
        whole = yaml.safe_load(file(name).read_text())
        assert "name" not in whole
        for described_here in (*whole.get("volumes", {}).values(), *whole.get("networks", {}).values()):
            assert "name" not in (described_here or {})
    assert all("container_name" not in service for service in ALL.values())
    ports = [port for service in described("").values() for port in service.get("ports", [])]
    assert ports == ["${HTTP_PUBLISH:?Variable not set}", "127.0.0.1:${MAIL_PORT:?Variable not set}:1080"]


def test_the_database_is_configured_as_the_native_one(native: tuple[Settings, Keys]) -> None:
    settings, keys = native
    given = env_file(settings, keys)
    folder = settings.state / "containers" / "postgresql"
    listener = cluster.Listener("127.0.0.1", 8000, "", "127.0.0.1/32", cluster.crash_sync_method())
    wanted = cluster.configuration(settings, listener, "").splitlines()
    first, *found = (folder / "postgresql.conf").read_text().splitlines()
    assert first == "include '/var/lib/postgresql/data/postgresql.conf'", "what initdb chose"
    assert {line.split(" = ")[0] for line in {*wanted} ^ {*found}} == {
        "listen_addresses",
        "port",
        "unix_socket_directories",
    }
    assert "host all all samenet scram-sha-256" in (folder / "pg_hba.conf").read_text()
    assert "trust" not in (folder / "pg_hba.conf").read_text()
    database = SERVICES["database"]
    assert database["command"][1:] == [
        "-cconfig_file=/configuration/postgresql.conf",
        "-chba_file=/configuration/pg_hba.conf",
    ]
    assert "--data-checksums" in database["environment"]["POSTGRES_INITDB_ARGS"]
    # Twice its own pages, which are a quarter of the machine's.
    assert int(given["DATABASE_MEMORY"].removesuffix("m")) >= max(cluster.memory_megabytes() // 2, 512)


def test_the_image_of_postgresql_has_every_extension_that_must_be_there() -> None:
    folders = ("supabase/bootstrap", "sql/migrations", "functions/storage/migrations")
    demanded = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.sql")):
        text = re.sub(r"--.*", "", path.read_text())
        for name in re.findall(r"create extension (?:if not exists )?(\w+)", text):
            if f"from pg_available_extensions where name = '{name}'" not in text:
                demanded.add(name)
    assert demanded == CONTRIB


@pytest.mark.parametrize("change", ["members", "administrators", "secrets", "mail"])
def test_other_keys_make_the_containers_anew_that_read_them(
    native: tuple[Settings, Keys], change: str
) -> None:
    settings, keys = native
    before = env_file(settings, keys)
    digests = [before["MOUNTED_DIGEST"]]
    assert env_file(settings, keys)["MOUNTED_DIGEST"] == digests[0], "for the same keys nothing is made anew"
    if change == "secrets":
        keys.secrets.write_text(keys.secrets.read_text() + "\n")
        digests.append(env_file(settings, keys)["MOUNTED_DIGEST"])
    elif change == "mail":
        settings.options |= {"SMTP_HOST": "mail.example.org", "SMTP_PASS": "another"}
        digests.append(env_file(settings, keys)["MOUNTED_DIGEST"])
    else:
        keys.sign_with(change, keys.publish(change))
        digests.append(env_file(settings, keys)["MOUNTED_DIGEST"])
        keys.retire(change, now=True)
        digests.append(env_file(settings, keys)["MOUNTED_DIGEST"])
    assert len(set(digests)) == len(digests)
    assert env_file(settings, keys)["DATABASE_DIGEST"] == before["DATABASE_DIGEST"], "the database goes on"


def test_who_reads_keys_or_secrets_is_configured_with_their_digest() -> None:
    readers = {
        name
        for name, service in SERVICES.items()
        if service["restart"] != "no"
        and ("/keys/" in str(service.get("volumes")) or "secrets" in service)
        and name != "database"
    }
    assert readers == {"auth", "storage", "postgrest", "edge", "worker", "backups"}
    for name in readers:
        assert "${MOUNTED_DIGEST:" in SERVICES[name]["labels"]["harborline.mounted"]
    assert "${DATABASE_DIGEST:" in SERVICES["database"]["labels"]["harborline.configuration"]


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
    given = environment_of(native[0], "seed") | secrets_of(native[0], "seed")
    for needed in (BootstrapSettings, EncryptionSettings):
        required = {name.upper() for name, field in needed.model_fields.items() if field.is_required()}
        assert required <= set(given), needed.__name__
    assert given["DATABASE_URL"].startswith("postgresql://postgres:"), "the owner, not the role of edge"
