"""pgBackRest under Patroni: whichever node is the primary archives, and a restore crosses to the next."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from launcher import private_files
from launcher.host import system_user
from launcher.terminal import Stop
from tests.cluster.site import Site, running
from tests.cluster.workload import Workload, working
from tests.support.own_stack import until
from tests.support.ports import free_port

pytestmark = [pytest.mark.long, pytest.mark.alone]
WORK_SECONDS = 8
# What a commit takes from its time to its acknowledgement, and more.
ACKNOWLEDGED_WITHIN_SECONDS = 3
APPROVED = "select id::text from public.deposits where status = 'approved'"
OPEN_ALARMS = "select object from private.alarms where kind = 'backup' and ended_at is null"


@pytest.fixture(scope="module")
def site(state: Path) -> Iterator[Site]:
    """Start one with backups of the files, and a first one of the database."""
    with running(state, backups=True) as started:
        back_up(started, "full")
        yield started


def back_up(site: Site, kind: str) -> None:
    """Back up the database on the node that is the primary."""
    site.cluster.backups.run(site.primary().folder, "backup", f"--type={kind}")


def archive_all(site: Site) -> None:
    """Let the primary archive what was written until now."""
    ((segment,),) = site.rows("select pg_walfile_name(pg_switch_wal())")
    until(lambda: site.rows("select last_archived_wal from pg_stat_archiver")[0][0] >= segment, 60)


@contextmanager
def restored(site: Site, to: datetime) -> Iterator[int]:
    """Restore the database beside the cluster as it was at a moment; yield the port of its server."""
    port, started = free_port(), time.monotonic()
    with site.cluster.restored(site.cluster.folder / f"restored-{port}", port, to):
        print(f"\nrestored: {time.monotonic() - started:.1f} s")
        yield port


def approved_at(site: Site, port: int) -> set[str]:
    """Return the deposits that the server at a port has as approved."""
    with psycopg.connect(site.cluster.url_at(port)) as connection:
        return {name for (name,) in connection.execute(APPROVED).fetchall()}


def require_as_it_was(work: Workload, at: float, approved: set[str]) -> None:
    """Raise unless these deposits are those whose approval was acknowledged until a moment."""
    before = {deposit for deposit, when in work.approved.items() if when <= at}
    after = {deposit for deposit, when in work.approved.items() if when > at + ACKNOWLEDGED_WITHIN_SECONDS}
    assert before
    assert after
    assert before <= approved, "an acknowledged decision is not in the backups"
    assert not after & approved, "it is not as it was at that moment"


def work_on(work: Workload) -> None:
    """Wait until more decisions were acknowledged, also after the primary is another."""
    since = time.monotonic()
    until(lambda: max(work.approved.values(), default=0) > since + WORK_SECONDS, 90)


def take_over(site: Site) -> None:
    """Let a super administrator acknowledge the copy, which decides nothing until then."""
    ((alarm,),) = site.rows("select id::text from private.alarms where kind = 'restored'")
    given = {"p_id": alarm, "p_reason": "It takes over."}
    token = site.stack.administrator("ADMIN")
    site.stack.ask("/rest/v1/rpc/acknowledge_alarm", token, given).raise_for_status()


def test_a_restore_crosses_a_switch_and_a_lost_primary(site: Site) -> None:
    with working(site.stack, site.referrer) as work:
        work_on(work)
        site.cluster.switch()
        work_on(work)
        lost = site.primary()
        site.cluster.lose(lost)
        until(lambda: site.cluster.primary() not in (None, lost), 60)
        work_on(work)
        at, moment = time.monotonic(), datetime.now(UTC)
        work_on(work)
    site.cluster.start_node(lost)
    archive_all(site)
    with restored(site, moment) as port:
        require_as_it_was(work, at, approved_at(site, port))
        done = site.stack.launch("restore-drill", RESTORED=f"127.0.0.1:{port}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Its ledger is in order" in done.stdout
    until(lambda: lost in site.cluster.replicas(), 60)
    site.require_nothing_lost(work)
    # The worker looks once a minute.
    until(lambda: site.rows("select private.are_backups_made()") == [(True,)], 130)
    assert site.rows(OPEN_ALARMS) == []


def test_a_segment_with_another_content_is_left_out_of_earlier_timelines_alone(site: Site) -> None:
    primary = site.primary()
    place = primary.folder / "pushed"
    private_files.make_folder(place)
    segments = sorted((primary.data / "pg_wal").glob("0000*[0-9A-F]"))
    archived = [path for path in segments if (path.parent / "archive_status" / f"{path.name}.done").exists()]
    history = max((primary.data / "pg_wal").glob("*.history"))
    newest = archived[-1]
    assert newest.name.startswith(history.stem), "the segment is of the current timeline"
    shutil.copy(history, place)
    other = place / newest.name
    other.write_bytes(newest.read_bytes()[:-1] + b"?")
    system_user.hand_over(place)
    pushed = site.cluster.backups.push(primary.folder, other)
    assert (pushed.returncode, "with a different checksum" in pushed.stdout + pushed.stderr) == (45, True)
    # As a node that is a timeline further.
    following = place / f"{int(history.stem, 16) + 1:08X}.history"
    history_of_next = place / history.name
    history_of_next.rename(following)
    pushed = site.cluster.backups.push(primary.folder, other)
    assert (pushed.returncode, "left out" in pushed.stderr) == (0, True), pushed.stderr


def test_what_a_lost_primary_had_not_archived_needs_a_backup(site: Site) -> None:
    backups, away = site.cluster.backups, site.cluster.folder / "away"
    back_up(site, "full")
    until(lambda: len(site.cluster.replicas()) == 2, 60)
    backups.place.rename(away)
    lost = site.primary()
    with working(site.stack, site.referrer) as work:
        work_on(work)
        # A whole segment, which the others have too and take for archived.
        site.rows("select pg_switch_wal()")
        work_on(work)
        site.cluster.lose(lost)
        until(lambda: site.cluster.primary() not in (None, lost), 60)
        away.rename(backups.place)
        work_on(work)
        gap_at, gap = time.monotonic(), datetime.now(UTC)
        work_on(work)
        archive_all(site)
        with pytest.raises(Stop), restored(site, gap):
            pass
        back_up(site, "diff")
        work_on(work)
        at, moment = time.monotonic(), datetime.now(UTC)
        work_on(work)
    archive_all(site)
    with restored(site, moment) as port:
        require_as_it_was(work, at, approved_at(site, port))
    # The machine that comes back archives the rest before it follows.
    site.cluster.start_node(lost)
    until(lambda: lost in site.cluster.replicas(), 60)
    with restored(site, gap) as port:
        require_as_it_was(work, gap_at, approved_at(site, port))
    site.require_nothing_lost(work)


def test_the_cluster_is_taken_back_to_a_moment(site: Site) -> None:
    back_up(site, "diff")
    with working(site.stack, site.referrer) as work:
        work_on(work)
        at, moment = time.monotonic(), datetime.now(UTC)
        work_on(work)
    archive_all(site)
    started = time.monotonic()
    site.cluster.take_back(moment)
    print(f"\ntaken back: {time.monotonic() - started:.1f} s")
    require_as_it_was(work, at, approved_at(site, site.primary().port))
    until(lambda: len(site.cluster.replicas()) == 2, 60)
    take_over(site)
    with working(site.stack, site.referrer) as work:
        work_on(work)
    site.require_nothing_lost(work)
    # Its timeline is a new one to the repository, and goes on in the same.
    archive_all(site)
    back_up(site, "diff")
