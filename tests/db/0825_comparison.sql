-- A comparison is a merge whatever the planner expects; what it finds is repaired by look-ups.
begin;
\ir ../support/actors.sql
select plan(6);
select family();
select pays('freya', 500); select pays('ask', 1000); select pays('embla', 100);
select is(
    (select array_agg(s order by s) from pg_proc as p, unnest(p.proconfig) as s where p.oid = 'private.all_wrong()'::regprocedure),
    array[
        'enable_hashjoin=off', 'enable_material=off', 'enable_nestloop=off', 'join_collapse_limit=1', 'search_path=""', 'work_mem=64MB'
    ],
    'the comparison does nothing but merge'
);
select is(
    (select array_agg(s order by s) from pg_proc as p, unnest(p.proconfig) as s where p.oid = 'private.reconcile()'::regprocedure),
    array['plan_cache_mode=force_custom_plan', 'search_path=""'], 'the repair is planned for what there is to repair'
);
select is(cardinality(private.all_wrong()), 0, 'nothing is wrong');
set local session_replication_role = replica;
update private.positions set package_cents = 10000, paid_cents = 10000 where no = position_no('ask');
set local session_replication_role = origin;
select bag_eq(
    $$ select w.bonus_type, w.subject_no, w.pair_number, w.cents, w.bonus_id from unnest(private.all_wrong()) as w $$,
    $$ values
        ('referral'::bonus_type, position_no('ask'), null::integer, 500::bigint, null::uuid),
        ('pairing', position_no('freya'), 1, 8000, null),
        ('override', position_no('freya'), 1, 200, null) $$,
    'another package of a child is seen in its three bonuses'
);
select is(private.reconcile(), 3, 'the three are repaired');
select is(cardinality(private.all_wrong()), 0, 'and nothing is wrong any more');
select * from finish();
rollback;
