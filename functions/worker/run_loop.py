"""Runs the worker's tasks in parallel until the process is asked to stop.

Each of them outlives an outage of the database: it starts anew until the database is back. Work is looked
for every second (decision D7).
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.tasks import Task

from functions.core.database import Pool
from functions.core.metrics import published
from functions.worker import job_queue
from functions.worker.audit_links import link_entries
from functions.worker.disks import look_at_disks
from functions.worker.gauges import Gauges
from functions.worker.health import serve_health
from functions.worker.jobs import Resources, deliver_mail, notify_earnings, send_webhooks
from functions.worker.settings import WorkerSettings

RETRY_SECONDS = 0.5
LOOK_FOR_WORK_EVERY_SECONDS = 1
READ_EVERY_SECONDS = 15
DUE = "select jobs.is_mail_due(), jobs.are_earnings_due(), jobs.is_webhook_due()"
log = logging.getLogger("worker")


async def run(settings: WorkerSettings) -> None:
    """Open what is needed, install the queue's tables when they are missing, and run until a signal."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    pool, app = job_queue.make_queue_pool(settings), job_queue.make_queue()

    async def work() -> None:
        await job_queue.install(settings.database_url)
        await job_queue.work(app, Resources.of(settings, pool))

    async def look_for_work() -> None:
        await job_queue.install(settings.database_url)
        await queue_due_work(settings.database_url)

    async def link_audit_entries() -> None:
        await link_entries(settings.database_url)

    async def watch_disks() -> None:
        await look_at_disks(pool, settings)

    # When one of them fails for another reason, the others are cancelled and the process ends.
    async with pool, app.open_async(pool), asyncio.TaskGroup() as task_group:
        tasks = [
            task_group.create_task(outlive_outages("jobs", work, stopped)),
            task_group.create_task(outlive_outages("work", look_for_work, stopped)),
            task_group.create_task(outlive_outages("audit", link_audit_entries, stopped)),
            task_group.create_task(outlive_outages("disks", watch_disks, stopped)),
            task_group.create_task(publish_metrics(settings, pool)),
        ]
        if settings.port:
            tasks.append(task_group.create_task(serve_health(settings.host, settings.port, pool)))
        await stopped.wait()
        for task in tasks:
            task.cancel()


async def outlive_outages(name: str, work: Callable[[], Awaitable[None]], stopped: asyncio.Event) -> None:
    """Do the work, which ends only with the database's connection, again until the process is stopped.

    Work that is cancelled while the database is away may end with its outage instead, so the event decides.
    """
    while not stopped.is_set():
        try:
            await work()
            reason = "ended"
        except (psycopg.OperationalError, ConnectorException) as error:
            cause = error.__cause__ if isinstance(error, ConnectorException) else error
            if not isinstance(cause, psycopg.OperationalError):
                raise
            reason = type(cause).__name__
        log.warning("the database connection was lost", extra={"fields": {"task": name, "reason": reason}})
        await asyncio.sleep(RETRY_SECONDS)


async def queue_due_work(database_url: str) -> None:
    """Queue what must not wait for the next minute: e-mails, notifications of bonuses, webhook messages."""
    connection = await psycopg.AsyncConnection.connect(
        database_url, autocommit=True, application_name="worker-due"
    )
    async with connection:
        while True:
            found = await connection.execute(DUE)
            due = await found.fetchone() or (False, False, False)
            for is_due, task in zip(due, (deliver_mail, notify_earnings, send_webhooks), strict=True):
                if is_due:
                    await queue_once(task)
            await asyncio.sleep(LOOK_FOR_WORK_EVERY_SECONDS)


async def queue_once(task: Task[..., Any, Any]) -> None:
    """Queue a task, unless it is waiting already."""
    try:
        await task.defer_async()
    except AlreadyEnqueued:
        log.debug("it is waiting already", extra={"fields": {"task": task.name}})


async def publish_metrics(settings: WorkerSettings, pool: Pool) -> None:
    """Publish the process's metrics, and the state of the business, read now and then."""
    with published(settings, pool):
        if settings.metrics_port is not None:
            await Gauges(pool, settings).publish(READ_EVERY_SECONDS)
