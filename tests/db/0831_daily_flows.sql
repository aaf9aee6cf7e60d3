-- Kept days of what came in and went out, beside the requests themselves.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select administrator('orm', 'super_admin');

create function pg_temp.kept() returns setof text language sql as $$
    select format('%s %s %s %s', f.day, f.deposits::numeric(14, 2), f.withdrawals::numeric(14, 2), f.decided_deposits::numeric(14, 2))
    from private.flows('-infinity') as f where (f.deposits, f.withdrawals, f.decided_deposits) <> (0, 0, 0) order by 1
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
select results_eq($$ select * from pg_temp.kept() $$, $$ select * from pg_temp.added_up() $$, 'deposits stand at both their days');

select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address)
select auth.uid(), a.amount, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb' from (values (150), (120), (100)) as a (amount);
select act_as_owner();
select is(private.counter('reserved'), pg_temp.pending(), 'requests reserve their sum');
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where amount = 150;
select decide_withdrawal(id, 'reject', 'No.') from withdrawals where amount = 120;
select act_as_owner();
select is(private.counter('reserved'), pg_temp.pending(), 'until they are decided');
select results_eq($$ select * from pg_temp.kept() $$, $$ select * from pg_temp.added_up() $$, 'approved withdrawals count, rejected ones do not');
select ok(jobs.fold_counters() > 0, 'a fold');
select is((select count(*) from private.flow_changes), 0::bigint, 'takes all changes');
select results_eq($$ select * from pg_temp.kept() $$, $$ select * from pg_temp.added_up() $$, 'and changes nothing');

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
select results_eq($$ select * from pg_temp.kept() $$, $$ select * from pg_temp.added_up() $$, 'a correction takes it out of its days');
select is((select count(*) from pg_temp.kept() as k where k like '2020-05-%'), 0::bigint, 'those of 2020 are empty again');

-- Coverage: the rest of a broken day row by row, the whole days as they were kept.
select is(
    private.deposits_since(at),
    (select coalesce(sum(d.amount), 0)::numeric from public.deposits as d where d.status = 'approved' and d.voided_at is null and d.decided_at > at),
    'deposits since ' || at
)
from unnest(array[now() - interval '30 days', now() - interval '1 second', now() + interval '1 hour', '2020-05-05 23:59:30+00'::timestamptz]) as at;
select act_as('sam');
select is(get_coverage() ->> 'pending', '100.00', 'what waits is in the coverage');
select act_as_owner();
select throws_ok(format($$ set local role %I; select * from private.%I $$, r, t), '42501', null, r || ' cannot read ' || t)
from unnest(array['authenticated', 'platform_admin']) as r, unnest(array['flow_days', 'flow_changes']) as t;
select * from finish();
rollback;
