"""The job queue: procrastinate's tables, which lie in a schema of their own, and its worker."""

import asyncio
import logging
import time
from datetime import datetime
from importlib import resources
from importlib.resources.abc import Traversable

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import UniqueViolation
from procrastinate.jobs import DEFAULT_QUEUE, Job
from procrastinate.manager import QUEUEING_LOCK_CONSTRAINT, JobManager
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from functions.core.database import Pool, make_pool
from functions.worker.jobs import FILES, Resources, blueprint, end_dead_job
from functions.worker.settings import WorkerSettings

# sql/schema/270_job_queue.sql opens the schema to this role.
SEARCH_PATH = "-c search_path=procrastinate"
SQL_FILES = resources.files("procrastinate") / "sql"
# Versions of the product that recorded no migrations had all of these, those up to procrastinate 3.10.
LAST_UNRECORDED = "03.04.00_50_post_add_retry_failed_job_procedure.sql"
# The queue's functions name its tables without their schema: they shall find these and no others.
PIN_SEARCH_PATH = """
do $$
declare
    v_function regprocedure;
begin
    for v_function in select p.oid from pg_proc as p where p.pronamespace = 'procrastinate'::regnamespace loop
        execute format('alter routine %s set search_path = procrastinate', v_function);
    end loop;
end
$$
"""
# A smaller step of the clock delays the jobs of a minute at most.
STEP_SECONDS = 60
# procrastinate queues a job once for each time of the schedule: after the clock was set back it would queue
# none until the last of them comes again. Retries wait for minutes. What is of the next minute stays queued:
# the clock of another worker's machine may be a little ahead, and its job would be queued twice.
PURGE_LATER_RUNS = f"""
with purged as (
    delete from procrastinate_periodic_defers
    where defer_timestamp > extract(epoch from clock_timestamp()) + {STEP_SECONDS}
)
update procrastinate_jobs set scheduled_at = null
where status = 'todo' and scheduled_at > clock_timestamp() + interval '10 minutes'
"""
LOOK_AT_CLOCK_SECONDS = 5.0
log = logging.getLogger("worker")
# list_jobs shows administrators what failed: it runs as the owner of the schema, who owns no table in it.
LET_OWNER_READ = """
do $$
begin
    execute format(
        'grant select on procrastinate_jobs, procrastinate_events to %s',
        (select n.nspowner::regrole from pg_namespace as n where n.nspname = 'procrastinate')
    );
end
$$
"""


def make_queue_pool(settings: WorkerSettings) -> Pool:
    """Return a closed pool whose connections find the queue's tables."""
    url = make_conninfo(settings.database_url, options=SEARCH_PATH)
    return make_pool(url, settings.database_pool_size, "worker")


async def install(database_url: str) -> None:
    """Create procrastinate's tables, or bring them to this package's version, and let them be read.

    Several workers take turns. Each migration is recorded in its own transaction: after one that fails the
    next start goes on with it.
    """
    connection = await psycopg.AsyncConnection.connect(database_url, options=SEARCH_PATH, autocommit=True)
    async with connection:
        await connection.execute("select pg_advisory_lock(hashtext('procrastinate.install'))")
        if not await _has(connection, "procrastinate_jobs"):
            async with connection.transaction():
                await _execute_file(connection, SQL_FILES / "schema.sql")
                await _record(connection, _migrations())
        elif not await _has(connection, "applied_migrations"):
            async with connection.transaction():
                await _record(connection, [name for name in _migrations() if name <= LAST_UNRECORDED])
        for name in await _pending(connection):
            async with connection.transaction():
                await _execute_file(connection, SQL_FILES / "migrations" / name)
                await _record(connection, [name])
        await connection.execute(LET_OWNER_READ)


def _migrations() -> list[str]:
    """Return the package's migrations in their order; its schema file is what all of them make."""
    names = (file.name for file in (SQL_FILES / "migrations").iterdir())
    return sorted(name for name in names if name.endswith(".sql"))


async def _has(connection: psycopg.AsyncConnection[TupleRow], table: str) -> bool:
    found = await connection.execute("select to_regclass(%s) is not null", [f"procrastinate.{table}"])
    return await found.fetchone() == (True,)


async def _pending(connection: psycopg.AsyncConnection[TupleRow]) -> list[str]:
    found = await connection.execute("select name from applied_migrations")
    applied = {name for (name,) in await found.fetchall()}
    return [name for name in _migrations() if name not in applied]


async def _execute_file(connection: psycopg.AsyncConnection[TupleRow], file: Traversable) -> None:
    await connection.execute(file.read_text(encoding="utf-8").encode())
    # A function that is replaced loses what was set for it.
    await connection.execute(PIN_SEARCH_PATH)


async def _record(connection: psycopg.AsyncConnection[TupleRow], names: list[str]) -> None:
    await connection.execute(
        "create table if not exists applied_migrations"
        " (name text primary key, applied_at timestamptz not null default clock_timestamp())"
    )
    await connection.execute("insert into applied_migrations (name) select unnest(%s::text[])", [names])


class RetryingJobManager(JobManager):
    """Lets a job be tried again while another of its task waits.

    One of each task may wait, so procrastinate rejects the second try and leaves the job as under way: what
    waits for its lock would do so for ever.
    """

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Queue a job again, in the place of the one that waits: it knows how often it was tried."""
        while True:
            try:
                await super().retry_job(job, retry_at, priority, queue, lock)
            except UniqueViolation as error:
                if error.constraint_name != QUEUEING_LOCK_CONSTRAINT:
                    raise
                for waiting in await self.list_jobs_async(queueing_lock=job.queueing_lock, status="todo"):
                    assert waiting.id
                    await self.cancel_job_by_id_async(waiting.id, delete_job=True)
            else:
                return


def make_queue() -> App:
    """Return the application that queues and runs jobs; open it with the pool."""
    app = App(connector=PsycopgConnector())
    app.job_manager = RetryingJobManager(app.connector)
    app.add_tasks_from(blueprint, namespace="product")
    return app


async def work(app: App, job_resources: Resources) -> None:
    """Run jobs until cancelled, or until the database goes away; anew when the clock is set back."""
    is_set_back = True
    while is_set_back:
        await purge_later_runs(job_resources.pool)
        is_set_back = await run_until_set_back(app, job_resources)


async def purge_later_runs(pool: Pool) -> None:
    """Let jobs run at times at which they ran before the clock was set back."""
    async with pool.connection() as connection:
        await connection.execute(PURGE_LATER_RUNS)


async def run_until_set_back(app: App, job_resources: Resources) -> bool:
    """Run jobs; return true when the clock was set back, false when the worker has ended."""
    jobs = asyncio.create_task(run_jobs(app, job_resources))
    clock = asyncio.create_task(wait_until_set_back())
    try:
        await asyncio.wait((jobs, clock), return_when=asyncio.FIRST_COMPLETED)
        if jobs.done():
            jobs.result()
            return False
        log.warning("the clock was set back")
        return True
    finally:
        jobs.cancel()
        clock.cancel()
        await asyncio.gather(jobs, clock, return_exceptions=True)


async def wait_until_set_back() -> None:
    """Return when the clock has gone back by more than a minute."""
    latest = time.time()
    while (now := time.time()) > latest - STEP_SECONDS:
        latest = max(latest, now)
        await asyncio.sleep(LOOK_AT_CLOCK_SECONDS)


async def run_jobs(app: App, job_resources: Resources) -> None:
    """Run jobs until cancelled, or until the database goes away."""
    await app.run_worker_async(
        queues=[DEFAULT_QUEUE, *([FILES] if job_resources.settings.keeps_files else [])],
        concurrency=2,
        delete_jobs="successful",
        # A job may be announced between the first look and the first LISTEN at a start.
        fetch_job_polling_interval=5,
        abort_job_polling_interval=60,
        shutdown_graceful_timeout=15,
        install_signal_handlers=False,
        additional_context={"resources": job_resources},
        worker_middleware=[end_dead_job],
    )
