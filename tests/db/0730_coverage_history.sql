begin;
\ir ../support/actors.sql
select plan(10);

select lives_ok($$ select jobs.snapshot_coverage() $$, 'the worker keeps a day');
select ok(not jobs.snapshot_coverage(), 'once');
select is((select count(*) from private.coverage_days where day = (now() at time zone 'UTC')::date), 1::bigint, 'as one row');
select refuses($$ update private.coverage_days set figures = '{}' $$, 403, 'append_only', 'Rows of coverage_days are kept as they are.', 'which never changes');
select refuses($$ delete from private.coverage_days $$, 403, 'append_only', 'Rows of coverage_days are kept as they are.', 'nor goes away');

select act_as('sam');
select is(get_coverage_history(1) -> -1 ->> 'day', (now() at time zone 'UTC')::date::text, 'every administrator reads it');
select ok(get_coverage_history(1) -> -1 ? 'ratio', 'with the figures of the day');
select is(get_coverage() -> 'rests_on' -> 0 ->> 'days', '30', 'and what it rests on');
select ok((get_coverage() -> 'rests_on' -> 1 ->> 'deposits')::numeric >= (get_coverage() -> 'rests_on' -> 0 ->> 'deposits')::numeric, 'ninety days hold thirty');
select act_as('anonymous');
select throws_ok($$ select get_coverage_history() $$, '42501', null, 'a visitor does not');

select * from finish();
rollback;
