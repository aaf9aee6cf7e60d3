-- What came in and went out by day, kept: the panel's chart and the question how much rests on the last deposits
-- read a row a day instead of every approved request of ninety days. The days are noted in a log and folded with
-- the counters, for the same reason: one shared row would queue every decision behind it. Days are UTC days.
-- Takes the locks of a decision while approved requests are added up once.

do $$
begin
    lock table public.deposits, public.withdrawals in access exclusive mode;
end
$$;

create table private.flow_days (
    day date primary key,
    -- By the day of the request.
    deposits numeric not null default 0,
    withdrawals numeric not null default 0,
    -- By the day of the decision.
    decided_deposits numeric not null default 0
);
alter table private.flow_days enable row level security;
comment on table private.flow_days is 'Approved requests that count, by day; folded. The truth is these plus the changes not folded yet.';

create table private.flow_changes (
    id bigint generated always as identity primary key,
    day date not null,
    deposits numeric not null default 0,
    withdrawals numeric not null default 0,
    decided_deposits numeric not null default 0
);
alter table private.flow_changes enable row level security;
comment on table private.flow_changes is 'Changes of private.flow_days since the last fold.';

insert into private.flow_days (day, deposits, withdrawals, decided_deposits)
select a.day, sum(a.deposits), sum(a.withdrawals), sum(a.decided_deposits)
from (
    select (d.created_at at time zone 'UTC')::date as day, d.amount as deposits, 0 as withdrawals, 0 as decided_deposits
    from public.deposits as d where d.status = 'approved' and d.voided_at is null
    union all
    select (d.decided_at at time zone 'UTC')::date, 0, 0, d.amount
    from public.deposits as d where d.status = 'approved' and d.voided_at is null
    union all
    select (w.created_at at time zone 'UTC')::date, 0, w.amount, 0
    from public.withdrawals as w where w.status = 'approved' and w.voided_at is null
) as a
group by a.day;

insert into private.counters (name, value)
select 'reserved', coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'pending';

-- The days took their place; the last, broken day of "the last 30 days" is still added up row by row.
-- squawk-ignore require-concurrent-index-deletion
drop index public.deposits_flow_idx;
-- squawk-ignore require-concurrent-index-deletion
drop index public.withdrawals_flow_idx;
create index deposits_decided_flow_idx on public.deposits (decided_at) include (amount) where status = 'approved' and voided_at is null;

create function private.deposit_flows(p_deposit public.deposits, p_sign integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.flow_changes (day, deposits, decided_deposits)
    values
    (((p_deposit).created_at at time zone 'UTC')::date, p_sign * (p_deposit).amount, 0),
    (((p_deposit).decided_at at time zone 'UTC')::date, 0, p_sign * (p_deposit).amount);
end
$$;
comment on function private.deposit_flows(public.deposits, integer) is 'Notes an approved deposit, or with -1 a voided one, for its two days.';

create function private.withdrawal_flows(p_withdrawal public.withdrawals, p_sign integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.flow_changes (day, withdrawals)
    values (((p_withdrawal).created_at at time zone 'UTC')::date, p_sign * (p_withdrawal).amount);
end
$$;
comment on function private.withdrawal_flows(public.withdrawals, integer) is 'Notes an approved withdrawal, or with -1 a voided one, for its day.';

create function private.deposit_voided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.deposit_flows(new, -1);
    return null;
end
$$;
comment on function private.deposit_voided() is 'A voided deposit is no flow.';
create trigger _500_voided after update of voided_at on public.deposits
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.deposit_voided();

create function private.withdrawal_voided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.withdrawal_flows(new, -1);
    return null;
end
$$;
comment on function private.withdrawal_voided() is 'A voided withdrawal is no flow.';
create trigger _500_voided after update of voided_at on public.withdrawals
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.withdrawal_voided();

create or replace function private.deposit_decided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    if new.status = 'approved' then
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_approved', new.amount), ('deposits_approved_count', 1);
        perform private.deposit_flows(new, 1);
    else
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_rejected_count', 1);
    end if;
    return null;
end
$$;

create or replace function private.withdrawal_requested() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.count_up('pending_withdrawals', 1);
    perform private.count_up('reserved', new.amount);
    return null;
end
$$;

create or replace function private.withdrawal_decided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'withdrawal' and t.reference_id = new.id;
    update private.totals as t set
        reserved_amount = t.reserved_amount - new.amount,
        withdrawn_amount = t.withdrawn_amount + case when new.status = 'approved' then new.amount else 0 end
    where t.user_id = new.user_id;
    perform private.count_up('pending_withdrawals', -1);
    perform private.count_up('reserved', -new.amount);
    if new.status = 'approved' then
        perform private.count_up('withdrawals_approved', new.amount);
        perform private.count_up('withdrawals_approved_count', 1);
        perform private.withdrawal_flows(new, 1);
    else
        perform private.count_up('withdrawals_rejected_count', 1);
    end if;
    return null;
end
$$;

create or replace function jobs.fold_counters() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_flows integer;
begin
    with moved as (
        delete from private.counter_deltas returning name, delta
    ), sums as (
        select m.name, sum(m.delta) as delta, count(*) as rows from moved as m group by m.name
    ), folded as (
        update private.counters as c set value = c.value + s.delta from sums as s where c.name = s.name
    )
    select coalesce(sum(s.rows), 0)::integer into v_rows from sums as s;
    with moved as (
        delete from private.flow_changes returning day, deposits, withdrawals, decided_deposits
    ), folded as (
        insert into private.flow_days as f (day, deposits, withdrawals, decided_deposits)
        select m.day, sum(m.deposits), sum(m.withdrawals), sum(m.decided_deposits)
        from moved as m group by m.day order by m.day
        on conflict (day) do update set
            deposits = f.deposits + excluded.deposits,
            withdrawals = f.withdrawals + excluded.withdrawals,
            decided_deposits = f.decided_deposits + excluded.decided_deposits
    )
    select count(*)::integer into v_flows from moved;
    return v_rows + v_flows;
end
$$;
comment on function jobs.fold_counters() is 'Folds the deltas into the kept figures and days; answers how many.';

create function private.flows(p_from date) returns table (day date, deposits numeric, withdrawals numeric, decided_deposits numeric)
language sql stable set search_path = '' as $$
    select a.day, sum(a.deposits), sum(a.withdrawals), sum(a.decided_deposits)
    from (
        select f.day, f.deposits, f.withdrawals, f.decided_deposits from private.flow_days as f where f.day >= p_from
        union all
        select c.day, c.deposits, c.withdrawals, c.decided_deposits from private.flow_changes as c where c.day >= p_from
    ) as a
    group by a.day
$$;
comment on function private.flows(date) is 'What came in and went out on each day from this one on, as it is now.';

create or replace function private.daily_flows(p_days integer) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'day', s.day::date, 'deposits', private.money(coalesce(f.deposits, 0)), 'withdrawals', private.money(coalesce(f.withdrawals, 0))
        ) order by s.day
    )
    from pg_catalog.generate_series(
        (pg_catalog.now() at time zone 'UTC')::date - (p_days - 1), (pg_catalog.now() at time zone 'UTC')::date, interval '1 day'
    ) as s (day)
    left join private.flows((pg_catalog.now() at time zone 'UTC')::date - (p_days - 1)) as f on s.day::date = f.day
$$;

create function private.deposits_since(p_at timestamptz) returns numeric
language sql stable set search_path = '' as $$
    select
        (
            select coalesce(sum(d.amount), 0) from public.deposits as d
            where d.status = 'approved' and d.voided_at is null
                and d.decided_at > p_at
                and d.decided_at < ((p_at at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC'
        )
        + (select coalesce(sum(f.decided_deposits), 0) from private.flows((p_at at time zone 'UTC')::date + 1) as f)
$$;
comment on function private.deposits_since(timestamptz) is
'Deposits approved after a moment that count: the rest of its day row by row, later days as they were kept.';

create or replace function private.rests_on(p_days integer) returns jsonb
language sql stable set search_path = '' as $$
    -- What coverage would be had the deposits of these days not come: the same fraction without them.
    select pg_catalog.jsonb_build_object(
        'days', p_days,
        'deposits', private.money(recent.amount),
        'ratio_without', case when (now.figures ->> 'ratio') is not null then private.percent(
            ((now.figures ->> 'approved_cash_in')::numeric - recent.amount - (now.figures ->> 'approved_withdrawals')::numeric)
            / greatest((now.figures ->> 'withdrawable')::numeric + (now.figures ->> 'pending')::numeric, (now.figures ->> 'pending')::numeric) * 100
        ) end
    )
    from (select private.coverage() as figures) as now
    cross join (
        select private.deposits_since(pg_catalog.now() - pg_catalog.make_interval(days => p_days)) as amount
    ) as recent
$$;

create or replace function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter('deposits_approved');
    v_withdrawn numeric := private.counter('withdrawals_approved');
    v_pending numeric := private.counter('reserved');
    v_short numeric;
    v_available numeric;
begin
    select coalesce(sum(t.withdrawn_amount - t.bonus_amount), 0) into v_short
    from private.totals as t
    where t.referral_amount + t.pairing_amount + t.override_amount < t.withdrawn_amount;
    v_available := private.counter('bonuses') - v_withdrawn + v_short;
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(v_cash_in),
        'approved_withdrawals', private.money(v_withdrawn),
        'withdrawable', private.money(greatest(v_available - v_pending, 0)),
        'pending', private.money(v_pending),
        'ratio', case when greatest(v_available, v_pending) > 0
            then private.percent((v_cash_in - v_withdrawn) / greatest(v_available, v_pending) * 100)
        end
    );
end
$$;
