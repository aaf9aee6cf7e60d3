"""The schedule: which job runs when. The work itself is SQL in schema jobs.

procrastinate stores the schedule in PostgreSQL: a job that was due runs once, whichever worker takes it, and
one that is still waiting is not queued again. E-mails are leased row by row: those of a worker that dies are
sent by another.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from procrastinate import Blueprint, JobContext, RetryStrategy

from functions.core.database import Pool
from functions.worker.audit_heads import AuditHeads
from functions.worker.backups import read_report
from functions.worker.mailer import Mailer
from functions.worker.receipts import UnusedReceipts
from functions.worker.settings import WorkerSettings
from functions.worker.sql_functions import JobFunction, call
from functions.worker.webhooks import Webhooks

# After the first attempt; the last one is half an hour after it.
ATTEMPTS = 4
RETRY = RetryStrategy(max_attempts=ATTEMPTS, exponential_wait=6)
STALLED_AFTER_SECONDS = 60
# One machine of several has the files that these jobs read; its workers alone take them.
FILES = "files"
log = logging.getLogger("worker")

# By the name stored in the queue, which stays: the function of schema jobs, and when (cron, UTC).
SCHEDULE: dict[str, tuple[JobFunction, str]] = {
    "check_books": ("check_ledger", "* * * * *"),
    "make_missing_profiles": ("create_missing_profiles", "* * * * *"),
    "fold_counters": ("roll_up_counters", "* * * * *"),
    "fold_networks": ("roll_up_networks", "* * * * *"),
    "expire_admin_sessions": ("expire_admin_sessions", "*/5 * * * *"),
    "remove_unconfirmed": ("delete_unconfirmed_users", "17 * * * *"),
    "forget": ("purge", "23 * * * *"),
    "snapshot_coverage": ("snapshot_coverage", "5 * * * *"),
    "publish_disclosure": ("publish_disclosure", "2 * * * *"),
    "reconcile": ("reconcile", "30 2 * * *"),
    "check_schema": ("check_schema", "40 3 * * *"),
    "prepare_audit_log": ("prepare_audit_log", "50 3 * * *"),
    "prepare_days": ("prepare_days", "55 3 * * *"),
}

blueprint = Blueprint()


@dataclass(frozen=True)
class Resources:
    """The parts that jobs work with."""

    pool: Pool
    mailer: Mailer
    receipts: UnusedReceipts
    audit_heads: AuditHeads
    webhooks: Webhooks
    settings: WorkerSettings

    @classmethod
    def of(cls, settings: WorkerSettings, pool: Pool) -> "Resources":
        """Return the resources of a worker."""
        return cls(
            pool=pool,
            mailer=Mailer(pool, settings),
            receipts=UnusedReceipts(pool, settings),
            audit_heads=AuditHeads(pool, settings.audit_heads_path),
            webhooks=Webhooks(pool, settings),
            settings=settings,
        )


def resources_of(context: JobContext) -> Resources:
    """Return the resources that the worker was started with."""
    resources: Resources = context.additional_context["resources"]
    return resources


def make_job(name: str, function: JobFunction) -> Callable[[JobContext, int], Awaitable[None]]:
    """Return a job that runs one function of schema jobs and logs its result."""

    async def job(context: JobContext, timestamp: int) -> None:
        log_result(name, await call(resources_of(context).pool, function))

    return job


def log_result(job: str, result: Any) -> None:
    """Log the result of a job.

    What a check finds wrong comes as {what: how}: an alarm for those who watch the log, not a repair.
    """
    level = logging.ERROR if job.startswith("check_") and result else logging.INFO
    log.log(level, "job", extra={"fields": {"job": job, "result": result}})


for name, (function, cron) in SCHEDULE.items():
    job = make_job(name, function)
    task = blueprint.task(name=name, queueing_lock=name, retry=RETRY, pass_context=True)(job)
    blueprint.periodic(cron=cron)(task)


@blueprint.periodic(cron="* * * * *")
@blueprint.task(name="check_deposit_address", queueing_lock="check_deposit_address", pass_context=True)
async def check_deposit_address(context: JobContext, timestamp: int) -> None:
    """Compare the address that members are shown with the one in the operator's settings."""
    resources = resources_of(context)
    expected = resources.settings.deposit_address or None
    log_result("check_deposit_address", await call(resources.pool, "check_deposit_address", expected))


@blueprint.periodic(cron="* * * * *")
@blueprint.task(name="report_installation", queueing_lock="report_installation", pass_context=True)
async def report_installation(context: JobContext, timestamp: int) -> None:
    """Let the database know what readiness asks for: where the site is, and who sends its mail."""
    resources = resources_of(context)
    settings = resources.settings
    await call(resources.pool, "report_installation", settings.site_url, settings.mail_server)


@blueprint.periodic(cron="* * * * *")
@blueprint.task(name="check_alarms", queueing_lock="check_alarms", pass_context=True)
async def check_alarms(context: JobContext, timestamp: int) -> None:
    """Look at given-up jobs and e-mails, and notify administrators of every new alarm."""
    log_result("check_alarms", await call(resources_of(context).pool, "check_alarms"))


@blueprint.periodic(cron="* * * * *")
@blueprint.task(name="check_backups", queue=FILES, queueing_lock="check_backups", pass_context=True)
async def check_backups(context: JobContext, timestamp: int) -> None:
    """Tell the database what the schedule of the backups reports, and log what failed there."""
    resources = resources_of(context)
    report = read_report(resources.settings.backups_path)
    log_result("check_backups", await call(resources.pool, "check_backups", report))


async def end_dead_job(run_job: Callable[[], Awaitable[Any]], context: JobContext, _worker: object) -> Any:
    """Run a job; when it has worked, the alarm about an earlier one of its task is over."""
    result = await run_job()
    await call(resources_of(context).pool, "end_dead_job", context.job.task_name)
    return result


@blueprint.task(name="deliver_mail", queueing_lock="deliver_mail", pass_context=True)
async def deliver_mail(context: JobContext) -> None:
    """Send what is due. It is queued whenever something is (run_loop.py)."""
    await resources_of(context).mailer.deliver()


@blueprint.task(name="notify_earnings", queueing_lock="notify_earnings", retry=RETRY, pass_context=True)
async def notify_earnings(context: JobContext) -> None:
    """Notify members of bonuses, some decisions at a time. It is queued when any are due (run_loop.py)."""
    pool = resources_of(context).pool
    while notified := await call(pool, "notify_earnings"):
        log_result("notify_earnings", notified)


@blueprint.periodic(cron="10 3 * * *")
@blueprint.task(name="purge_messages", queueing_lock="purge_messages", retry=RETRY, pass_context=True)
async def purge_messages(context: JobContext, timestamp: int) -> None:
    """Delete messages of more than a year ago, so many in each transaction."""
    pool = resources_of(context).pool
    while purged := await call(pool, "purge_messages"):
        log_result("purge_messages", purged)


@blueprint.task(
    name="send_webhooks",
    queueing_lock="send_webhooks",
    lock="send_webhooks",
    retry=RETRY,
    pass_context=True,
)
async def send_webhooks(context: JobContext) -> None:
    """Send what waits to the operator's webhook. It is queued when any is due (run_loop.py)."""
    is_last = context.job.attempts >= ATTEMPTS
    log_result("send_webhooks", await resources_of(context).webhooks.send_due(is_last_attempt=is_last))


@blueprint.periodic(cron="41 * * * *")
@blueprint.task(
    name="remove_unused_receipts", queueing_lock="remove_unused_receipts", retry=RETRY, pass_context=True
)
async def remove_unused_receipts(context: JobContext, timestamp: int) -> None:
    """Delete uploads that no deposit named within a day."""
    log_result("remove_unused_receipts", await resources_of(context).receipts.remove())


@blueprint.periodic(cron="11 * * * *")
@blueprint.task(
    name="check_audit_copy",
    queue=FILES,
    queueing_lock="check_audit_copy",
    lock="audit_heads",
    retry=RETRY,
    pass_context=True,
)
async def check_audit_copy(context: JobContext, timestamp: int) -> None:
    """Compare the audit chain with the head stored an hour ago, and store its head of now."""
    heads = resources_of(context).audit_heads
    wrong = await heads.check()
    log_result("check_audit_copy", wrong)
    # A line after one that the chain does not know would end the alarm.
    if not wrong:
        log_result("copy_audit_head", await heads.copy())


@blueprint.periodic(cron="*/2 * * * *")
@blueprint.task(name="take_over", queueing_lock="take_over", pass_context=True)
async def take_over(context: JobContext, timestamp: int) -> None:
    """Queue the jobs of a worker that died once more, and delete failures after a month."""
    manager = context.app.job_manager
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER_SECONDS):
        await manager.retry_job(job)
    await manager.delete_old_jobs(nb_hours=720, include_failed=True)
