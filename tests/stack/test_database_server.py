"""A database of the operator's: what was prepared there, and what is refused in words and left as it is."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from launcher import private_files
from launcher.database import cluster, elsewhere
from launcher.database.schema import PASSWORDS_BEFORE
from launcher.host import system_user
from launcher.keys import Keys
from launcher.services import health
from launcher.settings import Settings, is_free, load_or_create
from launcher.terminal import Stop
from tests.support.children import ending_with_parent
from tests.support.disks import fill, small_disk
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.own_stack import until
from tests.support.ports import free_port
from tests.support.tls_mail import Authority


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[OwnCluster]:
    """Start a cluster that an operator made for the product: its superuser is supabase_admin."""
    folder = state.with_name(f"{state.name}-own-server")
    own = OwnCluster(settings_of_own(folder))
    own.create()
    with own.running():
        yield own
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def settings(tmp_path: Path, server: OwnCluster) -> Settings:
    """Return a new stack that is to use it."""
    return stack_of(tmp_path, f"127.0.0.1:{server.settings.ports['postgres']}")


@pytest.fixture
def prepared(settings: Settings, server: OwnCluster) -> Settings:
    """Return a stack for which the cluster was prepared."""
    prepare(server, settings)
    return settings


def stack_of(folder: Path, servers: str, **options: str) -> Settings:
    """Return the settings of a new stack with its keys."""
    given = {"STATE": str(folder / "stack"), "DEMO": "1", "DATABASE_SERVER": servers, **options}
    settings = load_or_create(given)
    Keys(settings).make()
    return settings


def prepare(server: OwnCluster, settings: Settings) -> str:
    """Run, as the superuser by psql, what the launcher prints; return what went wrong."""
    command = [server.postgres / "psql", "-X", "-q", f"--dbname={server.url()}"]
    text = elsewhere.preparation(settings, Keys(settings))
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr


def run(server: OwnCluster, sql: str) -> None:
    """Run statements as the superuser."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql.encode())


def rejection(settings: Settings) -> str:
    """Return the words in which the database is refused."""
    with pytest.raises(Stop) as stop:
        elsewhere.require_suitable(settings, Keys(settings))
    return str(stop.value)


def test_a_server_that_was_not_prepared_is_named_with_the_command(
    settings: Settings, server: OwnCluster
) -> None:
    run(server, "do $$ begin create role postgres; exception when duplicate_object then end $$")
    found = rejection(settings)
    assert "No server of DATABASE_SERVER lets role postgres in" in found
    assert "password authentication failed" in found
    assert "prepare-database" in found


def test_a_prepared_server_is_taken_and_may_be_prepared_again(prepared: Settings, server: OwnCluster) -> None:
    first = elsewhere.require_suitable(prepared, Keys(prepared))
    assert first == cluster.identifier(server.settings.data_directory)
    assert "ERROR" not in prepare(server, prepared)
    assert elsewhere.require_suitable(prepared, Keys(prepared)) == first
    assert [str(found) for found in elsewhere.look(prepared, Keys(prepared))] == [
        f"{prepared.options['DATABASE_SERVER']} primary"
    ]


def test_what_the_product_needs_of_postgresql_is_set_for_its_database(
    prepared: Settings, server: OwnCluster
) -> None:
    elsewhere.require_suitable(prepared, Keys(prepared))
    query = "select unnest(setconfig) from pg_db_role_setting where setrole = 0"
    with psycopg.connect(server.url()) as connection:
        found = {setting for (setting,) in connection.execute(query)}
    silent = {"log_parameter_max_length=0", "log_parameter_max_length_on_error=0"}
    assert found == {"jit=off", "log_error_verbosity=terse"} | silent


def test_what_is_printed_holds_no_password(prepared: Settings) -> None:
    keys = Keys(prepared)
    text = elsewhere.preparation(prepared, keys)
    assert not [role for role in PASSWORDS_BEFORE if keys.values[f"PASSWORD_{role}"] in text]
    assert text.count("SCRAM-SHA-256$") == len(PASSWORDS_BEFORE)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("alter role service_role nobypassrls", "role service_role: bypassrls"),
        ("alter role postgres nocreatedb", "role postgres: createrole, createdb and bypassrls"),
        ("alter role authenticated superuser", "role authenticated must not be a superuser"),
        ("alter schema auth owner to supabase_admin", "schema auth owned by supabase_auth_admin"),
        ("alter database postgres owner to supabase_admin", "database postgres owned by postgres"),
        ("drop event trigger pgrst_ddl_watch", "event trigger pgrst_ddl_watch"),
        (
            'revoke set on parameter "pgrst.db_pre_request" from postgres',
            "the right to set pgrst.db_pre_request",
        ),
        ("alter role authenticator password 'another'", "the password of role authenticator"),
        ("comment on schema extensions is 'Prepared by an earlier version'", "what this version brings"),
        ("drop owned by anon; drop role anon", "role anon"),
    ],
)
def test_what_lacks_is_listed(prepared: Settings, server: OwnCluster, change: str, named: str) -> None:
    run(server, change)
    found = rejection(prepared)
    assert f"\n    {named}" in found
    assert "prepare-database" in found
    prepare(server, prepared)
    elsewhere.require_suitable(prepared, Keys(prepared))


def test_a_superuser_is_never_made_the_owner(prepared: Settings, server: OwnCluster) -> None:
    run(server, "alter role postgres superuser")
    try:
        assert "postgres is a superuser of this cluster" in rejection(prepared)
        said = prepare(server, prepared)
        assert "postgres is a superuser here, and the owner of the product must be none" in said
        assert "DATABASE_OWNER=harborline" in said
        with psycopg.connect(server.url()) as connection:
            query = "select rolsuper from pg_roles where rolname = 'postgres'"
            assert connection.execute(query).fetchone() == (True,), "the right was taken away"
    finally:
        run(server, "alter role postgres nosuperuser")


def test_an_owner_of_another_name_is_taken_where_a_superuser_is_called_postgres(
    tmp_path: Path, server: OwnCluster
) -> None:
    address = f"127.0.0.1:{server.settings.ports['postgres']}"
    run(server, "create database other")
    settings = stack_of(tmp_path, address, DATABASE_OWNER="harborline", DATABASE_NAME="other")
    command = [
        server.postgres / "psql",
        "-X",
        "-q",
        f"--dbname={make_conninfo(server.url(), dbname='other')}",
    ]
    text = elsewhere.preparation(settings, Keys(settings))
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert "ERROR" not in done.stderr
    elsewhere.require_suitable(settings, Keys(settings))
    run(server, "drop database other")


def test_another_cluster_than_the_stacks_is_rejected(prepared: Settings) -> None:
    prepared.system_identifier = "1"
    assert "is another cluster than the one at" in rejection(prepared)


def test_a_stack_that_has_a_database_keeps_it(prepared: Settings) -> None:
    former = {**prepared.options, "DATABASE_SERVER": "127.0.0.1:1"}
    prepared.stored_options, prepared.system_identifier = former, "1"
    prepared.restore_database_options()
    assert prepared.options["DATABASE_SERVER"] == "127.0.0.1:1"
    prepared.system_identifier = ""
    prepared.options["DATABASE_SERVER"] = "127.0.0.1:2"
    prepared.restore_database_options()
    assert prepared.options["DATABASE_SERVER"] == "127.0.0.1:2", "a new one is asked for again by its command"


def test_an_earlier_version_of_postgresql_is_rejected(
    prepared: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "MINIMUM_POSTGRES", 99)
    assert "99 or newer is needed" in rejection(prepared)


def test_too_few_connections_are_rejected(prepared: Settings) -> None:
    # Four instances of each service would need more than the cluster takes.
    prepared.options["INSTANCES"] = "4"
    assert "takes 150 connections" in rejection(prepared)


def test_clocks_that_are_a_minute_apart_are_rejected(
    prepared: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Behind(datetime):
        @classmethod
        def now(cls, _: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) - timedelta(minutes=1)

    monkeypatch.setattr(elsewhere, "datetime", Behind)
    # Less what passes between the two looks.
    assert re.search("of this machine are (60|5[0-9]) s apart", rejection(prepared))


@contextmanager
def copy_of(server: OwnCluster, folder: Path, *, replica: bool) -> Iterator[OwnCluster]:
    """Run a copy of the cluster, as its replica or on its own."""
    own = OwnCluster(settings_of_own(folder))
    own.copy(server.settings)
    if replica:
        data = own.settings.data_directory
        private_files.write(data / "standby.signal", "")
        private_files.append(
            data / "postgresql.auto.conf", f"primary_conninfo = '{make_conninfo(server.url())}'\n"
        )
        system_user.hand_over(data)
    with own.running():
        yield own
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.long
def test_a_replica_alone_is_rejected_and_with_its_primary_named(
    prepared: Settings, server: OwnCluster, place: Path, tmp_path: Path
) -> None:
    with copy_of(server, place / "replica", replica=True) as replica:
        alone = f"127.0.0.1:{replica.settings.ports['postgres']}"
        primary = prepared.options["DATABASE_SERVER"]
        prepared.options["DATABASE_SERVER"] = alone
        found = rejection(prepared)
        assert "No server of DATABASE_SERVER takes writes; its engine promotes a replica" in found
        assert f"\n    {alone} replica" in found
        prepared.options["DATABASE_SERVER"] = f"{alone},{primary}"
        elsewhere.require_suitable(prepared, Keys(prepared))
        wanted = [f"{alone} replica, 0 s behind", f"{primary} primary"]
        deadline = time.monotonic() + 20
        while (seen := list(map(str, elsewhere.look(prepared, Keys(prepared))))) != wanted:
            assert time.monotonic() < deadline, seen
            time.sleep(0.2)
        # The address finds the primary behind it.
        with psycopg.connect(Keys(prepared).database_url("postgres")) as connection:
            assert connection.info.port == server.settings.ports["postgres"]


@pytest.mark.long
def test_a_replica_that_is_late_is_named(
    prepared: Settings, server: OwnCluster, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "LAG_LATE_SECONDS", 2)
    with copy_of(server, place / "late", replica=True) as late:
        name = f"127.0.0.1:{late.settings.ports['postgres']}"
        prepared.options["DATABASE_SERVER"] += f",{name}"

        def said() -> str:
            return str(elsewhere.look(prepared, Keys(prepared))[1])

        until(lambda: said() == f"{name} replica, 0 s behind", 20)
        run(server, "create table early ()")
        run(server, "drop table early")
        time.sleep(1)
        with psycopg.connect(make_conninfo(late.url(), port=late.settings.ports["postgres"])) as connection:
            connection.execute("select pg_wal_replay_pause()")
        run(server, "create table late ()")
        run(server, "drop table late")
        # What has arrived is late for as long as it is not replayed.
        until(lambda: re.fullmatch(rf"{name} replica, WARNING: \d+ s behind", said()), 20)
        well, words = health.servers(prepared, Keys(prepared))
        assert well, "a late replica stops nobody"
        assert "WARNING" in words


def write_until_it_fails(server: OwnCluster) -> int:
    """Store rows, with a segment of WAL for each; return how many were acknowledged."""
    run(server, "create table acknowledged (n integer)")
    for stored in range(1000):
        try:
            run(server, f"insert into acknowledged values ({stored}); select pg_switch_wal()")
        except psycopg.OperationalError:
            return stored
    raise AssertionError("the disk is not full")


@pytest.mark.long
def test_a_full_disk_of_the_wal_is_named_and_nothing_is_lost(prepared: Settings, place: Path) -> None:
    with small_disk(place / "wal", 200) as disk:
        own = OwnCluster(settings_of_own(place / "full"))
        shutil.copytree(prepared.state / "keys", own.settings.state / "keys")
        own.create()
        wal = own.settings.data_directory / "pg_wal"
        shutil.copytree(wal, disk / "pg_wal")
        shutil.rmtree(wal)
        wal.symlink_to(disk / "pg_wal")
        system_user.hand_over(disk)
        own.start(restart_after_crash="off")
        prepared.options["DATABASE_SERVER"] = f"127.0.0.1:{own.settings.ports['postgres']}"
        filling = fill(disk)
        acknowledged = write_until_it_fails(own)
        until(lambda: own.has_ended, 60)
        well, words = health.servers(prepared, Keys(prepared))
        assert not well
        assert words.startswith(f"NOT HEALTHY: {prepared.options['DATABASE_SERVER']} NOT REACHED")
        assert "No space left on device" in (own.settings.state / "postgres.log").read_text()
        filling.unlink()
        with own.running():
            with psycopg.connect(own.url()) as connection:
                found = connection.execute("select count(*) from acknowledged").fetchone()
            assert found
            assert found[0] >= acknowledged


@pytest.mark.long
def test_two_primaries_are_rejected(prepared: Settings, server: OwnCluster, place: Path) -> None:
    with copy_of(server, place / "apart", replica=False) as apart:
        prepared.options["DATABASE_SERVER"] += f",127.0.0.1:{apart.settings.ports['postgres']}"
        assert "both take writes: the cluster has come apart" in rejection(prepared)


@pytest.mark.long
def test_two_clusters_are_rejected(prepared: Settings, server: OwnCluster, place: Path) -> None:
    other = OwnCluster(settings_of_own(place / "other"))
    shutil.copytree(server.settings.state / "keys", other.settings.state / "keys")
    other.create()
    with other.running():
        prepare(other, prepared)
        prepared.options["DATABASE_SERVER"] += f",127.0.0.1:{other.settings.ports['postgres']}"
        assert "are two clusters. Name the servers of one." in rejection(prepared)


@contextmanager
def pooler(server: OwnCluster, settings: Settings, mode: str, folder: Path) -> Iterator[int]:
    """Run PgBouncer in front of the cluster; yield its port."""
    port, password = free_port(), Keys(settings).values["PASSWORD_postgres"]
    folder.chmod(0o755)
    private_files.write(folder / "users.txt", f'"postgres" "{password}"\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.settings.ports['postgres']}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\npool_mode = {mode}\n"
        f"auth_type = scram-sha-256\nauth_file = {folder / 'users.txt'}\nlogfile = {folder / 'log'}\n"
    )
    system_user.hand_over(folder)
    command = ending_with_parent(["pgbouncer", folder / "pgbouncer.ini"])
    process = subprocess.Popen(system_user.as_user(command, system_user.name()), stderr=subprocess.DEVNULL)
    try:
        until(lambda: not is_free(port), 20)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_pooler_is_rejected_unless_it_keeps_sessions(
    prepared: Settings, server: OwnCluster, place: Path, mode: str
) -> None:
    # Each of the passwords would need a line in its file.
    with pooler(server, prepared, mode, place) as port:
        prepared.options["DATABASE_SERVER"] = f"127.0.0.1:{port}"
        said = rejection(prepared)
        assert ("a pooler lends connections for one transaction each" in said) == (mode == "transaction")
        assert ("the password of role authenticator" in said) == (mode == "session")


def test_a_server_that_is_away_is_named_and_the_others_used(prepared: Settings) -> None:
    here = prepared.options["DATABASE_SERVER"]
    prepared.options["DATABASE_SERVER"] = f"127.0.0.1:1,{here}"
    elsewhere.require_suitable(prepared, Keys(prepared))
    away, primary = elsewhere.look(prepared, Keys(prepared))
    assert str(away).startswith("127.0.0.1:1 NOT REACHED: ")
    assert str(primary) == f"{here} primary"


def test_with_an_authority_the_server_proves_who_it_is(
    prepared: Settings, server: OwnCluster, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    trusted, other = Authority.make(tmp_path), Authority.make(tmp_path / "other")
    trusted.context("127.0.0.1")
    certificate = server.settings.data_directory / "server.pem"
    private_files.write(certificate, (tmp_path / "127.0.0.1.pem").read_text())
    system_user.hand_over(certificate)
    prepared.options["DATABASE_CA"] = trusted.file
    assert "server does not support SSL" in rejection(prepared)
    for name, value in {"ssl_cert_file": certificate, "ssl_key_file": certificate, "ssl": "on"}.items():
        run(server, f"alter system set {name} = '{value}'")
    run(server, "select pg_reload_conf()")
    elsewhere.require_suitable(prepared, Keys(prepared))
    prepared.options["DATABASE_CA"] = other.file
    assert "SSL error" in rejection(prepared)
    run(server, "alter system reset all")
    run(server, "select pg_reload_conf()")
