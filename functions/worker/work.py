"""The working day: opens the queue, the pool and the listeners, and ends when one of them does."""

import asyncio
import logging
from importlib import resources

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued
from psycopg.conninfo import make_conninfo

from functions.core.database import Pool, make_pool
from functions.core.metrics import published, waiting
from functions.worker.audit_heads import AuditHeads
from functions.worker.health import serve_health
from functions.worker.jobs import deliver_mail, timetable
from functions.worker.post import Post
from functions.worker.receipts import UnusedReceipts
from functions.worker.settings import WorkerSettings

# procrastinate's tables lie in a schema of their own, which sql/schema/270_job_queue.sql opens to this role.
QUEUE_SCHEMA = "-c search_path=procrastinate"
MAIL_CHANNEL = "outbox"
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
COUNT_EVERY_SECONDS = 15
COUNTED_STATES = ("todo", "doing", "failed")
log = logging.getLogger("worker")


async def work(settings: WorkerSettings) -> None:
    """Open what is needed, install the queue's tables when they are missing, and run until a signal."""
    await install_queue(settings.database_url)
    url = make_conninfo(settings.database_url, options=QUEUE_SCHEMA)
    pool = make_pool(url, settings.database_pool_size, "worker")
    post = Post(pool, settings)
    app = App(connector=PsycopgConnector())
    app.add_tasks_from(timetable, namespace="product")
    # When one of them fails, the others are cancelled and the supervisor starts the process anew.
    async with pool, app.open_async(pool), asyncio.TaskGroup() as together:
        beside = [
            together.create_task(listen(settings.database_url)),
            together.create_task(publish(settings, pool)),
        ]
        if settings.port:
            beside.append(together.create_task(serve_health(settings.host, settings.port, pool)))
        await app.run_worker_async(
            concurrency=2,
            delete_jobs="successful",
            # A job may be announced between the first look and the first ear at a start.
            fetch_job_polling_interval=5,
            abort_job_polling_interval=60,
            shutdown_graceful_timeout=15,
            additional_context={
                "post": post,
                "receipts": UnusedReceipts(pool, settings),
                "audit_heads": AuditHeads(post, settings.audit_heads_path),
            },
        )
        for task in beside:
            task.cancel()


async def install_queue(database_url: str) -> None:
    """Create procrastinate's tables on the first start, and let them be read, in one transaction."""
    connection = await psycopg.AsyncConnection.connect(database_url, options=QUEUE_SCHEMA)
    async with connection:
        await connection.execute("select pg_advisory_xact_lock(hashtext('procrastinate.install'))")
        found = await connection.execute("select to_regclass('procrastinate.procrastinate_jobs') as jobs")
        row = await found.fetchone()
        if row is None or row[0] is None:
            schema = resources.files("procrastinate.sql").joinpath("schema.sql").read_text(encoding="utf-8")
            await connection.execute(schema.encode())
            await connection.execute(PIN_SEARCH_PATH)
        await connection.execute(LET_OWNER_READ)


async def listen(database_url: str) -> None:
    """Ask for a delivery at once, and again whenever a transaction has written to the outbox."""
    connection = await psycopg.AsyncConnection.connect(
        database_url, autocommit=True, application_name="worker-mail"
    )
    async with connection:
        await connection.execute(f"listen {MAIL_CHANNEL}")
        await ask_for_delivery()
        async for _ in connection.notifies():
            await ask_for_delivery()


async def ask_for_delivery() -> None:
    """Put one delivery into the queue, unless one is waiting there already."""
    try:
        await deliver_mail.defer_async()
    except AlreadyEnqueued:
        log.debug("a delivery is waiting already")


async def publish(settings: WorkerSettings, pool: Pool) -> None:
    """Serve the figures, and count now and then what still has to be done."""
    with published(settings, pool):
        while settings.metrics_port is not None:
            try:
                await count_waiting(pool)
            except psycopg.Error:
                log.warning("what waits could not be counted", exc_info=True)
            await asyncio.sleep(COUNT_EVERY_SECONDS)


async def count_waiting(pool: Pool) -> None:
    """Jobs of the queue by state, and letters of the outbox."""
    async with pool.connection() as connection:
        jobs = await connection.execute(
            "select s.state, count(j.id) as depth from unnest(%s::procrastinate_job_status[]) as s (state)"
            " left join procrastinate_jobs as j on j.status = s.state group by s.state",
            [list(COUNTED_STATES)],
        )
        for row in await jobs.fetchall():
            waiting.labels("jobs", row["state"]).set(row["depth"])
        letters = await connection.execute("select * from jobs.count_mail()")
        for row in await letters.fetchall():
            waiting.labels("mail", row["state"]).set(row["depth"])
