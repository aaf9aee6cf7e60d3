-- Rules about sums over everybody. They read whole tables, so above private.whole_check_limit() members they are looked at once
-- a round (260_ledger_sweeps.sql).

create function private.due_counters() returns table (name text, value numeric)
language plpgsql stable set search_path = '' as $$
begin
    return query
    with members as (
        select f.name, f.value
        from (
            select
                count(*) as members,
                count(*) filter (where p.package_value > 0) as active,
                coalesce(sum(p.package_value), 0) as packages,
                count(*) filter (where p.account_verified) as verified
            from private.profiles as p
        ) as p
        cross join
            lateral (
                values
                ('profiles', p.members::numeric), ('active_profiles', p.active), ('package_investment', p.packages),
                ('verified_profiles', p.verified)
            ) as f (name, value)
    ),

    deposit_figures as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                count(*) filter (where d.status = 'pending') as pending,
                sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null) as recounted,
                count(*) filter (where d.status = 'approved') as approved,
                count(*) filter (where d.status = 'rejected') as rejected
            from public.deposits as d
        ) as d
        cross join
            lateral (
                values
                ('pending_deposits', d.pending::numeric), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
                ('deposits_rejected_count', d.rejected)
            ) as f (name, value)
    ),

    withdrawal_figures as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                count(*) filter (where w.status = 'pending') as pending,
                sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null) as recounted,
                count(*) filter (where w.status = 'approved') as approved,
                count(*) filter (where w.status = 'rejected') as rejected,
                count(w.payout_reference) as paid,
                sum(w.amount) filter (where w.status = 'pending') as reserved
            from public.withdrawals as w
        ) as w
        cross join
            lateral (
                values
                ('pending_withdrawals', w.pending::numeric), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
                ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
            ) as f (name, value)
    ),

    bonus_figures as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                sum(b.amount_cents) * 0.01 as total,
                count(*) filter (where b.amount_cents > 0) as bonus_rows
            from public.bonuses as b
        ) as b
        cross join lateral (values ('bonuses', b.total), ('bonus_rows', b.bonus_rows::numeric)) as f (name, value)
    ),

    shortfall as (
        select 'shortfall' as name, coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0) as value
        from private.totals as s
        where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    ),

    bonus_entries as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                count(*) as bonus_rows,
                sum(abs(t.amount)) as bonus_volume
            from public.transactions as t
            where t.transaction_type = 'bonus'
        ) as t
        cross join lateral (values ('bonus_transactions', t.bonus_rows::numeric), ('bonus_volume', t.bonus_volume)) as f (name, value)
    ),

    subscriptions as (
        select 'subscriptions_' || e.status as name, coalesce(b.subscriptions, 0)::numeric as value
        from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as e (status)
        left join (
            select s.status, count(*) as subscriptions
            from public.bot_subscriptions as s
            group by s.status
        ) as b on e.status = b.status
    )

    select m.name, m.value from members as m
    union all
    select d.name, d.value from deposit_figures as d
    union all
    select w.name, w.value from withdrawal_figures as w
    union all
    select b.name, b.value from bonus_figures as b
    union all
    select s.name, s.value from shortfall as s
    union all
    select b.name, b.value from bonus_entries as b
    union all
    select s.name, s.value from subscriptions as s;
end
$$;
comment on function private.due_counters() is 'What each counter counts, counted in the rows.';

create function private.sum_violations() returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    -- I21 Bonuses never exceed 56% of funded packages.
    select 'I21', 'all', null::uuid, null::jsonb
    where
        (select coalesce(sum(b.amount_cents), 0) * 0.01 from public.bonuses as b)
        > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
    union all
    -- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
    select 'I22', 'all', null, null
    where
        (select coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'approved' and w.voided_at is null)
        > (select coalesce(sum(d.amount), 0) from public.deposits as d where d.status = 'approved')
    union all
    -- I27 Counters equal the values they count.
    select 'I27', f.name, null, null
    from private.due_counters() as f left join private.counter_values() as c on f.name = c.name
    where c.value is distinct from f.value
    union all
    -- I27 So do the daily totals of deposits and withdrawals.
    select 'I27', 'flow of ' || coalesce(f.day::text, 'no day'), null, null
    from (
        select k.day, k.deposits, k.withdrawals, k.decided_deposits
        from private.flows_since('-infinity') as k
        union all
        select v.day, -v.deposits, 0, -v.decided_deposits
        from public.deposits as d
        cross join
            lateral (
                values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
            ) as v (day, deposits, decided_deposits)
        where d.status = 'approved' and d.voided_at is null
        union all
        select (w.created_at at time zone 'UTC')::date, 0, -w.amount, 0
        from public.withdrawals as w
        where w.status = 'approved' and w.voided_at is null
    ) as f
    group by f.day
    having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
    union all
    -- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
    select 'I38', c.day::text, null, c.details
    from private.coverage_discrepancies() as c
    union all
    -- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
    -- numbers of members agree with each other.
    select 'I39', (d.computed_at at time zone 'UTC')::text, null, d.details
    from private.disclosure_discrepancies() as d;
end
$$;
comment on function private.sum_violations() is
'Rules about sums over everybody: what all earned and paid, counters, stored days, disclosures. They read whole tables. I21, I22, I27, I38, I39.';
