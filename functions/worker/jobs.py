"""What runs when. The work itself is SQL in schema jobs; here is only the timetable.

procrastinate keeps the timetable in PostgreSQL: a job that was due runs once, whichever worker takes it,
and one that is still waiting is not queued again. Mail is claimed row by row with a lease, so a worker that
dies gives it back.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import Blueprint, JobContext, RetryStrategy

from functions.worker.audit_heads import AuditHeads
from functions.worker.post import Post
from functions.worker.receipts import UnusedReceipts

AGAIN = RetryStrategy(max_attempts=4, exponential_wait=6)
STALLED_AFTER_SECONDS = 60
log = logging.getLogger("worker")

# By the name stored in the queue, which stays: the function of schema jobs, and when (cron, UTC).
TIMETABLE = {
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
}

timetable = Blueprint()


def post_of(context: JobContext) -> Post:
    """The post office that the worker was started with."""
    post: Post = context.additional_context["post"]
    return post


def job_of(name: str, function: str) -> Callable[[JobContext, int], Awaitable[None]]:
    """A job that runs one function of schema jobs and logs what it answers."""

    async def job(context: JobContext, timestamp: int) -> None:
        report(name, await post_of(context).call(function))

    return job


def report(function: str, answer: Any) -> None:
    """Log what a job answered.

    What a check finds wrong comes as {what: how}: an alarm for whoever watches the log, not a repair.
    """
    level = logging.ERROR if function.startswith("check_") and answer else logging.INFO
    log.log(level, "job", extra={"fields": {"job": function, "answer": answer}})


for name, (function, cron) in TIMETABLE.items():
    job = job_of(name, function)
    task = timetable.task(name=name, queueing_lock=name, retry=AGAIN, pass_context=True)(job)
    timetable.periodic(cron=cron)(task)


@timetable.periodic(cron="* * * * *")
@timetable.task(name="check_deposit_address", queueing_lock="check_deposit_address", pass_context=True)
async def check_deposit_address(context: JobContext, timestamp: int) -> None:
    """Look at the address that every deposit is sent to."""
    report("check_deposit_address", await post_of(context).check_deposit_address())


@timetable.periodic(cron="* * * * *")
@timetable.task(name="deliver_mail", queueing_lock="deliver_mail", pass_context=True)
async def deliver_mail(context: JobContext, timestamp: int = 0) -> None:
    """Send what is due. New rows are announced by the database; this minute's run finds the retries."""
    await post_of(context).deliver()


@timetable.periodic(cron="41 * * * *")
@timetable.task(
    name="remove_unused_receipts", queueing_lock="remove_unused_receipts", retry=AGAIN, pass_context=True
)
async def remove_unused_receipts(context: JobContext, timestamp: int) -> None:
    """Take uploads away that no deposit named within a day."""
    receipts: UnusedReceipts = context.additional_context["receipts"]
    report("remove_unused_receipts", await receipts.remove())


@timetable.periodic(cron="11 * * * *")
@timetable.task(
    name="check_audit_copy",
    queueing_lock="check_audit_copy",
    lock="audit_heads",
    retry=AGAIN,
    pass_context=True,
)
async def check_audit_copy(context: JobContext, timestamp: int) -> None:
    """Compare the audit chain with what was written down an hour ago, and write its head down now."""
    heads: AuditHeads = context.additional_context["audit_heads"]
    wrong = await heads.check()
    report("check_audit_copy", wrong)
    # A line after one that the chain does not know would end the alarm.
    if not wrong:
        report("copy_audit_head", await heads.copy())


@timetable.periodic(cron="*/2 * * * *")
@timetable.task(name="take_over", queueing_lock="take_over", pass_context=True)
async def take_over(context: JobContext, timestamp: int) -> None:
    """Give jobs of a worker that died back to the queue, and forget old failures after a month."""
    manager = context.app.job_manager
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER_SECONDS):
        await manager.retry_job(job)
    await manager.delete_old_jobs(nb_hours=720, include_failed=True)
