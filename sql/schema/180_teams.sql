-- The team tree, one member's direct referrals at a time. A member sees only the own downline: any other root is not
-- found. Administrators see every tree; without a root they get the members without a referrer, under the name
-- 'Company'.
-- With twenty thousand direct referrals nothing here reads more than a page: "all referrals" is a range of child
-- numbers, and totals come from counters.

create function private.visible_root(p_root uuid) returns private.profiles
language plpgsql stable set search_path = '' as $$
declare
    v_member private.profiles;
    v_root private.profiles;
begin
    if private.my_role() = 'platform_admin' then
        perform private.require_admin();
        select p.* into v_root from private.profiles as p where p.id = p_root;
    else
        v_member := private.require_member();
        select p.* into v_root from private.profiles as p
        where
            p.id = coalesce(p_root, v_member.id)
            and (p.id = v_member.id or private.is_in_downline(p.referrer_id, p.jump, p.depth, v_member.id, v_member.depth));
    end if;
    if v_root.id is null and p_root is not null then
        perform private.raise_error(404, 'member_not_found', 'This member is not in your team.');
    end if;
    return v_root;
end
$$;
comment on function private.visible_root(uuid) is
'The member whose tree the caller may open: without a root the own one, for an administrator null. Errors: member_not_found.';

create function private.tree_node(p_position private.positions, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'id', (p_profile).id,
        'username', (p_profile).username,
        'display_name', (p_profile).display_name,
        'position', (p_position).child_no,
        'pair_number', (p_position).pair_no,
        'package_value', private.money((p_profile).package_value),
        'funded', (p_position).paid_cents > 0,
        'direct_referrals', (p_position).children,
        'created_at', (p_profile).created_at
    );
end
$$;
comment on function private.tree_node(private.positions, private.profiles) is 'A member as a node of the team tree.';

create function private.tree_path(p_root private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        with recursive line as (
            select (p_root).id, (p_root).username, (p_root).display_name, (p_root).referrer_id, (p_root).user_id, 0 as step
            union all
            select p.id, p.username, p.display_name, p.referrer_id, p.user_id, l.step + 1
            from line as l
            inner join private.profiles as p on l.referrer_id = p.id
            -- Stop at the caller: a member may not read the upline.
            where l.user_id is distinct from auth.uid()
        )
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('id', l.id, 'username', l.username, 'display_name', l.display_name)
            order by l.step desc
        )
        from line as l
    );
end
$$;
comment on function private.tree_path(private.profiles) is 'Path from the caller (administrators: from the root) down to this member.';

create function private.tree_children(p_referrer_no integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', c.id, 'username', c.username, 'display_name', c.display_name, 'position', c.child_no,
                'pair_number', c.pair_no, 'package_value', private.money(c.package_value), 'funded', c.paid_cents > 0,
                'direct_referrals', c.children, 'created_at', c.created_at, 'pair_state', c.state,
                'blocked_by', case when c.state = 'blocked' then case when c.left_cents = 0 then c.left_name else c.right_name end end
            ) order by c.child_no
        )
        from (
            select
                m.*,
                case
                    when m.right_cents is null then 'open'
                    when m.left_cents = 0 or m.right_cents = 0 then 'blocked'
                    when p_rate = 0 then 'no_rate'
                    else 'paying'
                end as state
            from (
                select
                    o.child_no, o.pair_no, o.paid_cents, o.children,
                    p.id, p.username, p.display_name, p.package_value, p.created_at,
                    min(o.paid_cents) filter (where o.is_left) over pair as left_cents,
                    min(o.paid_cents) filter (where not o.is_left) over pair as right_cents,
                    min(p.username) filter (where o.is_left) over pair as left_name,
                    min(p.username) filter (where not o.is_left) over pair as right_name
                -- A range of child numbers in whole pairs, so that both members of each are selected.
                from private.positions as o
                inner join private.profiles as p on o.user_id = p.user_id
                where o.referrer_no = p_referrer_no and o.child_no between p_after + 1 and p_after + p_limit
                window pair as (partition by o.pair_no)
            ) as m
        ) as c
    );
end
$$;
comment on function private.tree_children(integer, numeric, integer, integer) is
'Direct referrals after a position, in order, with the state of their pair and who blocks it.';

create function private.company_tree(p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_items jsonb;
    v_total bigint;
begin
    select count(*) into v_total from private.positions as o where o.referrer_no is null;
    select pg_catalog.jsonb_agg(
        private.tree_node(o, p) || pg_catalog.jsonb_build_object('pair_state', null, 'blocked_by', null) order by o.no
    )
    into v_items
    from (
        select t.* from private.positions as t where t.referrer_no is null order by t.no offset p_after limit p_limit
    ) as o
    inner join private.profiles as p on o.user_id = p.user_id;
    return pg_catalog.jsonb_build_object(
        'root', pg_catalog.jsonb_build_object(
            'id', null, 'username', 'Company', 'display_name', 'Company', 'position', null, 'pair_number', null,
            'package_value', private.money(0), 'funded', false, 'direct_referrals', v_total, 'created_at', null
        ),
        'path', '[]'::jsonb,
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'next', case when p_after + p_limit < v_total then p_after + p_limit end
    );
end
$$;
comment on function private.company_tree(integer, integer) is 'The members without a referrer, under a synthetic root with package 0.';

-- The root node has the size and the packages of its whole team, which one page cannot show. They are the rolled-up
-- totals plus pending deltas, so they agree with the network summary.
create function private.team_totals(p_root private.profiles, p_position private.positions) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks := private.network_sums(p_root);
begin
    return pg_catalog.jsonb_build_object(
        'team_count', v_sums.members - 1,
        'team_packages', private.money((v_sums.package_cents - (p_position).package_cents) * 0.01)
    );
end
$$;
comment on function private.team_totals(private.profiles, private.positions) is
'Current size and packages (dollars) of a member''s downline.';

create function private.company_totals() returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'team_count', coalesce(sum(a.members), 0), 'team_packages', private.money(coalesce(sum(a.package_cents), 0) * 0.01)
    )
    -- One statement: a roll-up between two would count deltas twice or not at all.
    from (
        select n.members, n.package_cents
        from private.positions as o inner join private.networks as n on o.no = n.no
        where o.referrer_no is null
        union all
        select c.members, c.package_cents from private.network_deltas as c
    ) as a
$$;
comment on function private.company_totals() is 'Current number of all members and their packages in dollars.';

create function public.get_team_tree(
    p_root uuid default null, p_after integer default null, p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_root private.profiles := private.visible_root(p_root);
    v_position private.positions;
    v_rate numeric;
    v_tree jsonb;
    -- Whole pairs only: an even number of rows after an even position.
    v_limit integer := (private.page_limit(p_limit, 50, 200) + 1) / 2 * 2;
    v_after integer := greatest(coalesce(p_after, 0), 0) / 2 * 2;
begin
    if v_root.id is null then
        v_tree := private.company_tree(v_after, v_limit);
        return v_tree || pg_catalog.jsonb_build_object('root', (v_tree -> 'root') || private.company_totals());
    end if;
    select o.* into v_position from private.positions as o where o.user_id = v_root.user_id;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_root.package_value;
    return pg_catalog.jsonb_build_object(
        'root', private.tree_node(v_position, v_root) || private.team_totals(v_root, v_position),
        'path', private.tree_path(v_root),
        'items', coalesce(private.tree_children(v_position.no, v_rate, v_after, v_limit), '[]'),
        'total', v_position.children,
        'next', case when v_after + v_limit < v_position.children then v_after + v_limit end
    );
end
$$;
comment on function public.get_team_tree(uuid, integer, integer) is
'One member (without p_root the caller) with downline totals, and 50 direct referrals after a position, in whole pairs. pair_state is paying, blocked, open or no_rate. Errors: member_not_found, invalid_limit.';
grant execute on function public.get_team_tree(uuid, integer, integer) to authenticated, platform_admin;

-- The caller's pairs. Positions never change: pair n is referrals 2n-1 and 2n, funded or not, so a blocked pair names
-- who blocks it.

create function private.pair_state(
    p_left_cents integer, p_right_cents integer, p_has_right boolean, p_rate numeric
) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when not p_has_right then 'open'
        when p_left_cents = 0 or p_right_cents = 0 then 'blocked'
        when p_rate = 0 then 'no_rate'
        else 'paying'
    end;
end
$$;
comment on function private.pair_state(integer, integer, boolean, numeric) is
'open: no second referral yet; blocked: one has no funded package; no_rate: the owner has no package; else paying. Arguments are funded cents.';

create function private.pair_child_item(p_position private.positions, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'id', (p_profile).id,
        'username', (p_profile).username,
        'display_name', (p_profile).display_name,
        'package_value', private.money((p_profile).package_value),
        'funded', (p_position).paid_cents > 0
    );
end
$$;
comment on function private.pair_child_item(private.positions, private.profiles) is 'A member of a pair as the table of pairs shows it.';

create function private.pair_items(p_no integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'pair_number', q.pair_no,
                'left_child', q.left_child,
                'right_child', q.right_child,
                'pair_volume', private.money((q.left_package + q.right_package) / 100.0),
                'rate', private.percent(p_rate),
                'user_bonus', private.money(coalesce((
                    select b.amount from public.bonuses as b
                    where b.bonus_type = 'pairing' and b.subject_no = p_no and b.pair_number = q.pair_no
                ), 0)),
                'state', private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate),
                'state_text', case private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate)
                    when 'paying' then 'Paying'
                    when 'open' then 'Waiting for a second referral'
                    when 'no_rate' then 'Your rate is 0% without a package'
                    else pg_catalog.format(
                        'Waiting for %s to fund a package', case when q.left_cents = 0 then q.left_child else q.right_child end ->> 'username'
                    )
                end
            ) order by q.pair_no
        )
        from (
            select
                o.pair_no,
                min(o.paid_cents) filter (where o.is_left) as left_cents,
                min(o.paid_cents) filter (where not o.is_left) as right_cents,
                min(o.package_cents) filter (where o.is_left) as left_package,
                min(o.package_cents) filter (where not o.is_left) as right_package,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where o.is_left)) -> 0 as left_child,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where not o.is_left)) -> 0 as right_child
            -- A range of child numbers, two per pair.
            from private.positions as o
            inner join private.profiles as p on o.user_id = p.user_id
            where o.referrer_no = p_no and o.child_no between p_after * 2 + 1 and (p_after + p_limit) * 2
            group by o.pair_no
        ) as q
    );
end
$$;
comment on function private.pair_items(integer, numeric, integer, integer) is
'Pairs of one owner after a pair number, in order, with their state.';

create function public.get_pairings(p_after integer default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_limit integer := private.page_limit(p_limit, 50, 200);
    v_after integer := greatest(coalesce(p_after, 0), 0);
    v_position private.positions;
    v_totals private.totals;
    v_rate numeric;
    v_pairs integer;
begin
    select o.* into v_position from private.positions as o where o.user_id = v_member.user_id;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    v_pairs := (v_position.children + 1) / 2;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_member.package_value;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(private.pair_items(v_position.no, v_rate, v_after, v_limit), '[]'),
        'pairs', v_pairs,
        'next', case when v_after + v_limit < v_pairs then v_after + v_limit end,
        'totals', pg_catalog.jsonb_build_object(
            -- Every paying pair earns the owner's current rate exactly, so the bonuses determine the volume.
            'total_volume', private.money(case when v_rate > 0 then v_totals.pairing_amount * 100 / v_rate else 0 end),
            'total_user_bonus', private.money(v_totals.pairing_amount),
            'paying_pairs', v_totals.pairing_count
        )
    );
end
$$;
comment on function public.get_pairings(integer, integer) is
'The caller''s pairs after a pair number, in order, with their state; totals of the paying ones. next is the pair number to continue after. Errors: profile_not_found, invalid_limit.';
grant execute on function public.get_pairings(integer, integer) to authenticated;

create function private.direct_referral_totals(p_position private.positions) returns table (funded bigint, package_cents bigint)
language plpgsql stable set search_path = '' as $$
begin
    if (p_position).children <= 200 then
        return query
        select count(*) filter (where c.paid_cents > 0), coalesce(sum(c.package_cents), 0)
        from private.positions as c where c.referrer_no = (p_position).no;
        return;
    end if;
    return query
    select sum(a.funded), sum(a.package_cents)::bigint
    from (
        select n.direct_funded as funded, n.direct_cents as package_cents from private.networks as n where n.no = (p_position).no
        union all
        select c.funded, c.package_cents
        from private.network_deltas as c inner join private.positions as o on c.no = o.no
        where o.referrer_no = (p_position).no
    ) as a;
end
$$;
comment on function private.direct_referral_totals(private.positions) is
'Number of funded direct referrals, and the packages of all: summed from positions up to 200, else from rolled-up totals.';

-- Search the own team by name. Through the view, row-level security would be evaluated for every member before the
-- pattern (which is not leakproof, so it can use no index): seconds with a million members. Here the text is looked
-- up first, or the downline is walked, whichever is smaller.
create function private.network_positions(p_root integer) returns table (no integer, level integer)
language sql stable set search_path = '' as $$
    with recursive downline as (
        select p_root as no, 0 as level
        union all
        select c.no, b.level + 1
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
    )
    select b.no, b.level from downline as b
$$;
comment on function private.network_positions(integer) is
'Positions of a member and the downline, with the distance from the member. Walks all of them.';

create function private.team_search_ids(p_member private.profiles, p_no integer, p_pattern text, p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan'
-- A recursive walk: the planner overestimates its rows. Nor may it scan all members in sort order for a frequent
-- text.
set enable_hashjoin = 'off' set enable_mergejoin = 'off' set enable_seqscan = 'off' as $$
declare
    -- A trigram needs three characters; with fewer, everything would match.
    v_indexed boolean := pg_catalog.length(p_pattern) >= 5;
    v_members integer := coalesce((select n.members from private.networks as n where n.no = p_no), 1);
    v_found uuid[];
begin
    if v_indexed then
        v_found := array(
            select p.id from private.profiles as p
            where private.member_search_text(p.username, p.display_name, p.email) like p_pattern
            limit 2001
        );
        if pg_catalog.cardinality(v_found) <= 2000 then
            return array(
                select p.id from private.profiles as p
                where p.id = any(v_found)
                    and (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
                    and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
                order by p.created_at, p.id limit p_limit
            );
        end if;
    end if;
    if v_members <= 50000 then
        return array(
            select p.id
            from private.network_positions(p_no) as n
            inner join private.positions as o on n.no = o.no
            inner join private.profiles as p on o.user_id = p.user_id
            where pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern
            order by p.created_at, p.id limit p_limit
        );
    end if;
    -- A frequent text in a large team: the first matches come early in the order of joining.
    return array(
        select p.id from private.profiles as p
        where (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
            and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
        order by p.created_at, p.id limit p_limit
    );
end
$$;
comment on function private.team_search_ids(private.profiles, integer, text, integer) is
'Ids of the first members of a team (including the member), oldest first, whose username or display name contains the text.';

create function public.search_team(p_search text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_text text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_ids uuid[];
begin
    if coalesce(pg_catalog.length(v_text), 0) not between 2 and 80 then
        perform private.raise_error(400, 'invalid_filter', 'Type 2 to 80 characters.');
    end if;
    v_ids := private.team_search_ids(
        v_member,
        (select o.no from private.positions as o where o.user_id = v_member.user_id),
        '%' || pg_catalog.regexp_replace(v_text, '([\\%_])', '\\\1', 'g') || '%',
        10
    );
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name)
                order by p.created_at, p.id
            ), '[]'
        )
        from private.profiles as p where p.id = any(v_ids)
    );
end
$$;
comment on function public.search_team(text) is
'The first ten members of the caller''s own team (including the caller) whose username or name contains the text; oldest first. Errors: profile_not_found, invalid_filter.';
grant execute on function public.search_team(text) to authenticated;
