begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
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
select refuses($$ select note_export('deposits', '{}') $$, 403, 'forbidden', 'A support admin can export the own actions only.', 'and exports no money');
select lives_ok($$ select note_export('audit', '{}') $$, 'only that');
select act_as('elin');
select lives_ok($$ select note_export('deposits', '{"status": "pending"}') $$, 'finance exports');

select act_as_owner();
select audited('list.exported', 'what left as a file');
select * from finish();
rollback;
