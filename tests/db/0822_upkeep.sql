-- What is large is tidied by thousands, not by fifths.
begin;
\ir ../support/actors.sql
select plan(3);
select is_empty($$
    select c.oid::regclass from pg_class as c
    where c.oid = any(array[
        'private.positions', 'private.profiles', 'private.totals', 'public.bonuses', 'public.deposits', 'private.outbox',
        'private.counter_deltas', 'private.network_changes', 'private.network_carries'
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
