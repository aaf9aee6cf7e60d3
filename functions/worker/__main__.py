"""`python -m functions.worker` works until it is stopped; `... migrate` only makes the tables of its queue.

Several may run: each job is taken once.
"""

import asyncio
import logging
import sys

from functions.core import logging as json_logs
from functions.worker import job_queue
from functions.worker.run_loop import run
from functions.worker.settings import WorkerSettings


def main(arguments: list[str]) -> None:
    """Run the worker, or only install its queue."""
    if arguments not in ([], ["migrate"]):
        sys.exit("usage: python -m functions.worker [migrate]")
    settings = WorkerSettings()
    json_logs.configure(settings.log_level)
    # The queue would write several lines for every job; what a job did is logged by the job.
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    asyncio.run(job_queue.install(settings.database_url) if arguments else run(settings))


if __name__ == "__main__":
    main(sys.argv[1:])
