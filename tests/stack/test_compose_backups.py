"""Backups of the containers: what the launcher prepares, and the containers themselves, without an engine."""

import json
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from launcher import settings as configuration
from launcher.backups import restore
from launcher.backups.repository import default_keys
from launcher.containers import compose, compose_backups, compose_images
from launcher.keys import Keys
from launcher.settings import SERVICES_WITH_PORTS, Settings
from launcher.terminal import Stop
from tests.support.compose_project import described, file, read_env
from tests.support.container import Containers, take_over
from tests.support.own_cluster import OwnCluster

S3 = {
    "BACKUP_REPOSITORY": "s3://kept/stack",
    "BACKUP_S3_ENDPOINT": "https://s3.example.org",
    "BACKUP_S3_KEY": "the id",
    "BACKUP_S3_SECRET": "the secret of the server",
}


def prepared(folder: Path, **options: str) -> tuple[Settings, dict[str, str]]:
    """Return a stack with backups, which is not started, and its env file's variables."""
    given = {"BACKUP_REPOSITORY": str(folder / "repository"), "BACKUP_KEYS": str(folder / "keys"), **options}
    settings = Settings(folder / "stack", ports=dict.fromkeys(SERVICES_WITH_PORTS, 8000), options=given)
    keys = Keys(settings)
    keys.make()
    return settings, read_env(compose.prepare(settings, keys))


def test_a_repository_adds_backups_with_every_variable(tmp_path: Path) -> None:
    settings, given = prepared(tmp_path)
    files = given["COMPOSE_FILE"].split(":")
    assert files == [str(file()), str(file("backups"))]
    text = "".join(Path(path).read_text() for path in files)
    named = {name for name in given if not name.startswith("COMPOSE_")}
    assert all(f"${{{name}:?" in text for name in named)
    assert given["BACKUP_FOLDER"] == f"{tmp_path}/repository:{tmp_path}/repository"
    assert given["BACKUP_INTERNAL"] == "true", "what writes into a folder reaches nothing outside"
    for part in ("database", "files"):
        assert (tmp_path / "repository" / part).stat().st_uid == compose_backups.USER
    configuration_file = (settings.state / "containers" / "postgresql" / "postgresql.conf").read_text()
    assert "archive_mode = on" in configuration_file
    assert "archive-push %p" in configuration_file
    worker = read_env(settings.state / "containers" / "worker.env")
    assert worker["BACKUPS_PATH"] == "/backups/backups.json"
    assert "backups:/backups:ro" in described("", "backups")["worker"]["volumes"]
    # Without them nothing is archived.
    settings.options.clear()
    without = read_env(compose.prepare(settings, Keys(settings)))
    assert without["COMPOSE_FILE"] == str(file())
    assert (
        "archive_mode = off" in (settings.state / "containers" / "postgresql" / "postgresql.conf").read_text()
    )
    assert "BACKUPS_PATH" not in read_env(settings.state / "containers" / "worker.env")


def test_the_key_is_mounted_as_a_secret_and_never_lies_in_the_state_folder(tmp_path: Path) -> None:
    settings, given = prepared(tmp_path)
    folder = Path(given["BACKUP_SECRETS"])
    key = (folder / "backup.key").read_text().strip()
    assert len(key) == 64
    assert key == (tmp_path / "keys" / "backup.key").read_text().strip()
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    for path in (path for path in settings.state.rglob("*") if path.is_file()):
        assert key not in path.read_text(), path
    services = described("", "backups")
    holders = {name for name, service in services.items() if "pgbackrest.conf" in service.get("secrets", [])}
    assert holders == {"database", "backups"}
    assert [name for name, service in services.items() if "backup.key" in service.get("secrets", [])] == [
        "backups"
    ]


def test_an_s3_server_is_reached_with_its_access_and_authority(tmp_path: Path) -> None:
    authority = tmp_path / "authority.crt"
    authority.write_text("the authority")
    settings, given = prepared(tmp_path, **S3, BACKUP_S3_CA=str(authority))
    assert given["BACKUP_FOLDER"] == "repository:/repository"
    assert given["BACKUP_INTERNAL"] == "false"
    text = (Path(given["BACKUP_SECRETS"]) / "pgbackrest.conf").read_text()
    assert "repo1-storage-ca-file=/run/secrets/authority.pem\n" in text
    assert "repo1-s3-key-secret=the secret of the server\n" in text
    assert (Path(given["BACKUP_SECRETS"]) / "authority.pem").read_text() == "the authority"
    view = configuration.read(settings.state / "containers" / "state")
    assert view.options["BACKUP_KEYS"] == "/run/secrets"
    assert view.options["BACKUP_S3_CA"] == "/run/secrets/authority.pem"
    assert view.data_directory == Path("/var/lib/postgresql/data")
    assert "/var/lib/postgresql/data:ro" in str(described("backups")["backups"]["volumes"])


def test_another_key_makes_database_and_backups_anew(tmp_path: Path) -> None:
    settings, given = prepared(tmp_path)
    again = read_env(compose.prepare(settings, Keys(settings)))
    assert again == given
    (tmp_path / "keys" / "backup.key").write_text(secrets.token_hex(32))
    other = read_env(compose.prepare(settings, Keys(settings)))
    assert other["DATABASE_DIGEST"] != given["DATABASE_DIGEST"]
    assert other["MOUNTED_DIGEST"] != given["MOUNTED_DIGEST"]


def test_a_folder_of_another_user_is_said_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "repository" / "database").mkdir(parents=True)
    (tmp_path / "repository" / "files").mkdir()
    with pytest.raises(Stop, match=r"user number 999, to whom .*repository must belong:\n  sudo install -d"):
        prepared(tmp_path)


def restoring(monkeypatch: pytest.MonkeyPatch, state: Path, place: str, key: Path, **given: str) -> Path:
    """Prepare a restore into a new stack; return its env file."""
    for name, text in {"STATE": str(state), "FROM": place, "KEY": str(key), **given}.items():
        monkeypatch.setenv(name, text)
    env_file, _ = compose.prepare_restore()
    return env_file


def test_a_restore_is_of_a_new_stack_and_its_variables_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, _ = prepared(tmp_path)
    key, place = tmp_path / "keys" / "backup.key", str(tmp_path / "repository")
    given = read_env(restoring(monkeypatch, tmp_path / "copy", place, key, TO="2026-03-14 18:04:59"))
    try:
        text = file("restore").read_text()
        assert all(f"${{{name}:?" in text for name in given if name != "COMPOSE_FILE")
        assert given["COMPOSE_FILE"] == str(file("restore"))
        assert f"-{original.identity}" not in given["COMPOSE_PROJECT_NAME"], "volumes of its own"
        assert given["BACKUP_FOLDER"] == f"{place}:{place}"
        copied = Path(given["BACKUP_SECRETS"])
        assert copied.is_relative_to(default_keys(configuration.read(tmp_path / "copy").identity))
        assert copied.joinpath("backup.key").read_text().strip() == key.read_text().strip()
        asked = read_env(tmp_path / "copy" / "containers" / "restore.env")
        assert (asked["FROM"], asked["TO"]) == (place, "2026-03-14 18:04:59")
        with pytest.raises(Stop, match="TO is a time"):
            restoring(monkeypatch, tmp_path / "copy", place, key, TO="yesterday")
        with pytest.raises(Stop, match="has a stack"):
            restoring(monkeypatch, original.state, place, key, TO="")
        assert not compose_backups.take_restored(tmp_path / "copy"), "nothing was restored yet"
    finally:
        shutil.rmtree(default_keys(configuration.read(tmp_path / "copy").identity))


def test_digests_name_the_images_that_run_and_those_that_others_are_built_on(tmp_path: Path) -> None:
    named = compose_images.services(compose_images.FILES)
    images = {image for service in named.values() for image in compose_images.images_of(service)}
    assert {"postgres:15.18-bookworm", "caddy:2.11.7-alpine", "postgrest/postgrest:v12.0.2"} < images
    digests = {image: f"sha256:{secrets.token_hex(32)}" for image in images}
    assert compose_images.override(tmp_path, [file()]) is None
    (tmp_path / "digests.json").write_text(json.dumps(digests))
    written = compose_images.override(tmp_path, [file()])
    assert written
    services = yaml.safe_load(written.read_text())["services"]
    assert set(services) == set(described(""))
    assert services["postgrest"] == {
        "image": f"postgrest/postgrest:v12.0.2@{digests['postgrest/postgrest:v12.0.2']}"
    }
    assert services["gateway"]["build"]["additional_contexts"] == {
        image: f"docker-image://{image}@{digests[image]}"
        for image in ("node:20.20.2-bookworm-slim", "caddy:2.11.7-alpine")
    }


def test_an_image_without_a_digest_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "digests.json").write_text(json.dumps({"postgres:14": "sha256:0"}))
    assert compose_images.override(tmp_path, [file()]) is None
    assert "No digest is known of" in capsys.readouterr().out


def test_where_no_docker_is_it_is_said_and_nothing_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Stop, match="Docker is not installed here"):
        compose_images.lock(tmp_path)
    assert not (tmp_path / "digests.json").exists()


def until(condition: Callable[[], object], seconds: float = 120, pause: float = 0.5) -> None:
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(pause)


@contextmanager
def database(containers: Containers, keys: Keys) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """Run the container `database`; yield what asks it, by its socket."""
    given = {
        "host": str(containers.volumes / "sockets"),
        "user": "supabase_admin",
        "dbname": "postgres",
        "password": keys.values["PASSWORD_supabase_admin"],
    }

    def ask(query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(**given) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    def accepts() -> bool:
        try:
            return bool(ask("select 1"))
        except psycopg.OperationalError:
            return False

    with containers.started("database"):
        until(accepts)
        yield ask


@contextmanager
def lock_left_behind(containers: Containers, repository: Path) -> Iterator[None]:
    """Stop a program in the middle of what nobody else may do meanwhile, as a lost machine does."""
    place = f"RESTIC_REPOSITORY={repository}/files"
    command = ["env", place, "RESTIC_PASSWORD_FILE=/run/secrets/backup.key", "restic", "--no-cache", "check"]

    def locked() -> bool:
        # Until it is whole it has a longer name.
        return any(len(path.name) == 64 for path in (repository / "files" / "locks").iterdir())

    with containers.started("backups", *command) as program:
        until(locked, pause=0.002)
        program.send_signal(signal.SIGSTOP)
        try:
            assert locked()
            yield
        finally:
            program.kill()


@pytest.mark.long
def test_the_containers_back_up_prove_and_restore_what_they_hold(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The path of a socket is short.
    place = state.with_name(f"c{secrets.token_hex(2)}")
    place.mkdir()
    original = configuration.read(state)
    own = OwnCluster(Settings(place / "own", ports=original.ports))
    own.settings.state.mkdir()
    settings = Settings(
        place / "stack",
        ports=original.ports,
        options={"BACKUP_REPOSITORY": str(place / "repository"), "BACKUP_KEYS": str(place / "keys")},
    )
    copy = place / "copy"
    try:
        own.copy(original)
        shutil.copytree(own.settings.state / "keys", settings.state / "keys")
        containers = Containers(compose.prepare(settings, Keys(settings)), place / "v")
        take_over(own.settings.data_directory, containers.volumes / "database")
        receipt = containers.volumes / "objects" / "objects" / "aa" / "receipt"
        receipt.parent.mkdir(parents=True)
        receipt.write_bytes(b"a receipt")
        subprocess.run(["chown", "-R", str(compose_backups.USER), containers.volumes / "objects"], check=True)
        with database(containers, Keys(settings)) as ask:
            assert ask("show archive_mode") == [("on",)]
            with containers.started("backups"):
                report = containers.volumes / "backups" / "backups.json"
                until(lambda: report.exists() and json.loads(report.read_text())["database_at"])
                assert json.loads(report.read_text())["failures"] == {}
                drill = containers.run(
                    "backups", "python3", "-m", "launcher.containers.in_container", "restore-drill"
                )
                assert drill.returncode == 0, drill.stdout + drill.stderr
                assert "ledger is in order" in drill.stdout
                assert json.loads(report.read_text())["proven_at"]
                assert not any((containers.volumes / "drill").iterdir()), "it leaves nothing"
            ask("create table public.after_the_backup as select 7 as number")
            ask("select pg_switch_wal()")
            until(lambda: ask("select failed_count, archived_count > 0 from pg_stat_archiver")[0][1])
            ((wanted,),) = ask("select pg_walfile_name(pg_current_wal_lsn() - 1)")
            until(lambda: ask("select last_archived_wal from pg_stat_archiver")[0][0] >= wanted)
        env_file = restoring(monkeypatch, copy, str(place / "repository"), place / "keys" / "backup.key")
        restored = Containers(env_file, place / "w")
        with lock_left_behind(containers, place / "repository"):
            made = restored.run("restore")
        assert made.returncode == 0, made.stdout + made.stderr
        assert "ledger is in order" in made.stdout
        assert (restored.volumes / "objects" / "objects" / "aa" / "receipt").read_bytes() == b"a receipt"
        assert compose_backups.take_restored(copy)
        taken = configuration.read(copy)
        assert taken.identity != settings.identity
        assert not {"BACKUP_REPOSITORY", "BACKUP_KEYS"} & taken.options.keys()
        for path in (settings.state / "keys").iterdir():
            assert (copy / "keys" / path.name).read_bytes() == path.read_bytes()
            assert (copy / "keys" / path.name).stat().st_mode & 0o777 == 0o600
        started = Containers(compose.prepare(taken, Keys(taken)), restored.volumes)
        with database(started, Keys(taken)) as ask:
            assert ask("select number from public.after_the_backup") == [(7,)]
            assert ask("show archive_mode") == [("off",)]
            assert ask("select count(*) from private.alarms where kind = 'restored'") == [(1,)]
    finally:
        if (copy / "settings.json").exists():
            shutil.rmtree(default_keys(configuration.read(copy).identity), ignore_errors=True)
        restore.remove(own.settings.state)
        shutil.rmtree(place)
