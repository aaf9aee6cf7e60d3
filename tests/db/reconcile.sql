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
        'enable_hashjoin=off', 'enable_material=off', 'enable_nestloop=off', 'join_collapse_limit=1', 'max_parallel_workers_per_gather=1',
        'min_parallel_index_scan_size=4TB', 'min_parallel_table_scan_size=4TB', 'parallel_setup_cost=2000', 'parallel_tuple_cost=0',
        'plan_cache_mode=force_generic_plan', 'search_path=""', 'work_mem=64MB'
    ],
    'the comparison does nothing but merge, and divides no scan'
);
select is(
    (select (p.proconfig, p.provolatile, p.proparallel)::text from pg_proc as p where p.oid = 'private.compared_bonuses(private.ledger_part,integer[])'::regprocedure),
    '(,s,s)', 'it is inlined, so that it is planned once, and a second process may help'
);
select is(
    (select array_agg(s order by s) from pg_proc as p, unnest(p.proconfig) as s where p.oid = 'private.reconcile(boolean)'::regprocedure),
    array['plan_cache_mode=force_custom_plan', 'search_path=""'], 'the repair is planned for what there is to repair'
);
select is(cardinality(private.all_bonus_discrepancies()), 0, 'nothing is wrong');
set local session_replication_role = replica;
update private.positions set package_cents = 10000, paid_cents = 10000 where no = position_no('ask');
update private.profiles set package_value = 100 where user_id = user_id('ask');
set local session_replication_role = origin;
select bag_eq(
    $$ select w.bonus_type, w.subject_no, w.pair_number, w.cents, w.bonus_id from unnest(private.all_bonus_discrepancies()) as w $$,
    $$ values
        ('referral'::bonus_type, position_no('ask'), null::integer, 500::bigint, null::uuid),
        ('pairing', position_no('freya'), 1, 8000, null),
        ('override', position_no('freya'), 1, 200, null) $$,
    'another package of a child is seen in its three bonuses'
);
select is(private.reconcile(), 0, 'a package that nobody paid for changes no bonus');
select is(cardinality(private.all_bonus_discrepancies()), 3, 'the three are compared again');
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

-- Who finds the money lock taken gets the last summary
savepoint busy;
create or replace function private.reconcile(p_owners boolean default true) returns integer language plpgsql as $$
begin
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
select nextval('private.bonus_revision_seq');
update private.reconcile_state set ran_at = now() - interval '1 hour';
select lives_ok('select private.reconcile_if_stale()', 'a run that could not begin is none that anybody is told of');
rollback to savepoint busy;

-- A planted corruption is found, repaired by the difference, and audited
create temporary table ids as select id, created_at from public.bonuses;
set local session_replication_role = replica;
update public.bonuses set amount = 1, volume = 2.50, rate = 40 where bonus_type = 'pairing' and user_id = user_id('freya');
delete from public.transactions where reference_id in (select id from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('embla'));
delete from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('embla');
set local session_replication_role = origin;
select is(cardinality(private.all_bonus_discrepancies()), 2, 'a wrong and a missing row are found');
select is(private.reconcile(), 2, 'and repaired');
select is(private.all_bonus_discrepancies(), '{}', 'then all is right');
select is((select amount::numeric from public.bonuses where bonus_type = 'pairing' and user_id = user_id('freya')), 600.00, 'the amount is what the tree says');
select is((select count(*) from ids inner join public.bonuses using (id, created_at)), (select count(*) - 1 from ids), 'no other row was replaced');
select is(
    (select max(t.decision_no) from public.transactions as t inner join public.bonuses as b on t.reference_id = b.id where b.bonus_type = 'referral' and b.source_user_id = user_id('embla')),
    private.last_decision_no(), 'its journal rows have a number of their own'
);
select cmp_ok(private.last_decision_no(), '>', (select max(decision_no) from public.deposits), 'after every decision');
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
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- After a repair everything agrees: the row, its journal, sums, counters, days and networks
-- =====================================================================================================================
select join_as('vili', 'freya');
select complete('vili');
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500);
select jobs.roll_up_counters(); select jobs.roll_up_networks();
select private.backfill_team_days(array[position_no('ymir'), position_no('freya')], 2);
select pays('buri', 50); select pays('vili', 100);
create function actors.broken() returns text language sql stable as $$
    select string_agg(distinct c.rule, ' ' order by c.rule) from private.check_ledger() as c
$$;
create function actors.figures() returns jsonb language sql stable as $$
    select jsonb_build_object(
        'totals', (select jsonb_agg(to_jsonb(t) order by t.user_id) from private.totals as t),
        'counters', (select jsonb_object_agg(c.name, c.value::numeric(20, 2)) from private.counter_values() as c where c.name not in ('bonus_transactions', 'bonus_volume')),
        'networks', (select jsonb_agg(to_jsonb(private.network_sums(p)) order by p.id) from private.profiles as p),
        'bonuses', (select jsonb_agg(jsonb_build_object('key', concat_ws(' ', b.bonus_type, b.subject_no, b.pair_number), 'amount', b.amount) order by b.bonus_type, b.subject_no, b.pair_number) from public.bonuses as b)
    )
$$;
create temporary table sound as select figures() as figures;
create temporary table pairing as select b.id from public.bonuses as b where b.bonus_type = 'pairing' and b.user_id = user_id('freya') and b.pair_number = 1;
grant all on sound, pairing to public;
select is(broken(), null, 'nothing is wrong');

-- Damages behind the triggers; a repair; what it leaves.
create function actors.repairs(p_damage text, p_rows integer, p_description text) returns setof text language plpgsql as $$
declare
    v_alarms bigint := (select count(*) from private.alarms where kind = 'repair');
begin
    begin
        perform set_config('session_replication_role', 'replica', true);
        execute p_damage;
        perform set_config('session_replication_role', 'origin', true);
        return next ok(broken() is not null, p_description || ' is seen');
        return next is(private.reconcile(), p_rows, p_description || ' is repaired');
        return next is(figures(), (select figures from sound), 'and every figure is again what it was');
        return next is(broken(), null, 'no rule is broken');
        return next is((select count(*) from private.alarms where kind = 'repair' and ended_at is null) - v_alarms, 1::bigint, 'there is one alarm');
        return next is(private.reconcile(), 0, 'a second run has nothing to do');
        return next is((select count(*) from private.alarms where kind = 'repair') - v_alarms, 1::bigint, 'and raises none');
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform set_config('session_replication_role', 'origin', true);
    end;
end
$$;
select repairs($$ update public.bonuses set amount = 0, volume = 0 where id = (select id from pairing) $$, 1, 'a bonus of nothing');
select repairs($$ update public.bonuses set amount = amount * 2, volume = volume * 2 where id = (select id from pairing) $$, 1, 'a doubled bonus');
select repairs($$ update public.bonuses set amount = amount * 2, volume = volume * 2; update public.transactions set amount = amount * 2 where transaction_type = 'bonus' and reference_id = (select id from pairing) $$,
    (select count(*)::integer from public.bonuses), 'every bonus doubled, and the journal of one');
select repairs($$ delete from public.transactions where reference_id = (select id from pairing); delete from public.bonuses where id = (select id from pairing) $$, 1, 'a bonus lost with its journal');
select repairs($$ update public.bonuses set amount = 1, volume = 2.5 where id = (select id from pairing); delete from public.transactions where reference_id = (select id from pairing) $$, 1, 'another amount without a journal');
select repairs($$ update public.bonuses set amount = 0, volume = 0 where bonus_type = 'override'; update private.totals set override_amount = 0, override_count = 0;
    update private.counters set value = value + 1 where name <> 'available_balance'; delete from private.earning_days; update private.networks set override = 0, direct_funded = 9; update private.team_days set funded = 0 $$,
    2, 'a bonus with every sum');
select repairs($$ update public.bonuses set amount = amount * 2, volume = volume * 2 where id = (select id from pairing);
    update private.totals set pairing_amount = pairing_amount * 2 where user_id = user_id('freya') $$, 1, 'a doubled bonus that the total has followed');
-- Of a lost bonus, the journal is all that a repair has to add: the sums still have it.
savepoint lost;
set local session_replication_role = replica;
delete from public.transactions where reference_id = (select id from pairing);
delete from public.bonuses where id = (select id from pairing);
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'a lost bonus comes back');
select is(
    (select jsonb_agg(c -> 'kind') from private.audit_log as l, jsonb_array_elements(l.payload -> 'changes') as c where l.action = 'books.repaired'),
    '["journal", "balance", "counter", "counter"]', 'with its journal row, and the balances that follow'
);
rollback to savepoint lost;

-- A bonus that was never due stays as a row of nothing.
savepoint sound;
select join_as('hod', 'buri');
set local session_replication_role = replica;
insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no) values (user_id('buri'), user_id('hod'), 'referral', 25, 5, 500, position_no('hod'));
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'a bonus that was never due is set to zero');
select is(broken(), null, 'which the repair explains');
set local session_replication_role = replica;
update private.audit_log set payload = '{}' where action = 'books.repaired';
set local session_replication_role = origin;
select ok(broken() like '%I16%', 'and nothing else');
rollback to savepoint sound;

-- The alarm and the audit row say what was repaired.
set local session_replication_role = replica;
update public.bonuses set amount = 0, volume = 0 where id = (select id from pairing);
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'one bonus is repaired');
select results_eq(
    $$ select a.object, a.user_id, a.details - 'repairs', a.acknowledged_at is null and a.ended_at is null from private.alarms as a where a.kind = 'repair' $$,
    $$ select private.last_decision_no()::text, null::uuid, '{"rows": 1}'::jsonb, true $$,
    'the alarm has the number of the repair'
);
select is(
    (select a.details -> 'repairs' from private.alarms as a where a.kind = 'repair'),
    jsonb_build_array(jsonb_build_object(
        'bonus_id', (select id from pairing), 'bonus_type', 'pairing', 'user_id', user_id('freya'), 'subject_no', position_no('freya'), 'pair_number', 1,
        'old_amount', '0.00', 'new_amount', '400.00', 'journal_amount', '400.00'
    )),
    'and says what was and what is'
);
select is(
    (select l.payload -> 'repairs' from private.audit_log as l where l.action = 'books.repaired' order by l.id desc limit 1),
    (select a.details -> 'repairs' from private.alarms as a where a.kind = 'repair'), 'so does the audit row'
);
select is(
    (select l.payload - 'repairs' from private.audit_log as l where l.action = 'books.repaired' order by l.id desc limit 1),
    jsonb_build_object('rows', 1, 'decision_no', private.last_decision_no(), 'count', 0, 'changes', '[]'::jsonb), 'which also has its number and the sums that were wrong: none'
);
set local session_replication_role = replica;
update public.bonuses set amount = 1, volume = 2.5 where id = (select id from pairing);
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'it is damaged and repaired again');
select is((select count(*) from private.alarms where kind = 'repair' and ended_at is null), 2::bigint, 'which is another alarm');
select lives_ok($$ select pays('ask', 1000) $$, 'decisions go on');
select is(broken(), null, 'and are booked as ever');
select raises($$ update public.bonuses set amount = 0, volume = 0 where bonus_type = 'pairing' and amount > 0 $$, 403, 'append_only', 'A bonus only rises. A correction can lower it.', 'nothing may fall after a repair');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Nothing that follows from a damaged plan or from swapped siblings is written
-- =====================================================================================================================
select join_as('vili', 'freya');
select complete('vili');
select pays('freya', 500); select pays('ask', 500); select pays('embla', 50); select pays('buri', 1000); select pays('vili', 100);
create function actors.broken() returns text language sql stable as $$
    select string_agg(distinct c.rule, ' ' order by c.rule) from private.check_ledger() as c
$$;
create function actors.fingerprint() returns text language sql stable as $$
    select md5(string_agg(b::text || b.xmin::text || b.ctid::text, '' order by b.id)) from public.bonuses as b
$$;
select is(private.reconcile(), 0, 'nothing is wrong');
create temporary table before as select fingerprint() as print, (select count(*) from public.transactions) as journal, (select count(*) from private.alarms) as alarms;
grant all on before to public;
create function actors.leaves(p_damage text, p_rules text, p_description text) returns setof text language plpgsql as $$
begin
    begin
        perform set_config('session_replication_role', 'replica', true);
        execute p_damage;
        perform set_config('session_replication_role', 'origin', true);
        -- A member asks for the sync after something was posted.
        perform nextval('private.bonus_revision_seq');
        update private.reconcile_state set ran_at = null;
        perform act_as('ask');
        perform sync_bonuses();
        perform act_as_owner();
        return next ok((select ran_at is not null from private.reconcile_state), p_description || ': the comparison is made');
        return next is(fingerprint(), (select print from before), p_description || ': no bonus changes');
        return next is(
            array[(select count(*) from public.transactions), (select count(*) from private.alarms)],
            (select array[journal, alarms] from before), p_description || ': nothing is booked or repaired'
        );
        return next is(broken(), p_rules, p_description || ': the rules stay broken');
        return next ok((select s.bonus_revision < q.last_value from private.reconcile_state as s, private.bonus_revision_seq as q), p_description || ': whoever asks next compares again');
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform act_as_owner();
        perform set_config('session_replication_role', 'origin', true);
    end;
end
$$;
select leaves($$ update private.packages set pairing_percent = 50 where value = 500 $$, 'I11 I40', 'another pairing rate');
select leaves($$ create or replace function private.referral_percent() returns integer language plpgsql immutable parallel safe set search_path = '' as 'begin return 6; end' $$, 'I11 I40', 'another referral bonus');
select leaves($$ update private.positions set child_no = 9 where no = position_no('embla'); update private.positions set child_no = 2 where no = position_no('buri'); update private.positions set child_no = 3 where no = position_no('embla') $$,
    'I11 I33 I41', 'children who changed places');

-- What does not follow from it is repaired all the same.
set local session_replication_role = replica;
update private.positions set child_no = 9 where no = position_no('embla');
update private.positions set child_no = 2 where no = position_no('buri');
update private.positions set child_no = 3 where no = position_no('embla');
update public.bonuses set amount = 1, volume = 20 where bonus_type = 'referral' and user_id = user_id('freya') and subject_no = position_no('ask');
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'a referral bonus does not depend on the order');
select is((select string_agg(distinct w.bonus_type::text, ' ' order by w.bonus_type::text) from unnest(private.all_bonus_discrepancies()) as w), 'override pairing', 'the pairs are left');
select * from finish();
rollback;
