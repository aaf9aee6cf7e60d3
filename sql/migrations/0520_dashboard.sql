-- The member's dashboard and the earnings chart: one request each. Everything comes from rows that are kept
-- per member, or from one index range of the member's own children (positions_place_key), so a random member's dashboard costs the
-- same whatever the size of the network.

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
comment on function private.bonus_figures(numeric, integer) is 'One type of bonus: its sum, the 10% of it that re-enters, and how many there are.';

create function public.get_member_dashboard() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_totals private.totals;
    v_place private.positions;
    v_package private.packages;
    v_sponsor jsonb;
    v_funded bigint;
    v_paying bigint;
    v_volume_cents bigint;
begin
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    select o.* into v_place from private.positions as o where o.user_id = v_member.user_id;
    select k.* into v_package from private.packages as k where k.value = v_member.package_value;
    select pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
    into v_sponsor
    from private.profiles as s where s.id = v_member.referrer_id;
    select count(*) filter (where c.paid_cents > 0), coalesce(sum(c.package_cents), 0)
    into v_funded, v_volume_cents
    from private.positions as c where c.referrer_no = v_place.no;
    select count(*) into v_paying
    from public.bonuses as b where b.bonus_type = 'pairing' and b.subject_no = v_place.no and b.amount > 0;
    return pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', v_member.id,
            'user_id', v_member.user_id,
            'username', v_member.username,
            'display_name', v_member.display_name,
            'email', v_member.email,
            'trc20_wallet_address', v_member.trc20_wallet_address,
            'wallet_checksum_ok', case
                when v_member.trc20_wallet_address is not null then private.wallet_ok(v_member.trc20_wallet_address)
            end,
            'account_status', v_member.account_status,
            'account_verified', v_member.account_verified,
            'package_value', private.money(v_member.package_value),
            'package_label', v_package.label,
            'package_rate', private.percent(coalesce(v_package.pairing_percent, 0)),
            'cash_in_amount', private.money(v_member.cash_in_amount),
            'created_at', v_member.created_at,
            'sponsor', v_sponsor
        ),
        'verification', private.verification_result(v_member),
        'balance', private.balance_figures(v_totals, v_member),
        'bonuses', pg_catalog.jsonb_build_object(
            'referral', private.bonus_figures(v_totals.referral_amount, v_totals.referral_count),
            'pairing', private.bonus_figures(v_totals.pairing_amount, v_totals.pairing_count),
            'override', private.bonus_figures(v_totals.override_amount, v_totals.override_count),
            'total', private.money(v_totals.bonus_amount),
            'reentry', private.money(v_totals.reentry_amount)
        ),
        'roi', private.percent(private.roi(v_totals.bonus_amount, v_member.package_value)),
        'net_profit', private.money(v_totals.bonus_amount - v_member.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', v_place.children,
            'funded_referrals', v_funded,
            'active_pairs', v_place.children / 2,
            'paying_pairs', v_paying,
            'package_rate', private.percent(coalesce(v_package.pairing_percent, 0)),
            'total_team_volume', private.money(v_volume_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.history(
                v_member.user_id, null, null, '-infinity', 'infinity',
                'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'unread_notifications', (
            select count(*) from public.notifications as n
            where n.user_id = v_member.user_id and n.read_at is null
        ),
        'last_sync_at', (select s.ran_at from private.reconcile_state as s)
    );
end
$$;
comment on function public.get_member_dashboard() is
'Everything the caller''s dashboard shows, in one request. Money as text with two decimals, percentages with two decimals. Errors: profile_not_found.';
grant execute on function public.get_member_dashboard() to authenticated;

create function private.chart_range(p_range text, p_oldest timestamptz, out first_day date, out last_day date, out bucket text)
language plpgsql stable set search_path = '' as $$
begin
    last_day := (pg_catalog.now() at time zone 'UTC')::date;
    case p_range
        when '30d' then
            first_day := last_day - 29;
            bucket := 'day';
        when '90d' then
            first_day := last_day - 89;
            bucket := 'week';
        when '12m' then
            first_day := (last_day - interval '1 year')::date + 1;
            bucket := 'month';
        when 'all' then
            first_day := least((p_oldest at time zone 'UTC')::date, last_day);
            bucket := case when last_day - first_day < 60 then 'day' when last_day - first_day < 200 then 'week' else 'month' end;
        else
            perform private.refuse(400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.');
    end case;
end
$$;
comment on function private.chart_range(text, timestamptz) is
'First and last day (UTC) of a chart and the width of its bars. "all" begins at p_oldest. Errors: invalid_range.';

create function public.get_earnings(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_range record;
    v_points jsonb;
    v_totals jsonb;
begin
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with earned as (
        select
            pg_catalog.date_trunc(v_range.bucket, t.created_at at time zone 'UTC')::date as start,
            coalesce(sum(t.amount) filter (where b.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(t.amount) filter (where b.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(t.amount) filter (where b.bonus_type = 'override'), 0) as override
        from public.transactions as t
        inner join public.bonuses as b on t.reference_id = b.id
        where
            t.user_id = v_member.user_id
            and t.transaction_type = 'bonus'
            and t.created_at >= v_range.first_day::timestamp at time zone 'UTC'
        group by 1
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(e.referral, 0) as referral,
            coalesce(e.pairing, 0) as pairing,
            coalesce(e.override, 0) as override
        from pg_catalog.generate_series(
            pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp),
            v_range.last_day::timestamp,
            ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join earned as e on s.start::date = e.start
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
        )
    into v_points, v_totals
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'points', v_points
    );
end
$$;
comment on function public.get_earnings(text) is
'The caller''s earnings by type over time, from the journal, so that an upgrade''s increase stands where it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. Errors: invalid_range.';
grant execute on function public.get_earnings(text) to authenticated;
