"""Backups of a running stack, restored: to any second, by their key alone, as a copy that decides nothing."""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from launcher import settings as configuration
from launcher.backups import repository, restore
from launcher.backups.schedule import Backups
from launcher.host import system_user
from launcher.host.tools import VENV
from launcher.terminal import Stop
from tests.support.own_stack import SUMS, OwnStack, until, with_backups
from tests.support.ports import free_port
from tests.support.s3_server import s3_server

# What a stated loss of at most a minute leaves for the segment to be stored.
ARCHIVED_WITHIN_SECONDS = 75


@contextmanager
def copied(stack: OwnStack, name: str, to: datetime | None = None) -> Iterator[OwnStack]:
    """Restore a stack into a folder beside it."""
    place = {
        "FROM": stack.backups.repository.location,
        "KEY": str(stack.backups.repository.keys / repository.KEY),
    }
    when = {"TO": to.isoformat()} if to else {}
    access = stack.backups.repository.access
    copy = OwnStack(stack.state.with_name(name), {})
    try:
        made = copy.launch("restore", **place, **when, **access)
        assert made.returncode == 0, made.stdout + made.stderr
        assert "ledger is in order" in made.stdout
        up = copy.launch("up")
        assert up.returncode == 0, up.stdout + up.stderr
        yield copy
    finally:
        copy.remove()


def archive(stack: OwnStack) -> float:
    """Wait until everything written so far is in the archive; return the seconds."""
    ((position,),) = stack.rows("select pg_walfile_name(pg_current_wal_lsn())")
    started = time.monotonic()
    until(
        lambda: (stack.rows("select last_archived_wal from pg_stat_archiver")[0][0] or "") >= position,
        ARCHIVED_WITHIN_SECONDS,
    )
    return time.monotonic() - started


@pytest.mark.long
def test_a_second_before_a_wrong_decision_comes_back_and_the_copy_does_nothing_by_itself(place: Path) -> None:
    with with_backups(place) as stack:
        ((deposit,),) = stack.rows("select id::text from public.deposits where status = 'pending' limit 1")
        before = stack.rows(SUMS)
        moment = datetime.now(UTC)
        time.sleep(1.5)
        assert stack.approve(deposit).status_code == 200
        assert stack.rows(SUMS) != before
        archive(stack)
        # After the wrong decision, and not in the copy; its bytes are in a later snapshot only.
        with copied(stack, "copy", to=moment + timedelta(seconds=1)) as copy:
            assert copy.rows(SUMS) == before
            assert copy.rows(f"select status::text from public.deposits where id = '{deposit}'") == [
                ("pending",)
            ]
            receipts = copy.state / "objects"
            names = {str(path.relative_to(receipts)) for path in receipts.rglob("*") if path.is_file()}
            original = stack.state / "objects"
            assert names == {
                str(path.relative_to(original)) for path in original.rglob("*") if path.is_file()
            }
            rejected = copy.approve(deposit)
            assert (rejected.status_code, rejected.json()["code"]) == (409, "ledger_alarm")
            copy.rows("select 1")
            with psycopg.connect(copy.values["DATABASE_ADMIN_URL"]) as connection:
                connection.execute(
                    "insert into private.outbox (template, recipient, data)"
                    " values ('test_mail', 'held@example.com', '{}')"
                )
            time.sleep(5)
            held = "select attempts from private.outbox where recipient = 'held@example.com'"
            assert copy.rows(held) == [(0,)]
            # It takes over when a super administrator says so.
            ((alarm,),) = copy.rows("select id::text from private.alarms where kind = 'restored'")
            taken = copy.ask(
                "/rest/v1/rpc/acknowledge_alarm",
                copy.administrator("ADMIN"),
                {"p_id": alarm, "p_reason": "The original is gone."},
            )
            assert taken.status_code == 200, taken.text
            assert copy.approve(deposit).status_code == 200
            until(lambda: copy.rows(held) != [(0,)], 30)
        # The original went on meanwhile.
        assert stack.rows(f"select status::text from public.deposits where id = '{deposit}'") == [
            ("approved",)
        ]


def damaged_copy(place: Path, part: str) -> Path:
    """Return a copy of the repository with a part's largest file, or the newest segment, cut off."""
    damaged = place / f"damaged-{part.replace('/', '-')}"
    shutil.copytree(place / "repository", damaged, symlinks=True)
    files = [path for path in (damaged / part).rglob("*") if path.is_file() and not path.is_symlink()]
    segments = [path for path in files if path.suffix == ".zst"]
    chosen = max(
        segments or files, key=lambda path: path.stat().st_mtime if segments else path.stat().st_size
    )
    os.truncate(chosen, chosen.stat().st_size // 2)
    system_user.hand_over(damaged / "database", damaged / "files")
    return damaged


@pytest.mark.long
@pytest.mark.threat("T131")
def test_of_a_machine_that_is_lost_all_but_the_last_minute_comes_back_by_the_key_alone(place: Path) -> None:
    with with_backups(place) as stack:
        ((deposit,),) = stack.rows("select id::text from public.deposits where status = 'pending' limit 1")
        assert stack.approve(deposit).status_code == 200
        assert archive(stack) < ARCHIVED_WITHIN_SECONDS
        sums, key = stack.rows(SUMS), stack.backups.repository.key
        for file in (path for path in place.rglob("*") if path.is_file() and not path.is_symlink()):
            assert key.encode() not in file.read_bytes(), file
        os.kill(int((stack.state / "run" / "supervisord.pid").read_text()), signal.SIGKILL)
        ((pid, *_),) = [
            line.split() for line in [(stack.settings.data_directory / "postmaster.pid").read_text()]
        ]
        os.kill(int(pid), signal.SIGKILL)
        other = place / "other.key"
        other.write_text(f"{secrets.token_hex(32)}\n")
        copy = OwnStack(place / "copy", {})
        wrong = copy.launch("restore", FROM=stack.backups.repository.location, KEY=str(other))
        assert wrong.returncode == 1
        assert "wrong password" in wrong.stderr
        assert not copy.state.exists()
        # Of the archive the newest segment: without it a copy would lack what was approved, and say nothing.
        for part in ("database/backup", "database/archive", "files/data"):
            damaged = damaged_copy(place, part)
            key_file = str(stack.backups.repository.keys / repository.KEY)
            failed = copy.launch("restore", FROM=str(damaged), KEY=key_file)
            assert failed.returncode == 1, part
            assert re.search("failed:|could not be recovered:", failed.stderr)
            assert "Traceback" not in failed.stderr
            assert not copy.state.exists()
        with copied(stack, "copy") as copy:
            assert copy.rows(SUMS) == sums
            assert copy.rows("show archive_mode") == [("off",)]
            assert "BACKUP_REPOSITORY" not in copy.settings.options
            assert copy.settings.identity != stack.settings.identity
            assert not set(copy.settings.ports.values()) & set(stack.settings.ports.values())


@pytest.mark.long
def test_a_drill_proves_the_backups_and_leaves_nothing(place: Path) -> None:
    with with_backups(place) as stack:
        before = sorted(path.name for path in place.iterdir())
        drill = stack.launch("restore-drill")
        assert drill.returncode == 0, drill.stdout + drill.stderr
        assert "ledger is in order" in drill.stdout
        assert sorted(path.name for path in place.iterdir()) == before
        until(lambda: stack.rows("select proven_at from private.backup_state")[0][0], 90)
        assert stack.rows("select private.are_backups_made()") == [(True,)]
        # A repository that is away is said, in the report and by PostgreSQL.
        shutil.move(place / "repository", place / "away")
        try:
            failed = stack.launch("backup")
            assert failed.returncode == 1
            # It is served without them.
            up = stack.launch("up")
            assert up.returncode == 0, up.stdout + up.stderr
            assert "starts without its backups" in up.stdout
            until(lambda: stack.backups.report().failures, 90)
        finally:
            shutil.rmtree(place / "repository", ignore_errors=True)
            shutil.move(place / "away", place / "repository")
        until(lambda: not stack.backups.report().failures, 90)
        assert stack.launch("backup").returncode == 0


@contextmanager
def s3_behind_tls(folder: Path) -> Iterator[dict[str, str]]:
    """Run an S3 server behind TLS with a certificate of its own authority."""
    outside = free_port()
    configuration_file = folder / "Caddyfile"
    caddy = [
        str(VENV / "bin" / "caddy"),
        "run",
        "--config",
        str(configuration_file),
        "--adapter",
        "caddyfile",
    ]
    with s3_server(folder / "served", "kept") as server:
        configuration_file.write_text(
            "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n"
            f"\tstorage file_system {folder / 'certificates'}\n}}\n"
            f"https://localhost:{outside} {{\n\tbind 127.0.0.1\n\ttls internal\n"
            f"\treverse_proxy 127.0.0.1:{server.port}\n}}\n"
        )
        front = subprocess.Popen(caddy)
        try:
            root = folder / "certificates" / "pki" / "authorities" / "local" / "root.crt"
            until(root.exists, 30)
            authority = folder / "authority.crt"
            shutil.copyfile(root, authority)
            authority.chmod(0o644)
            yield {
                "BACKUP_REPOSITORY": "s3://kept/stack",
                "BACKUP_S3_ENDPOINT": f"https://localhost:{outside}",
                "BACKUP_S3_KEY": server.access,
                "BACKUP_S3_SECRET": server.secret,
                "BACKUP_S3_CA": str(authority),
            }
        finally:
            front.terminate()
            front.wait()


@pytest.mark.long
def test_a_repository_on_an_s3_server_restores_like_one_on_a_disk(place: Path) -> None:
    with s3_behind_tls(place) as access, with_backups(place, **access) as stack:
        archive(stack)
        sums = stack.rows(SUMS)
        with copied(stack, "copy") as copy:
            assert copy.rows(SUMS) == sums


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"BACKUP_REPOSITORY": "backups"}, "a whole path"),
        ({"BACKUP_REPOSITORY": "{state}/backups"}, "which it is to save"),
        ({"BACKUP_REPOSITORY": "/mnt/backups", "BACKUP_KEYS": "{state}/keys"}, "key and data"),
        ({"BACKUP_REPOSITORY": "s3://kept"}, "name BACKUP_S3_ENDPOINT, BACKUP_S3_KEY, BACKUP_S3_SECRET"),
        (
            {
                "BACKUP_REPOSITORY": "s3://kept",
                "BACKUP_S3_ENDPOINT": "http://s3.example.org",
                "BACKUP_S3_KEY": "a",
                "BACKUP_S3_SECRET": "b",
            },
            "an https address",
        ),
    ],
)
def test_a_repository_that_saves_nothing_is_rejected(
    tmp_path: Path, given: dict[str, str], said: str
) -> None:
    options = {name: value.format(state=tmp_path) for name, value in given.items()}
    with pytest.raises(Stop, match=said):
        repository.of(configuration.Settings(state=tmp_path, options=options))


def test_without_backups_the_way_to_them_is_said(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="BACKUP_REPOSITORY=/mnt/backups make up"):
        Backups(configuration.Settings(state=tmp_path))


def test_a_restore_needs_a_repository_a_key_and_a_new_folder(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="Name the repository and its key"):
        restore.source({"FROM": "/mnt/backups"}, tmp_path / "copy")
    key = tmp_path / "key"
    key.write_text("00")
    named = restore.source({"FROM": "/mnt/backups", "KEY": str(key)}, tmp_path / "copy")
    shutil.rmtree(named.keys)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    with pytest.raises(Stop, match="is not empty"):
        restore.restore(tmp_path / "used", named, Path("/nowhere"), None)
    with pytest.raises(Stop, match="TO is a time"):
        restore.moment("yesterday")
    assert restore.moment("2026-03-14 18:04:59") == datetime(2026, 3, 14, 18, 4, 59, tzinfo=UTC)


def test_a_backup_without_room_says_how_much_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "stack"
    (state / "cluster").mkdir(parents=True)
    (state / "cluster" / "data").write_bytes(bytes(10**7))
    settings = configuration.Settings(state=state, options={"BACKUP_REPOSITORY": str(tmp_path)})
    usage = shutil._ntuple_diskusage(10**9, 10**9 - 2**20, 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(Stop, match=r"may need \d+ MB in .*; 1 MB are free"):
        Backups(settings).require_room()


@pytest.mark.long
def test_what_only_arrives_is_in_no_backup(state: Path) -> None:
    folder = state.with_name(f"{state.name}-arriving-{secrets.token_hex(2)}")
    options = {"BACKUP_REPOSITORY": str(folder / "kept"), "DATABASE_SERVER": "db.example.org"}
    settings = configuration.Settings(state=folder / "stack", options=options)
    try:
        for name in ("objects/objects/ab/stored", "objects/uploads/arriving", "run/none"):
            file = settings.state / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        backups = Backups(settings)
        backups.repository.make_key()
        backups.repository.make_folders()
        system_user.hand_over(folder)
        backups.prepare()
        backups.back_up_files()
        listed = subprocess.run(
            backups.repository.restic("ls", "latest"),
            env={**os.environ, **backups.repository.restic_environment()},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        assert "/objects/objects/ab/stored" in listed
        assert not [name for name in listed if "uploads" in name]
    finally:
        shutil.rmtree(folder)


def test_what_is_new_is_found(tmp_path: Path) -> None:
    state = tmp_path / "stack"
    for folder in ("run", "objects", "keys"):
        (state / folder).mkdir(parents=True)
    settings = configuration.Settings(state=state, options={"BACKUP_REPOSITORY": str(tmp_path / "kept")})
    backups = Backups(settings)
    assert backups.have_files_changed()
    earlier = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    (state / "objects" / "receipt").touch()
    os.utime(state / "objects" / "receipt", (earlier, earlier))
    os.utime(state / "objects", (earlier, earlier))
    report = {"at": "2026-02-01T00:00:00+00:00", "files_at": "2026-02-01T00:00:00+00:00"}
    backups.report_file.write_text(json.dumps(report))
    assert not backups.have_files_changed()
    (state / "objects" / "other").touch()
    assert backups.have_files_changed()
