begin;
\ir ../support/actors.sql
select * from no_plan();
create temporary table watched (name) as values ('profiles'), ('active_profiles'), ('package_investment'), ('pending_deposits'), ('pending_withdrawals'), ('deposits_approved'),
    ('withdrawals_approved'), ('deposits_approved_count'), ('deposits_rejected_count'), ('withdrawals_approved_count'), ('withdrawals_rejected_count'), ('bonuses'), ('bonus_rows');
create temporary table before as select * from private.counted();
select family();
select pays('freya', 500);
select pays('ask', 100);
select pays('embla', 50);
select claims_deposit('embla', 100);
select results_eq(
    $$ select a.name, (a.value - b.value)::numeric from private.counted() as a inner join before as b using (name) where a.value <> b.value and a.name in (select name from watched) order by a.name $$,
    $$ values ('active_profiles', 3.0), ('bonus_rows', 5), ('bonuses', 94.00), ('deposits_approved', 650), ('deposits_approved_count', 3),
        ('package_investment', 650), ('pending_deposits', 1), ('profiles', 6) $$,
    'the kept figures follow what happens'
);
create temporary table told as select * from private.counted();
select ok(jobs.fold_counters() > 0, 'deltas are folded');
select results_eq($$ select * from private.counted() order by name $$, $$ select * from told order by name $$, 'and the figures stay');
select is((select count(*) from private.counter_deltas), 0::bigint, 'no delta is left');
select * from finish();
rollback;
