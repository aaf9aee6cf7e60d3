-- Members as administrators find them.
begin;
\ir ../support/actors.sql
select * from no_plan();

select join_as('root');
select join_as(name, 'root') from unnest(array['ann', 'ben', 'cleo']) as name;
select complete(name) from unnest(array['root', 'ann', 'ben']) as name;
select pays('root', 500);
select pays('ann', 250);
select pays('ben', 100);
update private.profiles set account_status = 'suspended', admin_notes = 'Asked twice' where user_id = user_id('cleo');

create function pg_temp.names(p_list jsonb) returns text language sql as $$
    select string_agg(i.item ->> 'username', ' ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
grant execute on function pg_temp.names(jsonb) to public;

select act_as('sam');
select is(pg_temp.names(public.list_members()), 'cleo ben ann root', 'newest first');
select is(
    public.list_members() -> 'cards',
    '{"total_users": 4, "active_users": 3, "verified_users": 3, "total_investment": "850.00"}'::jsonb, 'the four cards'
);
select is(pg_temp.names(public.list_members('{"sort": "package_value.desc", "pageSize": 2}')), 'root ann', 'sorted by package');
select is(pg_temp.names(public.list_members('{"status": "suspended"}')), 'cleo', 'filtered by status');
select is(pg_temp.names(public.list_members('{"package": "100", "verified": "true"}')), 'ben', 'by package and verification');
select is(public.list_members('{"search": "PEOPLE.TEST", "verified": "false"}') ->> 'total', '1', 'searched, with the total of what is found');
select is(public.list_members('{"search": "ann"}') #>> '{items,0,email}', 'ann@people.test', 'in full, for administrators');
select is(
    public.get_member(profile_id('root')) -> 'statistics',
    '{"total_bonuses": "157.50", "total_deposits": "500.00", "total_withdrawals": "0.00", "direct_referrals": 3, "net_balance": "657.50"}'::jsonb,
    'one member with statistics: 5% of 250 and 100, 40% of their pair'
);
select is(public.get_member(profile_id('cleo')) ->> 'admin_notes', 'Asked twice', 'and the notes');
select refuses($$ select public.get_member(gen_random_uuid()) $$, 404, 'not_found', 'There is no such member.', 'an unknown one is not there');
select refuses($$ select public.list_members('{"package": "1 or 1=1"}') $$, 400, 'invalid_filter', 'There is no such filter.', 'a package is a number');
select act_as('ann');
select throws_ok($$ select public.list_members() $$, '42501', null, 'a member cannot list members');
select throws_ok($$ select public.get_member(actors.profile_id('ann')) $$, '42501', null, 'nor read a file about anybody');

-- More than a search collects
select act_as_owner();
set local session_replication_role = replica;
insert into private.profiles (id, user_id, username, display_name, email, depth, jump, created_at)
select i.id, gen_random_uuid(), 'bulk_' || i.no, 'Bulk', i.no || '@bulk.test', 0, i.id, '2020-01-01'::timestamptz + i.no * interval '1 second'
from (select gen_random_uuid() as id, g as no from generate_series(1, 10001) as g) as i;
insert into private.positions (profile_id, user_id) select p.id, p.user_id from private.profiles as p where p.email like '%@bulk.test';
insert into private.totals (user_id) select p.user_id from private.profiles as p where p.email like '%@bulk.test';
set local session_replication_role = origin;
select act_as('sam');
select is(
    (select (l ->> 'total') || ' ' || (l ->> 'more') || ' ' || (l #>> '{items,0,username}') from public.list_members('{"search": "bulk.test", "sort": "created_at.asc", "pageSize": 1}') as l),
    '10000 true bulk_1', '10,000 and more are found, and the first of them shown'
);
select * from finish();
rollback;
