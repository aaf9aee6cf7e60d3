-- Where the worker's job queue (procrastinate) keeps its tables. The worker installs them itself, in the
-- version it was built with; the schema is its own, so that the rest of the database stays closed to it.

create schema procrastinate;
comment on schema procrastinate is 'Job queue of functions/worker, installed and owned by role worker.';
grant usage, create on schema procrastinate to worker;
