-- Payout coverage: whether the money received covers what members could withdraw, now and at the end of each day. The
-- worker writes one row a day; past rows never change, so history cannot be improved later.

create table private.coverage_days (
    day date primary key,
    figures jsonb not null check (jsonb_typeof(figures) = 'object'),
    taken_at timestamptz not null
);
comment on table private.coverage_days is 'private.coverage() of each UTC day.';
alter table private.coverage_days enable row level security;
create trigger _100_reject_change before update on private.coverage_days for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.coverage_days
for each statement execute function private.reject_change();

create function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter_value('deposits_approved');
    v_withdrawn numeric := private.counter_value('withdrawals_approved');
    v_pending numeric := private.counter_value('reserved');
    -- Per member: a shortfall of one member does not reduce what others may withdraw.
    v_claims numeric := private.counter_value('bonuses') - v_withdrawn + private.counter_value('shortfall');
begin
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(v_cash_in),
        'approved_withdrawals', private.money(v_withdrawn),
        'withdrawable', private.money(v_claims - v_pending),
        'pending', private.money(v_pending),
        'ratio', case when v_claims > 0 then private.percent((v_cash_in - v_withdrawn) / v_claims * 100) end
    );
end
$$;
comment on function private.coverage() is
'Approved cash-in minus approved withdrawals, in percent of withdrawable plus pending amounts; no ratio when that is zero.';

create function jobs.snapshot_coverage() returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if exists (select 1 from private.coverage_days as c where c.day = (pg_catalog.clock_timestamp() at time zone 'UTC')::date) then
        return false;
    end if;
    insert into private.coverage_days (day, figures, taken_at)
    values ((private.clock() at time zone 'UTC')::date, private.coverage(), private.clock())
    on conflict (day) do nothing;
    return found;
end
$$;
comment on function jobs.snapshot_coverage() is 'Stores today''s coverage once; false when it exists.';
grant execute on function jobs.snapshot_coverage() to worker;

create function public.get_coverage_history(p_days integer default 90) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('day', c.day) || c.figures order by c.day), '[]')
        from private.coverage_days as c
        where c.day > (pg_catalog.clock_timestamp() at time zone 'UTC')::date - least(greatest(p_days, 1), 3660)
    );
end
$$;
comment on function public.get_coverage_history(integer) is
'Coverage of the last days, oldest first. Every administrator. Errors: forbidden, session_ended.';
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
