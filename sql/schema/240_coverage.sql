-- Payout coverage: whether the money received covers what members could withdraw, now and at the end of each UTC day.
-- The worker writes a day after it has ended. Every row of money has its times, so a day on which the worker was away
-- is computed later, exactly; taken_at says when. Past rows never change.
-- A row says what it was computed from: the last decision that it saw, and the requests that were pending. So the ledger
-- checks derive it again, however late: what was decided, voided or booked since has a later number, whatever its time
-- says. A request and its cancellation have no number, and their times may change nothing afterwards: that is why the
-- pending ones are named. Which requests were pending cannot be derived, nor how much a row should have seen.
-- Formula: specification S19.1.

create table private.coverage_days (
    day date primary key,
    figures jsonb not null check (jsonb_typeof(figures) = 'object'),
    taken_at timestamptz not null,
    decision_no bigint,
    pending_ids uuid[]
);
-- Unknown for rows older than this column. Not validated, so that only those may lack it.
alter table private.coverage_days add constraint a_day_says_what_it_saw
check (decision_no is not null and pending_ids is not null) not valid;
comment on table private.coverage_days is 'Coverage at the end of each UTC day. taken_at: when it was computed, minutes later unless the worker was away.';
comment on column private.coverage_days.decision_no is 'The last decision that the figures include; null in rows from before, which nothing verifies.';
comment on column private.coverage_days.pending_ids is 'The withdrawals that the figures count as pending; null in rows from before.';
alter table private.coverage_days enable row level security;
create trigger _100_reject_change before update on private.coverage_days for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.coverage_days
for each statement execute function private.reject_change();

-- Stored days are compared with what this returns: a change of it makes a violation of each of them.
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

create function private.pending_at(p_at timestamptz) returns uuid[]
language sql stable set search_path = '' as $$
    select coalesce(pg_catalog.array_agg(w.id order by w.id), '{}')
    from public.withdrawals as w
    where w.created_at < p_at and coalesce(w.decided_at >= p_at, true)
$$;
comment on function private.pending_at(timestamptz) is 'Withdrawals that were pending at a moment of the past, by their times.';

-- All days in one pass, in which only what a day may include is distinguished from what it does include: an event is in
-- a day's figures when it happened before the end of the day and has no later number than the row. Both grow from row to
-- row but where a clock stepped back, a repair booked something under an earlier day, or days were stored late. So an
-- event whose number no row from its day on lacks is added up once, from that day on; the few others row by row.
-- Members differ only where claims exceed what is left of their bonuses: of those who ever asked for money or lost a
-- bonus, the excess is followed from row to row; of all others it is nothing.
create function private.coverage_discrepancies() returns table (day date, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- The planner may expect few rows where nothing was analysed yet, and would compare each with each.
set enable_nestloop = 'off' as $$
begin
    return query
    with days as materialized (
        select
            c.day,
            c.figures,
            c.decision_no,
            c.pending_ids,
            pg_catalog.row_number() over (order by c.day) as place
        from private.coverage_days as c
        where c.decision_no is not null
    ),

    -- Of each date: the first row that can include it, and the number that no row from there on lacks.
    calendar as materialized (
        select
            s.day,
            min(d.place) over (order by s.day desc) as place,
            min(d.decision_no) over (order by s.day desc) as safe_no
        from (
            select f.first_day + pg_catalog.generate_series(0, f.last_day - f.first_day) as day
            from (select min(e.day) as first_day, max(e.day) as last_day from days as e) as f
        ) as s
        left join days as d on s.day = d.day
    ),

    events as materialized (
        select
            greatest((e.at at time zone 'UTC')::date, (select min(d.day) from days as d)) as day,
            coalesce(e.decision_no, 0) as decision_no,
            e.user_id,
            e.cash_in,
            e.withdrawn,
            e.earned
        from (
            select d.decided_at as at, d.decision_no, d.user_id, d.amount::numeric as cash_in, 0::numeric as withdrawn, 0::numeric as earned
            from public.deposits as d where d.status = 'approved'
            union all
            select greatest(d.decided_at, d.voided_at), c.decision_no, d.user_id, -d.amount, 0, 0
            from public.deposits as d
            left join private.corrections as c on c.kind = 'void_deposit' and d.id = c.target_id and c.confirmed_by is not null
            where d.status = 'approved' and d.voided_at is not null
            union all
            select greatest(w.created_at, w.decided_at), w.decision_no, w.user_id, 0, w.amount, 0
            from public.withdrawals as w where w.status = 'approved'
            union all
            select greatest(w.created_at, w.decided_at, w.voided_at), c.decision_no, w.user_id, 0, -w.amount, 0
            from public.withdrawals as w
            left join private.corrections as c on c.kind = 'void_withdrawal' and w.id = c.target_id and c.confirmed_by is not null
            where w.status = 'approved' and w.voided_at is not null
            union all
            select t.created_at, t.decision_no, t.user_id, 0, 0, t.amount
            from public.transactions as t where t.transaction_type = 'bonus'
        ) as e
        where e.at < ((select max(d.day) from days as d) + 1)::timestamp at time zone 'UTC'
    ),

    -- Who may claim more than is left.
    claimants as materialized (
        select w.user_id from public.withdrawals as w
        union
        select e.user_id from events as e where e.earned < 0
    ),

    due as materialized (
        select
            e.user_id,
            k.place,
            k.safe_no,
            e.decision_no,
            case when e.decision_no > k.safe_no then e.day end as day,
            e.cash_in,
            e.withdrawn,
            e.earned
        from (
            select v.day, v.decision_no, q.user_id, sum(v.cash_in) as cash_in, sum(v.withdrawn) as withdrawn, sum(v.earned) as earned
            from events as v left join claimants as q on v.user_id = q.user_id
            group by v.day, v.decision_no, q.user_id
        ) as e
        inner join calendar as k on e.day = k.day
    ),

    steps as materialized (
        select s.place, s.user_id, sum(s.cash_in) as cash_in, sum(s.withdrawn) as withdrawn, sum(s.earned) as earned
        from (
            select u.place, u.user_id, u.cash_in, u.withdrawn, u.earned from due as u where u.day is null
            union all
            select d.place + n.later, u.user_id, n.sign * u.cash_in, n.sign * u.withdrawn, n.sign * u.earned
            from due as u
            inner join days as d on u.day <= d.day and u.decision_no <= d.decision_no
            cross join (values (0, 1), (1, -1)) as n (later, sign)
            where u.day is not null
        ) as s
        group by s.place, s.user_id
    ),

    pending as materialized (
        select d.place, w.user_id, sum(w.amount)::numeric as amount
        from days as d
        cross join pg_catalog.unnest(d.pending_ids) as p (id)
        inner join public.withdrawals as w on p.id = w.id
        group by d.place, w.user_id
    ),

    -- What members claim beyond what is left of their bonuses: how that changes with each row.
    excess as (
        select x.place, sum(x.amount) as amount
        from (
            select
                b.place,
                greatest(b.pending - b.available, 0) - lag(greatest(b.pending - b.available, 0), 1, 0) over (partition by b.user_id order by b.place) as amount
            from (
                select
                    m.user_id,
                    m.place,
                    sum(sum(m.available)) over (partition by m.user_id order by m.place) as available,
                    sum(sum(m.pending)) over (partition by m.user_id order by m.place) as pending
                from (
                    select s.user_id, s.place, s.earned - s.withdrawn as available, 0::numeric as pending
                    from steps as s where s.user_id is not null
                    union all
                    select p.user_id, p.place + n.later, 0, n.sign * p.amount
                    from pending as p cross join (values (0, 1), (1, -1)) as n (later, sign)
                ) as m
                group by m.user_id, m.place
            ) as b
        ) as x
        group by x.place
    ),

    compared as (
        select
            d.day,
            d.place,
            d.figures,
            private.coverage_figures(
                sum(coalesce(s.cash_in, 0)) over w, sum(coalesce(s.withdrawn, 0)) over w, coalesce(p.amount, 0),
                sum(coalesce(s.earned, 0) - coalesce(s.withdrawn, 0) + coalesce(x.amount, 0)) over w
            ) as due_figures
        from days as d
        left join (
            select t.place, sum(t.cash_in) as cash_in, sum(t.withdrawn) as withdrawn, sum(t.earned) as earned from steps as t group by t.place
        ) as s on d.place = s.place
        left join excess as x on d.place = x.place
        left join (select g.place, sum(g.amount) as amount from pending as g group by g.place) as p on d.place = p.place
        window w as (order by d.place)
    ),

    -- A row that was lost or changed is in every later day: that is one violation.
    wrong as (
        select c.day, c.place, c.figures, c.due_figures, c.place - pg_catalog.row_number() over (order by c.place) as run
        from compared as c where c.figures is distinct from c.due_figures
    )

    select
        r.day,
        pg_catalog.jsonb_build_object('days', r.days) || (
            select coalesce(pg_catalog.jsonb_object_agg(v.name, v.value), '{}')
            from pg_catalog.jsonb_each(r.due_figures) as f
            cross join lateral (values ('stored_' || f.key, r.figures -> f.key), ('due_' || f.key, f.value)) as v (name, value)
            where f.value is distinct from r.figures -> f.key
        )
    from (
        select distinct on (w.run) w.day, w.figures, w.due_figures, count(*) over (partition by w.run) as days
        from wrong as w
        order by w.run, w.place
    ) as r;
end
$$;
comment on function private.coverage_discrepancies() is
'Stored days whose coverage is not what the decisions that they saw and the requests that they name say: the first day of each run of such days, how many they are, and the figures of the first one. All days, but those from before decisions were noted.';

-- A day reads everything, some 2 s with a million members; the worker ends statements after 120 s.
create function jobs.snapshot_coverage(p_seconds integer default 30) returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_end timestamptz := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => p_seconds);
    v_days integer := 0;
begin
    loop
        -- One statement, so that figures, number and requests are those of one snapshot.
        insert into private.coverage_days (day, figures, taken_at, decision_no, pending_ids)
        select m.day, private.coverage_at(e.at), private.clock(), private.last_decision_no(), private.pending_at(e.at)
        from (
            select s.day::date as day
            from pg_catalog.generate_series(
                (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
                (private.clock() at time zone 'UTC')::date - 1, interval '1 day'
            ) as s (day)
            where not exists (select 1 from private.coverage_days as c where c.day = s.day::date)
            order by s.day desc limit 1
        ) as m
        cross join lateral (select (m.day + 1)::timestamp at time zone 'UTC' as at) as e
        on conflict (day) do nothing;
        exit when not found;
        v_days := v_days + 1;
        -- The rest is for the next runs.
        exit when pg_catalog.clock_timestamp() >= v_end;
    end loop;
    return v_days;
end
$$;
comment on function jobs.snapshot_coverage(integer) is
'Stores the coverage of each ended day that has none, the last days first, for so many seconds and at least one day; returns how many.';
grant execute on function jobs.snapshot_coverage(integer) to worker;

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
