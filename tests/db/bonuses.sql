-- Bonuses: who sees them, what never changes in them, what the plan pays, and how many are computed at a time.
-- threats: T46
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Rights, keys and what stays
-- =====================================================================================================================
select pays('freya', 500);
select pays('ask', 100);

-- A member
select act_as('freya');
select is((select amount from bonuses where bonus_type = 'referral' and user_id = auth.uid())::numeric, 5.00, 'a member sees what others earned her');
select is((select reentry_amount from bonuses where user_id = auth.uid())::numeric, 0.50, 'a tenth of it re-enters, as a memo');
select is((select amount from bonuses where source_user_id = auth.uid())::numeric, 25.00, 'and what she earned others');
select throws_ok($$ delete from bonuses where user_id = auth.uid() $$, '42501', null, 'a client''s delete is rejected');
select throws_ok($$ insert into bonuses (user_id, bonus_type, amount) values (auth.uid(), 'referral', 1000) $$, '42501', null, 'a client''s insert is rejected');
select throws_ok($$ update bonuses set amount = 1000 $$, '42501', null, 'a client''s update is rejected');
select act_as('loke');
select is_empty($$ select 1 from bonuses $$, 'a stranger sees none');
select act_as('anonymous');
select throws_ok($$ select 1 from bonuses $$, '42501', null, 'an anonymous client has no table');

-- The owner of the database: keys and checks hold
select act_as_owner();
select throws_ok($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no)
    select user_id, source_user_id, bonus_type, amount, rate, volume, subject_no from public.bonuses limit 1 $$, '23505', null, 'a bonus cannot be posted twice');
select throws_ok($$ update public.bonuses set amount = amount + 1 $$, '23514', null, 'an amount is rate of volume');
select throws_ok($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number)
    select user_id, user_id, 'pairing', 1, 1, 100, subject_no, 1 from public.bonuses limit 1 $$, '23514', null, 'a member earns nothing from oneself');
select raises($$ update public.bonuses set amount = 0, volume = 0 $$, 403, 'append_only', 'A bonus only rises. A correction can lower it.', 'a bonus only rises');
select raises($$ update public.bonuses set created_at = now() - interval '1 day' $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'a bonus keeps its date');
select raises($$ update public.bonuses set id = gen_random_uuid() $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'a bonus keeps its id');
select raises($$ delete from public.bonuses $$, 403, 'append_only', 'Rows of bonuses are kept as they are.', 'a bonus is never deleted');

-- Whatever bonuses are computed from moves the posting number, so that no reconcile is left out
create function actors.moves(p_sql text, p_description text) returns text language plpgsql as $$
declare
    v_before bigint := (select last_value from private.bonus_revision_seq);
begin
    execute p_sql;
    return extensions.cmp_ok((select last_value from private.bonus_revision_seq), '>', v_before, p_description);
end
$$;
select moves($$ update public.bonuses set volume = 200, amount = 10 where source_user_id = actors.user_id('ask') $$, 'a bonus that rises is a posting');
select moves($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no)
    values (actors.user_id('ymir'), actors.user_id('buri'), 'referral', 5, 5, 100, actors.position_no('buri')) $$, 'so is a new one');
select moves($$ select actors.pays('ymir', 500) $$, 'and a package that earns no bonus');

select raises($$ update public.bonuses set source_user_id = user_id('loke') where source_user_id = user_id('ask') $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'a bonus keeps its source');
select raises($$ update public.bonuses set user_id = user_id('loke') where source_user_id = user_id('ask') $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'a bonus keeps its member');

-- The natural keys are the only indexes of subjects
select hasnt_index('public', 'bonuses', 'bonuses_subject_idx', 'the natural keys are the only indexes of subjects');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A member sees what the member earned and what the member caused
-- =====================================================================================================================
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500);

create temporary table seen as
select p.user_id, array(select b.id from public.bonuses as b where p.user_id in (b.user_id, b.source_user_id) order by 1) as ids
from private.profiles as p;
grant select on seen to authenticated;

select act_as('freya');
select is((select array_agg(b.id order by b.id) from public.bonuses as b), (select s.ids from seen as s where s.user_id = auth.uid()), 'Freya sees what she earned and what she caused');
select act_as('embla');
select is((select array_agg(b.id order by b.id) from public.bonuses as b), (select s.ids from seen as s where s.user_id = auth.uid()), 'Embla sees hers');
select act_as('loke');
select is((select coalesce(array_agg(b.id order by b.id), '{}') from public.bonuses as b), (select s.ids from seen as s where s.user_id = auth.uid()), 'Loke sees none of theirs');
select set_config('request.jwt.claims', '{}', true);
select is_empty($$ select * from public.bonuses $$, 'and an unknown user sees nothing');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The plan, told as a story
-- =====================================================================================================================
create function actors.earned(p_name text) returns table (kind text, source text, pair integer, amount numeric, rate numeric) language sql stable security definer as $$
    select b.bonus_type::text, s.username, b.pair_number, b.amount::numeric, b.rate::numeric
    from public.bonuses as b inner join private.profiles as s on s.user_id = b.source_user_id where b.user_id = user_id(p_name)
$$;

-- The plan, told as a story. Freya buys Premium: 5% to Ymir.
select pays('freya', 500);
select bag_eq($$ select * from earned('ymir') $$, $$ values ('referral', 'freya', null::integer, 25.00, 5.00) $$, '5% of the package to the referrer');

-- Her first child pays: referral only. The third too: the pair 3 and 4 is open. The second completes pair 1.
select pays('ask', 500);
select pays('buri', 250);
select bag_eq($$ select * from earned('freya') $$, $$ values ('referral', 'ask', null::integer, 25.00, 5.00), ('referral', 'buri', null, 12.50, 5.00) $$, 'an open pair earns nothing');
select pays('embla', 100);
select bag_eq($$ select * from earned('freya') where kind = 'pairing' $$, $$ values ('pairing', 'embla', 1, 240.00, 40.00) $$, '40% of 600 for the pair, from the child that completed it');
select bag_eq($$ select * from earned('ymir') where kind = 'override' $$, $$ values ('override', 'freya', 1, 6.00, 1.00) $$, '1% of the same volume to the owner''s referrer');

-- An upgrade re-rates: the child's raises volume, the owner's raises the rate. Rows keep their id and date.
create temporary table stored as select id, created_at from public.bonuses;
select pays('embla', 1000);
select bag_eq($$ select * from earned('freya') $$, $$ values ('referral', 'ask', null::integer, 25.00, 5.00), ('referral', 'buri', null, 12.50, 5.00),
    ('referral', 'embla', null, 50.00, 5.00), ('pairing', 'embla', 1, 600.00, 40.00) $$, 'a child''s upgrade raises referral and pairing');
select pays('freya', 1000);
select is((select amount from earned('freya') where kind = 'pairing'), 750.00, 'the owner''s upgrade raises the rate');
select is((select amount from earned('ymir') where kind = 'override'), 15.00, 'and not the override');
select is_empty($$ select id, created_at from stored except select id, created_at from public.bonuses $$, 'every row kept its id and its date');
select results_eq(
    $$ select t.amount::numeric from public.transactions as t inner join public.bonuses as b on b.id = t.reference_id where b.bonus_type = 'pairing' and b.user_id = user_id('freya') order by t.created_at $$,
    $$ values (240.00), (360.00), (150.00) $$, 'the journal has the first amount and each difference'
);

-- Cash-in changes no package and no bonus
select pays('ask', 33.33);
select is((select sum(amount) from earned('freya')), 837.50, 'cash-in earns no bonus');

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
select is(private.all_bonus_discrepancies(), '{}', 'a full computation agrees with what was posted');
select cmp_ok((select sum(amount) from public.bonuses), '<=', (select 0.56 * sum(paid_cents) / 100 from private.positions), 'bonuses stay below 56% of funded packages');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');

-- A pair pays when both are funded, whichever of the two is not
select join_as('tyr', 'loke'), join_as('hodr', 'tyr'), join_as('vidar', 'tyr');
select complete(n) from unnest(array['tyr', 'hodr', 'vidar']) as n;
select pays('tyr', 500); select pays('vidar', 500);
select is_empty($$ select 1 from public.bonuses where bonus_type <> 'referral' and subject_no = position_no('tyr') $$, 'the second alone pays no pair');
select pays('hodr', 500);
select is((select amount::numeric from public.bonuses where bonus_type = 'pairing' and subject_no = position_no('tyr')), 400.00, 'both together do');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The child that completed a pair, when a deposit was voided in between
-- =====================================================================================================================
create function pg_temp.pairing() returns setof text language sql as $$
    select concat_ws(' ', b.amount, s.username)
    from public.bonuses as b inner join private.profiles as s on b.source_user_id = s.user_id
    where b.bonus_type = 'pairing' and b.user_id = user_id('freya')
$$;
select pays('freya', 500);
create temporary table deposits_of as select 'ask' as name, pays('ask', 500) as id;
select corrects('void_deposit', id) from deposits_of where name = 'ask';
insert into deposits_of values ('embla', pays('embla', 500));
-- The clock says that Ask paid first.
set local app.demo_clock = '2026-01-01 00:00+00';
insert into deposits_of values ('ask again', pays('ask', 500));
set local app.demo_clock = '';
select results_eq('select pg_temp.pairing()', array['400.00 ask'], 'funded, voided and funded again after the other: the pair is completed by that');
create temporary table paired as select id, created_at from public.bonuses where bonus_type = 'pairing';
select corrects('void_deposit', id) from deposits_of where name = 'embla';
select results_eq('select pg_temp.pairing()', array['0.00 ask'], 'a pair that no longer pays keeps its row');
select raises($$ update public.bonuses set source_user_id = user_id('loke') where bonus_type = 'override' and amount = 0 $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'and an override its source');
select pays('embla', 1000);
select results_eq('select pg_temp.pairing()', array['600.00 embla'], 'completed by the other, it names that one');
select is_empty($$ select * from paired except select id, created_at from public.bonuses $$, 'in the same row');
select corrects('set_package', profile_id('freya'), 0);
select corrects('void_deposit', id) from deposits_of where name = 'ask again';
select pays('ask', 50);
select pays('freya', 1000);
select results_eq('select pg_temp.pairing()', array['525.00 ask'], 'so does one that its owner''s package brings back');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Bonuses re-rated many at a time: the same journal and the same sums as one by one
-- =====================================================================================================================
select pays('freya', 50); select pays('ask', 100); select pays('embla', 100);
select join_as(n, 'freya') from unnest(array['child1', 'child2', 'child3', 'child4', 'child5']) as n;
select complete('child' || k) from generate_series(1, 5) as k;
select pays('child1', 250);
select pays('child3', 100); select pays('child2', 100); select pays('child4', 50); select pays('child5', 50);
create function actors.ledger_agrees(p_description text) returns text language sql as $$
    select is_empty(
        'select rule, object from private.check_ledger()', p_description
    )
$$;

-- Freya's children are ask, embla; buri (unfunded), child1; child2, child3; child4, child5
create temporary table before as
select b.id, b.amount from public.bonuses as b where b.user_id = user_id('freya') and b.bonus_type = 'pairing';
select is((select count(*)::integer from before), 3, 'three of four pairs pay');
select is(
    (select b.source_user_id from public.bonuses as b where b.bonus_type = 'pairing' and b.user_id = user_id('freya') and b.pair_number = 3),
    user_id('child2'), 'the child that was funded later completed the pair'
);

select pays('freya', 1000);
select results_eq(
    $$ select sum(t.amount) from public.transactions as t inner join before as b on t.reference_id = b.id group by b.id order by b.id $$,
    $$ select n.amount::numeric from public.bonuses as n inner join before as b on n.id = b.id order by b.id $$,
    'an upgrade adds one journal row for each pair, of the difference'
);
select is((select sum(n.amount - 5 * b.amount) from public.bonuses as n inner join before as b on n.id = b.id), 0.00, 'from 10% to 50%');
select is(
    (
        select count(*)::integer from public.transactions as t inner join before as b on t.reference_id = b.id
    ), 6, 'no journal row more'
);
select ledger_agrees('the stored sums follow');

-- Who had no package: all pairs are new at once
select pays('buri', 100);
select join_as('grand1', 'buri'); select join_as('grand2', 'buri'); select join_as('grand3', 'embla'); select join_as('grand4', 'embla');
select complete('grand' || k) from generate_series(1, 4) as k;
select pays('grand4', 1000); select pays('grand3', 50);
select ledger_agrees('a pair that is new and one that was there');
select is(
    (select b.source_user_id from public.bonuses as b where b.bonus_type = 'pairing' and b.user_id = user_id('embla')),
    user_id('grand3'), 'the order of the funding counts, not that of the sign-ups'
);

-- A statement that changes nothing writes no journal row
create temporary table journal as select count(*) as rows from public.transactions;
update public.bonuses set amount = amount;
select is((select count(*) from public.transactions), (select rows from journal), 'an amount that stays leaves no trace in the journal');

-- What is wrong is found by its key, a bonus of every type, some missing and some different
set local session_replication_role = replica;
create temporary table truth as select b.bonus_type, b.subject_no, b.pair_number, b.amount, b.user_id, b.source_user_id from public.bonuses as b;
create temporary table lost as select b.* from public.bonuses as b where b.pair_number = 3 and b.subject_no = position_no('freya');
create temporary table stored as select b.id from public.bonuses as b where not exists (select 1 from lost as x where x.id = b.id);
insert into private.counter_deltas (name, delta)
select f.name, f.delta
from (select count(*) as entries, sum(abs(t.amount)) as volume from public.transactions as t where t.reference_id in (select id from lost)) as j
cross join lateral (values ('bonus_transactions', -j.entries), ('bonus_volume', -j.volume)) as f (name, delta);
delete from public.transactions where reference_id in (select id from lost);
update private.totals as t set
    pairing_amount = t.pairing_amount - b.pairing, pairing_count = t.pairing_count - b.pairings,
    override_amount = t.override_amount - b.override, override_count = t.override_count - b.overrides,
    reentry_amount = t.reentry_amount - b.reentry
from (
    select
        x.user_id,
        coalesce(sum(x.amount) filter (where x.bonus_type = 'pairing'), 0) as pairing,
        count(*) filter (where x.bonus_type = 'pairing') as pairings,
        coalesce(sum(x.amount) filter (where x.bonus_type = 'override'), 0) as override,
        count(*) filter (where x.bonus_type = 'override') as overrides,
        sum(x.reentry_amount) as reentry
    from lost as x group by x.user_id
) as b
where t.user_id = b.user_id;
insert into private.counter_deltas (name, delta)
select 'bonuses', -sum(amount) from lost
union all
select 'bonus_rows', -count(*) from lost;
insert into private.network_deltas (no, day, pairing, override)
select
    o.no, (x.created_at at time zone 'UTC')::date, -sum(case x.bonus_type when 'pairing' then x.amount else 0 end),
    -sum(case x.bonus_type when 'override' then x.amount else 0 end)
from lost as x inner join private.positions as o on x.user_id = o.user_id
group by o.no, (x.created_at at time zone 'UTC')::date;
delete from public.bonuses where id in (select id from lost);
select private.rebuild_balances(null);
set local session_replication_role = origin;
select is(private.reconcile(), 2, 'the pair''s two bonuses are missing');
select set_eq(
    'select bonus_type, subject_no, pair_number, amount, user_id, source_user_id from public.bonuses', 'select * from truth', 'and are back as they were'
);
select is((select count(*) from public.bonuses as b inner join stored as k on b.id = k.id), (select count(*) from stored), 'all others are the same rows');
select ledger_agrees('the ledger checks pass again');

-- The setting that makes it fit any size
select ok(
    (select bool_and('plan_cache_mode=force_generic_plan' = any(p.proconfig)) from pg_proc as p where p.oid in (
        'private.pair_source(integer, integer)'::regprocedure, 'private.lock_members(uuid[])'::regprocedure,
        'private.write_bonuses(private.due_bonus[], timestamptz)'::regprocedure
    )), 'point look-ups are planned once a session'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- All bonuses are computed from indexes alone
-- =====================================================================================================================
select pays('freya', 500); select pays('ask', 1000); select pays('embla', 100);
create function pg_temp.nodes(p_query text) returns setof text language plpgsql as $$
declare
    v_line text;
begin
    for v_line in execute 'explain (costs off) ' || p_query loop
        return next v_line;
    end loop;
end
$$;
-- As for a million rows that vacuum has seen, in indexes without what other tests took back: a few new rows would
-- rather be read from the table.
reindex table private.positions;
update pg_class set reltuples = 1000000, relpages = 20000, relallvisible = 20000 where oid = 'private.positions'::regclass;
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_nestloop = off;
select is_empty(
    $$ select n from pg_temp.nodes('select * from private.due_pair_bonuses') as n where n ~ '(Seq|Index) Scan.* on positions' $$,
    'both bonuses of all pairs are computed without reading the table of positions'
);
select is_empty(
    $$ select n from pg_temp.nodes('select * from private.due_referrals') as n where n ~ '(Seq|Index) Scan.* on positions' $$,
    'and so are the referral bonuses'
);
select is_empty(
    $$ select n from pg_temp.nodes('select * from private.pairs') as n where n ~ 'Materialize' $$,
    'the two sides of the pairs are merged without keeping rows'
);
select is(private.referral_percent(), 5, 'five per cent of a referral');
select is(private.override_percent(), 1, 'one per cent of a pair');
select is(
    (select b.reentry_amount from public.bonuses as b where b.bonus_type = 'pairing' and b.user_id = user_id('freya'))::numeric,
    44.00, 'ten per cent of 40% of 1,100 re-enter'
);
select * from finish();
rollback;
