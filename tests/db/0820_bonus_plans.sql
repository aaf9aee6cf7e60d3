-- Bonuses re-rated many at a time: the same journal and the same sums as one by one.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 50); select pays('ask', 100); select pays('embla', 100);
select join_as(n, 'freya') from unnest(array['child1', 'child2', 'child3', 'child4', 'child5']) as n;
select complete('child' || k) from generate_series(1, 5) as k;
select pays('child1', 250);
select pays('child3', 100); select pays('child2', 100); select pays('child4', 50); select pays('child5', 50);
create function actors.books_agree(p_description text) returns text language sql as $$
    select is_empty(
        'select rule, object from private.check_books()', p_description
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
select books_agree('the kept sums follow');

-- Who had no package: all pairs are new at once
select pays('buri', 100);
select join_as('grand1', 'buri'); select join_as('grand2', 'buri'); select join_as('grand3', 'embla'); select join_as('grand4', 'embla');
select complete('grand' || k) from generate_series(1, 4) as k;
select pays('grand4', 1000); select pays('grand3', 50);
select books_agree('a pair that is new and one that was there');
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
create temporary table kept as select b.id from public.bonuses as b where not exists (select 1 from lost as x where x.id = b.id);
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
insert into private.network_changes (no, day, pairing, override)
select
    o.no, (x.created_at at time zone 'UTC')::date, -sum(case x.bonus_type when 'pairing' then x.amount else 0 end),
    -sum(case x.bonus_type when 'override' then x.amount else 0 end)
from lost as x inner join private.positions as o on x.user_id = o.user_id
group by o.no, (x.created_at at time zone 'UTC')::date;
delete from public.bonuses where id in (select id from lost);
set local session_replication_role = origin;
select is(private.reconcile(), 2, 'the pair''s two bonuses are missing');
select set_eq(
    'select bonus_type, subject_no, pair_number, amount, user_id, source_user_id from public.bonuses', 'select * from truth', 'and are back as they were'
);
select is((select count(*) from public.bonuses as b inner join kept as k on b.id = k.id), (select count(*) from kept), 'all others are the same rows');
select books_agree('the books agree again');

-- The setting that makes it fit any size
select ok(
    (select bool_and('plan_cache_mode=force_generic_plan' = any(p.proconfig)) from pg_proc as p where p.oid in (
        'private.pair_source(integer, integer)'::regprocedure, 'private.lock_members(uuid[])'::regprocedure,
        'private.write_bonuses(private.due_bonus[], timestamptz)'::regprocedure
    )), 'point look-ups are planned once a session'
);
select * from finish();
rollback;
