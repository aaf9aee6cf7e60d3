-- threats: T64
begin;
\ir ../support/actors.sql
select plan(4);
select family();
select act_as_owner();
set local role edge_functions;
select is((select count(*) from generate_series(1, 20), lateral (select edge.record_admin_sign_in('nobody' || generate_series || '@x.test', '192.0.2.1', false)) as r), 20::bigint, 'twenty failures from one address');
select lives_ok($$ select edge.record_admin_sign_in('sam@admins.test', '192.0.2.1', true) $$, 'a success from there');
select is(edge.admin_sign_in_allowed('olga@admins.test', '192.0.2.1'), false, 'forgives none of them');
reset role;
select is((select a.payload ->> 'address' from private.audit_log as a where a.action = 'admin.signed_in' order by a.seq desc limit 1), '192.0.2.1', 'and is on record');
select * from finish();
rollback;
