-- The audit log: no entry changes or goes, the chain of hashes finds what an insider does, an entry takes no lock and is
-- linked later, one that is not is an alarm, partitions are there before they are needed, each entry keeps role and
-- request, and administrators read it.
-- threats: T130
begin;
\ir ../support/actors.sql
select * from no_plan();
create function pg_temp.found() returns text[] language sql as $$ select array(select private.verify_audit_chain()) $$;
create function pg_temp.id_of(p_action text) returns bigint language sql as $$ select max(l.id) from private.audit_log as l where l.action = p_action $$;
create function pg_temp.seq_of(p_action text) returns text language sql as $$ select c.seq::text from private.audit_chain as c where c.entry_id = pg_temp.id_of(p_action) $$;
savepoint start;

-- =====================================================================================================================
-- The chain
-- =====================================================================================================================
select private.audit('system', 'test.' || n, 'thing', gen_random_uuid(), jsonb_build_object('n', n)) from unnest(array['one', 'two', 'three']) as n;
select is((select count(*) from private.unlinked_entries where action like 'test.%'), 3::bigint, 'what is written is not linked yet');
select is(pg_temp.found(), '{}', 'which is no error');
select is(private.link_entries(), (select count(*)::integer from private.audit_log), 'the linker links it');
select is_empty($$ select from private.unlinked_entries $$, 'all of it');
select is(private.link_entries(), 0, 'once');
select results_eq(
    $$ select l.action from private.audit_chain as c inner join private.audit_log as l on c.entry_id = l.id where l.action like 'test.%' order by c.seq $$,
    array['test.one', 'test.two', 'test.three'], 'in the order of writing'
);
select is(
    (select l.hash from private.audit_log as l where l.action = 'test.two'),
    (select sha256(convert_to(concat_ws('|', l.id, extract(epoch from l.at), 'system', 'test.two', 'thing', l.object_id, '{"n": "two"}'), 'UTF8')) from private.audit_log as l where l.action = 'test.two'),
    'an entry has a hash of its own, of everything it says'
);
select is(
    (select c.hash from private.audit_chain as c where c.seq::text = pg_temp.seq_of('test.two')),
    (
        select private.link_hash(b.hash, c.seq, l.*) from private.audit_log as l
        inner join private.audit_chain as c on l.id = c.entry_id inner join private.audit_chain as b on c.seq = b.seq + 1
        where l.action = 'test.two'
    ), 'a link covers the link before it and its entry'
);
select is_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'the chain is whole');
select raises($$ update private.audit_log set action = 'test.other' $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no row is changed');
select raises($$ delete from private.audit_log $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no row is deleted');
select raises($$ truncate private.audit_log, private.audit_chain $$, 403, 'append_only', 'Rows of audit_log are kept as they are.', 'the table is not emptied');
select raises($$ update private.audit_chain set hash = '' $$, 403, 'append_only', 'Rows of audit_chain are kept as they are.', 'no link is changed');
select raises($$ delete from private.audit_chain $$, 403, 'append_only', 'Rows of audit_chain are kept as they are.', 'no link is deleted');
select throws_ok($$ select private.audit('nobody', 'test.one', null, null) $$, '23514', null, 'an actor is an administrator, a member, the system or a service');

-- An insider who goes around the triggers is found out
set local session_replication_role = replica;
savepoint intact;
update private.audit_log set payload = '{"n": "forged"}' where action = 'test.two';
select is(pg_temp.found(), array[pg_temp.seq_of('test.two')], 'an edited entry breaks the chain');
select isnt_empty($$ select 1 from private.check_ledger() where rule = 'I26' $$, 'for all to see');
update private.audit_log as l set hash = private.entry_hash(l.*) where action = 'test.two';
select is(pg_temp.found(), array[pg_temp.seq_of('test.two')], 'with a hash that fits too');
rollback to intact;
update private.audit_log set hash = '' where action = 'test.two';
select is(pg_temp.found(), array[pg_temp.seq_of('test.two')], 'so does an edited hash');
rollback to intact;
delete from private.audit_log where action = 'test.two';
select is(cardinality(pg_temp.found()), 1, 'a missing entry breaks the chain');
rollback to intact;
delete from private.audit_chain where seq::text = pg_temp.seq_of('test.two');
select ok(pg_temp.found() @> array[pg_temp.seq_of('test.three')], 'a missing link breaks the chain');
rollback to intact;
delete from private.audit_chain where seq::text = pg_temp.seq_of('test.two');
delete from private.audit_log where action = 'test.two';
update private.audit_chain as c set hash = private.link_hash((select b.hash from private.audit_chain as b where b.seq = c.seq - 2), c.seq, l.*)
from private.audit_log as l where l.id = c.entry_id and l.action = 'test.three';
select is(pg_temp.found(), array[pg_temp.seq_of('test.three')], 'with hashes that fit around the gap too');
update private.audit_chain as c set hash = private.link_hash(null, c.seq, l.*)
from private.audit_log as l where l.id = c.entry_id and l.action = 'test.three';
select is(pg_temp.found(), array[pg_temp.seq_of('test.three')], 'or with a hash as of a first link');
rollback to intact;
alter table private.audit_log alter id set generated by default;
update private.audit_log set id = id + 1000000 where action = 'test.three';
update private.audit_chain set entry_id = entry_id + 1000000 where seq::text = (select max(c.seq)::text from private.audit_chain as c);
select is(pg_temp.found(), array[pg_temp.seq_of('test.three')], 'a renumbered entry breaks the chain');
rollback to intact;
update private.audit_chain set seq = seq + 1000000 where seq::text = pg_temp.seq_of('test.three');
select is(cardinality(pg_temp.found()), 1, 'a renumbered link breaks the chain');
rollback to intact;
update private.audit_state set final_id = pg_temp.id_of('test.three') + 1;
delete from private.audit_chain;
select ok(pg_temp.found() @> array['entry ' || pg_temp.id_of('test.three')], 'an emptied chain is found, and is not linked anew');
select is_empty($$ select from private.unlinked_entries $$, 'as if nothing had been there');
rollback to savepoint start;

-- =====================================================================================================================
-- How far the log is linked for good
-- =====================================================================================================================
create function pg_temp.state() returns private.audit_state language sql as $$ select s from private.audit_state as s $$;
update private.audit_state set final_id = 0, seen_id = 0, seen_until = null;
select private.link_entries();
select is((pg_temp.state()).seen_id, (select last_value from private.audit_log_id_seq), 'the last id drawn is kept');
select is((pg_temp.state()).seen_until, pg_current_xact_id(), 'with the transactions that may have drawn one: earlier ones');
select is((pg_temp.state()).final_id, 0::bigint, 'nothing is final yet');
-- Others run on the same server.
update private.audit_state set seen_until = pg_snapshot_xmin(pg_current_snapshot());
select private.audit('system', 'test.later', null, null);
select private.link_entries();
select is((pg_temp.state()).final_id, (select last_value - 1 from private.audit_log_id_seq), 'when all have ended, what they may have drawn is');
update private.audit_state set seen_until = '9223372036854775807'::xid8;
select private.link_entries();
select is((pg_temp.state()).seen_until, pg_current_xact_id(), 'transactions of another server are not waited for');
select is((pg_temp.state()).final_id, (select last_value - 1 from private.audit_log_id_seq), 'and make nothing final');
rollback to savepoint start;

-- =====================================================================================================================
-- It lies in partitions
-- =====================================================================================================================
create function pg_temp.partition_of(p_action text) returns text language sql as $$
    select l.tableoid::regclass::text from private.audit_log as l where l.action = p_action
$$;
create function pg_temp.draw(p_id bigint) returns void language plpgsql as $$
begin
    execute format('alter sequence private.audit_log_id_seq restart with %s', p_id);
    perform private.audit('system', 'test.id_' || p_id, 'thing', '00000000-0000-0000-0000-000000000001');
end
$$;
select is(jobs.prepare_audit_log(), 0, 'while the first is written to, the second is there already');
select pg_temp.draw(49999999);
select is(jobs.prepare_audit_log(), 0, 'until its last id');
select private.audit('system', 'test.next', 'thing', '00000000-0000-0000-0000-000000000001');
select is(jobs.prepare_audit_log(), 1, 'with the first id of the second another is made');
select is(jobs.prepare_audit_log(), 0, 'once');
select is(pg_temp.partition_of('test.id_49999999'), 'private.audit_log_1', 'a partition takes what it has ids for');
select is(pg_temp.partition_of('test.next'), 'private.audit_log_2', 'and the next one goes on');
select pg_temp.draw(149999999);
select is(jobs.prepare_audit_log(), 1, 'there is always an empty one behind the one that is written to');
select is((select partitioned_until from private.audit_state), 200000000::bigint, 'which is stored');
-- Somebody drew many ids and wrote nothing.
alter sequence private.audit_log_id_seq restart with 444444444;
select is(jobs.prepare_audit_log(), 6, 'however far the ids are');
select pg_temp.draw(444444445);
select is(pg_temp.partition_of('test.id_444444445'), 'private.audit_log_9', 'none lacks its place');
select is(
    (select array_agg(l.action order by l.id desc) from private.audit_log as l where l.object_id = '00000000-0000-0000-0000-000000000001'),
    array['test.id_444444445', 'test.id_149999999', 'test.next', 'test.id_49999999'], 'what is asked of the log is asked of all of them'
);
-- Each guards itself
create temporary table partitions as
select i.inhrelid::regclass as partition, split_part(i.inhrelid::regclass::text, '.', 2) as name
from pg_inherits as i where i.inhparent = 'private.audit_log'::regclass;
select is((select count(*) from partitions), 10::bigint, 'of all partitions');
select raises(format(statement, p.partition), 403, 'append_only', format('Rows of %s are kept as they are.', p.name), p.name || ': no row is touched')
from partitions as p
cross join unnest(array['update %s set action = ''test.other''', 'delete from %s', 'truncate %s, private.audit_chain']) as statement;
select is_empty($$ select p.name from partitions as p inner join pg_class as c on c.oid = p.partition where not c.relrowsecurity $$, 'each has row-level security');
select is_empty(
    $$ select p.name, r.rolname from partitions as p cross join pg_roles as r
    where r.rolname in ('anon', 'authenticated', 'service_role', 'platform_admin', 'edge_functions', 'worker')
        and has_table_privilege(r.oid, p.partition, 'select, insert, update, delete, truncate, references, trigger') $$, 'and nobody has a right to one'
);
-- The chain goes through all of them
select private.link_entries();
select is(pg_temp.found(), '{}', 'the chain is whole');
select is(
    (select count(*) from private.audit_chain as c inner join private.audit_log as l on c.entry_id = l.id where l.object_id = '00000000-0000-0000-0000-000000000001'),
    4::bigint, 'with a link for each'
);
select throws_ok('insert into private.audit_chain (seq, entry_id, hash) values (0, 99999999, '''')', '23503', null, 'and none for an entry that is nowhere');
set local session_replication_role = replica;
update private.audit_log_9 set payload = '{"n": "forged"}' where action = 'test.id_444444445';
select is(pg_temp.found(), array[pg_temp.seq_of('test.id_444444445')], 'an insider who goes to a partition itself is found out');
rollback to savepoint start;

-- =====================================================================================================================
-- An entry that is not linked is an alarm
-- =====================================================================================================================
create function pg_temp.alarms() returns bigint language sql as $$ select count(*) from private.alarms where kind = 'audit_entry' and ended_at is null $$;
select private.audit('system', 'test.late', null, null, '{}', now() - interval '11 seconds');
create temporary table linked as select jobs.link_audit_entries() as result;
select is((select l.result from linked as l), jsonb_build_object('audit_head', jobs.audit_head()), 'the worker links, and gets the head of the chain for its log');
select is(jobs.link_audit_entries(), '{}', 'only when there is a new one');
select is(pg_temp.alarms(), 0::bigint, 'an entry of an earlier time is linked like any other');
-- Somebody broke the chain's numbers, so that nothing can be linked.
insert into private.audit_log (at, actor, action) values (clock_timestamp() - interval '1 second', 'system', 'test.stuck');
alter table private.audit_chain add constraint stuck check (seq < 0) not valid;
select is(jobs.link_audit_entries(), '{"error": "23514"}', 'what cannot be linked is said');
select is(pg_temp.alarms(), 0::bigint, 'and no alarm for ten seconds');
insert into private.audit_log (at, actor, action) values (clock_timestamp() - interval '11 seconds', 'system', 'test.stuck');
select jobs.link_audit_entries();
select is(
    (select array[a.object, a.user_id::text, a.details ->> 'entry'] from private.alarms as a where a.kind = 'audit_entry'),
    array['not linked', null, pg_temp.id_of('test.stuck')::text], 'then there is one, which names the entry'
);
select jobs.link_audit_entries();
select is(pg_temp.alarms(), 1::bigint, 'one');
alter table private.audit_chain drop constraint stuck;
select jobs.link_audit_entries();
select is(pg_temp.alarms(), 0::bigint, 'until it is linked');
rollback to savepoint start;

-- =====================================================================================================================
-- An administrator's response names the entries
-- =====================================================================================================================
select set_config('app.audit_entries', '', true);
select is(private.audit_entries(), '{"audit_entries": []}', 'no entry, no name');
select private.audit('system', 'test.system', null, null);
select is(private.audit_entries(), '{"audit_entries": []}', 'what the system writes is nobody''s response');
select private.audit('admin:' || user_id('elin'), 'test.' || n, null, null) from unnest(array['one', 'two']) as n;
select is(
    private.audit_entries(), (
        select jsonb_build_object('audit_entries', jsonb_agg(jsonb_build_object('id', l.id, 'hash', encode(l.hash, 'hex')) order by l.id))
        from private.audit_log as l where l.action in ('test.one', 'test.two')
    ), 'id and hash of each'
);
rollback to savepoint start;

-- =====================================================================================================================
-- The chain's head is copied elsewhere
-- =====================================================================================================================
select private.audit('system', 'test.' || n, 'thing', gen_random_uuid()) from unnest(array['one', 'two', 'three']) as n;
select private.link_entries();
create temporary table head as select jobs.audit_head() as head;
select is(
    (select h.head from head as h), (
        select jsonb_build_object('seq', c.seq, 'hash', encode(c.hash, 'hex')) from private.audit_chain as c
        inner join private.audit_log as a on c.entry_id = a.id where a.action = 'test.three'
    ), 'the head is the newest link'
);
create function pg_temp.compared() returns jsonb language sql as $$
    select jobs.check_audit_anchor((h.head ->> 'seq')::bigint, h.head ->> 'hash') from head as h
$$;
select is(jobs.check_audit_anchor(null, null), '{}', 'before the first copy nothing is compared');
select is(pg_temp.compared(), '{}', 'the row that was written down is there');
select private.audit('system', 'test.four', 'thing', gen_random_uuid());
select private.link_entries();
select is(pg_temp.compared(), '{}', 'and stays, whatever comes after it');
select is(pg_temp.found(), '{}', 'the chain is whole');

-- An insider cuts the tail; what is left is a whole chain
set local session_replication_role = replica;
savepoint intact;
delete from private.audit_chain as c using private.audit_log as a where c.entry_id = a.id and a.action in ('test.three', 'test.four');
delete from private.audit_log where action in ('test.three', 'test.four');
select is(pg_temp.found(), array[(select h.head ->> 'seq' from head as h)], 'a tail that was cut is found');
select is(pg_temp.compared(), (select jsonb_build_object('audit_row', h.head -> 'seq') from head as h), 'and the worker is notified');
select ok(jobs.check_ledger() ? 'I26', 'and administrators, with the ledger checks');
set local session_replication_role = origin;
select private.audit('system', 'test.three', 'thing', gen_random_uuid());
select private.link_entries();
select is(pg_temp.found(), array[(select h.head ->> 'seq' from head as h)], 'a new link in its place is another');
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
    return (select a.payload from private.audit_log as a where a.action = 'test.noted' order by a.id desc limit 1);
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
    (select array_agg(a.payload ->> 'actor_role' order by a.id) from private.audit_log as a where a.payload ->> 'role' = 'x'), array['finance_admin'],
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
create function pg_temp.actions(p_actor text, p_action text, p_object uuid) returns text language plpgsql as $$
declare
    v_actions text;
begin
    execute 'select string_agg(a.action, '' '' order by a.id) from private.audit_log as a where true'
        || private.audit_conditions(p_actor, p_action, p_object, null, null, false) into v_actions;
    return v_actions;
end
$$;
select is(pg_temp.actions(null, 'mail', null), 'mail.retried mail.retried_twice mail', 'an action, and all of its kind');
select is(pg_temp.actions(null, 'mail.retried', null), 'mail.retried', 'not what only begins like it');
select is(pg_temp.actions('system', 'mail', null), 'mail.retried mail', 'of one actor');
select is(pg_temp.actions(null, null, profile_id('ask')), 'member.joined member.updated mail.retried_twice', 'about one object');
select is(pg_temp.actions(null, $$x' or true --$$, null), null, 'and a text stays a text');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Administrators read the log and export lists
-- =====================================================================================================================
create temporary table paid as select pays('freya', 100) as id;
grant select on paid to public;

select act_as('olga');
select is(list_audit() #>> '{entries,0,action}', 'deposit.approved', 'the newest is first');
select is(list_audit() #>> '{entries,0,actor_name}', 'Elin', 'with the name of who did it');
select raises($$ select list_audit('{"sort": "at.asc"}') $$, 400, 'unknown_field', 'This list has no filter named sort.', 'a filter that it has not is an error');
select is(
    (list_audit((select jsonb_build_object('action', 'deposit', 'objectId', p.id) from paid as p)) ->> 'total')::integer, 2, 'found by the part before the dot'
);
select is(
    (list_audit((select jsonb_build_object('action', 'deposit.appr', 'objectId', p.id) from paid as p)) ->> 'total')::integer, 0, 'but not by any beginning'
);
select is(
    (list_audit(jsonb_build_object('adminId', user_id('elin'))) ->> 'total')::bigint,
    (select count(*) from jsonb_array_elements(list_audit() -> 'entries') as e where e ->> 'actor_name' = 'Elin'), 'or by administrator'
);
select is(jsonb_array_length(list_audit('{"pageSize": 1, "page": 1}') -> 'entries'), 1, 'page by page');
select is(list_audit('{"pageSize": 1, "page": 2}') #> '{entries,0}', list_audit('{"pageSize": 2}') #> '{entries,1}', 'each going on where the one before ends');
create function pg_temp.searched(p_search text) returns text language sql as $$
    select string_agg(e ->> 'action', ' ' order by (e ->> 'seq')::bigint)
    from jsonb_array_elements(list_audit(jsonb_build_object('search', p_search, 'action', 'deposit')) -> 'entries') as e
$$;
grant execute on function pg_temp.searched(text) to public;
select is(pg_temp.searched(text), 'deposit.requested deposit.approved', 'a deposit is found by ' || name)
from paid as p cross join lateral (values
    ('its id', p.id::text), ('eight digits of it', left(p.id::text, 8)), ('in capitals, with blanks', '  ' || upper(left(p.id::text, 13)) || ' '), ('its member', 'freya')
) as v (name, text);
select is(pg_temp.searched(text), null, 'nothing is found, and nothing is wrong: ' || text) from unnest(array['zzz', '%', '-', repeat('9', 40), repeat('a', 300)]) as text;
select is(
    list_audit(jsonb_build_object('search', list_audit() #>> '{entries,0,seq}')) #>> '{entries,0,seq}', list_audit() #>> '{entries,0,seq}', 'an entry by its number'
);
create function pg_temp.entries_between(p_from integer, p_to integer) returns bigint language sql as $$
    select (list_audit(jsonb_strip_nulls(jsonb_build_object('from', d.newest + p_from, 'to', d.newest + p_to))) ->> 'total')::bigint
    from (select ((list_audit() #>> '{entries,0,at}')::timestamptz at time zone 'UTC')::date as newest) as d
$$;
grant execute on function pg_temp.entries_between(integer, integer) to public;
select cmp_ok(pg_temp.entries_between(0, 0), '>', 0::bigint, 'a day is found, first and last included');
select is(pg_temp.entries_between(1, null), 0::bigint, 'nothing after it');
select is(pg_temp.entries_between(null, 0)::text, list_audit() ->> 'total', 'all until it');
select is(pg_temp.entries_between(-100000, null)::text, list_audit() ->> 'total', 'or since long before');
select is(pg_temp.entries_between(null, -100000), 0::bigint, 'but nothing until then');
select is(
    list_audit(jsonb_build_object('to', '9999-12-31')) #>> '{entries,0,seq}', list_audit() #>> '{entries,0,seq}', 'the newest first as ever'
);
select is((list_audit('{"search": "  "}') ->> 'total'), list_audit() ->> 'total', 'blanks are no search');
select ok(list_audit() -> 'administrators' @> jsonb_build_array(jsonb_build_object('id', user_id('elin'), 'name', 'Elin')), 'whose actions may be asked for');

select act_as('sam');
select is((list_audit() ->> 'total')::integer, 0, 'support sees what it did itself');
select is(pg_temp.searched((select left(p.id::text, 8) from paid as p)), null, 'also when searching');
select is(list_audit() -> 'administrators', jsonb_build_array(jsonb_build_object('id', user_id('sam'), 'name', 'Sam')), 'and asks for no one else');
select raises($$ select note_export('deposits', '{}') $$, 403, 'forbidden', 'A support admin can export the own actions only.', 'and exports no money');
select lives_ok($$ select note_export('audit', '{}') $$, 'only that');
select act_as('elin');
select lives_ok($$ select note_export('deposits', '{"status": "pending"}') $$, 'finance exports');

select act_as_owner();
select audited('list.exported', 'what left as a file');
select * from finish();
rollback;
