-- What has served its time is purged, and what large tables leave behind is tidied by thousands, not by fifths.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- What the worker forgets
-- =====================================================================================================================
select private.notify_member(user_id('ask'), 'greeting', 'Old', 'Sent long ago.', null, null), private.notify_member(user_id('ask'), 'greeting', 'New', 'Not sent yet.', null, null);
update private.outbox set sent_at = now() - interval '31 days' where data ->> 'title' = 'Old';
select private.consume_rate_limit('t', 'old', 3, '1 minute'), private.consume_rate_limit('t', 'new', 3, '1 minute');
update private.rate_limits set window_start = now() - interval '2 days' where key = 'old';
insert into private.sign_in_failures (kind, key, at) values ('admin_account', 'old', now() - interval '2 days'), ('admin_account', 'new', now());
insert into private.known_admin_addresses (admin_id, address_hash, seen_at) values (user_id('olga'), 'old', now() - interval '91 days'), (user_id('olga'), 'new', now() - interval '89 days');
set local role worker;
select ok(jobs.purge() >= 4, 'the worker forgets what has served its time');
reset role;
select is((select array_agg(address_hash) from private.known_admin_addresses where admin_id = user_id('olga') and address_hash in ('old', 'new')), array['new'], 'an administrator''s former address too');
select is_empty($$ select 1 from private.outbox where data ->> 'title' = 'Old' union all select 1 from private.rate_limits where key = 'old' union all select 1 from private.sign_in_failures where key = 'old' $$, 'it is deleted');
select is((select (select count(*) from private.outbox where data ->> 'title' = 'New') + (select count(*) from private.rate_limits where key = 'new') + (select count(*) from private.sign_in_failures where key = 'new')), 3::bigint, 'the rest stays');
select is_empty($$ select * from private.check_ledger() $$, 'the ledger checks pass');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Dead rows and search indexes
-- =====================================================================================================================
select is_empty($$
    select c.oid::regclass from pg_class as c
    where c.oid = any(array[
        'private.positions', 'private.profiles', 'private.totals', 'public.bonuses', 'public.deposits', 'private.outbox',
        'private.counter_deltas', 'private.network_deltas', 'private.network_rollup_staging'
    ]::regclass[])
        and not exists (
            select 1 from pg_options_to_table(c.reloptions) as o
            where o.option_name = 'autovacuum_vacuum_scale_factor' and o.option_value::numeric <= 0.02
        )
$$, 'dead rows of what grows are removed early');
select is_empty($$
    select c.oid::regclass from pg_class as c
    where c.oid = any(array['private.positions', 'public.bonuses', 'public.transactions']::regclass[])
        and not exists (
            select 1 from pg_options_to_table(c.reloptions) as o
            where o.option_name = 'autovacuum_vacuum_insert_scale_factor' and o.option_value::numeric <= 0.02
        )
$$, 'new rows are soon known to be visible to all, so that index-only scans need no table');
select is_empty($$
    select c.oid::regclass from pg_class as c inner join pg_am as a on c.relam = a.oid
    where a.amname = 'gin' and c.relnamespace in ('private'::regnamespace, 'public'::regnamespace)
        and c.relname not like 'bot_subscriptions%'
        and not exists (
            select 1 from pg_options_to_table(c.reloptions) as o
            where o.option_name = 'gin_pending_list_limit' and o.option_value::integer <= 256
        )
$$, 'no approval sorts megabytes into a search index');
select * from finish();
rollback;
