-- The worker publishes; a visitor reads.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
set local session_replication_role = replica;
delete from private.income_disclosures;
update private.profiles set created_at = created_at - interval '3 days';
set local session_replication_role = origin;

select is(jobs.publish_disclosure(), true, 'the worker publishes');
select is(jobs.publish_disclosure(), false, 'once a day');
select act_as('anonymous');
select is((get_income_disclosure() ->> 'members')::bigint >= 6, true, 'a visitor reads it');
select act_as_owner();
set local session_replication_role = replica;
update private.income_disclosures set computed_at = computed_at - interval '1 day';
set local session_replication_role = origin;
select act_as('anonymous');
select lives_ok('select get_income_disclosure()', 'yesterday''s serves until the worker comes');
select act_as_owner();
select is((select count(*) from private.income_disclosures), 1::bigint, 'and nobody counts again');
select is(jobs.publish_disclosure(), true, 'the worker does');
select is((select count(*) from private.income_disclosures), 2::bigint, 'keeping what was published');
set local session_replication_role = replica;
update private.income_disclosures set computed_at = computed_at - interval '3 days';
set local session_replication_role = origin;
select act_as('anonymous');
select lives_ok('select get_income_disclosure()', 'without a worker for days');
select act_as_owner();
select is((select count(*) from private.income_disclosures), 3::bigint, 'a visitor''s question counts');
select * from finish();
rollback;
