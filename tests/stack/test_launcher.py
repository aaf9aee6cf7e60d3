"""The launcher as a newcomer meets it: repeats are harmless, services restart, failures are sentences."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import psycopg
import pytest

from launcher import cli
from launcher import settings as configuration
from launcher.database import cluster
from launcher.database.schema import Database
from launcher.host import tools
from launcher.keys import Keys
from launcher.services import health
from launcher.terminal import Stop
from tests.support import plain_http
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.ports import free_port
from tests.support.stack import Stack, stack_state

LAUNCHER = [sys.executable, str(configuration.ROOT / "supabase" / "stack")]


def as_the_stack_runs(options: Mapping[str, str]) -> dict[str, str]:
    """Return what another stack of this checkout needs where nobody but root gets to it."""
    if "SERVICES_AS_ROOT" in options or not configuration.read(stack_state()).as_root:
        return {}
    if options.get("DEMO") == "0":
        pytest.skip("nobody but root gets to this checkout, and real money never runs as root")
    return {"SERVICES_AS_ROOT": "1"}


@pytest.fixture
def open_checkout(state: Path) -> None:
    """Skip where PostgreSQL's user does not get to this checkout."""
    if configuration.read(state).as_root:
        pytest.skip("nobody but root gets to this checkout")


def launch(
    state: Path, *arguments: str, through: Sequence[str] = (), **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run the launcher for a state folder, through another command if one is named."""
    stored = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DEMO", "STACK_PROFILE", "STACK_ENV")
    }
    env = {**stored, "STATE": str(state), **as_the_stack_runs(extra), **extra}
    return subprocess.run(
        [*through, *LAUNCHER, *arguments], env=env, capture_output=True, text=True, timeout=300, check=False
    )


def process_ids(state: Path) -> dict[str, str]:
    """Return the process id of each service, from `status`."""
    lines = launch(state, "status").stdout.splitlines()
    found = [line.split() for line in lines if " pid " in line]
    return {fields[0]: fields[fields.index("pid") + 1].rstrip(",") for fields in found}


def test_up_again_changes_nothing(state: Path) -> None:
    before = (process_ids(state), (state / "env").read_bytes())
    started = time.monotonic()
    again = launch(state, "up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert time.monotonic() - started < 100
    assert (process_ids(state), (state / "env").read_bytes()) == before


@pytest.mark.alone
def test_a_killed_service_comes_back(state: Path, stack: Stack) -> None:
    killed = int(process_ids(state)["storage"])
    os.kill(killed, signal.SIGKILL)
    deadline = time.monotonic() + 90
    while process_ids(state).get("storage") in (None, str(killed)) or not healthy(stack):
        assert time.monotonic() < deadline, "storage did not come back"
        time.sleep(0.3)


@pytest.mark.long
@pytest.mark.alone
def test_a_killed_supervisor_leaves_nothing_behind_and_up_starts_all_again(state: Path, stack: Stack) -> None:
    os.kill(int((state / "run" / "supervisord.pid").read_text()), signal.SIGKILL)
    deadline = time.monotonic() + 30
    ports = configuration.read(state).ports.values()
    while not all(configuration.is_free(port) for port in ports):
        assert time.monotonic() < deadline, "something still listens"
        time.sleep(0.3)
    again = launch(state, "up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert healthy(stack)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("reconfigured", [False, True])
def test_up_starts_a_database_that_was_left_stopped(state: Path, stack: Stack, reconfigured: bool) -> None:
    control = f"unix://{configuration.read(state).sockets / 'control.sock'}"
    supervisorctl = [tools.VENV / "bin" / "supervisorctl", "--serverurl", control]
    subprocess.run([*supervisorctl, "stop", "postgres"], check=True)
    if reconfigured:
        with (configuration.read(state).data_directory / "harborline.conf").open("a") as file:
            file.write("# Not the launcher's.\n")
    started = time.monotonic()
    again = launch(state, "up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert time.monotonic() - started < 60
    assert healthy(stack)


def test_a_database_that_cannot_start_for_a_while_is_tried_again(state: Path) -> None:
    configured = (state / "supervisord.conf").read_text()
    retries = int(re.search(r"\[program:postgres\][^\[]*startretries = (\d+)", configured)[1])  # type: ignore[index]
    # The n-th pause lasts n seconds: ten minutes at least, and no pause as long as `up` waits.
    assert retries * retries / 2 > 600
    assert retries < 120


def healthy(stack: Stack) -> bool:
    """Return whether storage responds through the gateway."""
    return (
        plain_http.get(f"{stack.url}/storage/v1/status", headers={"apikey": stack.anon_key}).status_code
        == 200
    )


@pytest.fixture
def nothing_waits(state: Path, stack: Stack) -> None:
    """Take away the mails and alarms that tests before left, and wait until the worker has noticed."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as owner:
        owner.execute("delete from private.outbox where sent_at is null")
        owner.execute("update private.alarms set ended_at = clock_timestamp() where ended_at is null")
    deadline = time.monotonic() + 90
    while not all(result[1] in ("0 waiting, 0 failed", "none open") for result in operations(state)):
        assert time.monotonic() < deadline, operations(state)
        time.sleep(1)


def operations(state: Path) -> list[tuple[bool, str]]:
    """Return what `status` says of mail and alarms."""
    return list(health.operations(configuration.read(state)).values())


@pytest.mark.alone
def test_status_says_whether_the_ledger_is_in_order(nothing_waits: None, state: Path, stack: Stack) -> None:
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as owner:
        owner.execute("select jobs.check_ledger()")
        well = launch(state, "status")
        # As after a long check, which the worker does not repeat within this minute.
        owner.execute(
            "update private.ledger_check_state"
            " set violations = 2, rules = '{\"I07\": 2}', checked_at = now(), check_duration = '1 hour'"
        )
        wrong = launch(state, "status")
        owner.execute(
            "update private.ledger_check_state set violations = 0, rules = '{}',"
            " whole_at = now() - interval '20 minutes', seen_since = now() - interval '51 minutes'"
        )
        swept = launch(state, "status")
        owner.execute("update private.ledger_check_state set whole_at = null, seen_since = null")
        begun = launch(state, "status")
        owner.execute("update private.ledger_check_state set check_duration = '0'")
        owner.execute("select jobs.check_ledger()")
    for said, words in (
        (well, ""),
        (swept, "; everything 20 min ago, no row before 51 min ago"),
        (begun, "; the first sweep over everything has not ended"),
    ):
        assert re.search(rf"in order, checked \d+ s ago{words}$", said.stdout, re.MULTILINE)
    assert (swept.returncode, begun.returncode) == (0, 0)
    assert well.returncode == 0
    assert '2 VIOLATIONS {"I07": 2}' in wrong.stdout
    assert wrong.returncode == 1


def test_a_check_of_the_ledger_that_is_late_is_not_healthy(stack: Stack) -> None:
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as owner:
        database = cast("Database", SimpleNamespace(rows=lambda query: owner.execute(query).fetchall()))
        owner.execute(
            "update private.ledger_check_state"
            " set checked_at = now() - interval '101 minutes', violations = 0"
        )
        healthy, words = health.ledger(database)
        owner.rollback()
    assert not healthy
    assert words.startswith("NOT HEALTHY: the check is late; in order, checked 60")


@pytest.mark.alone
def test_status_says_when_sign_in_fails_and_how_full_the_disk_is(
    nothing_waits: None, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STATE", str(state))
    for percent, code, words in ((79, 0, " 79% used"), (80, 0, "warning: 80% used"), (90, 1, "URGENT")):
        usage = shutil._ntuple_diskusage(100, percent, 100 - percent)  # type: ignore[attr-defined]
        monkeypatch.setattr(health.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert cli.status() == code
        assert words in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setenv("STATE", str(state))
    for response, code in ((400, 0), (503, 1)):
        monkeypatch.setattr(
            health.httpx.Client, "post", lambda *_, response=response, **__: httpx.Response(response)
        )
        assert cli.status() == code
        assert ("sign-in    NOT HEALTHY" in capsys.readouterr().out) == bool(code)


@pytest.mark.threat("T97")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a small disk")
@pytest.mark.alone
def test_status_says_what_waits_and_which_alarms_are_open(
    nothing_waits: None, state: Path, stack: Stack
) -> None:
    def says(*words: str) -> int:
        """Wait until the worker has read it; return the exit status."""
        end = time.monotonic() + 90
        while True:
            said = launch(state, "status")
            if all(word in said.stdout for word in words):
                return said.returncode
            assert time.monotonic() < end, said.stdout
            time.sleep(1)

    mail = "insert into private.outbox (template, recipient, created_at, next_attempt_at, failed_at) values"
    in_an_hour = "clock_timestamp() + interval '1 hour'"
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as owner:
        try:
            owner.execute(
                f"{mail} ('status', 's@example.com', now(), {in_an_hour}, null),"
                f" ('status', 's@example.com', now(), {in_an_hour}, now())"
            )
            owner.execute("select private.raise_alarm('repair', 'status', null, '{}')")
            assert says("mail       warning: 1 waiting, 1 failed", "alarms     warning: ", " repair") == 0
            late = "update private.outbox set created_at = now() - interval '16 minutes'"
            owner.execute(f"{late} where template = 'status'")
            owner.execute("select private.raise_alarm('audit_entry', 'status', null, '{}')")
            assert says("mail       NOT HEALTHY: 1 waiting", "alarms     NOT HEALTHY: 1 audit_entry") == 1
        finally:
            owner.execute("delete from private.outbox where template = 'status'")
            owner.execute("delete from private.alarms where object = 'status'")
        assert says("mail       0 waiting, 0 failed") == 0


def test_status_does_not_know_what_a_worker_without_figures_would_say(state: Path) -> None:
    settings = configuration.read(state)
    settings.ports["worker_metrics"] = free_port()
    assert [fine for fine, _ in health.operations(settings).values()] == [False, False]


def test_status_finds_a_full_disk_and_a_clock_that_went_back(open_checkout: None, fresh: Path) -> None:
    fresh.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200m", "own", fresh], check=True)
    try:
        own = OwnCluster(settings_of_own(fresh))
        own.create()
        with own.running():
            opened = Database(own.settings, own.keys, own.log)
            opened.execute("create schema private")
            opened.execute(
                "create table private.ledger_check_state"
                " (violations int, rules jsonb, checked_at timestamptz,"
                " whole_at timestamptz, seen_since timestamptz)"
            )
            opened.execute("insert into private.ledger_check_state values (0, '{}', now(), now(), now())")
            assert health.database(opened)[0]
            assert health.clock(opened) == (False, "NOT KNOWN: the database does not answer")
            opened.execute("create table private.audit_log (at timestamptz)")
            assert health.clock(opened) == (True, "in order")
            opened.execute("insert into private.audit_log values (now() + interval '1 minute')")
            healthy, words = health.clock(opened)
            assert not healthy
            assert re.fullmatch(r"NOT HEALTHY: \d+ s behind the last entry of the audit log", words)
            with contextlib.suppress(OSError), (fresh / "filling").open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            healthy, words = health.database(opened)
            assert not healthy
            assert "No space left" in words
            (fresh / "filling").unlink()
            assert health.database(opened)[0]
    finally:
        subprocess.run(["umount", fresh], check=True)


def test_a_missing_data_directory_is_not_replaced(fresh: Path) -> None:
    elsewhere = fresh.with_name(f"{fresh.name}-elsewhere")
    for stored, place in (
        ({"cluster": str(elsewhere)}, elsewhere),
        ({"cluster": "/former/checkout/.stack/cluster"}, fresh / "cluster"),
        ({"cluster": "cluster", "system_identifier": "1"}, fresh / "cluster"),
    ):
        fresh.mkdir()
        (fresh / "settings.json").write_text(json.dumps(stored))
        (fresh / "supervisord.conf").touch()
        response = launch(fresh, "up")
        assert response.returncode == 1
        assert f"has its database in {place}," in response.stderr
        assert "make restore" in response.stderr
        assert not place.exists()
        assert not (fresh / "keys").exists()
        shutil.rmtree(fresh)


def test_a_moved_stack_starts_its_own_cluster_and_no_other(open_checkout: None, fresh: Path) -> None:
    settings = settings_of_own(fresh)
    OwnCluster(settings).create()
    cluster.require_own(settings, Keys(settings).secrets)
    values = json.loads((fresh / "settings.json").read_text())
    assert values["cluster"] == "cluster"
    # As earlier versions stored it.
    (fresh / "settings.json").write_text(json.dumps({**values, "cluster": str(fresh / "cluster")}))
    moved = fresh.rename(fresh.with_name(f"{fresh.name}-moved"))
    try:
        settings = configuration.read(moved)
        secret, control = Keys(settings).secrets, moved / "cluster" / "global" / "pg_control"
        assert settings.data_directory == moved / "cluster"
        cluster.require_own(settings, secret)
        secret.rename(secret.with_suffix(".lost"))
        with pytest.raises(Stop, match="the keys that open it are not in"):
            cluster.require_own(settings, secret)
        control.write_bytes(bytes(8) + control.read_bytes()[8:])
        with pytest.raises(Stop, match="what lies there now is another one"):
            cluster.require_own(settings, secret)
    finally:
        shutil.rmtree(moved)


@pytest.mark.long
@pytest.mark.parametrize(
    ("system", "release", "method"),
    [
        ("Linux", "6.1.0-18-amd64", "syncfs"),
        ("Linux", "5.8", "syncfs"),
        ("Linux", "5.7.19-generic", "fsync"),
        ("Linux", "4.18.0-553.el8", "fsync"),
        ("Darwin", "23.6.0", "fsync"),
    ],
)
def test_one_sync_after_a_crash_where_the_system_reports_its_failures(
    monkeypatch: pytest.MonkeyPatch, system: str, release: str, method: str
) -> None:
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((system, "host", release, "", "x86_64")))
    assert cluster.crash_sync_method() == method


def test_a_server_without_that_method_keeps_the_other(tmp_path: Path) -> None:
    own = tools.find_postgres(tools.EXTENSIONS)
    assert cluster.crash_sync_method(own) == cluster.crash_sync_method()
    (tmp_path / "postgres").write_text("#!/bin/sh\necho 'invalid value for parameter' >&2; exit 1\n")
    (tmp_path / "postgres").chmod(0o755)
    assert cluster.crash_sync_method(tmp_path) == "fsync"


def test_a_moved_checkout_makes_its_python_environment_anew(tmp_path: Path) -> None:
    leave = shutil.ignore_patterns("node_modules", "__pycache__")
    for name in (".venv", ".stack-tools/bin", "supabase/stack"):
        shutil.copytree(configuration.ROOT / name, tmp_path / name, symlinks=True, ignore=leave)
    shutil.copy(configuration.ROOT / "requirements.lock", tmp_path)
    launcher = [sys.executable, tmp_path / "supabase" / "stack", "--help"]
    subprocess.run(launcher, capture_output=True, check=True)
    script = (tmp_path / ".venv" / "bin" / "supervisord").read_text()
    assert str(tmp_path) in script
    assert (
        subprocess.run([tmp_path / ".venv" / "bin" / "supervisord", "--version"], check=False).returncode == 0
    )


@pytest.mark.alone
def test_an_older_version_touches_nothing_of_a_later_ones_stack(state: Path, stack: Stack) -> None:
    before = process_ids(state)
    written = (state / "supervisord.conf").stat().st_mtime_ns
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as owner:
        history = "supabase_migrations.schema_migrations"
        owner.execute(f"insert into {history} (version) values ('99990101000000')")
        try:
            response = launch(state, "up")
        finally:
            owner.execute(f"delete from {history} where version = '99990101000000'")
    assert response.returncode == 1
    assert "a later version made it" in response.stderr
    assert "make restore" in response.stderr
    assert process_ids(state) == before
    assert (state / "supervisord.conf").stat().st_mtime_ns == written


def test_settings_of_a_later_version_are_rejected_in_words(fresh: Path) -> None:
    fresh.mkdir()
    (fresh / "settings.json").write_text('{"later": 1}')
    response = launch(fresh, "up")
    assert response.returncode == 1
    assert "has later, which this version does not know" in response.stderr
    assert "Traceback" not in response.stderr


@pytest.mark.alone
def test_no_other_user_enters_the_state_folder(state: Path) -> None:
    for folder in (state, state / "logs", state / "mail"):
        folder.chmod(0o755)
    assert launch(state, "up").returncode == 0
    assert not state.stat().st_mode & 0o067
    for folder in (state / "logs", state / "mail", state / "keys", state / "services"):
        assert not folder.stat().st_mode & 0o077
    if os.geteuid() == 0:
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        for path in (state, state / "logs" / "gateway.log", state / "settings.json"):
            assert subprocess.run([*other, "ls", path], check=False, capture_output=True).returncode


def test_a_stack_stays_what_it_was_started_as(state: Path) -> None:
    for name, wish, sentence in (
        ("DEMO", "0", "keeps it"),
        ("STACK_PROFILE", "product", "keeps its profile"),
        ("DEMO", "yes", "DEMO is 1"),
        ("STACK_PROFILE", "fast", "product, reference, benchmark"),
    ):
        response = launch(state, "up", **{name: wish})
        assert response.returncode == 1, f"{name}={wish}"
        assert sentence in response.stderr
        assert "Traceback" not in response.stderr


def test_no_limits_are_only_for_the_demo(fresh: Path) -> None:
    response = launch(fresh, "up", DEMO="0", STACK_PROFILE="reference")
    assert response.returncode == 1
    assert "only for DEMO=1" in response.stderr
    assert not fresh.exists()


def test_a_taken_port_is_named(fresh: Path) -> None:
    fresh.mkdir()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        (fresh / "settings.json").write_text(json.dumps({"ports": {"auth": port}}))
        response = launch(fresh, "up")
    assert response.returncode == 1
    assert f"Port {port}, which this stack uses for its auth, is taken" in response.stderr


def test_a_domain_takes_the_ports_of_the_web(fresh: Path) -> None:
    fresh.mkdir()
    with socket.socket() as former, socket.socket() as other:
        former.bind(("127.0.0.1", 0))
        former.listen()
        (fresh / "settings.json").write_text(json.dumps({"ports": {"gateway": former.getsockname()[1]}}))
        # Where it is taken already, or only root may have it, the test needs not take it.
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", 443))
            other.listen()
        response = launch(fresh, "up", SITE_DOMAIN="members.example")
    assert response.returncode == 1
    assert re.search(r"Port (80|443), which this stack uses for its gateway, is", response.stderr), (
        response.stderr
    )


def test_a_port_for_root_alone_is_not_called_taken(fresh: Path) -> None:
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 80:
        pytest.skip("every user may have every port here")
    less = ["--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"]
    through = ["setpriv", *less, "--"] if os.geteuid() == 0 else []
    response = launch(fresh, "up", through=through, SITE_DOMAIN="members.example")
    assert response.returncode == 1
    assert "Port 80, which this stack uses for its gateway, is for root alone" in response.stderr
    assert "ip_unprivileged_port_start=80" in response.stderr


def test_an_early_failure_of_a_test_stack_is_reported_and_leaves_nothing(
    open_checkout: None, fresh: Path
) -> None:
    postgres = tools.find_postgres(("pgtap", *tools.EXTENSIONS))
    assert postgres
    fresh.mkdir()
    (fresh / "pg_config").symlink_to(postgres / "pg_config")
    (fresh / "initdb").write_text("#!/bin/sh\necho no cluster today; exit 1\n")
    (fresh / "initdb").chmod(0o755)
    before = set(configuration.ROOT.glob(".stack-test-*"))
    response = launch(fresh, "run", "tests", "generate", PG_BIN=str(fresh))
    assert response.returncode == 1
    assert "no cluster today" in response.stderr
    assert not set(configuration.ROOT.glob(".stack-test-*")) - before


def test_no_port_is_chosen_that_browsers_block(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(range(80, 200))
    monkeypatch.setattr(configuration.secrets, "randbelow", lambda _: next(drawn))
    assert configuration._choose_port("mail", configuration.Settings(state=fresh)) > 10080


def test_without_a_stack_the_way_to_one_is_said(fresh: Path) -> None:
    for command in ("down", "status", "logs", "backup", "audit-log-check"):
        response = launch(fresh, command)
        assert response.returncode == 1, command
        assert "make up" in response.stderr, command


@pytest.fixture
def fresh(state: Path) -> Iterator[Path]:
    """Yield a path for a new state folder that PostgreSQL's user can reach."""
    folder = state.with_name(f"{state.name}-fresh")
    shutil.rmtree(folder, ignore_errors=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
