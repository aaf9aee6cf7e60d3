"""Two workers over one database: each job, each email and each link of the audit log once."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from functions.worker import job_queue
from functions.worker.jobs import FILES
from tests.support.own_auth import MailServer
from tests.support.own_database import own_database
from tests.support.own_worker import own_worker
from tests.support.stack import Stack

Database = psycopg.Connection[Any]
# What is queued, and what a worker begins and how often it was tried before.
LOG = """
create table procrastinate.test_log (
    job_id bigint, task text, queue text, at text, attempts integer, step text
);
create function procrastinate.log_for_test() returns trigger language plpgsql as $$
begin
    insert into procrastinate.test_log
    values (
        new.id, new.task_name, new.queue_name, new.args ->> 'timestamp', new.attempts,
        case when tg_op = 'INSERT' then 'queued' else new.status::text end
    );
    return new;
end
$$;
create trigger log_for_test after insert or update of status on procrastinate.procrastinate_jobs
for each row execute function procrastinate.log_for_test();
"""
EMAILS = """
insert into private.outbox (template, recipient, data)
select 'test', format('once-%%s@example.com', n), '{"title": "Once", "body": "Once."}'
from generate_series(1, %s) as n
"""
UNSENT = "select count(*) from private.outbox where sent_at is null"


@pytest.fixture(scope="module")
def address(stack: Stack) -> Iterator[str]:
    """Yield a database of its own, in which the queue says what happens."""
    with own_database(stack) as url:
        asyncio.run(job_queue.install(url))
        with psycopg.connect(url) as database:
            database.execute(LOG)
        yield url


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """Yield it with an empty queue: workers that start queue everything of this minute."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "truncate procrastinate.procrastinate_jobs, procrastinate.procrastinate_periodic_defers,"
            " procrastinate.test_log cascade"
        )
        yield connection


@pytest.fixture
def mail() -> Iterator[MailServer]:
    """Yield a mail server."""
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def start(address: str, mail: MailServer, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Start a worker that lives until the test ends."""
    with ExitStack() as held:

        def begin(**settings: str) -> None:
            held.enter_context(own_worker(address, mail.server_address[1], tmp_path, **settings))

        yield begin


def until(condition: Callable[[], Any]) -> None:
    """Wait until it is so."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def number(database: Database, query: str, *arguments: object) -> int:
    """Return what a query counts."""
    row = database.execute(query, arguments).fetchone()  # type: ignore[call-overload]
    assert row
    return int(row[0])


def test_a_job_of_the_schedule_is_queued_and_begun_once(
    database: Database, start: Callable[..., None]
) -> None:
    minutes = 7
    for _ in range(2):
        start()
    done = (
        "select count(distinct l.task) from procrastinate.test_log as l where l.step = 'doing' and not exists"
        " (select from procrastinate.procrastinate_jobs as j where j.id = l.job_id)"
    )
    until(lambda: number(database, "select count(*) from procrastinate.procrastinate_workers") == 2)
    until(lambda: number(database, done) >= minutes)
    queued = "select task, at from procrastinate.test_log where step = 'queued' and at is not null"
    assert number(database, f"select count(*) from ({queued}) as q") >= minutes
    assert database.execute(f"{queued} group by task, at having count(*) > 1").fetchall() == []
    begun = "select job_id from procrastinate.test_log where step = 'doing' group by job_id, attempts"
    assert database.execute(f"{begun} having count(*) > 1").fetchall() == []


def test_what_a_dead_worker_left_is_done_though_another_of_its_task_waits(
    database: Database, start: Callable[..., None]
) -> None:
    dead, _ = database.execute(
        "insert into procrastinate.procrastinate_jobs (queue_name, task_name, lock, queueing_lock, status)"
        " select 'default', 'product:send_webhooks', 'send_webhooks', 'send_webhooks', s"
        " from unnest(array['doing', 'todo']::procrastinate.procrastinate_job_status[]) as s returning id"
    ).fetchall()
    start()
    left = "select count(*) from procrastinate.procrastinate_jobs where lock = 'send_webhooks'"
    until(lambda: not number(database, left))
    begun = "select job_id, attempts from procrastinate.test_log where step = 'doing' and task like %s"
    # Not the one that waited: it does not know how often it was tried.
    assert database.execute(begun, ["%send_webhooks"]).fetchall() == [(*dead, 1)]


def test_an_email_is_sent_once(database: Database, start: Callable[..., None], mail: MailServer) -> None:
    for _ in range(2):
        start()
    database.execute(EMAILS, [90])
    until(lambda: not number(database, UNSENT))
    sent = [line for message in mail.messages for line in message.splitlines() if "RCPT TO:<once-" in line]
    assert (len(sent), len(set(sent))) == (90, 90)
    assert number(database, "select max(attempts) from private.outbox") == 1


@pytest.mark.threat("T130")
def test_the_audit_log_is_one_chain(address: str, database: Database, start: Callable[..., None]) -> None:
    for _ in range(2):
        start()
    until(lambda: number(database, "select count(*) from procrastinate.procrastinate_workers") == 2)

    def write(_: int) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            for _ in range(40):
                connection.execute("select private.audit('system', 'test.instances', null, null)")
                time.sleep(0.05)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    until(lambda: not number(database, "select count(*) from private.unlinked_entries"))
    assert database.execute("select private.verify_audit_chain()").fetchall() == []
    assert number(database, "select count(*) from private.alarms where kind = 'audit_entry'") == 0


def test_each_looks_at_the_disks_of_its_own_machine(database: Database, start: Callable[..., None]) -> None:
    for folder in ("the receipts", "the receipts of the second machine"):
        start(DISK_FOLDERS=f'{{"{folder}": "/"}}', DISK_FULL_PERCENT="1", DISK_URGENT_PERCENT="101")
    opened = "select count(*) from private.alarms where kind = 'disk' and ended_at is null"
    until(lambda: number(database, opened) == 2)


def test_the_jobs_that_read_files_are_left_to_the_machine_that_has_them(
    database: Database, start: Callable[..., None]
) -> None:
    waiting = (
        "select count(*) from procrastinate.procrastinate_jobs where queue_name = %s and status = 'todo'"
    )
    begun = "select count(*) from procrastinate.test_log where step = 'doing' and queue = %s"
    start(KEEPS_FILES="false")
    until(lambda: number(database, begun, "default") >= 7 and number(database, waiting, FILES))
    # Once this has left, what was queued before it has had its turn.
    database.execute(EMAILS, [1])
    until(lambda: not number(database, UNSENT))
    assert number(database, begun, FILES) == 0
    start()
    until(lambda: number(database, begun, FILES) and not number(database, waiting, FILES))


def test_a_worker_whose_clock_is_behind_queues_nothing_again(address: str, database: Database) -> None:
    """What is of the next minute was queued by a worker whose clock is ahead."""
    pool = job_queue.make_pool(address, 1, "test", options=job_queue.SEARCH_PATH)

    async def purge() -> None:
        async with pool:
            await job_queue.purge_later_runs(pool)

    database.execute(
        "insert into procrastinate.procrastinate_periodic_defers (task_name, defer_timestamp, periodic_id)"
        " select 'test', extract(epoch from now()) + n, '' from unnest(array[30, 90]) as n"
    )
    asyncio.run(purge())
    assert number(database, "select count(*) from procrastinate.procrastinate_periodic_defers") == 1
