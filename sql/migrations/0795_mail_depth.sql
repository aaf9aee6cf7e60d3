-- How much mail waits: a figure for whoever watches the worker.

create function jobs.count_mail() returns table (state text, depth bigint)
language sql stable security definer set search_path = '' as $$
    select 'todo', pg_catalog.count(*) filter (where o.failed_at is null) from private.outbox as o where o.sent_at is null
    union all
    select 'failed', pg_catalog.count(*) filter (where o.failed_at is not null) from private.outbox as o where o.sent_at is null
$$;
comment on function jobs.count_mail() is 'Letters not sent yet, and letters given up.';
grant execute on function jobs.count_mail() to worker;
