-- What stands behind what members may ask for: the figures of now, of each day, and what they rest on.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- The worker stores each day once it has ended
-- =====================================================================================================================
create function pg_temp.at(p_day integer, p_time time) returns void language sql as $$
    select set_config('app.demo_clock', (now() at time zone 'UTC')::date + p_day + p_time || '+00', true)
$$;
create function pg_temp.day(p_day integer) returns date language sql as $$ select (now() at time zone 'UTC')::date + p_day $$;
grant execute on all functions in schema pg_temp to public;
create temporary table ends (day date, figures jsonb);

-- Two requests wait over midnight.
select pg_temp.at(1, '10:00');
select pays('freya', 500); select pays('ask', 500);
create temporary table recalled as select pays('embla', 500) as id;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address)
values (auth.uid(), 300, wallets.of('freya')), (auth.uid(), 100, wallets.of('freya'));
select act_as_owner();
insert into ends values (pg_temp.day(1), private.coverage());
-- One is approved at midnight; then Freya's bonuses are voided, and other members' are not hers.
select pg_temp.at(2, '00:00');
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where amount = 300;
select act_as_owner();
select corrects('void_deposit', id) from recalled;
insert into ends values (pg_temp.day(2), private.coverage());
-- Everything is taken back.
select pg_temp.at(3, '23:59:59');
select act_as('elin');
select decide_withdrawal(id, 'reject', 'No.') from withdrawals where amount = 100;
select act_as_owner();
select corrects('void_withdrawal', id) from public.withdrawals where amount = 300;
insert into ends values (pg_temp.day(3), private.coverage());
select is((select count(distinct figures) from ends), 3::bigint, 'each day ends with other figures');

select is(jobs.snapshot_coverage(), 3, 'on the third evening the days before it are stored');
select is_empty($$ select 1 from private.coverage_days where day = pg_temp.day(3) $$, 'not the day that has not ended');
select pg_temp.at(4, '00:05');
select is(jobs.snapshot_coverage(), 1, 'after midnight it is');
select is(jobs.snapshot_coverage(), 0, 'once');
select results_eq(
    $$ select day, figures from private.coverage_days where day between pg_temp.day(1) and pg_temp.day(3) order by day $$,
    $$ select day, figures from ends order by day $$, 'each with the figures of its end'
);
select results_eq(
    $$ select day - pg_temp.day(0), decision_no, cardinality(pending_ids) from private.coverage_days where day between pg_temp.day(1) and pg_temp.day(3) order by day $$,
    $$ select d.day, private.last_decision_no(), d.pending from (values (1, 2), (2, 1), (3, 0)) as d (day, pending) $$,
    'with the last decision, and the requests that were pending'
);
select pg_temp.at(6, '07:00');
select is(jobs.snapshot_coverage(), 2, 'a worker that was away stores the days that it missed');
select results_eq(
    $$ select distinct taken_at from private.coverage_days where day in (pg_temp.day(4), pg_temp.day(5)) $$,
    $$ select private.clock() $$, 'and the rows say when'
);
select pg_temp.at(2, '00:00');
select is(jobs.snapshot_coverage(), 0, 'a clock that was set back changes no day');
select pg_temp.at(46, '00:05');
select is(jobs.snapshot_coverage(0), 1, 'without time for more it stores one');
select results_eq(
    $$ select day - pg_temp.day(0) from private.coverage_days where day > pg_temp.day(5) $$, array[45], 'the last days first'
);
select is(jobs.snapshot_coverage(), 39, 'then the others');
set local app.demo_clock = '';
select raises($$ update private.coverage_days set figures = '{}' $$, 403, 'append_only', 'Rows of coverage_days are kept as they are.', 'a stored day never changes');
select raises($$ delete from private.coverage_days $$, 403, 'append_only', 'Rows of coverage_days are kept as they are.', 'nor goes away');

insert into private.coverage_days (day, figures, taken_at, decision_no, pending_ids)
values (pg_temp.day(-1), '{"ratio": null}', now(), 0, '{}'), (pg_temp.day(-2), '{}', now(), 0, '{}');
select act_as('sam');
select is(get_coverage_history(1) #>> '{0,day}', pg_temp.day(-1)::text, 'every administrator reads them, from yesterday on');
select ok(get_coverage_history(1) -> 0 ?& array['ratio', 'taken_at'], 'with the figures of the day, and when they were computed');
select is(get_coverage() -> 'rests_on' -> 0 ->> 'days', '30', 'and what it rests on');
select ok((get_coverage() -> 'rests_on' -> 1 ->> 'deposits')::numeric >= (get_coverage() -> 'rests_on' -> 0 ->> 'deposits')::numeric, 'ninety days hold thirty');
select act_as('anonymous');
select throws_ok($$ select get_coverage_history() $$, '42501', null, 'an anonymous client does not');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What it rests on: the rest of a broken day row by row, the whole days as they were kept
-- =====================================================================================================================
select pays('freya', 500);
select pays('ask', 500);
-- Requested before midnight, decided after it.
set local app.demo_clock = '2020-05-05 23:59:00+00';
create temporary table late as select claims_deposit('embla', 1000) as id;
grant select on late to public;
set local app.demo_clock = '2020-05-06 00:01:00+00';
select act_as('elin');
select decide_deposit(id, 'approve') from late;
select act_as_owner();
set local app.demo_clock = '';
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya'));
select act_as_owner();
select is(
    private.deposits_since(at),
    (select coalesce(sum(d.amount), 0)::numeric from public.deposits as d where d.status = 'approved' and d.voided_at is null and d.decided_at > at),
    'deposits since ' || at
)
from unnest(array[now() - interval '30 days', now() - interval '1 second', now() + interval '1 hour', '2020-05-05 23:59:30+00'::timestamptz]) as at;
select act_as('sam');
select is(get_coverage() ->> 'pending', '100.00', 'what waits is in the coverage');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What one member asked for beyond the own bonuses is not another one's loss
-- =====================================================================================================================
-- Freya asks for 200, then the deposit behind most of her bonuses is voided.
select administrator('orm', 'super_admin');
select pays('freya', 500); select pays('embla', 500);
create temporary table recalled as select pays('ask', 500) as deposit, null::uuid as correction;
grant all on recalled to public;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 200, wallets.of('freya'));
select act_as('olga');
update recalled set correction = (propose_correction('void_deposit', deposit, null, 'Recalled.') #>> '{correction,id}')::uuid;
select act_as('orm');
select confirm_correction(correction) from recalled;
create temporary table coverage as select get_coverage() as figures;
select act_as_owner();
select is((select t.requestable_amount::numeric from private.totals as t where t.user_id = user_id('ymir')), 25.00, 'Ymir can withdraw what he earned');
select is((select c.figures ->> 'withdrawable' from coverage as c), (select sum(t.requestable_amount)::text from private.totals as t), 'coverage counts it');
select is((select c.figures ->> 'pending' from coverage as c), '200.00', 'beside what Freya asked for');
select is((select c.figures ->> 'ratio' from coverage as c), '444.44', 'the fraction is of both: 1,000 against 225');
select is((select string_agg(object, ' ') from private.ledger_violations where rule = 'I27'), null, 'the ledger checks pass');
select * from finish();
rollback;
