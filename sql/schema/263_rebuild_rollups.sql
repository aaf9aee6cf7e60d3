-- Figures of everybody, derived from the rows again: counters, daily totals, and what is rolled up from the journal and the
-- tree. Transactions append to these meanwhile, so the difference is appended or added and the value never set.

create view private.counter_discrepancies as
select
    f.name,
    c.value as stored,
    f.value
from (
    select
        v.name,
        v.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as m
    cross join
        lateral (
            values
            ('profiles', m.members::numeric), ('active_profiles', m.active), ('package_investment', m.packages), ('verified_profiles', m.verified)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as amount,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as r
    cross join
        lateral (
            values
            ('pending_deposits', r.pending::numeric), ('deposits_approved', r.amount), ('deposits_approved_count', r.approved),
            ('deposits_rejected_count', r.rejected)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as amount,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid
        from public.withdrawals as w
    ) as r
    cross join
        lateral (
            values
            ('pending_withdrawals', r.pending::numeric), ('reserved', r.reserved), ('withdrawals_approved', r.amount),
            ('withdrawals_approved_count', r.approved), ('withdrawals_rejected_count', r.rejected), ('withdrawals_paid_count', r.paid)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            coalesce(sum(b.amount), 0) as amount,
            count(*) filter (where b.amount > 0) as bonuses
        from public.bonuses as b
    ) as r
    cross join lateral (values ('bonuses', r.amount), ('bonus_rows', r.bonuses)) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) as entries,
            coalesce(sum(abs(t.amount)), 0) as volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as r
    cross join lateral (values ('bonus_transactions', r.entries::numeric), ('bonus_volume', r.volume)) as v (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        'subscriptions_' || e.status,
        count(s.id)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join public.bot_subscriptions as s on e.status = s.status
    group by e.status
) as f
left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value;
comment on view private.counter_discrepancies is 'Counters whose value is not that of the rows; stored is null where there is no counter.';

create view private.flow_discrepancies as
select
    f.day,
    sum(f.deposits) as deposits,
    sum(f.withdrawals) as withdrawals,
    sum(f.decided_deposits) as decided_deposits
from (
    select
        v.day,
        v.deposits,
        0 as withdrawals,
        v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
    union all
    select
        k.day,
        -k.deposits,
        -k.withdrawals,
        -k.decided_deposits
    from private.flows_since('-infinity') as k
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0;
comment on view private.flow_discrepancies is 'What the daily totals of deposits and withdrawals lack, by day; negative: what they have too much.';

create function private.rebuild_counter_values() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    -- A counter has its value in one row and its deltas in others; what is missing is one more.
    insert into private.counters (name)
    select d.name from private.counter_discrepancies as d where d.stored is null
    on conflict do nothing;
    with wrong as materialized (
        select d.name, d.stored, d.value from private.counter_discrepancies as d
    ), rebuilt as (
        insert into private.counter_deltas (name, delta)
        select w.name, w.value - w.stored from wrong as w
    )
    select pg_catalog.array_agg(
        row(
            'counter', w.name, null, pg_catalog.jsonb_build_object('value', w.stored::text), pg_catalog.jsonb_build_object('value', w.value::text)
        )::private.sum_change order by w.name
    )
    into v_changes from wrong as w;
    return v_changes;
end
$$;
comment on function private.rebuild_counter_values() is 'Adds to each counter what it lacks; returns the changes.';

create function private.rebuild_flows() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select
            d.day, d.deposits, d.withdrawals, d.decided_deposits,
            coalesce(k.deposits, 0) as old_deposits,
            coalesce(k.withdrawals, 0) as old_withdrawals,
            coalesce(k.decided_deposits, 0) as old_decided
        from private.flow_discrepancies as d left join private.flows_since('-infinity') as k on d.day = k.day
    ), rebuilt as (
        insert into private.flow_deltas (day, deposits, withdrawals, decided_deposits)
        select w.day, w.deposits, w.withdrawals, w.decided_deposits from wrong as w
    )
    select pg_catalog.array_agg(
        row(
            'flow_day', w.day, null,
            pg_catalog.jsonb_build_object(
                'deposits', private.money(w.old_deposits), 'withdrawals', private.money(w.old_withdrawals),
                'decided_deposits', private.money(w.old_decided)
            ),
            pg_catalog.jsonb_build_object(
                'deposits', private.money(w.old_deposits + w.deposits), 'withdrawals', private.money(w.old_withdrawals + w.withdrawals),
                'decided_deposits', private.money(w.old_decided + w.decided_deposits)
            )
        )::private.sum_change order by w.day
    )
    into v_changes from wrong as w;
    return v_changes;
end
$$;
comment on function private.rebuild_flows() is 'Adds to the daily totals of deposits and withdrawals what they lack; returns the changes.';

create function private.rebuild_earning_days(p_nos integer[] default null) returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select d.no, d.day, d.referral, d.pairing, d.override from private.earning_day_differences(0, 2147483647, p_nos) as d
    ), rebuilt as (
        insert into private.earning_days as e (no, day, referral, pairing, override)
        select w.no, w.day, w.referral, w.pairing, w.override from wrong as w
        on conflict (no, day) do update set
            referral = e.referral + excluded.referral, pairing = e.pairing + excluded.pairing, override = e.override + excluded.override
        returning e.no, e.day, e.referral, e.pairing, e.override
    )
    select pg_catalog.array_agg(
        row(
            'earning_day', r.no || ' ' || r.day, o.user_id,
            pg_catalog.jsonb_build_object(
                'referral', private.money(r.referral - w.referral), 'pairing', private.money(r.pairing - w.pairing),
                'override', private.money(r.override - w.override)
            ),
            pg_catalog.jsonb_build_object(
                'referral', private.money(r.referral), 'pairing', private.money(r.pairing), 'override', private.money(r.override)
            )
        )::private.sum_change order by r.no, r.day
    )
    into v_changes
    from rebuilt as r
    inner join wrong as w on r.no = w.no and r.day = w.day
    inner join private.positions as o on r.no = o.no;
    return v_changes;
end
$$;
comment on function private.rebuild_earning_days(integer[]) is
'Adds to the daily earnings of these members (null: of all) what the journal has and they lack; returns the changes. Call under the lock of the roll-up.';

-- A network is its member's own values and the networks of the direct referrals. So what is wrong at one member is wrong
-- by the same amount at everybody above, and the roll-up takes it there.
create function private.rebuild_networks() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
    v_direct private.sum_change[];
begin
    with wrong as materialized (
        select d.* from private.network_differences(0, 2147483647) as d
    ), staged as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select w.no, p.depth, w.members, w.package_cents, w.referral, w.pairing, w.override
        from wrong as w
        inner join private.positions as o on w.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (w.members, w.package_cents, w.referral, w.pairing, w.override) is distinct from (0, 0, 0, 0, 0)
    ), rebuilt as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select w.no, w.direct_cents, w.direct_funded from wrong as w where w.direct_cents <> 0 or w.direct_funded <> 0
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
        returning n.no, n.direct_cents, n.direct_funded
    )
    select pg_catalog.array_agg(
        row(
            'direct_referrals', r.no, o.user_id,
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents - w.direct_cents, 'direct_funded', r.direct_funded - w.direct_funded),
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents, 'direct_funded', r.direct_funded)
        )::private.sum_change order by r.no
    )
    into v_direct
    from rebuilt as r
    inner join wrong as w on r.no = w.no
    inner join private.positions as o on r.no = o.no;
    perform private.propagate_staged_totals();
    select pg_catalog.array_agg(
        row(
            'network', s.no, o.user_id,
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0), 'package_cents', coalesce(n.package_cents, 0), 'referral', private.money(coalesce(n.referral, 0)),
                'pairing', private.money(coalesce(n.pairing, 0)), 'override', private.money(coalesce(n.override, 0))
            ),
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0) + s.members, 'package_cents', coalesce(n.package_cents, 0) + s.package_cents,
                'referral', private.money(coalesce(n.referral, 0) + s.referral), 'pairing', private.money(coalesce(n.pairing, 0) + s.pairing),
                'override', private.money(coalesce(n.override, 0) + s.override)
            )
        )::private.sum_change order by s.no
    )
    into v_changes
    from private.network_rollup_staging as s
    inner join private.positions as o on s.no = o.no
    left join private.networks as n on s.no = n.no
    where (s.members, s.package_cents, s.referral, s.pairing, s.override) is distinct from (0, 0, 0, 0, 0);
    -- A team that turns out to be large gets days of its own with the next roll-up of one of its members.
    perform private.finalise_network_roll_up();
    return v_direct || v_changes;
end
$$;
comment on function private.rebuild_networks() is
'Adds to the rolled-up networks what positions, totals and tree have and they lack; returns the changes. Call under the lock of the roll-up.';

create function private.rebuild_team_days() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_teams integer[] := array(select distinct d.no from private.team_day_discrepancies(null) as d);
    v_before private.team_days[] := array(select d from private.team_days as d where d.no = any(v_teams));
begin
    if pg_catalog.cardinality(v_teams) > 0 then
        delete from private.team_days as d where d.no = any(v_teams);
        update private.networks as n set has_days = false where n.no = any(v_teams);
        perform private.backfill_team_days(v_teams, pg_catalog.cardinality(v_teams));
    end if;
    return array(
        select row(
            'team_day', o.no || ' ' || coalesce(a.day, b.day), o.user_id,
            pg_catalog.jsonb_build_object('members', coalesce(b.members, 0), 'funded', coalesce(b.funded, 0)),
            pg_catalog.jsonb_build_object('members', coalesce(a.members, 0), 'funded', coalesce(a.funded, 0))
        )::private.sum_change
        from pg_catalog.unnest(v_before) as b
        full join (select d.* from private.team_days as d where d.no = any(v_teams)) as a on b.no = a.no and b.day = a.day
        inner join private.positions as o on coalesce(a.no, b.no) = o.no
        where (a.members, a.funded) is distinct from (b.members, b.funded)
        order by o.no, coalesce(a.day, b.day)
    );
end
$$;
comment on function private.rebuild_team_days() is
'Materialises the days of large teams again where they differ from tree and bonuses; returns the changes. Call under the lock of the roll-up.';
