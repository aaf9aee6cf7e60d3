-- Figures that the worker publishes for Prometheus besides its own: the state of the business and of what keeps it right,
-- in one row set. Read every quarter of a minute, so it reads counters, stored results and partial indexes, never a whole
-- table. A row that is missing could not be read, or there is nothing to say yet; it is never a zero instead.

create function private.age_seconds(p_at timestamptz) returns double precision
language sql volatile set search_path = '' as $$
    -- Nothing waits: its age is zero. A clock may step back.
    select coalesce(greatest(extract(epoch from pg_catalog.clock_timestamp() - p_at), 0), 0)::double precision
$$;
comment on function private.age_seconds(timestamptz) is 'Seconds since then; zero for null.';

create function private.queue_gauges() returns table (name text, labels jsonb, value double precision)
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select 'queue_depth', pg_catalog.jsonb_build_object('queue', 'mail', 'state', m.state), m.depth::double precision
    from (
        select 'todo' as state, (select count(*) from private.outbox as o where o.sent_at is null and o.failed_at is null) as depth
        union all
        select 'failed', (select count(*) from private.outbox as o where o.failed_at is not null)
    ) as m;
    return query
    select 'harborline_oldest_mail_seconds', '{}'::jsonb, private.age_seconds(min(o.created_at))
    from private.outbox as o where o.sent_at is null and o.failed_at is null;
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is true then
        return query
        select 'queue_depth', pg_catalog.jsonb_build_object('queue', 'jobs', 'state', s.state), count(j.id)::double precision
        from pg_catalog.unnest(array['todo', 'doing', 'failed']) as s (state)
        left join procrastinate.procrastinate_jobs as j on s.state = j.status::text
        group by s.state;
    end if;
end
$$;
comment on function private.queue_gauges() is 'How many emails and jobs wait or were given up, and the age of the oldest email that waits.';

create function private.request_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    with pending as (
        select 'deposit' as kind, count(*) as requests, min(coalesce(r.referenced_at, r.asked_at, d.created_at)) as oldest
        from public.deposits as d
        left join private.deposit_rests as r on d.id = r.deposit_id and r.ended_at is null
        where d.status = 'pending'
        union all
        select 'withdrawal', count(*), min(w.created_at) from public.withdrawals as w where w.status = 'pending'
    )

    select 'harborline_pending_requests', pg_catalog.jsonb_build_object('kind', p.kind), p.requests::double precision from pending as p
    union all
    select 'harborline_oldest_pending_seconds', pg_catalog.jsonb_build_object('kind', p.kind), private.age_seconds(p.oldest) from pending as p
$$;
comment on function private.request_gauges() is 'How many deposits and withdrawals wait for a decision, and the age of the oldest.';

create function private.ledger_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    select 'harborline_ledger_violations', pg_catalog.jsonb_build_object('rule', r.rule), coalesce((s.rules ->> r.rule)::double precision, 0)
    from private.ledger_check_state as s
    cross join (
        select t.rule from private.rule_texts() as t
        union
        select k.rule from private.ledger_check_state as l cross join lateral pg_catalog.jsonb_object_keys(l.rules) as k (rule)
    ) as r
    where s.checked_at is not null
    union all
    select 'harborline_ledger_checked_timestamp_seconds', '{}', extract(epoch from s.checked_at)
    from private.ledger_check_state as s where s.checked_at is not null
    union all
    -- Until the first round of a sweep has ended, its beginning: who waits for the end must see time pass.
    select 'harborline_ledger_seen_timestamp_seconds', '{}', extract(epoch from f.seen_since)
    from (
        select coalesce(s.seen_since, (select min(l.seen_at) from private.ledger_slices as l)) as seen_since from private.ledger_check_state as s
    ) as f
    where f.seen_since is not null
    union all
    select 'harborline_repaired_bonuses', '{}', r.repaired from private.reconcile_state as r
    union all
    select 'harborline_coverage_ratio', '{}', (c.figures ->> 'ratio')::double precision / 100
    from (select private.coverage() as figures) as c where c.figures ->> 'ratio' is not null
    union all
    select 'harborline_unlinked_audit_seconds', '{}', private.age_seconds((select min(u.at) from private.unlinked_entries as u))
$$;
comment on function private.ledger_gauges() is
'The last ledger check by rule and when it was, when everything was last looked at and the row that was not for the longest time, bonuses ever repaired, coverage, and the age of the oldest entry of the audit log outside its chain.';

create function private.alarm_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    select 'harborline_open_alarms', pg_catalog.jsonb_build_object('kind', k.kind), count(a.id)::double precision
    from pg_catalog.unnest(array['ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail', 'backup', 'restored', 'schema']) as k (kind)
    left join private.alarms as a on k.kind = a.kind and a.ended_at is null and a.acknowledged_at is null
    group by k.kind
$$;
comment on function private.alarm_gauges() is 'Open alarms by kind, without those that are acknowledged.';

create function private.backup_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    select 'harborline_backup_timestamp_seconds', pg_catalog.jsonb_build_object('part', p.part), extract(epoch from p.at)
    from private.backup_state as s
    cross join lateral (values ('database', s.database_at), ('files', s.files_at), ('proof', s.proven_at)) as p (part, at)
    where p.at is not null
    union all
    select 'harborline_wal_archived_timestamp_seconds', '{}', extract(epoch from a.last_archived_time)
    from pg_catalog.pg_stat_archiver as a where a.last_archived_time is not null
$$;
comment on function private.backup_gauges() is
'When the database and the files were last backed up, when a backup was last tried, and when WAL last reached the archive.';

create function jobs.read_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile security definer set search_path = '' as $$
    select g.* from private.queue_gauges() as g
    union all
    select g.* from private.request_gauges() as g
    union all
    select g.* from private.ledger_gauges() as g
    union all
    select g.* from private.alarm_gauges() as g
    union all
    select g.* from private.backup_gauges() as g
$$;
comment on function jobs.read_gauges() is
'Every figure that the database knows for Prometheus: name, labels, value. What cannot be read has no row.';
grant execute on function jobs.read_gauges() to worker;
