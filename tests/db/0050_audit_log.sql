-- threats: T130
begin;
\ir ../support/actors.sql
select * from no_plan();
select private.audit('system', 'test.' || n, 'thing', gen_random_uuid(), jsonb_build_object('n', n)) from unnest(array['one', 'two', 'three']) as n;
select is_empty($$ select 1 from private.check_books() where rule = 'I26' $$, 'the chain is whole');
select refuses($$ update private.audit_log set action = 'test.other' $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no row is changed');
select refuses($$ delete from private.audit_log $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no row is deleted');
select refuses($$ truncate private.audit_log $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'the table is not emptied');
select throws_ok($$ select private.audit('nobody', 'test.one', null, null) $$, '23514', null, 'an actor is an administrator, a member, the system or a service');

-- An insider who goes around the triggers is found out
set local session_replication_role = replica;
savepoint intact;
update private.audit_log set payload = '{"n": "forged"}' where action = 'test.two';
select isnt_empty($$ select 1 from private.check_books() where rule = 'I26' $$, 'an edited row breaks the chain');
rollback to intact;
delete from private.audit_log where action = 'test.two';
select isnt_empty($$ select 1 from private.check_books() where rule = 'I26' $$, 'a missing row breaks the chain');
rollback to intact;
update private.audit_log set seq = seq + 1000000 where action = 'test.three';
select isnt_empty($$ select 1 from private.check_books() where rule = 'I26' $$, 'a renumbered row breaks the chain');
select * from finish();
rollback;
