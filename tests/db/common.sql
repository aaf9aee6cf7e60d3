-- What every noun uses: the money type and its texts, errors, and helpers that a screen calls for each row.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Money, times and errors
-- =====================================================================================================================
select lives_ok(format('select %L::public.usd', v), 'money: ' || v) from unnest(array['0', '0.01', '100.50', '-3', '10000000', '1e2']) as v;
select throws_ok(format('select %L::public.usd', v), '23514', null, 'not money: ' || v)
from unnest(array['NaN', 'Infinity', '-Infinity', '0.005', '0.999', '100.000']) as v;
select throws_ok(format('select %L::public.usd', v), '22P02', null, 'not a number: ' || v) from unnest(array['1;drop', '[]', 'true', '１００', '']) as v;
select is(private.money(1234.5), '1234.50', 'JSON money has two decimals');
select is(private.money(0), '0.00', 'JSON money of nothing');
select is(private.dollars(1234.5), '$1,234.50', 'dollars in a sentence');
select is(private.dollars(-0.5), '-$0.50', 'negative dollars in a sentence');
select is(private.relative_time(now() - d, now()), t, 'ago: ' || t)
from (values (interval '3 seconds', 'just now'), (interval '90 seconds', '1 minute ago'), (interval '5 minutes', '5 minutes ago'),
    (interval '1 hour', '1 hour ago'), (interval '5 hours', '5 hours ago'), (interval '30 hours', '1 day ago'), (interval '9 days', '9 days ago')) as v (d, t);
select raises($$ select private.raise_error(418, 'short_and_stout', 'I''m "a" teapot.') $$, 418, 'short_and_stout', 'I''m "a" teapot.', 'a refusal carries status, code and text');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Decisions are numbered upwards, and what is over is over
-- =====================================================================================================================
create temporary table given as select private.last_decision_no() as last, private.next_decision_no() as next;
select is(next, last + 1, 'a decision takes the next number') from given;
select is(private.last_decision_no(), next, 'which is the last one then') from given;
select raises('update private.last_decision set no = no', 403, 'append_only', 'Decisions are numbered upwards.', 'no number is given twice');
select raises('update private.last_decision set no = no - 1', 403, 'append_only', 'Decisions are numbered upwards.', 'none goes back');
select raises('delete from private.last_decision', 403, 'append_only', 'Rows of last_decision are kept as they are.', 'and none is lost');
select lives_ok('update private.last_decision set no = no + 10', 'it may be set on, after rows were moved here');
select is(private.is_over(clock_timestamp() + d, '1 hour'), b, 'a wait of at most an hour that ends in ' || d)
from (values (interval '-1 second', true), ('30 minutes', false), ('61 minutes', true)) as v (d, b);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Ids that only the database makes stand in the order of their making
-- =====================================================================================================================
create temporary table ids as select private.time_ordered_id() as first, private.time_ordered_id() as second;
select pg_sleep(0.002);
select results_eq(
    $$ select substr(first::text, 15, 1), substr(first::text, 20, 1) ~ '[89ab]', first <> second, first < private.time_ordered_id() from ids $$,
    $$ values ('7', true, true, true) $$, 'an id is a UUID of version 7, its own, and below a later one'
);
select ok(
    abs(extract(epoch from clock_timestamp()) * 1000 - ('x' || lpad(left(replace(first::text, '-', ''), 12), 16, '0'))::bit(64)::bigint) < 60000,
    'and begins with the milliseconds of its time'
) from ids;
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What a screen asks for each row or each figure is planned once a connection, not once a call
-- =====================================================================================================================
create function pg_temp.plan_of(p_query text) returns text language plpgsql as $$
declare
    v_line text;
    v_plan text := '';
begin
    for v_line in execute 'explain (verbose, costs off) ' || p_query loop
        v_plan := v_plan || v_line;
    end loop;
    return v_plan;
end
$$;
select unalike(pg_temp.plan_of('select private.money(t.bonus_amount) from private.totals as t'), '%money(%', 'money is written where it stands, not called');
select unalike(pg_temp.plan_of('select private.percent(t.bonus_amount) from private.totals as t'), '%percent(%', 'so is a percentage');
select unalike(pg_temp.plan_of('select private.time_ordered_id()'), '%time_ordered_id(%', 'and a new id');
select is_empty($$ select p.oid::regprocedure from pg_proc as p inner join pg_language as l on p.prolang = l.oid
    where l.lanname = 'sql' and p.proconfig is not null
    and p.oid in (
        'private.counter_values()'::regprocedure, 'private.counter_value(text)'::regprocedure, 'private.tree_path(private.profiles)'::regprocedure,
        'private.oldest_pending(jsonb)'::regprocedure, 'private.member_item(private.profiles)'::regprocedure
    ) $$, 'what is called row by row keeps its plan');
select * from finish();
rollback;
