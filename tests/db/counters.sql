-- The counters: what each event adds to them, their roll-up, and the days of what came in and went out.
begin;
\ir ../support/actors.sql
select * from no_plan();
savepoint start;

-- =====================================================================================================================
-- Counters and their roll-up
-- =====================================================================================================================
create temporary table watched (name) as values ('profiles'), ('active_profiles'), ('package_investment'), ('pending_deposits'), ('pending_withdrawals'), ('deposits_approved'),
    ('withdrawals_approved'), ('deposits_approved_count'), ('deposits_rejected_count'), ('withdrawals_approved_count'), ('withdrawals_rejected_count'), ('bonuses'), ('bonus_rows');
create temporary table before as select * from private.counter_values();
select fixture_members();
select pays('freya', 500);
select pays('ask', 100);
select pays('embla', 50);
select claims_deposit('embla', 100);
select results_eq(
    $$ select a.name, (a.value - b.value)::numeric from private.counter_values() as a inner join before as b using (name) where a.value <> b.value and a.name in (select name from watched) order by a.name $$,
    $$ values ('active_profiles', 3.0), ('bonus_rows', 5), ('bonuses', 94.00), ('deposits_approved', 650), ('deposits_approved_count', 3),
        ('package_investment', 650), ('pending_deposits', 1), ('profiles', 6) $$,
    'the counters follow what happens'
);
create temporary table notified as select * from private.counter_values();
select ok(jobs.roll_up_counters() > 0, 'deltas are rolled up');
select results_eq($$ select * from private.counter_values() order by name $$, $$ select * from notified order by name $$, 'and the figures stay');
select is((select count(*) from private.counter_deltas), 0::bigint, 'no delta is left');
rollback to savepoint start;
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- What an approval, a rejection and a payment without a package add, to the row
-- =====================================================================================================================
create temporary table seen as select coalesce(max(d.id), 0) as last from private.counter_deltas as d;
create function pg_temp.recounted() returns table (name text, delta numeric) language plpgsql as $$
begin
    return query select d.name, d.delta from private.counter_deltas as d where d.id > (select last from seen);
    update seen set last = (select max(d.id) from private.counter_deltas as d);
end
$$;
select pays('freya', 500);
select set_eq('select * from pg_temp.recounted()', $$ values
    ('pending_deposits', 1::numeric), ('active_profiles', 1), ('package_investment', 500), ('verified_profiles', 1), ('bonuses', 25), ('bonus_rows', 1),
    ('bonus_transactions', 1), ('bonus_volume', 25), ('pending_deposits', -1), ('deposits_approved', 500), ('deposits_approved_count', 1)
$$, 'a first package: the member, the money, the referrer''s bonus');
select pays('freya', 1000);
select set_eq('select * from pg_temp.recounted()', $$ values
    ('pending_deposits', 1::numeric), ('package_investment', 500), ('bonuses', 25), ('bonus_transactions', 1), ('bonus_volume', 25),
    ('pending_deposits', -1), ('deposits_approved', 1000), ('deposits_approved_count', 1)
$$, 'an upgrade: no member more, no bonus row more');
select pays('freya', 12.50);
select set_eq('select * from pg_temp.recounted()', $$ values
    ('pending_deposits', 1::numeric), ('pending_deposits', -1), ('deposits_approved', 12.50), ('deposits_approved_count', 1)
$$, 'cash-in: the money alone');
create temporary table claim as select claims_deposit('ask', 100) as id;
grant select on claim to public;
select act_as('elin');
select decide_deposit(id, 'reject', 'No such transfer') from claim;
select act_as_owner();
select set_eq('select * from pg_temp.recounted()', $$ values
    ('pending_deposits', 1::numeric), ('pending_deposits', -1), ('deposits_rejected_count', 1)
$$, 'a rejection: no money');
select is((select count(*)::integer from private.counter_deltas where delta = 0), 0, 'nothing is noted of what did not change');
select is_empty($$ select * from private.check_ledger() where rule = 'I27' $$, 'the counters are the figures');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A figure with what is not rolled up yet
-- =====================================================================================================================
select pays('freya', 500);
select is(private.counter_value('profiles'), (select count(*) from private.profiles)::numeric, 'a counter with what is not rolled up yet');
select is((select c.value from private.counter_values() as c where c.name = 'profiles'), private.counter_value('profiles'), 'in the list too');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Kept days of what came in and went out, beside the requests themselves
-- =====================================================================================================================
select administrator('orm', 'super_admin');

create function pg_temp.stored() returns setof text language sql as $$
    select format('%s %s %s %s', f.day, f.deposits::numeric(14, 2), f.withdrawals::numeric(14, 2), f.decided_deposits::numeric(14, 2))
    from private.flows_since('-infinity') as f where (f.deposits, f.withdrawals, f.decided_deposits) <> (0, 0, 0) order by 1
$$;
create function pg_temp.added_up() returns setof text language sql as $$
    select format('%s %s %s %s', a.day, sum(a.deposits)::numeric(14, 2), sum(a.withdrawals)::numeric(14, 2), sum(a.decided)::numeric(14, 2))
    from (
        select (d.created_at at time zone 'UTC')::date as day, d.amount as deposits, 0 as withdrawals, 0 as decided
        from public.deposits as d where d.status = 'approved' and d.voided_at is null
        union all
        select (d.decided_at at time zone 'UTC')::date, 0, 0, d.amount from public.deposits as d where d.status = 'approved' and d.voided_at is null
        union all
        select (w.created_at at time zone 'UTC')::date, 0, w.amount, 0 from public.withdrawals as w where w.status = 'approved' and w.voided_at is null
    ) as a group by a.day order by 1
$$;
create function pg_temp.pending() returns numeric language sql as $$
    select coalesce(sum(w.amount), 0)::numeric from public.withdrawals as w where w.status = 'pending'
$$;

select pays('freya', 500);
select pays('ask', 500);
-- Requested before midnight, decided after it.
set local app.demo_clock = '2020-05-05 23:59:00+00';
create temporary table late as select claims_deposit('embla', 1000) as id;
grant select on late to public;
set local app.demo_clock = '2020-05-06 00:01:00+00';
select act_as('elin');
select decide_deposit(id, 'approve') from late;
select act_as_owner();
set local app.demo_clock = '';
select results_eq($$ select * from pg_temp.stored() $$, $$ select * from pg_temp.added_up() $$, 'deposits stand at both their days');

select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address)
select auth.uid(), a.amount, wallets.of('freya') from (values (150), (120), (100)) as a (amount);
select act_as_owner();
select is(private.counter_value('reserved'), pg_temp.pending(), 'requests reserve their sum');
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where amount = 150;
select decide_withdrawal(id, 'reject', 'No.') from withdrawals where amount = 120;
select act_as_owner();
select is(private.counter_value('reserved'), pg_temp.pending(), 'until they are decided');
select results_eq($$ select * from pg_temp.stored() $$, $$ select * from pg_temp.added_up() $$, 'approved withdrawals count, rejected ones do not');
select ok(jobs.roll_up_counters() > 0, 'a roll-up');
select is((select count(*) from private.flow_deltas), 0::bigint, 'takes all changes');
select results_eq($$ select * from pg_temp.stored() $$, $$ select * from pg_temp.added_up() $$, 'and changes nothing');

-- What is voided no longer came.
select act_as('olga');
create temporary table proposed as
select (propose_correction('void_deposit', (select id from late), null, 'Recalled.') #>> '{correction,id}')::uuid as id
union all
select (propose_correction('void_withdrawal', (select id from withdrawals where amount = 150), null, 'Never sent.') #>> '{correction,id}')::uuid;
grant select on proposed to public;
select act_as('orm');
select confirm_correction(id) from proposed;
select act_as_owner();
select results_eq($$ select * from pg_temp.stored() $$, $$ select * from pg_temp.added_up() $$, 'a correction takes it out of its days');
select is((select count(*) from pg_temp.stored() as k where k like '2020-05-%'), 0::bigint, 'those of 2020 are empty again');

select throws_ok(format($$ set local role %I; select * from private.%I $$, r, t), '42501', null, r || ' cannot read ' || t)
from unnest(array['authenticated', 'platform_admin']) as r, unnest(array['flow_days', 'flow_deltas']) as t;
select * from finish();
rollback;
