begin;
\ir ../support/actors.sql
select * from no_plan();

select is((select value from private.counted() where name = 'shortfall'), 0::numeric, 'nobody has withdrawn more than was earned');
select actors.join_as('ada');
create temp table someone as select actors.user_id('ada') as user_id;
update private.totals set withdrawn_amount = bonus_amount + 5 where user_id = (select user_id from someone);
select is((select value from private.counted() where name = 'shortfall'), 5::numeric, 'what was withdrawn beyond the bonuses is counted');
update private.totals set referral_amount = referral_amount + 3 where user_id = (select user_id from someone);
select is((select value from private.counted() where name = 'shortfall'), 2::numeric, 'a bonus makes it less');
update private.totals set referral_amount = referral_amount + 30 where user_id = (select user_id from someone);
select is((select value from private.counted() where name = 'shortfall'), 0::numeric, 'and never less than nothing');

select is((select count(*) from private.book_violations where rule = 'I27'), 0::bigint, 'the books agree with what is counted');
update private.counters set value = value + 1 where name = 'shortfall';
select is((select string_agg(object, ' ') from private.book_violations where rule = 'I27'), 'shortfall', 'and tell when they do not');

select is(
    pg_stat_get_xact_tuples_hot_updated('private.totals'::regclass), pg_stat_get_xact_tuples_updated('private.totals'::regclass),
    'sums change in place: no index holds what changes in them'
);
select hasnt_index('public', 'bonuses', 'bonuses_subject_idx', 'the natural keys are the only indexes of subjects');

create function pg_temp.explained(p_query text) returns text language plpgsql as $$
declare
    v_line text;
    v_all text := '';
begin
    for v_line in execute 'explain (verbose, costs off) ' || p_query loop
        v_all := v_all || v_line || e'\n';
    end loop;
    return v_all;
end
$$;
select unalike(
    pg_temp.explained('select private.money(t.amount), private.percent(t.amount) from public.transactions as t'), '%private.%(%',
    'money and percentages are written where they stand, not called'
);
select * from finish();
rollback;
