-- The lessons a member has done: a mark for oneself alone.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();

select act_as('freya');
select lives_ok($$ insert into lesson_progress (user_id, lesson_id) values (auth.uid(), 'stop-loss') on conflict do nothing $$, 'a member marks a lesson as done');
select lives_ok($$ insert into lesson_progress (user_id, lesson_id) values (auth.uid(), 'stop-loss') on conflict do nothing $$, 'twice is no error');
select is((select count(*) from lesson_progress), 1::bigint, 'and one row');
select raises(format('insert into lesson_progress (user_id, lesson_id) values (%L, %L)', user_id('ask'), 'x'), 403, 'not_yours', 'You can only make requests for yourself.', 'a member cannot learn for another');
select throws_ok($$ insert into lesson_progress (user_id, lesson_id) values (auth.uid(), 'Not a name') $$, '23514', null, 'a lesson has a name');
select throws_ok($$ update lesson_progress set done_at = now() $$, '42501', null, 'no row is changed');
select lives_ok($$ insert into lesson_progress (user_id, lesson_id) select auth.uid(), 'l-' || i from generate_series(2, 200) as i $$, 'a long school');
select raises($$ insert into lesson_progress (user_id, lesson_id) values (auth.uid(), 'one-more') $$, 409, 'too_many', 'There are not that many lessons.', 'has an end');
select act_as('ask');
select is_empty($$ select 1 from lesson_progress $$, 'another member sees none of it');
delete from lesson_progress;
select act_as('anonymous');
select throws_ok($$ select 1 from lesson_progress $$, '42501', null, 'an anonymous client has no table');
select act_as('freya');
select is((select count(*) from lesson_progress), 200::bigint, 'what others delete stays');
delete from lesson_progress where lesson_id = 'stop-loss';
select is((select count(*) from lesson_progress), 199::bigint, 'a mark is taken back');

-- Behind the trigger stands a policy
select act_as_owner();
alter table public.lesson_progress disable trigger _100_validate;
select act_as('freya');
select throws_ok(
    format('insert into lesson_progress (user_id, lesson_id) values (%L, %L)', user_id('ask'), 'x'),
    '42501', 'new row violates row-level security policy for table "lesson_progress"', 'the policy alone rejects a mark of another'
);
select * from finish();
rollback;
