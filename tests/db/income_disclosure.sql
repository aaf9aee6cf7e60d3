-- The income disclosure: what is counted, never of fewer than ten; published once a day, and kept.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- What it says, and to whom
-- =====================================================================================================================
select join_as('sol', 'loke'), join_as('mani', 'sol'), join_as('var', 'sol');
select complete(n) from unnest(array['sol', 'mani', 'var']) as n;
create temporary table start as select clock_timestamp() as at;
select pays('sol', 50); select pays('mani', 1000); select pays('var', 1000);
create temporary table notified as select private.compute_disclosure((select at from start), clock_timestamp()) as body, (select count(*) from private.profiles) as members;

-- Only what happened in the period: three paid 2,050; Sol received 50 + 50 + 10% of 2,000, Loke 2.50 + 20
select is((select (body ->> 'members')::bigint from notified), (select members from notified), 'every member is counted');
select is((select (body #>> '{received_nothing,members}')::bigint from notified), (select members - 2 from notified), 'those who received nothing too');
select is((select (body #>> '{below_paid,members}')::bigint from notified), 2::bigint, 'two received less than they paid');
select is((select body ->> 'credited' from notified), '322.50', 'what was credited');
select is((select body ->> 'withdrawn' from notified), '0.00', 'what was paid out');
select is((select private.compute_disclosure(now() - interval '20 years', now() - interval '19 years') ->> 'members'), '0', 'a period before the first member');
select is((select private.compute_disclosure(now() - interval '20 years', now() - interval '19 years') -> 'net'), 'null', 'has too few to show');
select ok((select bool_and((k ->> 'too_few')::boolean or (k ->> 'members')::integer >= 10) from notified, jsonb_array_elements(body -> 'packages') as k), 'no group under ten is shown');

-- An anonymous client
select act_as('anonymous');
select lives_ok('select get_income_disclosure()', 'an anonymous client reads the disclosure');
select is(get_income_disclosure(), get_income_disclosure(), 'and reads the same all day');
select act_as_owner();
select raises('update private.income_disclosures set body = ''{}''', 403, 'append_only', 'Rows of income_disclosures are kept as they are.', 'what was published stays');

-- The first who asks on a day counts for all
set local session_replication_role = replica;
delete from private.income_disclosures;
update private.profiles set created_at = created_at - interval '3 days';
set local session_replication_role = origin;
select act_as('anonymous');
select ok((get_income_disclosure() ->> 'members')::integer >= 9, 'a new day is counted anew');
select act_as_owner();
select is((select count(*) from private.income_disclosures), 1::bigint, 'and kept');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The worker publishes; an anonymous client reads
-- =====================================================================================================================
set local session_replication_role = replica;
delete from private.income_disclosures;
update private.profiles set created_at = created_at - interval '3 days';
set local session_replication_role = origin;

select is(private.last_decision_no(), 0::bigint, 'nothing was decided yet');
select pays('freya', 50);
select is(jobs.publish_disclosure(), true, 'the worker publishes');
select is((select decision_no from private.income_disclosures), (select max(decision_no) from public.deposits), 'and notes the last decision');
select is(jobs.publish_disclosure(), false, 'once a day');
select act_as('anonymous');
select is((get_income_disclosure() ->> 'members')::bigint >= 6, true, 'an anonymous client reads it');
select act_as_owner();
set local session_replication_role = replica;
update private.income_disclosures set computed_at = computed_at - interval '1 day';
set local session_replication_role = origin;
select act_as('anonymous');
select lives_ok('select get_income_disclosure()', 'yesterday''s serves until the worker comes');
select act_as_owner();
select is((select count(*) from private.income_disclosures), 1::bigint, 'and is not computed again');
select is(jobs.publish_disclosure(), true, 'the worker does');
select is((select count(*) from private.income_disclosures), 2::bigint, 'keeping what was published');
set local session_replication_role = replica;
update private.income_disclosures set computed_at = computed_at - interval '3 days';
set local session_replication_role = origin;
select act_as('anonymous');
select lives_ok('select get_income_disclosure()', 'without a worker for days');
select act_as_owner();
select is((select count(*) from private.income_disclosures), 3::bigint, 'an anonymous client''s question counts');
select * from finish();
rollback;
