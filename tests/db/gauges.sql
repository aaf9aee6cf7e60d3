-- What the worker publishes of the business: every figure is what the tables say, and what cannot be read is absent.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();

create function actors.gauge(p_name text, p_labels jsonb default '{}') returns double precision language sql volatile as $$
    select g.value from jobs.read_gauges() as g where g.name = p_name and g.labels = p_labels
$$;
savepoint one;

-- =====================================================================================================================
-- The worker reads them, and nobody else
-- =====================================================================================================================
set local role worker;
select ok((select count(*) from jobs.read_gauges()) > 15, 'the worker reads all at once');
set local role authenticated;
select throws_ok($$ select * from jobs.read_gauges() $$, '42501', null, 'a member reads none');
reset role;
select is_empty($$ select name, labels from jobs.read_gauges() group by name, labels having count(*) > 1 $$, 'each figure is there once');
select is_empty($$ select name from jobs.read_gauges() where value is null $$, 'and has a value');

-- =====================================================================================================================
-- The ledger
-- =====================================================================================================================
update private.ledger_check_state set checked_at = null;
select is_empty($$ select 1 from jobs.read_gauges() where name like 'harborline_ledger%' $$, 'before the first check nothing is said of the ledger');
update private.ledger_check_state set checked_at = '2026-01-02 03:04:05+00', rules = '{"I07": 3, "I98": 1}', violations = 4;
select is(gauge('harborline_ledger_checked_timestamp_seconds'), extract(epoch from timestamptz '2026-01-02 03:04:05+00')::double precision, 'the last check has its time');
select is(gauge('harborline_ledger_violations', '{"rule": "I07"}'), 3::double precision, 'a violated rule has its number');
select is(gauge('harborline_ledger_violations', '{"rule": "I03"}'), 0::double precision, 'one that holds has none');
select is(gauge('harborline_ledger_violations', '{"rule": "I98"}'), 1::double precision, 'one without words is seen too');
select is(gauge('harborline_ledger_seen_timestamp_seconds'), null, 'before the first round the oldest row has no time');
insert into private.ledger_slices values (1, 1, '2026-01-01 00:00:00+00', null, 2, 0, false, false), (1, 2, '2026-01-01 00:01:00+00', null, 2, 0, false, false);
select is(gauge('harborline_ledger_seen_timestamp_seconds'), extract(epoch from timestamptz '2026-01-01 00:00:00+00')::double precision, 'in the first round of a sweep it is the beginning');
update private.ledger_check_state set seen_since = '2026-01-02 02:00:00+00';
select is(gauge('harborline_ledger_seen_timestamp_seconds'), extract(epoch from timestamptz '2026-01-02 02:00:00+00')::double precision, 'then it is the row that was not looked at for the longest time');
update private.reconcile_state set repaired = 7;
select is(gauge('harborline_repaired_bonuses'), 7::double precision, 'repaired bonuses are counted for ever');
select is(gauge('harborline_unlinked_audit_seconds'), 0::double precision, 'every entry is linked') from private.link_entries();
select private.audit('system', 'test.late', null, null, '{}', clock_timestamp() - interval '1 hour');
select ok(gauge('harborline_unlinked_audit_seconds') between 3600 and 3660, 'one that is not says how old it is');

-- =====================================================================================================================
-- Backups
-- =====================================================================================================================
select is_empty($$ select 1 from jobs.read_gauges() where name = 'harborline_backup_timestamp_seconds' $$, 'without backups they have no time');
select jobs.check_backups('{"at": "2026-01-02 03:04:05+00", "database_at": "2026-01-02 03:00:00+00", "files_at": "2026-01-02 03:04:00+00"}');
select is(gauge('harborline_backup_timestamp_seconds', '{"part": "database"}'), extract(epoch from timestamptz '2026-01-02 03:00:00+00')::double precision, 'the database has');
select is(gauge('harborline_backup_timestamp_seconds', '{"part": "files"}'), extract(epoch from timestamptz '2026-01-02 03:04:00+00')::double precision, 'the files have');
select is(gauge('harborline_backup_timestamp_seconds', '{"part": "proof"}'), null, 'what was never tried has none');

-- =====================================================================================================================
-- Coverage
-- =====================================================================================================================
rollback to savepoint one;
select is(gauge('harborline_coverage_ratio'), null, 'nobody claims anything: there is no ratio');
select pays('freya', 500), pays('ask', 500);
select is(gauge('harborline_coverage_ratio'), (private.coverage() ->> 'ratio')::double precision / 100, 'the ratio is that of the panel')
where private.coverage() ->> 'ratio' is not null;

-- =====================================================================================================================
-- Requests that wait
-- =====================================================================================================================
rollback to savepoint one;
select is(gauge('harborline_pending_requests', format('{"kind": "%s"}', k)::jsonb), 0::double precision, 'no ' || k || ' waits') from unnest(array['deposit', 'withdrawal']) as k;
select is(gauge('harborline_oldest_pending_seconds', format('{"kind": "%s"}', k)::jsonb), 0::double precision, 'so none is old') from unnest(array['deposit', 'withdrawal']) as k;
alter table public.deposits disable trigger user;
alter table public.withdrawals disable trigger user;
insert into public.deposits (user_id, amount, kind, reference_number, reference_key, receipt_url, created_at)
select user_id('freya'), 50, 'cash_in', 'r' || h, 'r' || h, 'x', clock_timestamp() - make_interval(hours => h) from unnest(array[1, 3]) as h;
insert into public.withdrawals (user_id, amount, wallet_address, created_at) values (user_id('freya'), 100, wallets.of('freya'), clock_timestamp() - interval '2 hours');
select is(gauge('harborline_pending_requests', '{"kind": "deposit"}'), 2::double precision, 'two deposits wait');
select ok(gauge('harborline_oldest_pending_seconds', '{"kind": "deposit"}') between 10800 and 10860, 'the older one for three hours');
select is(gauge('harborline_pending_requests', '{"kind": "withdrawal"}'), 1::double precision, 'a withdrawal waits');
select ok(gauge('harborline_oldest_pending_seconds', '{"kind": "withdrawal"}') between 7200 and 7260, 'for two hours');
update public.deposits set created_at = clock_timestamp() + interval '1 hour';
select is(gauge('harborline_oldest_pending_seconds', '{"kind": "deposit"}'), 0::double precision, 'a clock that was set back makes no age negative');

-- =====================================================================================================================
-- Mail and jobs
-- =====================================================================================================================
rollback to savepoint one;
delete from private.outbox;
insert into private.outbox (template, recipient, created_at, sent_at, failed_at) values
('test', 'a@example.com', clock_timestamp() - interval '10 minutes', null, null), ('test', 'b@example.com', clock_timestamp(), null, null),
('test', 'c@example.com', clock_timestamp() - interval '9 hours', null, clock_timestamp()), ('test', 'd@example.com', clock_timestamp() - interval '9 hours', clock_timestamp(), null);
select is(gauge('queue_depth', '{"queue": "mail", "state": "todo"}'), 2::double precision, 'two emails wait');
select is(gauge('queue_depth', '{"queue": "mail", "state": "failed"}'), 1::double precision, 'one was given up');
select ok(gauge('harborline_oldest_mail_seconds') between 600 and 660, 'the oldest waits for ten minutes');
delete from private.outbox;
select is(gauge('harborline_oldest_mail_seconds'), 0::double precision, 'nothing waits, so nothing is old');
select is(
    (select count(*) from jobs.read_gauges() where labels @> '{"queue": "jobs"}'),
    case when has_table_privilege(to_regclass('procrastinate.procrastinate_jobs'), 'select') then 3 else 0 end::bigint, 'jobs are counted by state where the worker has made its queue'
);

-- =====================================================================================================================
-- Alarms
-- =====================================================================================================================
rollback to savepoint one;
select is(
    (select array_agg(labels ->> 'kind' order by labels ->> 'kind') from jobs.read_gauges() where name = 'harborline_open_alarms'),
    (
        select array_agg(distinct k.kind[1] order by k.kind[1])
        from pg_constraint as c cross join regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''', 'g') as k (kind)
        where c.conname = 'alarms_kind_check'
    ), 'each kind of alarm has a figure'
);
select private.raise_alarm('disk', d, null, '{}') from unnest(array['one', 'two', 'three']) as d;
select is(gauge('harborline_open_alarms', '{"kind": "disk"}'), 3::double precision, 'three disks are full');
select private.end_alarm('disk', 'one');
update private.alarms set acknowledged_at = now(), acknowledged_by = user_id('olga'), reason = 'Known.' where object = 'two';
select is(gauge('harborline_open_alarms', '{"kind": "disk"}'), 1::double precision, 'one is over, one is acknowledged');

select * from finish();
rollback;
