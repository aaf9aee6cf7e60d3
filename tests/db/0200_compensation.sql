-- threats: T46
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
create function actors.earned(p_name text) returns table (kind text, source text, pair integer, amount numeric, rate numeric) language sql stable security definer as $$
    select b.bonus_type::text, s.username, b.pair_number, b.amount::numeric, b.rate::numeric
    from public.bonuses as b inner join private.profiles as s on s.user_id = b.source_user_id where b.user_id = user_id(p_name)
$$;

-- The plan, told as a story. Freya buys Premium: 5% to Ymir.
select pays('freya', 500);
select bag_eq($$ select * from earned('ymir') $$, $$ values ('referral', 'freya', null::integer, 25.00, 5.00) $$, '5% of the package to the sponsor');

-- Her first child pays: referral only. The third too: the pair 3 and 4 is open. The second completes pair 1.
select pays('ask', 500);
select pays('buri', 250);
select bag_eq($$ select * from earned('freya') $$, $$ values ('referral', 'ask', null::integer, 25.00, 5.00), ('referral', 'buri', null, 12.50, 5.00) $$, 'an open pair earns nothing');
select pays('embla', 100);
select bag_eq($$ select * from earned('freya') where kind = 'pairing' $$, $$ values ('pairing', 'embla', 1, 240.00, 40.00) $$, '40% of 600 for the pair, from the child that completed it');
select bag_eq($$ select * from earned('ymir') where kind = 'override' $$, $$ values ('override', 'freya', 1, 6.00, 1.00) $$, '1% of the same volume to the owner''s sponsor');

-- An upgrade re-rates: the child's raises volume, the owner's raises the rate. Rows keep their id and date.
create temporary table kept as select id, created_at from public.bonuses;
select pays('embla', 1000);
select bag_eq($$ select * from earned('freya') $$, $$ values ('referral', 'ask', null::integer, 25.00, 5.00), ('referral', 'buri', null, 12.50, 5.00),
    ('referral', 'embla', null, 50.00, 5.00), ('pairing', 'embla', 1, 600.00, 40.00) $$, 'a child''s upgrade raises referral and pairing');
select pays('freya', 1000);
select is((select amount from earned('freya') where kind = 'pairing'), 750.00, 'the owner''s upgrade raises the rate');
select is((select amount from earned('ymir') where kind = 'override'), 15.00, 'and not the override');
select is_empty($$ select id, created_at from kept except select id, created_at from public.bonuses $$, 'every row kept its id and its date');
select results_eq(
    $$ select t.amount::numeric from public.transactions as t inner join public.bonuses as b on b.id = t.reference_id where b.bonus_type = 'pairing' and b.user_id = user_id('freya') order by t.created_at $$,
    $$ values (240.00), (360.00), (150.00) $$, 'the journal has the first amount and each difference'
);

-- Cash-in changes no package and no bonus
select pays('ask', 33.33);
select is((select sum(amount) from earned('freya')), 837.50, 'cash-in earns nobody anything');

-- Who has no package earns referrals and overrides, but no pairing; a later first package brings it
select join_as('gna', 'loke'); select join_as('hel', 'gna'); select join_as('idun', 'gna');
select complete(n) from unnest(array['gna', 'hel', 'idun']) as n;
select pays('idun', 1000);
select pays('hel', 50);
select bag_eq($$ select * from earned('gna') $$, $$ values ('referral', 'hel', null::integer, 2.50, 5.00), ('referral', 'idun', null, 50.00, 5.00) $$, 'without a package there is no pairing');
select bag_eq($$ select * from earned('loke') $$, $$ values ('override', 'gna', 1, 10.50, 1.00) $$, 'the override is paid whatever the owner''s rate');
select pays('gna', 50);
select bag_eq($$ select * from earned('gna') where kind = 'pairing' $$, $$ values ('pairing', 'hel', 1, 105.00, 10.00) $$, 'a first package brings 10% of 1,050, from the child funded last');

-- Deposits approved in another order give the same
select is((select package_value::numeric from private.profiles where user_id = user_id('embla')), 1000.00, 'the larger package stays');
select join_as('jord', 'hel'); select complete('jord');
create temporary table waiting as select claims_deposit('jord', 50) as small, claims_deposit('jord', 1000) as large;
grant select on waiting to public;
select act_as('elin');
select decide_deposit(large, 'approve'), decide_deposit(small, 'approve') from waiting;
select act_as_owner();
select is((select package_value::numeric from private.profiles where user_id = user_id('jord')), 1000.00, 'a smaller deposit decided later lowers nothing');
select is((select amount from earned('hel')), 50.00, 'and the bonus is that of the larger package');

-- No bonus for anybody else; never more than 56%
select is_empty($$ select * from private.wrong_bonuses $$, 'a full computation agrees with what was posted');
select cmp_ok((select sum(amount) from public.bonuses), '<=', (select 0.56 * sum(paid_cents) / 100 from private.positions), 'bonuses stay below 56% of funded packages');
select is_empty($$ select * from private.check_books() where rule <> 'I20' $$, 'the books agree');

-- A pair pays when both are funded, whichever of the two is not
select join_as('tyr', 'loke'), join_as('hodr', 'tyr'), join_as('vidar', 'tyr');
select complete(n) from unnest(array['tyr', 'hodr', 'vidar']) as n;
select pays('tyr', 500); select pays('vidar', 500);
select is_empty($$ select 1 from public.bonuses where bonus_type <> 'referral' and subject_no = position_no('tyr') $$, 'the second alone pays no pair');
select pays('hodr', 500);
select is((select amount::numeric from public.bonuses where bonus_type = 'pairing' and subject_no = position_no('tyr')), 400.00, 'both together do');
select * from finish();
rollback;
