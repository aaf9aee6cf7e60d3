"""Backups while people work, of a machine that is lost in the middle, and on disks that are full."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row

from launcher.backups import repository
from tests.support.disks import fill, small_disk
from tests.support.own_stack import SUMS, OwnStack, until, with_backups
from tests.support.people import People
from tests.support.stack import Stack

# What may be lost with a machine: a segment is stored at the latest a minute after it was begun.
MAY_BE_LOST_SECONDS = 60
# To hand a segment over, and for the clocks of the one who asked and the one who stored.
TO_HAND_OVER_SECONDS = 5
WORKED_SECONDS = 100


@dataclass
class Work:
    """What was acknowledged: of each approved deposit the moment."""

    approved: dict[str, datetime] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def go_on(self, people: People, referrer: str) -> None:
        """Upload a receipt, ask for a deposit and approve it, again and again."""
        administrator = people.administrator("finance_admin")
        while not self.ended.is_set():
            member = people.member(referrer)
            deposit = member.deposit(50)
            administrator.approve_deposit(deposit["id"]).raise_for_status()
            self.approved[deposit["id"]] = datetime.now(UTC)


@contextmanager
def working(stack: OwnStack) -> Iterator[Work]:
    """Yield what three people acknowledge meanwhile."""
    work, values = Work(), stack.values
    named = Stack(
        url=values["SUPABASE_URL"],
        anon_key=values["SUPABASE_ANON_KEY"],
        service_key=values["SUPABASE_SERVICE_ROLE_KEY"],
        database_url=values["DATABASE_URL"],
        mail_url=values["MAIL_URL"],
        values=values,
    )
    with psycopg.connect(values["DATABASE_ADMIN_URL"], autocommit=True, row_factory=dict_row) as owner:
        ((referrer,),) = stack.rows("select id::text from private.profiles where referrer_id is null limit 1")

        def one() -> None:
            # The machine may be lost while one is at it.
            with suppress(httpx.HTTPError, psycopg.Error):
                work.go_on(People(named, owner), referrer)

        threads = [threading.Thread(target=one) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            yield work
        finally:
            work.ended.set()
            for thread in threads:
                thread.join()


def lose(stack: OwnStack) -> None:
    """End everything of a stack at once, as a machine that is lost does."""
    postmaster = (stack.settings.data_directory / "postmaster.pid").read_text().split()[0]
    for pid in ((stack.state / "run" / "supervisord.pid").read_text(), postmaster):
        os.kill(int(pid), signal.SIGKILL)


@contextmanager
def restored(stack: OwnStack, folder: Path) -> Iterator[OwnStack]:
    """Restore it as late as the archive goes, and start the copy."""
    copy = OwnStack(folder, {})
    key = str(stack.backups.repository.keys / repository.KEY)
    try:
        done = copy.launch("restore", FROM=stack.backups.repository.location, KEY=key)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ledger is in order" in done.stdout
        copy.up()
        yield copy
    finally:
        copy.remove()


@pytest.mark.long
def test_of_work_that_goes_on_at_most_a_minute_is_lost(place: Path) -> None:
    with with_backups(place) as stack:
        with working(stack) as work:
            until(lambda: len(work.approved) >= 3, 60)
            for _ in range(2):
                made = stack.launch("backup")
                assert made.returncode == 0, made.stdout + made.stderr
            time.sleep(WORKED_SECONDS)
            lost_at = datetime.now(UTC)
            lose(stack)
        with restored(stack, place / "copy") as copy:
            approved = "select id::text from public.deposits where status = 'approved'"
            there = {deposit for (deposit,) in copy.rows(approved)}
            lost = [at for deposit, at in work.approved.items() if deposit not in there]
            seconds = max(((lost_at - at).total_seconds() for at in lost), default=0.0)
            print(f"{len(work.approved)} acknowledged, {len(lost)} lost, of the last {seconds:.0f} s")
            assert len(work.approved) > 20
            assert seconds <= MAY_BE_LOST_SECONDS + TO_HAND_OVER_SECONDS
            # A receipt is stored within as long, though apart from its row.
            held = {path.name for path in (copy.state / "objects").rglob("*") if path.is_file()}
            receipts = copy.rows("select version::text, created_at from storage.objects")
            missing = [at for version, at in receipts if version not in held]
            assert len(missing) < len(receipts)
            assert all((lost_at - at).total_seconds() <= MAY_BE_LOST_SECONDS for at in missing), missing


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a small disk")
def test_a_full_disk_at_each_step_loses_nothing(place: Path) -> None:
    with (
        small_disk(place / "disk", 400) as disk,
        with_backups(place, BACKUP_REPOSITORY=str(disk / "backups")) as stack,
    ):
        ((deposit,),) = stack.rows("select id::text from public.deposits where status = 'pending' limit 1")
        filling = fill(disk)
        # Members and administrators notice nothing; who asks is told, and so is an alarm.
        assert stack.approve(deposit).status_code == 200
        failed = stack.launch("backup")
        assert failed.returncode == 1
        assert "Make room" in failed.stderr
        assert "Traceback" not in failed.stderr
        stack.rows("select pg_switch_wal()")
        until(lambda: stack.rows("select failed_count > 0 from pg_stat_archiver")[0][0], 90)
        filling.unlink()
        sums = stack.rows(SUMS)
        ((position,),) = stack.rows("select pg_walfile_name(pg_current_wal_lsn())")
        until(
            lambda: (stack.rows("select last_archived_wal from pg_stat_archiver")[0][0] or "") >= position,
            150,
        )
        made = stack.launch("backup")
        assert made.returncode == 0, made.stdout + made.stderr
        # Where a copy has no room nothing of it is left, and the next one is whole.
        key = str(stack.backups.repository.keys / repository.KEY)
        with small_disk(place / "small", 40) as small:
            copy = OwnStack(small / "copy", {})
            failed = copy.launch("restore", FROM=stack.backups.repository.location, KEY=key)
            assert failed.returncode == 1
            assert "The database could not be recovered" in failed.stderr or "No space left" in failed.stderr
            assert "Traceback" not in failed.stderr
            assert not copy.state.exists()
        with restored(stack, place / "copy") as copy:
            assert copy.rows(SUMS) == sums
