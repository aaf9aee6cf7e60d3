-- The tree says of the member at its root how many stand below and what their packages are worth: of a large team
-- a page of fifty tells nothing. The sums are the kept ones with what happened since their last fold, so they agree
-- with the network summary.

create function private.team_totals(p_root private.profiles, p_place private.positions) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks := private.network_sums(p_root);
begin
    return pg_catalog.jsonb_build_object(
        'team_count', v_sums.members - 1,
        'team_packages', private.money((v_sums.package_cents - (p_place).package_cents) * 0.01)
    );
end
$$;
comment on function private.team_totals(private.profiles, private.positions) is
'Everybody below a member, as it is now: how many, and their packages in dollars.';

create function private.company_totals() returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'team_count', coalesce(sum(a.members), 0), 'team_packages', private.money(coalesce(sum(a.package_cents), 0) * 0.01)
    )
    -- One statement: a fold between two would count twice or not at all.
    from (
        select n.members, n.package_cents
        from private.positions as o inner join private.networks as n on o.no = n.no
        where o.referrer_no is null
        union all
        select c.members, c.package_cents from private.network_changes as c
    ) as a
$$;
comment on function private.company_totals() is 'All members, and their packages in dollars, as they are now.';

create or replace function public.get_team_tree(
    p_root uuid default null, p_after integer default null, p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_root private.profiles := private.visible_root(p_root);
    v_place private.positions;
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
    select o.* into v_place from private.positions as o where o.profile_id = v_root.id;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_root.package_value;
    return pg_catalog.jsonb_build_object(
        'root', private.tree_node(v_place, v_root) || private.team_totals(v_root, v_place),
        'path', private.tree_path(v_root),
        'items', coalesce(private.tree_children(v_place.no, v_rate, v_after, v_limit), '[]'),
        'total', v_place.children,
        'next', case when v_after + v_limit < v_place.children then v_after + v_limit end
    );
end
$$;
comment on function public.get_team_tree(uuid, integer, integer) is
'One member (the caller without p_root) with the totals of everybody below, and 50 of the direct referrals after a position, always whole pairs. pair_state is paying, blocked, open or no_rate. Errors: member_not_found, invalid_limit.';
