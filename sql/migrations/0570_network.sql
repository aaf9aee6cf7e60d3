-- What the network below a member brought, and how it grew. A network is the member and everybody below. The
-- company's share is what is left of the packages after every bonus that anybody in the network earned.

create function private.network(p_root integer) returns table (no integer, level integer)
language sql stable set search_path = '' as $$
    with recursive below as (
        select p_root as no, 0 as level
        union all
        select c.no, b.level + 1
        from below as b
        inner join private.positions as c on b.no = c.referrer_no
    )
    select b.no, b.level from below as b
$$;
comment on function private.network(integer) is 'Positions of a member and of everybody below, with the distance from the member.';

create function public.get_network_summary() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_no integer;
    v_sum record;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select
        count(*) as members,
        coalesce(sum(o.package_cents), 0) / 100.0 as packages,
        coalesce(sum(t.referral_amount), 0) as referral,
        coalesce(sum(t.pairing_amount), 0) as pairing,
        coalesce(sum(t.override_amount), 0) as override,
        coalesce(sum(t.bonus_amount), 0) as earned
    into v_sum
    from private.network(v_no) as n
    inner join private.positions as o on n.no = o.no
    inner join private.totals as t on o.user_id = t.user_id;
    return pg_catalog.jsonb_build_object(
        'member_count', v_sum.members,
        'team_count', v_sum.members - 1,
        'total_packages', private.money(v_sum.packages),
        'total_referral', private.money(v_sum.referral),
        'total_pairing', private.money(v_sum.pairing),
        'total_override', private.money(v_sum.override),
        'total_user', private.money(v_sum.earned),
        'total_company_profit', private.money(v_sum.packages - v_sum.earned),
        'profit_percentage', private.percent(
            case when v_sum.packages > 0 then (v_sum.packages - v_sum.earned) / v_sum.packages * 100 else 0 end
        ),
        'as_of', pg_catalog.now()
    );
end
$$;
comment on function public.get_network_summary() is
'The caller''s network: members, packages, bonuses by type. total_user = referral + pairing + override; total_company_profit = packages - total_user; profit_percentage = company profit / packages, 0 without packages. Errors: profile_not_found.';
grant execute on function public.get_network_summary() to authenticated;

create function public.get_team_growth(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_no integer;
    v_range record;
    v_first_bar timestamp;
    v_points jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    v_first_bar := pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp);
    with team as (
        -- A member is funded from the moment at which the sponsor earned the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network(v_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    ),
    changes as (
        select t.joined_at as at, 1 as members, 0 as funded from team as t
        union all
        select t.funded_at, 0, 1 from team as t where t.funded_at is not null
    ),
    per_bar as (
        select
            -- What happened before the chart begins stands in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.at at time zone 'UTC'), v_first_bar) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from changes as c
        group by 1
    ),
    bars as (
        select
            s.start,
            sum(coalesce(c.members, 0)) over (order by s.start) as members,
            sum(coalesce(c.funded, 0)) over (order by s.start) as funded
        from pg_catalog.generate_series(v_first_bar, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval) as s (start)
        left join per_bar as c on s.start = c.start
    )
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('start', a.start::date, 'members', a.members, 'funded', a.funded) order by a.start
    )
    into v_points
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day, 'to', v_range.last_day, 'bucket', v_range.bucket, 'points', v_points
    );
end
$$;
comment on function public.get_team_growth(text) is
'Size of the caller''s team at the end of each bar, and how many of them are funded. Ranges as in get_earnings. Errors: invalid_range.';
grant execute on function public.get_team_growth(text) to authenticated;
