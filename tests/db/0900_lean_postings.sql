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
update private.totals set reserved_amount = 32 where user_id = (select user_id from someone);
select is((select value from private.counted() where name = 'shortfall'), 4::numeric, 'what was asked for beyond them counts too');
update private.totals set reserved_amount = 0, withdrawn_amount = withdrawn_amount + 32 where user_id = (select user_id from someone);
select is((select value from private.counted() where name = 'shortfall'), 4::numeric, 'and its approval changes nothing');
update private.totals set withdrawn_amount = withdrawn_amount - 32 where user_id = (select user_id from someone);

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
-- Freya asks for 200, then the deposit behind most of her bonuses is voided: what she asked for beyond is not Ymir's loss.
update private.counters set value = value - 1 where name = 'shortfall';
update private.totals set referral_amount = 0, withdrawn_amount = 0 where user_id = (select user_id from someone);
select family();
select administrator('orm', 'super_admin');
select pays('freya', 500); select pays('embla', 500);
create temporary table recalled as select pays('ask', 500) as deposit, null::uuid as correction;
grant all on recalled to public;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 200, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
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
select is((select string_agg(object, ' ') from private.book_violations where rule = 'I27'), null, 'the books agree');
select * from finish();
rollback;
