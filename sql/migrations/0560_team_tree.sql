-- The team tree, one parent's children at a time. A member sees the own line only: a root that is neither the
-- caller nor below the caller does not exist. Administrators see every line; without a root they get the members
-- who have no sponsor, under the name 'Company'.

-- The few members without a sponsor.
create index positions_roots_idx on private.positions (no) where referrer_no is null;

create function private.tree_node(p_place private.positions, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'id', (p_profile).id,
        'username', (p_profile).username,
        'display_name', (p_profile).display_name,
        'position', (p_place).child_no,
        'pair_number', (p_place).pair_no,
        'package_value', private.money((p_profile).package_value),
        'funded', (p_place).paid_cents > 0,
        'direct_referrals', (p_place).children,
        'created_at', (p_profile).created_at
    );
end
$$;
comment on function private.tree_node(private.positions, private.profiles) is 'A member as a row of the team tree.';

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
        v_member := private.reading_member();
        select p.* into v_root from private.profiles as p
        where
            p.id = coalesce(p_root, v_member.id)
            and (p.id = v_member.id or private.is_below(p.referrer_id, p.jump, p.depth, v_member.id, v_member.depth));
    end if;
    if v_root.id is null and p_root is not null then
        perform private.refuse(404, 'member_not_found', 'This member is not in your team.');
    end if;
    return v_root;
end
$$;
comment on function private.visible_root(uuid) is
'The member whose tree the caller may open: a member without a root the own one; an administrator without a root null. Errors: member_not_found.';

create function private.tree_path(p_root private.profiles) returns jsonb
language sql stable set search_path = '' as $$
    with recursive line as (
        select (p_root).id, (p_root).username, (p_root).display_name, (p_root).referrer_id, (p_root).user_id, 0 as step
        union all
        select p.id, p.username, p.display_name, p.referrer_id, p.user_id, l.step + 1
        from line as l
        inner join private.profiles as p on l.referrer_id = p.id
        -- A member's path begins at the member: nobody reads who stands above.
        where l.user_id is distinct from auth.uid()
    )
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('id', l.id, 'username', l.username, 'display_name', l.display_name)
        order by l.step desc
    )
    from line as l
$$;
comment on function private.tree_path(private.profiles) is 'From the caller, or for administrators from the top, down to this member.';

create function private.tree_children(p_parent integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        private.tree_node(c, p) || pg_catalog.jsonb_build_object(
            'pair_state', s.state,
            'blocked_by', case when s.state = 'blocked' then (
                select w.username from private.profiles as w
                where w.id = case when l.paid_cents = 0 then l.profile_id else r.profile_id end
            ) end
        ) order by c.child_no
    )
    -- Place by place, so that no plan takes a page of a hub for all of the hub.
    from pg_catalog.generate_series(p_after + 1, p_after + p_limit) as n (child_no)
    inner join private.positions as c on c.referrer_no = p_parent and c.child_no = n.child_no
    inner join private.profiles as p on c.profile_id = p.id
    inner join private.positions as l on l.referrer_no = p_parent and l.child_no = (n.child_no + 1) / 2 * 2 - 1
    left join private.positions as r on r.referrer_no = p_parent and r.child_no = (n.child_no + 1) / 2 * 2
    cross join lateral private.pair_state(l.paid_cents, r.paid_cents, r.no is not null, p_rate) as s (state)
$$;
comment on function private.tree_children(integer, numeric, integer, integer) is
'Children of one position after a position, in order, with the state of their pair and who keeps it waiting.';

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
    inner join private.profiles as p on o.profile_id = p.id;
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
comment on function private.company_tree(integer, integer) is 'The members without a sponsor, under a made-up root with package 0.';

create function public.get_team_tree(
    p_root uuid default null, p_after integer default null, p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_root private.profiles := private.visible_root(p_root);
    v_place private.positions;
    v_rate numeric;
    -- Whole pairs only: an even number of rows after an even position.
    v_limit integer := (private.page_limit(p_limit, 50, 200) + 1) / 2 * 2;
    v_after integer := greatest(coalesce(p_after, 0), 0) / 2 * 2;
begin
    if v_root.id is null then
        return private.company_tree(v_after, v_limit);
    end if;
    select o.* into v_place from private.positions as o where o.profile_id = v_root.id;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_root.package_value;
    return pg_catalog.jsonb_build_object(
        'root', private.tree_node(v_place, v_root),
        'path', private.tree_path(v_root),
        'items', coalesce(private.tree_children(v_place.no, v_rate, v_after, v_limit), '[]'),
        'total', v_place.children,
        'next', case when v_after + v_limit < v_place.children then v_after + v_limit end
    );
end
$$;
comment on function public.get_team_tree(uuid, integer, integer) is
'One member (the caller without p_root) and 50 of the direct referrals after a position, always whole pairs. pair_state is paying, blocked, open or no_rate. Errors: member_not_found, invalid_limit.';
grant execute on function public.get_team_tree(uuid, integer, integer) to authenticated, platform_admin;
