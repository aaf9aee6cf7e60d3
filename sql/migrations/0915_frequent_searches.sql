-- A search that finds more than it counts says 10,000 and more. The later half of its pages was read from the other
-- end of the list, as if that were 10,000 rows away, and showed rows of other pages. Such a list is read from its
-- beginning now, however far: matches so frequent are found soon.

-- With another argument: two functions of the name would be ambiguous.
-- squawk-ignore ban-drop-function
drop function private.page_of(text, text, text, private.list_request, bigint);
create function private.page_of(
    p_from text, p_order text, p_reversed text, p_request private.list_request, p_total bigint, p_more boolean default false
) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_offset bigint := ((p_request).page - 1)::bigint * (p_request).page_size;
    v_rows bigint := least((p_request).page_size, p_total - v_offset);
    v_ids uuid[];
begin
    if v_rows <= 0 then
        return '{}'::uuid[];
    end if;
    -- The other end is as far away as the total says: not when there are more.
    if p_more or v_offset <= p_total / 2 then
        execute pg_catalog.format('select array(select r.id %s order by %s offset %s limit %s)', p_from, p_order, v_offset, v_rows)
        into v_ids using (p_request).pattern;
        return v_ids;
    end if;
    execute pg_catalog.format(
        'select array(select r.id %s order by %s offset %s limit %s)', p_from, p_reversed, p_total - v_offset - v_rows, v_rows
    ) into v_ids using (p_request).pattern;
    return array(select u.id from pg_catalog.unnest(v_ids) with ordinality as u (id, place) order by u.place desc);
end
$$;
comment on function private.page_of(text, text, text, private.list_request, bigint, boolean) is
'Ids of one page, in order; from the nearer end unless there are more rows than the total. p_from is a from clause over r written in these migrations (never input), with values quoted; $1 is the search pattern.';

create or replace function private.found_page(
    p_table text, p_from text, p_walk text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_found uuid[];
begin
    execute pg_catalog.format('select array(select r.id %s limit 10001)', p_from)
    into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000::bigint;
        ids := private.page_of(p_walk, p_order, p_reversed, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from %s as r where r.id = any($1) order by %s offset $2 limit $3)', p_table, p_order
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$$;

create or replace function private.request_page(
    p_table text, p_text_column text, p_request private.list_request, p_counts jsonb,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status', '');
    -- The member is joined only where it is asked for: without it a page number is counted along an index.
    v_from text := pg_catalog.format(
        'from public.%I as r %s where true', p_table,
        case when (p_request).sort_by = 'username' or (p_request).pattern is not null
            then 'inner join private.profiles as p on r.user_id = p.user_id'
        end
    ) || v_status;
    v_matches text := pg_catalog.format(
        '(private.searchable(p.username, p.display_name, p.email) like $1 or lower(r.%I) like $1)', p_text_column
    );
    v_up text;
    v_down text;
    v_found uuid[];
begin
    if (p_request).everything then
        ids := private.newest_requests(p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if (p_request).status not in ('pending', 'approved', 'rejected') then
        perform private.refuse(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.id', 'r.amount desc, r.id desc'),
        ('status', 'r.status, r.created_at desc, r.id desc', 'r.status desc, r.created_at, r.id'),
        ('username', 'lower(p.username), r.created_at desc, r.id desc', 'lower(p.username) desc, r.created_at, r.id')
    ) as o (name, up, down)
    where o.name = (p_request).sort_by;
    if (p_request).descending then
        select v_down, v_up into v_up, v_down;
    end if;
    if (p_request).pattern is null then
        total := coalesce((p_counts ->> (p_request).status)::bigint, v_all);
        ids := private.page_of(v_from, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        $query$
        select array(
            select f.id
            from (
                (
                    select r.id from private.profiles as p inner join public.%1$I as r on p.user_id = r.user_id
                    where private.searchable(p.username, p.display_name, p.email) like $1 %3$s
                    limit 10001
                )
                union
                (
                    select r.id from public.%1$I as r
                    where lower(r.%2$I) like $1 %3$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, p_text_column, v_status
    ) into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000;
        ids := private.page_of(v_from || ' and ' || v_matches, v_up, v_down, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from public.%I as r inner join private.profiles as p on r.user_id = p.user_id where r.id = any($1) order by %s offset $2 limit $3)',
        p_table, v_up
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$$;
