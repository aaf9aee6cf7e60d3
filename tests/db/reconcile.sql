-- The comparison of all bonuses with what is due, and the repair of what differs.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- A comparison is a merge whatever the planner expects; what it finds is repaired by look-ups
-- =====================================================================================================================
select pays('freya', 500); select pays('ask', 1000); select pays('embla', 100);
select is(
    (select array_agg(s order by s) from pg_proc as p, unnest(p.proconfig) as s where p.oid = 'private.all_bonus_discrepancies()'::regprocedure),
    array[
        'enable_hashjoin=off', 'enable_material=off', 'enable_nestloop=off', 'join_collapse_limit=1', 'search_path=""', 'work_mem=64MB'
    ],
    'the comparison does nothing but merge'
);
select is(
    (select array_agg(s order by s) from pg_proc as p, unnest(p.proconfig) as s where p.oid = 'private.reconcile()'::regprocedure),
    array['plan_cache_mode=force_custom_plan', 'search_path=""'], 'the repair is planned for what there is to repair'
);
select is(cardinality(private.all_bonus_discrepancies()), 0, 'nothing is wrong');
set local session_replication_role = replica;
update private.positions set package_cents = 10000, paid_cents = 10000 where no = position_no('ask');
set local session_replication_role = origin;
select bag_eq(
    $$ select w.bonus_type, w.subject_no, w.pair_number, w.cents, w.bonus_id from unnest(private.all_bonus_discrepancies()) as w $$,
    $$ values
        ('referral'::bonus_type, position_no('ask'), null::integer, 500::bigint, null::uuid),
        ('pairing', position_no('freya'), 1, 8000, null),
        ('override', position_no('freya'), 1, 200, null) $$,
    'another package of a child is seen in its three bonuses'
);
select is(private.reconcile(), 3, 'the three are repaired');
select is(cardinality(private.all_bonus_discrepancies()), 0, 'and nothing is wrong any more');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Runs and repairs
-- =====================================================================================================================
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500); select pays('ask', 1000);
create function actors.fingerprint() returns text language sql stable as $$
    select md5(string_agg(b::text || b.xmin::text || b.ctid::text, '' order by b.id)) from public.bonuses as b
$$;

-- A member, an administrator, no other role
select act_as('freya');
select ok((sync_bonuses() #>> '{summary,totalBonuses}')::bigint >= 5 and (sync_bonuses() ->> 'success')::boolean, 'a member may ask for the sync');
select act_as('elin');
select ok((sync_bonuses() ->> 'success')::boolean, 'an administrator too');
select act_as('anonymous');
select throws_ok('select sync_bonuses()', '42501', null, 'an anonymous client not');

-- Nothing changes when all is right
select act_as_owner();
create temporary table before as select fingerprint() as print, (select count(*) from public.transactions) as journal, (select count(*) from private.audit_log) as audited;
select is(private.reconcile(), 0, 'a run finds nothing to repair');
select is(fingerprint(), (select print from before), 'and touches no row');
select is((select count(*) from public.transactions), (select journal from before), 'writes no journal row');
select is((select count(*) from private.audit_log), (select audited from before), 'and no audit row');

-- One run at a time, none when nothing was posted
update private.reconcile_state set ran_at = now() - interval '1 hour';
select private.reconcile_if_stale();
select ok((select ran_at < now() - interval '59 minutes' from private.reconcile_state), 'nothing posted since the last run: no run');
select nextval('private.bonus_revision_seq');
select private.reconcile_if_stale();
select ok((select ran_at > now() - interval '1 minute' from private.reconcile_state), 'something posted: one run');
select nextval('private.bonus_revision_seq');
update private.reconcile_state set ran_at = clock_timestamp() - interval '5 seconds';
select private.reconcile_if_stale();
select ok((select ran_at < clock_timestamp() - interval '4 seconds' from private.reconcile_state), 'at most one in ten seconds');

update private.reconcile_state set ran_at = clock_timestamp() + interval '1 hour';
select private.reconcile_if_stale();
select ok((select ran_at <= clock_timestamp() from private.reconcile_state), 'a run in the future, from before the clock was set back, holds up none');

-- A planted corruption is found, repaired by the difference, and audited
create temporary table ids as select id, created_at from public.bonuses;
set local session_replication_role = replica;
update public.bonuses set amount = 1, volume = 2.50, rate = 40 where bonus_type = 'pairing' and user_id = user_id('freya');
delete from public.transactions where reference_id in (select id from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('embla'));
delete from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('embla');
set local session_replication_role = origin;
select is((select count(*) from private.bonus_discrepancies), 2::bigint, 'a wrong and a missing row are found');
select is(private.reconcile(), 2, 'and repaired');
select is_empty($$ select * from private.bonus_discrepancies $$, 'then all is right');
select is((select amount::numeric from public.bonuses where bonus_type = 'pairing' and user_id = user_id('freya')), 600.00, 'the amount is what the tree says');
select is((select count(*) from ids inner join public.bonuses using (id, created_at)), (select count(*) - 1 from ids), 'no other row was replaced');
select is(
    (select max(t.decision_no) from public.transactions as t inner join public.bonuses as b on t.reference_id = b.id where b.bonus_type = 'pairing'),
    (select last_value from private.decision_no_seq), 'its journal rows have a number of their own'
);
select cmp_ok((select last_value from private.decision_no_seq), '>', (select max(decision_no) from public.deposits), 'after every decision');
select is((select (payload ->> 'rows')::integer from private.audit_log where action = 'books.repaired' order by id desc limit 1), 2, 'the repair is audited');
select is(private.reconcile(), 0, 'a second run finds nothing');

-- A bonus that is too high is lowered, and only by the repair
set local session_replication_role = replica;
update public.bonuses set amount = 6000, volume = 15000, rate = 40 where bonus_type = 'pairing' and user_id = user_id('freya');
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'a bonus that is too high is repaired too');
select raises($$ update public.bonuses set amount = 0, volume = 0 where bonus_type = 'pairing' $$, 403, 'append_only', 'A bonus only rises. A correction can lower it.', 'after the repair a bonus only rises again');

-- Asking for the sync makes the run
select nextval('private.bonus_revision_seq');
update private.reconcile_state set ran_at = now() - interval '1 hour';
select act_as('freya');
select ok((sync_bonuses() ->> 'success')::boolean, 'a member asks');
select act_as_owner();
select ok((select ran_at > now() - interval '1 minute' from private.reconcile_state), 'and a run is made');
select raises('select sync_bonuses()', 401, 'not_authenticated', 'Not authenticated', 'a token without a user cannot');
select * from finish();
rollback;
