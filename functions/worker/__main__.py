"""`python -m functions.worker` works until it is stopped; several may run, each job is taken once."""

import asyncio
import logging

from functions.core import logging as json_logs
from functions.worker.settings import WorkerSettings
from functions.worker.work import work


def main() -> None:
    """Run the worker."""
    settings = WorkerSettings()
    json_logs.configure(settings.log_level)
    # The queue would write several lines for every job; what a job did is logged by the job.
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    asyncio.run(work(settings))


if __name__ == "__main__":
    main()
