-- Counters for the admin dashboard, so that it reads a handful of rows at any size. Each change appends a delta and a
-- job rolls the deltas up: one shared row would serialise every transaction.
-- Figures: decision D16.

create table private.counters (
    name text primary key,
    value numeric not null default 0
);
comment on table private.counters is 'Rolled-up counters. The current value is value plus the pending deltas.';
alter table private.counters enable row level security;

insert into private.counters (name) values
('profiles'), ('active_profiles'), ('verified_profiles'), ('package_investment'), ('shortfall'),
('pending_deposits'), ('deposits_approved'), ('deposits_approved_count'), ('deposits_rejected_count'),
('pending_withdrawals'), ('withdrawals_approved'), ('withdrawals_approved_count'), ('withdrawals_rejected_count'), ('withdrawals_paid_count'),
('reserved'),
('bonuses'), ('bonus_rows'), ('bonus_transactions'), ('bonus_volume'), ('available_balance'),
('subscriptions_active'), ('subscriptions_suspended'), ('subscriptions_cancelled');

create table private.counter_deltas (
    id bigint generated always as identity,
    name text not null,
    delta numeric not null,
    -- The name first: one index, which the sum of a name is read along.
    primary key (name, id)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.counter_deltas is 'Deltas since the last roll-up.';
alter table private.counter_deltas enable row level security;

-- Daily totals of deposits and withdrawals: the panel's chart and the coverage computation read a row a day instead
-- of every approved request. Changes are appended as deltas and rolled up with the counters, for the
-- same reason. Days are UTC.

create table private.flow_days (
    day date primary key,
    -- By day of the request.
    deposits numeric not null default 0,
    withdrawals numeric not null default 0,
    -- By day of the decision.
    decided_deposits numeric not null default 0
);
comment on table private.flow_days is
'Approved and not voided requests by day, rolled up. The current value is these plus private.flow_deltas.';
alter table private.flow_days enable row level security;

create table private.flow_deltas (
    id bigint generated always as identity primary key,
    day date not null,
    deposits numeric not null default 0,
    withdrawals numeric not null default 0,
    decided_deposits numeric not null default 0
);
comment on table private.flow_deltas is 'Deltas of private.flow_days since the last roll-up.';
alter table private.flow_deltas enable row level security;

create function private.increment_counter(p_name text, p_delta numeric) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.counter_deltas (name, delta)
    select p_name, p_delta where p_delta <> 0;
end
$$;
comment on function private.increment_counter(text, numeric) is 'Adds to a counter.';

create function private.counter_values() returns table (name text, value numeric)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select c.name, c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
    from private.counters as c;
end
$$;
comment on function private.counter_values() is 'All counters with their current values.';

create function private.counter_value(p_name text) returns numeric
language plpgsql stable set search_path = '' as $$
begin
    return (
        select c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
        from private.counters as c where c.name = p_name
    );
end
$$;
comment on function private.counter_value(text) is 'The current value of a counter.';

create function private.flows_since(p_from date) returns table (day date, deposits numeric, withdrawals numeric, decided_deposits numeric)
language sql stable set search_path = '' as $$
    select a.day, sum(a.deposits), sum(a.withdrawals), sum(a.decided_deposits)
    from (
        select f.day, f.deposits, f.withdrawals, f.decided_deposits from private.flow_days as f where f.day >= p_from
        union all
        select c.day, c.deposits, c.withdrawals, c.decided_deposits from private.flow_deltas as c where c.day >= p_from
    ) as a
    group by a.day
$$;
comment on function private.flows_since(date) is 'Current daily totals of deposits and withdrawals, from a day on.';

create function private.first_flow_day() returns date
language sql stable set search_path = '' as $$
    select least((select min(f.day) from private.flow_days as f), (select min(c.day) from private.flow_deltas as c))
$$;
comment on function private.first_flow_day() is 'The first day with a deposit or withdrawal that was approved; null before.';

create function jobs.roll_up_counters() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_flows integer;
begin
    with moved as (
        delete from private.counter_deltas returning name, delta
    ), sums as (
        select m.name, sum(m.delta) as delta, count(*) as rows from moved as m group by m.name
    ), rolled_up as (
        update private.counters as c set value = c.value + s.delta from sums as s where c.name = s.name
    )
    select coalesce(sum(s.rows), 0)::integer into v_rows from sums as s;
    with moved as (
        delete from private.flow_deltas returning day, deposits, withdrawals, decided_deposits
    ), rolled_up as (
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
comment on function jobs.roll_up_counters() is 'Rolls the deltas up into counters and days; returns how many.';
grant execute on function jobs.roll_up_counters() to worker;
