-- The schema of the worker's job queue (procrastinate). The worker installs the tables itself, in its own version; a
-- separate schema keeps the rest of the database closed to it.

create schema procrastinate;
comment on schema procrastinate is 'Job queue of functions/worker, installed and owned by role worker.';
grant usage, create on schema procrastinate to worker;
