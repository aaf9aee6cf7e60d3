-- The dashboards of members and administrators, one request each. A member's values come from materialised rows or
-- from one index range of the own direct referrals (positions_referrer_child_key), so a dashboard costs the same at
-- any network size.
-- Formulas: specification S18.

create function private.return_on_investment(p_earnings numeric, p_package numeric) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_package > 0 then (p_earnings - p_package) / p_package * 100 else 0 end;
end
$$;
comment on function private.return_on_investment(numeric, numeric) is '(earnings - package) / package in percent; 0 without a package.';

create function private.bonus_figures(p_amount numeric, p_count integer) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'amount', private.money(p_amount),
        'reentry', private.money(pg_catalog.round(p_amount * private.reentry_percent() / 100, 2)),
        'count', p_count
    );
end
$$;
comment on function private.bonus_figures(numeric, integer) is 'One bonus type: sum, the 10% that re-enters, and count.';

create function private.pending_requests(p_user_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'source', r.source,
                    'id', r.id,
                    'amount', private.money(r.amount),
                    'created_at', r.created_at,
                    'rest', case when r.source = 'deposit' then private.open_rest(r.id, r.amount) end
                ) order by r.created_at, r.id
            ), '[]'
        )
        from (
            select 'deposit' as source, d.id, d.amount, d.created_at
            from public.deposits as d where d.user_id = p_user_id and d.status = 'pending'
            union all
            select 'withdrawal', w.id, w.amount, w.created_at
            from public.withdrawals as w where w.user_id = p_user_id and w.status = 'pending'
        ) as r
    );
end
$$;
comment on function private.pending_requests(uuid) is 'A member''s requests that wait for a decision, the first one first; rest is what a deposit waits for.';

create function public.get_member_dashboard() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_screen jsonb;
begin
    -- One statement without variables: planned once per connection.
    select pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'trc20_wallet_address', p.trc20_wallet_address,
            'wallet_checksum_ok', case when p.trc20_wallet_address is not null then private.is_trc20_address(p.trc20_wallet_address) end,
            'account_status', p.account_status,
            'account_verified', p.account_verified,
            'package_value', private.money(p.package_value),
            'package_label', k.label,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'cash_in_amount', private.money(p.cash_in_amount),
            'created_at', p.created_at,
            'sponsor', case when s.id is not null then
                pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
            end
        ),
        'verification', private.verification_result(p),
        'balance', private.balance_figures(t, p),
        'bonuses', pg_catalog.jsonb_build_object(
            'referral', private.bonus_figures(t.referral_amount, t.referral_count),
            'pairing', private.bonus_figures(t.pairing_amount, t.pairing_count),
            'override', private.bonus_figures(t.override_amount, t.override_count),
            'total', private.money(t.bonus_amount),
            'reentry', private.money(t.reentry_amount)
        ),
        'roi', private.percent(private.return_on_investment(t.bonus_amount, p.package_value)),
        'net_profit', private.money(t.bonus_amount - p.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', o.children,
            'funded_referrals', c.funded,
            'active_pairs', o.children / 2,
            'paying_pairs', t.pairing_count,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.effective_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'pending', private.pending_requests(p.user_id),
        'unread_notifications', private.unread_notifications(p.user_id),
        'last_sync_at', (select r.ran_at from private.reconcile_state as r)
    )
    into v_screen
    from private.profiles as p
    left join private.totals as t on p.user_id = t.user_id
    left join private.positions as o on p.user_id = o.user_id
    left join private.packages as k on p.package_value = k.value
    left join private.profiles as s on p.referrer_id = s.id
    cross join lateral private.direct_referral_totals(o) as c
    where p.user_id = auth.uid();
    if v_screen is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_screen;
end
$$;
comment on function public.get_member_dashboard() is
'Everything on the caller''s dashboard, in one request. Money and percentages as text with two decimals. Errors: profile_not_found.';
grant execute on function public.get_member_dashboard() to authenticated;

create function public.get_earnings(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_no integer;
    v_range record;
    v_points jsonb;
    v_totals jsonb;
    v_previous numeric;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as materialized (
        select d.day, d.referral, d.pairing, d.override
        from private.earning_days as d where d.no = v_no and d.day >= coalesce(v_range.previous_first_day, v_range.first_day)
        union all
        select c.day, c.referral, c.pairing, c.override
        from private.network_deltas as c where c.no = v_no and c.day >= coalesce(v_range.previous_first_day, v_range.first_day)
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(sum(d.referral), 0) as referral,
            coalesce(sum(d.pairing), 0) as pairing,
            coalesce(sum(d.override), 0) as override
        from pg_catalog.generate_series(
            pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp),
            v_range.last_day::timestamp,
            ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join days as d on s.start = pg_catalog.date_trunc(v_range.bucket, d.day::timestamp) and d.day >= v_range.first_day
        group by s.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'start', a.start,
                'referral', private.money(a.referral),
                'pairing', private.money(a.pairing),
                'override', private.money(a.override)
            ) order by a.start
        ),
        pg_catalog.jsonb_build_object(
            'referral', private.money(sum(a.referral)),
            'pairing', private.money(sum(a.pairing)),
            'override', private.money(sum(a.override)),
            'total', private.money(sum(a.referral + a.pairing + a.override))
        ),
        (
            select coalesce(sum(d.referral + d.pairing + d.override), 0) from days as d
            where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_totals, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'previous', case when v_range.previous_first_day is not null then
            pg_catalog.jsonb_build_object(
                'from', v_range.previous_first_day, 'to', v_range.previous_last_day, 'total', private.money(v_previous)
            )
        end,
        'points', v_points
    );
end
$$;
comment on function public.get_earnings(text) is
'The caller''s earnings by type over time, by journal day, so that an upgrade''s increase is on the day it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. previous is the period to compare with, null without one. Errors: invalid_range.';
grant execute on function public.get_earnings(text) to authenticated;

-- The admin dashboard: oldest pending requests, daily deposits and withdrawals, the last ledger check, and the payout
-- coverage. Totals come from counters.

create function public.get_admin_dashboard_stats()
returns table (
    total_users bigint, active_users bigint, inactive_users bigint, pending_deposits bigint, pending_withdrawals bigint,
    total_package_investment numeric, total_deposits numeric, total_withdrawals numeric, total_bonuses_paid numeric
)
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return query
    select
        max(c.value) filter (where c.name = 'profiles')::bigint,
        max(c.value) filter (where c.name = 'active_profiles')::bigint,
        (max(c.value) filter (where c.name = 'profiles') - max(c.value) filter (where c.name = 'active_profiles'))::bigint,
        max(c.value) filter (where c.name = 'pending_deposits')::bigint,
        max(c.value) filter (where c.name = 'pending_withdrawals')::bigint,
        max(c.value) filter (where c.name = 'package_investment'),
        max(c.value) filter (where c.name = 'deposits_approved'),
        max(c.value) filter (where c.name = 'withdrawals_approved'),
        max(c.value) filter (where c.name = 'bonuses')
    from private.counter_values() as c;
end
$$;
comment on function public.get_admin_dashboard_stats() is
'Administrators: one row of totals, from counters. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_dashboard_stats() to platform_admin;

create function private.oldest_waiting_deposit() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select private.oldest_pending(pg_catalog.to_jsonb(r))
        from (
            (
                select d.id, d.user_id, d.amount, d.created_at, d.created_at as waits_since from public.deposits as d
                where d.status = 'pending'
                    and not exists (select 1 from private.deposit_rests as o where o.deposit_id = d.id and o.ended_at is null)
                order by d.created_at, d.id limit 1
            )
            union all
            (
                select d.id, d.user_id, d.amount, d.created_at, coalesce(o.referenced_at, o.asked_at)
                from private.deposit_rests as o inner join public.deposits as d on o.deposit_id = d.id
                where o.ended_at is null
                order by coalesce(o.referenced_at, o.asked_at) limit 1
            )
            order by waits_since, id
            limit 1
        ) as r
    );
end
$$;
comment on function private.oldest_waiting_deposit() is
'The pending deposit that has waited longest for an administrator: since it came, or since the member was asked for the rest or added its reference; null without one.';

create function public.get_admin_overview() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_withdrawal jsonb;
    v_recent jsonb;
    v_ledger_check record;
begin
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_withdrawal
    from (
        select w.id, w.user_id, w.amount, w.created_at from public.withdrawals as w
        where w.status = 'pending' order by w.created_at, w.id limit 1
    ) as r;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', r.id, 'type', r.type, 'user_email', p.email, 'username', p.username,
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status,
            'cancelled', r.status = 'rejected' and r.decided_by is null
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status, d.decided_by
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status, w.decided_by
            from public.withdrawals as w order by w.created_at desc, w.id desc limit 10
        )
        order by 4 desc, 1 desc
        limit 10
    ) as r
    inner join private.profiles as p on r.user_id = p.user_id;
    select s.checked_at, s.violations into v_ledger_check from private.ledger_check_state as s;
    return pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'admin', pg_catalog.jsonb_build_object(
            'id', v_admin.id, 'email', v_admin.email, 'full_name', v_admin.full_name, 'role', v_admin.role
        ),
        'oldest_pending', pg_catalog.jsonb_build_object('deposit', private.oldest_waiting_deposit(), 'withdrawal', v_withdrawal),
        'pending', pg_catalog.jsonb_build_object(
            'deposits', private.counter_value('pending_deposits')::bigint, 'withdrawals', private.counter_value('pending_withdrawals')::bigint
        ),
        'net_cash_flow', private.money(private.counter_value('deposits_approved') - private.counter_value('withdrawals_approved')),
        'recent', coalesce(v_recent, '[]'),
        'books', pg_catalog.jsonb_build_object(
            'ok', case when v_ledger_check.checked_at is not null then v_ledger_check.violations = 0 end,
            'violations', v_ledger_check.violations,
            'checked_at', v_ledger_check.checked_at
        ),
        'alarms', private.alarm_summary(),
        'coverage', private.coverage()
    );
end
$$;
comment on function public.get_admin_overview() is
'Administrators: the panel''s first screen in one request. `books` is the last ledger check, its `ok` null before the first; `alarms` is what waits for an acknowledgement and what it stops. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_overview() to platform_admin;

create function public.get_flows(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_range record;
    v_points jsonb;
    v_totals jsonb;
    v_previous jsonb;
begin
    perform private.require_admin();
    select * into v_range
    from private.chart_range(p_range, coalesce(private.first_flow_day()::timestamp at time zone 'UTC', pg_catalog.now()));
    with days as materialized (
        select f.day, f.deposits, f.withdrawals
        from private.flows_since(coalesce(v_range.previous_first_day, v_range.first_day)) as f
    ),
    moved as (
        select
            pg_catalog.date_trunc(v_range.bucket, d.day::timestamp)::date as start,
            sum(d.deposits) as deposits,
            sum(d.withdrawals) as withdrawals
        from days as d
        where d.day >= v_range.first_day
        group by 1
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(m.deposits, 0) as deposits,
            coalesce(m.withdrawals, 0) as withdrawals
        from pg_catalog.generate_series(
            v_range.first_day::timestamp, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join moved as m on s.start::date = m.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'start', a.start, 'deposits', private.money(a.deposits), 'withdrawals', private.money(a.withdrawals)
            ) order by a.start
        ),
        pg_catalog.jsonb_build_object(
            'deposits', private.money(sum(a.deposits)),
            'withdrawals', private.money(sum(a.withdrawals)),
            'net', private.money(sum(a.deposits - a.withdrawals))
        ),
        (
            select
                pg_catalog.jsonb_build_object(
                    'from', v_range.previous_first_day, 'to', v_range.previous_last_day,
                    'net', private.money(coalesce(sum(d.deposits - d.withdrawals), 0))
                )
            from days as d
            where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_totals, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'previous', case when v_range.previous_first_day is not null then v_previous end,
        'points', v_points
    );
end
$$;
comment on function public.get_flows(text) is
'Administrators: approved deposits and withdrawals over time, by the UTC day of the request; those voided since do not count. Ranges 30d, 90d, 12m, all; weeks from Monday. previous is the period to compare with, null without one. Errors: forbidden, session_ended, invalid_range.';
grant execute on function public.get_flows(text) to platform_admin;
