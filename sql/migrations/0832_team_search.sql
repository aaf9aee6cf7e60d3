-- Finding somebody in one's own team by name. Asked of the view, row-level security is tested for every member of
-- the installation before the text is looked at (a pattern match is not leakproof, so it can use no index there):
-- seconds among a million. Asked here, the text is looked up first, or the team is walked, whichever is smaller.

create function private.found_in_team(p_member private.profiles, p_no integer, p_pattern text, p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan'
-- A walk goes from member to member: nobody can tell the planner how few they are. Nor is a text looked for among
-- all members in the order in which they lie, however frequent it seems.
set enable_hashjoin = 'off' set enable_mergejoin = 'off' set enable_seqscan = 'off' as $$
declare
    -- Three characters make a trigram; of fewer, everything would match.
    v_indexed boolean := pg_catalog.length(p_pattern) >= 5;
    v_members integer := coalesce((select n.members from private.networks as n where n.no = p_no), 1);
    v_found uuid[];
begin
    if v_indexed then
        v_found := array(
            select p.id from private.profiles as p
            where private.searchable(p.username, p.display_name, p.email) like p_pattern
            limit 2001
        );
        if pg_catalog.cardinality(v_found) <= 2000 then
            return array(
                select p.id from private.profiles as p
                where p.id = any(v_found)
                    and (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
                    and (p.id = (p_member).id or private.is_below(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
                order by p.created_at, p.id limit p_limit
            );
        end if;
    end if;
    if v_members <= 50000 then
        return array(
            select p.id
            from private.network(p_no) as n
            inner join private.positions as o on n.no = o.no
            inner join private.profiles as p on o.profile_id = p.id
            where pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern
            order by p.created_at, p.id limit p_limit
        );
    end if;
    -- A frequent text in a large team: the first matches come soon in the order of joining.
    return array(
        select p.id from private.profiles as p
        where (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
            and (p.id = (p_member).id or private.is_below(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
        order by p.created_at, p.id limit p_limit
    );
end
$$;
comment on function private.found_in_team(private.profiles, integer, text, integer) is
'Ids of the first members of a team, oldest first, whose username or display name holds the text; the member counts.';

create function public.search_team(p_search text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_text text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_ids uuid[];
begin
    if coalesce(pg_catalog.length(v_text), 0) not between 2 and 80 then
        perform private.refuse(400, 'invalid_filter', 'Type 2 to 80 characters.');
    end if;
    v_ids := private.found_in_team(
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
'The first ten people of the caller''s own team, the caller included, whose username or name holds the text; oldest first. Errors: profile_not_found, invalid_filter.';
grant execute on function public.search_team(text) to authenticated;
