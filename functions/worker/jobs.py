"""What runs when. The work itself is SQL in schema jobs; here is only the timetable.

procrastinate keeps the timetable in PostgreSQL: a job that was due runs once, whichever worker takes it,
and is retried when it fails. Mail is claimed row by row with a lease, so a worker that dies gives it back.
"""

import logging
from typing import Any

from procrastinate import Blueprint, JobContext, RetryStrategy

from functions.worker.post import Post

AGAIN = RetryStrategy(max_attempts=5, exponential_wait=5)
log = logging.getLogger("worker")

timetable = Blueprint()


def post_of(context: JobContext) -> Post:
    """The post office that the worker was started with."""
    post: Post = context.additional_context["post"]
    return post


async def run(context: JobContext, function: str) -> Any:
    """Run one function of schema jobs and log what it answers."""
    answer = await post_of(context).call(function)
    log.info("job", extra={"fields": {"job": function, "answer": answer}})
    return answer


@timetable.periodic(cron="* * * * *")
@timetable.task(name="deliver_mail", queueing_lock="deliver_mail", lock="deliver_mail", pass_context=True)
async def deliver_mail(context: JobContext, timestamp: int = 0) -> None:
    """Send what is due. New rows are announced by the database; this minute's run finds the retries."""
    await post_of(context).deliver()


@timetable.periodic(cron="* * * * *")
@timetable.task(name="check_books", queueing_lock="check_books", pass_context=True)
async def check_books(context: JobContext, timestamp: int) -> None:
    """Every minute: what must never be true of the books. A violation is an alarm, not a repair."""
    violations = await run(context, "check_books")
    if violations:
        log.error("the books are wrong", extra={"fields": {"violations": violations}})


@timetable.periodic(cron="*/5 * * * *")
@timetable.task(name="expire_admin_sessions", queueing_lock="expire_admin_sessions", pass_context=True)
async def expire_admin_sessions(context: JobContext, timestamp: int) -> None:
    """Every five minutes: rows of administrator sessions that count no more."""
    await run(context, "expire_admin_sessions")


@timetable.periodic(cron="17 * * * *")
@timetable.task(name="remove_unconfirmed", queueing_lock="remove_unconfirmed", pass_context=True)
async def remove_unconfirmed(context: JobContext, timestamp: int) -> None:
    """Every hour: sign-ups that nobody confirmed for seven days."""
    await run(context, "remove_unconfirmed")


@timetable.periodic(cron="5 0 * * *")
@timetable.task(name="snapshot_coverage", queueing_lock="snapshot_coverage", retry=AGAIN, pass_context=True)
async def snapshot_coverage(context: JobContext, timestamp: int) -> None:
    """Every day: payout coverage as it stands, so that past values never change."""
    await run(context, "snapshot_coverage")


@timetable.periodic(cron="30 2 * * *")
@timetable.task(name="reconcile", queueing_lock="reconcile", retry=AGAIN, pass_context=True)
async def reconcile(context: JobContext, timestamp: int) -> None:
    """Every night: every bonus against tree and packages."""
    await run(context, "reconcile")
