-- The audit log: no row changes or goes, the chain of hashes finds what an insider does, each row keeps role and request,
-- and administrators read it.
-- threats: T130
begin;
\ir ../support/actors.sql
select * from no_plan();
savepoint start;

-- =====================================================================================================================
-- The chain
-- =====================================================================================================================
select private.audit('system', 'test.' || n, 'thing', gen_random_uuid(), jsonb_build_object('n', n)) from unnest(array['one', 'two', 'three']) as n;
select is_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'the chain is whole');
select raises($$ update private.audit_log set action = 'test.other' $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no row is changed');
select raises($$ delete from private.audit_log $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no row is deleted');
select raises($$ truncate private.audit_log $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'the table is not emptied');
select throws_ok($$ select private.audit('nobody', 'test.one', null, null) $$, '23514', null, 'an actor is an administrator, a member, the system or a service');

-- An insider who goes around the triggers is found out
set local session_replication_role = replica;
savepoint intact;
update private.audit_log set payload = '{"n": "forged"}' where action = 'test.two';
select isnt_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'an edited row breaks the chain');
rollback to intact;
delete from private.audit_log where action = 'test.two';
select isnt_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'a missing row breaks the chain');
rollback to intact;
update private.audit_log set seq = seq + 1000000 where action = 'test.three';
select isnt_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'a renumbered row breaks the chain');
rollback to savepoint start;

-- =====================================================================================================================
-- The chain's head is copied elsewhere
-- =====================================================================================================================
select private.audit('system', 'test.' || n, 'thing', gen_random_uuid()) from unnest(array['one', 'two', 'three']) as n;
create temporary table head as select jobs.audit_head() as head;
select is(
    (select h.head from head as h), (select jsonb_build_object('seq', a.seq, 'hash', encode(a.hash, 'hex')) from private.audit_log as a where a.action = 'test.three'),
    'the head is the newest row'
);
create function pg_temp.compared() returns jsonb language sql as $$
    select jobs.check_audit_anchor((h.head ->> 'seq')::bigint, h.head ->> 'hash') from head as h
$$;
create function pg_temp.found() returns bigint[] language sql as $$ select array(select private.verify_audit_chain()) $$;
select is(jobs.check_audit_anchor(null, null), '{}', 'before the first copy nothing is compared');
select is(pg_temp.compared(), '{}', 'the row that was written down is there');
select private.audit('system', 'test.four', 'thing', gen_random_uuid());
select is(pg_temp.compared(), '{}', 'and stays, whatever comes after it');
select is(pg_temp.found(), '{}', 'the chain is whole');

-- An insider cuts the tail; what is left is a whole chain
set local session_replication_role = replica;
savepoint intact;
delete from private.audit_log where action in ('test.three', 'test.four');
select is(pg_temp.found(), array[(select (h.head ->> 'seq')::bigint from head as h)], 'a tail that was cut is found');
select is(pg_temp.compared(), (select jsonb_build_object('audit_row', h.head -> 'seq') from head as h), 'and the worker is notified');
select ok(jobs.check_ledger() ? 'I26', 'and administrators, with the ledger checks');
set local session_replication_role = origin;
select private.audit('system', 'test.three', 'thing', gen_random_uuid());
select is(pg_temp.found(), array[(select (h.head ->> 'seq')::bigint from head as h)], 'a new row in its place is another');
rollback to intact;
set local session_replication_role = origin;
select is(pg_temp.found(), '{}', 'with its tail the chain is whole again');
select throws_ok($$ set local role authenticated; select jobs.audit_head() $$, '42501', null, 'members ask nothing of it');
rollback to savepoint start;

-- =====================================================================================================================
-- Each row keeps the role and the request
-- =====================================================================================================================
create function pg_temp.noted(p_actor text, p_payload jsonb default '{}') returns jsonb language plpgsql as $$
begin
    perform private.audit(p_actor, 'test.noted', null, null, p_payload);
    return (select a.payload from private.audit_log as a where a.action = 'test.noted' order by a.seq desc limit 1);
end
$$;
select is(pg_temp.noted('system', '{"n": 1}'), '{"n": 1}', 'without a request nothing is added');
select is(pg_temp.noted('system', null), '{}', 'nor to nothing');
select is(
    pg_temp.noted('admin:' || user_id('elin'), '{"role": "x"}'), '{"role": "x", "actor_role": "finance_admin"}',
    'an administrator''s role stands beside what was noted'
);
update private.admin_users set role = 'support_admin' where id = user_id('elin');
select is(
    (select array_agg(a.payload ->> 'actor_role' order by a.seq) from private.audit_log as a where a.payload ->> 'role' = 'x'), array['finance_admin'],
    'and stays what it was then'
);
select is(pg_temp.noted('admin:' || user_id('elin')), '{"actor_role": "support_admin"}', 'the next row has the new one');

select set_config('request.headers', '{"x-request-id": "4f1a", "x-real-ip": "10.0.0.1"}', true);
select is(pg_temp.noted('member:' || gen_random_uuid()), '{"request_id": "4f1a"}', 'of a request its number is kept');
select set_config('request.headers', jsonb_build_object('x-request-id', repeat('9', 5000))::text, true);
select is(length(pg_temp.noted('system') ->> 'request_id'), 64, 'cut to what the services accept');
select set_config('request.headers', '{}', true);
select is(pg_temp.noted('system'), '{}', 'a request without one has none');
select is_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'and the chain is whole');
rollback to savepoint start;
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Pages of the log, by action, actor and object
-- =====================================================================================================================
select private.audit('system', 'mail.retried', null, null), private.audit('system', 'mail_other.done', null, null),
    private.audit('member:' || user_id('ask'), 'mail.retried_twice', 'profile', profile_id('ask')), private.audit('system', 'mail', null, null);
create function pg_temp.actions(p_actor text, p_action text, p_object uuid) returns text language sql as $$
    select string_agg(a.action, ' ' order by a.seq) from private.audit_page(p_actor, p_action, p_object, 100, 0) as a
$$;
select is(pg_temp.actions(null, 'mail', null), 'mail.retried mail.retried_twice mail', 'an action, and all of its kind');
select is(pg_temp.actions(null, 'mail.retried', null), 'mail.retried', 'not what only begins like it');
select is(pg_temp.actions('system', 'mail', null), 'mail.retried mail', 'of one actor');
select is(pg_temp.actions(null, null, profile_id('ask')), 'mail.retried_twice', 'about one object');
select is(pg_temp.actions(null, $$x' or true --$$, null), null, 'and a text stays a text');
select is((select count(*) from private.audit_page(null, null, null, 3, 1)), 3::bigint, 'page by page');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Administrators read the log and export lists
-- =====================================================================================================================
create temporary table paid as select pays('freya', 100) as id;
grant select on paid to public;

select act_as('olga');
select is(list_audit() #>> '{entries,0,action}', 'deposit.approved', 'the newest is first');
select is(list_audit() #>> '{entries,0,actor_name}', 'Elin', 'with the name of who did it');
select is(
    (list_audit((select jsonb_build_object('action', 'deposit', 'objectId', p.id) from paid as p)) ->> 'total')::integer, 1, 'found by the part before the dot'
);
select is(
    (list_audit((select jsonb_build_object('action', 'deposit.appr', 'objectId', p.id) from paid as p)) ->> 'total')::integer, 0, 'but not by any beginning'
);
select is(
    (list_audit(jsonb_build_object('adminId', user_id('elin'))) ->> 'total')::bigint,
    (select count(*) from jsonb_array_elements(list_audit() -> 'entries') as e where e ->> 'actor_name' = 'Elin'), 'or by administrator'
);
select is(jsonb_array_length(list_audit('{"pageSize": 1, "page": 1}') -> 'entries'), 1, 'page by page');

select act_as('sam');
select is((list_audit() ->> 'total')::integer, 0, 'support sees what it did itself');
select raises($$ select note_export('deposits', '{}') $$, 403, 'forbidden', 'A support admin can export the own actions only.', 'and exports no money');
select lives_ok($$ select note_export('audit', '{}') $$, 'only that');
select act_as('elin');
select lives_ok($$ select note_export('deposits', '{"status": "pending"}') $$, 'finance exports');

select act_as_owner();
select audited('list.exported', 'what left as a file');
select * from finish();
rollback;
