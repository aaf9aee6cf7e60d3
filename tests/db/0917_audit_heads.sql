-- threats: T130
begin;
\ir ../support/actors.sql
select plan(11);
select act_as_owner();
select private.audit('system', 'test.' || n, 'thing', gen_random_uuid()) from unnest(array['one', 'two', 'three']) as n;
create temporary table head as select jobs.audit_head() as head;
select is(
    (select h.head from head as h), (select jsonb_build_object('seq', a.seq, 'hash', encode(a.hash, 'hex')) from private.audit_log as a where a.action = 'test.three'),
    'the head is the newest row'
);
create function pg_temp.compared() returns jsonb language sql as $$
    select jobs.check_audit_copy((h.head ->> 'seq')::bigint, h.head ->> 'hash') from head as h
$$;
create function pg_temp.found() returns bigint[] language sql as $$ select array(select private.verify_audit_chain()) $$;
select is(jobs.check_audit_copy(null, null), '{}', 'before the first copy nothing is compared');
select is(pg_temp.compared(), '{}', 'the row that was written down is there');
select private.audit('system', 'test.four', 'thing', gen_random_uuid());
select is(pg_temp.compared(), '{}', 'and stays, whatever comes after it');
select is(pg_temp.found(), '{}', 'the chain is whole');

-- An insider cuts the tail; what is left is a whole chain
set local session_replication_role = replica;
savepoint intact;
delete from private.audit_log where action in ('test.three', 'test.four');
select is(pg_temp.found(), array[(select (h.head ->> 'seq')::bigint from head as h)], 'a tail that was cut is found');
select is(pg_temp.compared(), (select jsonb_build_object('audit_row', h.head -> 'seq') from head as h), 'and the worker is told');
select ok(jobs.check_books() ? 'I26', 'and administrators, with the books');
set local session_replication_role = origin;
select private.audit('system', 'test.three', 'thing', gen_random_uuid());
select is(pg_temp.found(), array[(select (h.head ->> 'seq')::bigint from head as h)], 'a new row in its place is another');
rollback to intact;
set local session_replication_role = origin;
select is(pg_temp.found(), '{}', 'with its tail the chain is whole again');
select throws_ok($$ set local role authenticated; select jobs.audit_head() $$, '42501', null, 'members ask nothing of it');
select * from finish();
rollback;
