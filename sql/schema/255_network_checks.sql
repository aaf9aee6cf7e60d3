-- Rules about the tree and about figures that are rolled up along it. Without a part the rolled-up figures are compared for a
-- random sample: a wrong row of the rest is found by a later check.

create function private.place_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with places as materialized (
        select l.*
        from (
            select
                p.id,
                p.user_id,
                o.no,
                o.no is null as lacks_position,
                p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
                s.created_at >= p.created_at as older_than_referrer,
                (r.user_id is distinct from s.user_id)
                or o.joined_at <> p.created_at
                or o.package_cents <> p.package_value * 100
                or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
                or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
            from (
                select m.* from private.profiles as m
                where private.is_asked(p_part, m.user_id)
            ) as p
            left join (
                select n.* from private.positions as n
                where private.is_asked(p_part, n.no)
            ) as o
                on p.user_id = o.user_id
            left join private.profiles as s on p.referrer_id = s.id
            left join private.positions as r on o.referrer_no = r.no
            left join (
                select
                    c.referrer_no,
                    count(*) as children,
                    max(c.child_no) as last
                from private.positions as c
                where c.referrer_no is not null and private.is_asked(p_part, c.referrer_no)
                group by c.referrer_no
            ) as c on o.no = c.referrer_no
        ) as l
        where l.lacks_position or l.wrong_depth or l.older_than_referrer or l.wrong_place
    )

    -- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
    select 'I14', l.id::text, l.user_id, null::jsonb
    from places as l
    where l.wrong_depth
    union all
    -- I15 A referrer is older than the referred member.
    select 'I15', l.id::text, l.user_id, null
    from places as l
    where l.older_than_referrer
    union all
    -- I18 Usernames are unique ignoring case.
    select 'I18', p.user_id::text, p.user_id, null
    from private.profiles as p
    where
        private.is_asked(p_part, p.user_id)
        and exists (
            select 1 from private.profiles as q
            where pg_catalog.lower(q.username) = pg_catalog.lower(p.username) and q.id <> p.id
        )
    union all
    -- I23 Child numbers are unique and have no gap, and a position has the member's package.
    select 'I23', l.no::text, l.user_id, null
    from places as l
    where l.wrong_place and not l.lacks_position
    union all
    select 'I23', l.id::text, l.user_id, null
    from places as l
    -- None in this part, and none anywhere.
    where l.lacks_position and not exists (select 1 from private.positions as o where o.user_id = l.user_id)
    union all
    -- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
    select 'I41', s.no::text, o.user_id, null
    from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
    where private.is_asked(p_part, s.referrer_no);
end
$$;
comment on function private.place_violations(private.ledger_part) is
'Rules about the places of these members (null: all) in the tree, and of their direct referrals. I14, I15, I18, I23, I41.';

create function private.earning_day_differences(p_first_no integer, p_last_no integer, p_nos integer[] default null)
returns table (no integer, day date, referral numeric, pairing numeric, override numeric)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select e.no, e.day, sum(e.referral), sum(e.pairing), sum(e.override)
    from (
        select d.no, d.day, -d.referral as referral, -d.pairing as pairing, -d.override as override
        from private.earning_days as d where d.no between p_first_no and p_last_no and (p_nos is null or d.no = any(p_nos))
        union all
        select c.no, c.day, -c.referral, -c.pairing, -c.override
        from private.network_deltas as c where c.no between p_first_no and p_last_no and (p_nos is null or c.no = any(p_nos))
        union all
        select
            o.no,
            (t.created_at at time zone 'UTC')::date,
            case b.bonus_type when 'referral' then t.amount else 0 end,
            case b.bonus_type when 'pairing' then t.amount else 0 end,
            case b.bonus_type when 'override' then t.amount else 0 end
        from private.positions as o
        inner join public.transactions as t on o.user_id = t.user_id and t.transaction_type = 'bonus'
        inner join public.bonuses as b on t.reference_id = b.id
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    ) as e
    group by e.no, e.day
    having sum(e.referral) <> 0 or sum(e.pairing) <> 0 or sum(e.override) <> 0;
end
$$;
comment on function private.earning_day_differences(integer, integer, integer[]) is
'What the materialised earnings of the members from one number to another, or those of them who are named, lack of the journal, by day; negative: what they have too much.';

create function private.earning_day_discrepancies(p_part private.ledger_part) returns table (no integer, day date)
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select distinct d.no, d.day
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I28') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.earning_day_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$$;
comment on function private.earning_day_discrepancies(private.ledger_part) is
'Days of the members at these positions, or of a sample of all (null), on which the materialised earnings differ from the journal.';

create function private.network_differences(p_first_no integer, p_last_no integer, p_nos integer[] default null)
returns table (
    no integer, members integer, package_cents bigint, referral numeric, pairing numeric, override numeric, direct_cents bigint,
    direct_funded integer
)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with changed as materialized (
        select
            c.no,
            sum(c.members) as members,
            sum(c.package_cents) as package_cents,
            sum(c.funded) as funded,
            sum(c.referral) as referral,
            sum(c.pairing) as pairing,
            sum(c.override) as override
        from private.network_deltas as c
        group by c.no
    ),
    due as (
        select
            o.no,
            1 + b.members - coalesce(n.members, 0) - coalesce(h.members, 0) as members,
            o.package_cents + b.package_cents - coalesce(n.package_cents, 0) - coalesce(h.package_cents, 0) as package_cents,
            t.referral_amount + b.referral - coalesce(n.referral, 0) - coalesce(h.referral, 0) as referral,
            t.pairing_amount + b.pairing - coalesce(n.pairing, 0) - coalesce(h.pairing, 0) as pairing,
            t.override_amount + b.override - coalesce(n.override, 0) - coalesce(h.override, 0) as override,
            b.direct_cents - coalesce(n.direct_cents, 0) - coalesce(d.package_cents, 0) as direct_cents,
            b.direct_funded - coalesce(n.direct_funded, 0) - coalesce(d.funded, 0) as direct_funded
        from private.positions as o
        inner join private.totals as t on o.user_id = t.user_id
        left join private.networks as n on o.no = n.no
        left join changed as h on o.no = h.no
        left join (
            select p.referrer_no, sum(c.package_cents) as package_cents, sum(c.funded) as funded
            from changed as c inner join private.positions as p on c.no = p.no
            group by p.referrer_no
        ) as d on o.no = d.referrer_no
        cross join lateral (
            select
                coalesce(sum(k.members), 0) as members,
                coalesce(sum(k.package_cents), 0) as package_cents,
                coalesce(sum(k.referral), 0) as referral,
                coalesce(sum(k.pairing), 0) as pairing,
                coalesce(sum(k.override), 0) as override,
                coalesce(sum(c.package_cents), 0) as direct_cents,
                count(*) filter (where c.paid_cents > 0) as direct_funded
            from private.positions as c left join private.networks as k on c.no = k.no
            where c.referrer_no = o.no
        ) as b
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    )
    select
        u.no, u.members::integer, u.package_cents::bigint, u.referral::numeric, u.pairing::numeric, u.override::numeric,
        u.direct_cents::bigint, u.direct_funded::integer
    from due as u
    where (u.members, u.package_cents, u.referral, u.pairing, u.override, u.direct_cents, u.direct_funded) is distinct from (0, 0, 0, 0, 0, 0, 0);
end
$$;
comment on function private.network_differences(integer, integer, integer[]) is
'What the network totals of the members from one number to another, or those of them who are named, lack of their own values plus their direct referrals'' networks. One level of the tree is enough: if it holds for every member, it holds for the whole downline.';

create function private.network_discrepancies(p_part private.ledger_part) returns setof integer
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select distinct d.no
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I29') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.network_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$$;
comment on function private.network_discrepancies(private.ledger_part) is
'Of the members at these positions, or of a sample of all (null), those whose network totals are not their own values plus their direct referrals'' networks.';

create function private.team_day_discrepancies(p_teams integer, p_part private.ledger_part default null) returns table (no integer, day date)
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- A recursive walk: the planner overestimates its rows.
set enable_hashjoin = 'off' set enable_mergejoin = 'off'
-- Its steps are look-ups, even where the calling check scans whole tables.
set enable_indexscan = 'on' as $$
begin
    return query
    with recursive teams as materialized (
        (
            select n.no from private.networks as n
            -- The large teams first, which are few: the offset keeps the planner from reading all members of a range of ids.
            cross join lateral (select p.user_id from private.positions as p where p.no = n.no offset 0) as o
            where n.has_days and private.is_asked(p_part, o.user_id)
            order by pg_catalog.random() limit case when private.is_everybody(p_part) then p_teams end
        )
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no
        where n.has_days and private.is_everybody(p_part)
    ),

    downline as (
        select t.no as top_no, t.no, null::timestamptz as joined_at, true as has_children, false as is_funded, false as has_days
        from teams as t
        union all
        select b.top_no, c.no, c.joined_at, c.children > 0, c.paid_cents > 0, n.no is not null
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no and n.has_days
        -- A large team within it has its own days, checked separately.
        where b.has_children and not b.has_days
    ),

    found as (
        -- I23 compares it with the profile and the direct referrals, I11 the bonuses with who is funded.
        select b.top_no, (b.joined_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.is_funded
        union all
        select b.top_no, d.day, d.members, d.funded from downline as b inner join private.team_days as d on b.no = d.no where b.has_days
        union all
        select b.top_no, c.day, -c.members, -c.funded
        from downline as b inner join private.network_deltas as c on b.no = c.no where b.no <> b.top_no
        union all
        select t.no, d.day, -d.members, -d.funded from teams as t inner join private.team_days as d on t.no = d.no
    )
    select f.top_no, f.day
    from found as f group by f.top_no, f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
end
$$;
comment on function private.team_day_discrepancies(integer, private.ledger_part) is
'Days on which the materialised growth of a large team differs from tree and bonuses: of those of these members that are large, or of a sample of as many; null, null: all. By member: the first positions have most of the large teams.';

create function private.network_violations(
    p_networks private.ledger_part, p_earners private.ledger_part, p_teams private.ledger_part
)
returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    -- I28 A member's daily earnings match the journal (of all members a sample of 10,000).
    select 'I28', d.no || ' ' || d.day, o.user_id, null::jsonb
    from private.earning_day_discrepancies(p_earners) as d left join private.positions as o on d.no = o.no
    union all
    -- I29 Network totals equal the member's own values plus the networks of the direct referrals (of all members a
    -- sample of 10,000).
    select 'I29', n.no::text, o.user_id, null
    from private.network_discrepancies(p_networks) as n (no) left join private.positions as o on n.no = o.no
    union all
    -- I30 The daily growth of a large team matches its members' joining and funding (of all teams a sample of 20).
    select 'I30', d.no || ' ' || d.day, o.user_id, null
    from private.team_day_discrepancies(20, p_teams) as d left join private.positions as o on d.no = o.no;
end
$$;
comment on function private.network_violations(private.ledger_part, private.ledger_part, private.ledger_part) is
'Rules about what is rolled up: the networks of these positions, the earnings by day of these, the growth of these members'' large teams; of null a sample. I28 to I30.';
