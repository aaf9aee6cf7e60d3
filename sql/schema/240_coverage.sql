-- Payout coverage: whether the money received covers what members could withdraw, now and at the end of each UTC day.
-- The worker writes a day after it has ended. Every row of money has its times, so a day on which the worker was away
-- is computed later, exactly; taken_at says when. Past rows never change.

create table private.coverage_days (
    day date primary key,
    figures jsonb not null check (jsonb_typeof(figures) = 'object'),
    taken_at timestamptz not null
);
comment on table private.coverage_days is 'Coverage at the end of each UTC day. taken_at: when it was computed, minutes later unless the worker was away.';
alter table private.coverage_days enable row level security;
create trigger _100_reject_change before update on private.coverage_days for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.coverage_days
for each statement execute function private.reject_change();

create function private.coverage_figures(p_cash_in numeric, p_withdrawn numeric, p_pending numeric, p_claims numeric) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(p_cash_in),
        'approved_withdrawals', private.money(p_withdrawn),
        'withdrawable', private.money(p_claims - p_pending),
        'pending', private.money(p_pending),
        'ratio', case when p_claims > 0 then private.percent((p_cash_in - p_withdrawn) / p_claims * 100) end
    );
end
$$;
comment on function private.coverage_figures(numeric, numeric, numeric, numeric) is
'Approved cash-in minus approved withdrawals, in percent of what members claim: withdrawable plus pending. No ratio when that is zero.';

create function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter_value('deposits_approved');
    v_withdrawn numeric := private.counter_value('withdrawals_approved');
    v_pending numeric := private.counter_value('reserved');
    -- Per member: a shortfall of one member does not reduce what others may withdraw.
    v_claims numeric := private.counter_value('bonuses') - v_withdrawn + private.counter_value('shortfall');
begin
    return private.coverage_figures(v_cash_in, v_withdrawn, v_pending, v_claims);
end
$$;
comment on function private.coverage() is 'Coverage now, from counters.';

-- Reads everything, once a day.
create function private.coverage_at(p_at timestamptz) returns jsonb
language sql stable set search_path = '' set work_mem = '64MB' as $$
    select private.coverage_figures(
        (
            select coalesce(sum(d.amount), 0) from public.deposits as d
            where d.status = 'approved' and d.decided_at < p_at and coalesce(d.voided_at >= p_at, true)
        ),
        coalesce(sum(m.withdrawn), 0),
        coalesce(sum(m.pending), 0),
        -- Per member: a shortfall of one member does not reduce what others may withdraw.
        coalesce(sum(greatest(m.earned - m.withdrawn, m.pending)), 0)
    )
    from (
        select sum(a.earned) as earned, sum(a.withdrawn) as withdrawn, sum(a.pending) as pending
        from (
            select t.user_id, t.amount::numeric as earned, 0::numeric as withdrawn, 0::numeric as pending
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.created_at < p_at
            union all
            select
                w.user_id,
                0,
                case when w.status = 'approved' and w.decided_at < p_at and coalesce(w.voided_at >= p_at, true) then w.amount else 0 end,
                case when coalesce(w.decided_at >= p_at, true) then w.amount else 0 end
            from public.withdrawals as w
            where w.created_at < p_at
        ) as a
        group by a.user_id
    ) as m
$$;
comment on function private.coverage_at(timestamptz) is 'Coverage at a moment of the past, from the times of all rows.';

create function jobs.snapshot_coverage() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_days integer;
begin
    insert into private.coverage_days (day, figures, taken_at)
    select m.day, private.coverage_at((m.day + 1)::timestamp at time zone 'UTC'), private.clock()
    from (
        select s.day::date as day
        from pg_catalog.generate_series(
            (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
            (private.clock() at time zone 'UTC')::date - 1, interval '1 day'
        ) as s (day)
        where not exists (select 1 from private.coverage_days as c where c.day = s.day::date)
        -- The rest is for the next runs.
        order by s.day desc limit 31
    ) as m
    on conflict (day) do nothing;
    get diagnostics v_days = row_count;
    return v_days;
end
$$;
comment on function jobs.snapshot_coverage() is
'Stores the coverage of each ended day that has none, the last days first; returns how many.';
grant execute on function jobs.snapshot_coverage() to worker;

create function public.get_coverage_history(p_days integer default 90) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('day', c.day, 'taken_at', c.taken_at) || c.figures order by c.day), '[]'
        )
        from private.coverage_days as c
        where c.day >= (pg_catalog.clock_timestamp() at time zone 'UTC')::date - least(greatest(p_days, 1), 3660)
    );
end
$$;
comment on function public.get_coverage_history(integer) is
'Coverage at the end of the last days (UTC), yesterday last; taken_at says when it was computed. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_coverage_history(integer) to platform_admin;

create function private.deposits_since(p_at timestamptz) returns numeric
language sql stable set search_path = '' as $$
    select
        (
            select coalesce(sum(d.amount), 0) from public.deposits as d
            where d.status = 'approved' and d.voided_at is null
                and d.decided_at > p_at
                and d.decided_at < ((p_at at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC'
        )
        + (select coalesce(sum(f.decided_deposits), 0) from private.flows_since((p_at at time zone 'UTC')::date + 1) as f)
$$;
comment on function private.deposits_since(timestamptz) is
'Deposits approved after a moment and not voided: the rest of its day row by row, later days from daily totals.';

create function private.coverage_without_recent_deposits(p_days integer) returns jsonb
language sql stable set search_path = '' as $$
    -- The coverage ratio without the deposits of these days.
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
comment on function private.coverage_without_recent_deposits(integer) is 'Deposits of the last days, and the coverage ratio without them.';

create function public.get_coverage() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return private.coverage() || pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.clock_timestamp(),
        'rests_on', pg_catalog.jsonb_build_array(private.coverage_without_recent_deposits(30), private.coverage_without_recent_deposits(90))
    );
end
$$;
comment on function public.get_coverage() is
'Payout coverage now, and without the deposits of the last 30 and 90 days. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_coverage() to platform_admin;
