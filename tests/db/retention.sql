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
-- Messages of long ago
-- =====================================================================================================================
create function pg_temp.notify(title text, age interval, read boolean) returns void language sql as $$
    insert into public.notifications (id, user_id, kind, title, body, read_at, created_at)
    values (
        overlay(gen_random_uuid()::text placing left(private.first_id_at(now() - age)::text, 13) from 1)::uuid,
        user_id('ask'), 'greeting', title, 'Body', case when read then now() - age end, now() - age
    )
$$;
create function pg_temp.left_over() returns text language sql as $$
    select string_agg(l.title, ', ' order by l.title)
    from (
        select title from public.notifications where kind = 'greeting'
        union all
        select title from private.admin_notices where kind = 'greeting'
        union all
        select data ->> 'title' from private.outbox where template = 'greeting'
    ) as l
$$;
select
    pg_temp.notify('read 13 months', '13 months', true), pg_temp.notify('read 12 months ago', '1 year 2 days', true),
    pg_temp.notify('read 11 months', '11 months', true), pg_temp.notify('unread 13 months', '13 months', false),
    pg_temp.notify('unread 11 months', '11 months', false);
insert into private.admin_notices (kind, title, body, created_at)
values ('greeting', 'notice 13 months', 'Body', now() - interval '13 months'), ('greeting', 'notice 11 months', 'Body', now() - interval '11 months');
insert into private.outbox (template, recipient, data, created_at, failed_at)
select 'greeting', 'ask@members.test', jsonb_build_object('title', m.title), now() - m.age, case when m.failed then now() - m.age end
from (
    values ('failed 13 months', '13 months'::interval, true), ('failed 11 months', '11 months', true), ('waiting 13 months', '13 months', false)
) as m (title, age, failed);

set local role worker;
select is(jobs.purge_messages(1), 3, 'the worker deletes messages, so many of each kind at once');
select is(jobs.purge_messages(1) + jobs.purge_messages(1), 2, 'and goes on');
select is(jobs.purge_messages(), 0, 'until none is left');
reset role;
select is(
    pg_temp.left_over(), 'failed 11 months, notice 11 months, read 11 months, unread 11 months, waiting 13 months',
    'each was there for a year, read or not; what waits to be sent goes out however late'
);
select is_empty($$ select * from private.check_ledger() $$, 'the ledger checks pass');
select is(
    (select array_agg(private.first_id_at(i.at) <= i.id order by i.at) from (select now() as at, private.time_ordered_id() as id) as i)
    || (private.first_id_at(clock_timestamp() + interval '2 milliseconds') > private.time_ordered_id()),
    array[true, true], 'ids from before a time are smaller than its first one'
);
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
