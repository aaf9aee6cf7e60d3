-- Searches that find more than 10,000: the total says so, and each page is that of a plain order of the same rows.
begin;
\ir ../support/actors.sql
select * from no_plan();

set local session_replication_role = replica;
insert into private.profiles (id, user_id, username, display_name, email, depth, jump, created_at)
select i.id, gen_random_uuid(), 'bulk_' || i.no, 'Bulk', i.no || '@bulk.test', 0, i.id, '2020-01-01'::timestamptz + i.no * interval '1 second'
from (select gen_random_uuid() as id, g as no from generate_series(1, 10101) as g) as i;
insert into private.positions (user_id, joined_at) select p.user_id, p.created_at from private.profiles as p where p.email like '%@bulk.test';
insert into private.totals (user_id) select p.user_id from private.profiles as p where p.email like '%@bulk.test';
insert into public.deposits (user_id, amount, reference_number, reference_key, receipt_url, kind, created_at)
select p.user_id, 50, replace(p.username, 'bulk_', 'paper '), p.username, p.username, 'first', p.created_at from private.profiles as p where p.email like '%@bulk.test';
insert into private.request_texts (request_id, text) select d.id, d.reference_number from public.deposits as d where d.reference_number like 'paper %';
set local session_replication_role = origin;
-- As autovacuum would: without statistics of the new rows the planner may join every one with every one.
analyze private.profiles, private.positions, private.totals, private.request_texts, public.deposits;

create function pg_temp.shown(p_list jsonb) returns text language sql as $$
    select string_agg(i.item ->> 'username', ' ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
create function pg_temp.filters(p_page integer, p_sort text) returns jsonb language sql as $$
    select jsonb_build_object('search', 'bulk.test', 'page', p_page, 'pageSize', 10, 'sort', p_sort)
$$;
create function pg_temp.oldest(p_page integer) returns text language sql as $$
    select string_agg('bulk_' || g, ' ' order by g) from generate_series((p_page - 1) * 10 + 1, p_page * 10) as g
$$;
create function pg_temp.newest(p_page integer) returns text language sql as $$
    select string_agg('bulk_' || g, ' ' order by g desc) from generate_series(10101 - p_page * 10 + 1, 10101 - (p_page - 1) * 10) as g
$$;
grant execute on function pg_temp.shown(jsonb), pg_temp.filters(integer, text), pg_temp.oldest(integer), pg_temp.newest(integer) to public;

-- The first of very many
select act_as('sam');
select is(
    (select (l ->> 'total') || ' ' || (l ->> 'more') || ' ' || (l #>> '{items,0,username}') from public.list_members('{"search": "bulk.test", "sort": "created_at.asc", "pageSize": 1}') as l),
    '10000 true bulk_1', '10,000 and more are found, and the first of them shown'
);
select is(
    public.list_deposits('{"search": "paper", "sort": "created_at.asc", "pageSize": 1}') #>> '{items,0,reference_number}', 'paper 1', 'the first of very many'
);
select is(
    (select (l ->> 'total') || ' ' || (l ->> 'more') from public.list_deposits('{"search": "paper", "pageSize": 1}') as l), '10000 true', '10,000 and more are found'
);

-- And those in the later half
select is(list_members(pg_temp.filters(600, 'created_at.asc')) ->> 'more', 'true', 'more members match than are counted');
select is(pg_temp.shown(list_members(pg_temp.filters(p, 'created_at.asc'))), pg_temp.oldest(p), 'members, oldest first, page ' || p)
from unnest(array[502, 1000]) as p;
select is(pg_temp.shown(list_deposits(pg_temp.filters(p, 'created_at.desc'))), pg_temp.newest(p), 'deposits, newest first, page ' || p)
from unnest(array[502, 1000]) as p;
select is(pg_temp.shown(list_members(pg_temp.filters(1001, 'created_at.asc'))), null, 'the pages end where the count ends');
select * from finish();
rollback;
