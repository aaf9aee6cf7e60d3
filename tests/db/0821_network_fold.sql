-- The fold level by level: sums, order and locks as before, nothing left over.
begin;
\ir ../support/actors.sql
select plan(7);
select family();
select join_as('deep1', 'ask'); select join_as('deep2', 'deep1'); select join_as('deep3', 'deep2');
select complete(n) from unnest(array['deep1', 'deep2', 'deep3']) as n;
select pays('deep3', 100); select pays('freya', 500); select pays('ask', 250); select pays('embla', 50);
create function pg_temp.walked() returns table (no integer, members bigint, package_cents bigint, earned numeric) language sql as $$
    select o.no, count(*), sum(b.package_cents)::bigint, sum(t.referral_amount + t.pairing_amount + t.override_amount)
    from private.positions as o
    cross join lateral private.network(o.no) as n
    inner join private.positions as b on n.no = b.no
    inner join private.totals as t on b.user_id = t.user_id
    where o.no in (select actors.position_no(p.name) from actors.people as p)
    group by o.no
$$;
create function pg_temp.folded() returns table (no integer, members bigint, package_cents bigint, earned numeric) language sql as $$
    select n.no, n.members::bigint, n.package_cents, n.referral + n.pairing + n.override
    from private.networks as n
    where n.no in (select actors.position_no(p.name) from actors.people as p)
$$;
create temporary table waiting as select count(*)::integer as rows from private.network_changes;
select is(jobs.fold_networks(), (select rows from waiting), 'a fold takes all changes');
select set_eq('select * from pg_temp.folded()', 'select * from pg_temp.walked()', 'every member has the sums of all below');
select is_empty('select 1 from private.network_carries', 'nothing is left on its way');
select is(jobs.fold_networks(), 0, 'a fold without changes takes none');
select pays('deep3', 1000); select pays('deep1', 50);
select cmp_ok(jobs.fold_networks(), '>', 0, 'later changes are carried');
select set_eq('select * from pg_temp.folded()', 'select * from pg_temp.walked()', 'up to the root and down to nobody');
select throws_ok('set local role authenticated; select 1 from private.network_carries', '42501', null, 'nobody reads what is on its way');
select * from finish();
rollback;
