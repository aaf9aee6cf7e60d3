-- The member's inbox. The rows are written where things happen; here they are read, a page at a time, and
-- marked as read, which is the only thing a member may change about them.

create function public.get_notifications(p_before text default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.reading_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 20, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    select * into v_before from private.read_cursor(p_before);
    select
        pg_catalog.array_agg(
            pg_catalog.jsonb_build_object(
                'id', n.id,
                'kind', n.kind,
                'title', n.title,
                'body', n.body,
                'amount', private.money(n.amount),
                'read_at', n.read_at,
                'created_at', n.created_at,
                'link', n.link
            ) order by n.created_at desc, n.id desc
        ),
        pg_catalog.array_agg(private.cursor_of(n.created_at, n.id) order by n.created_at desc, n.id desc)
    into v_items, v_keys
    from (
        select m.*
        from public.notifications as m
        where m.user_id = v_user_id and (m.created_at, m.id) < (v_before.at, v_before.id)
        order by m.created_at desc, m.id desc
        limit v_limit + 1
    ) as n;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end,
        'unread', (
            select count(*) from public.notifications as m where m.user_id = v_user_id and m.read_at is null
        )
    );
end
$$;
comment on function public.get_notifications(text, integer) is
'The caller''s notifications, newest first, with the number of unread ones. Errors: invalid_cursor, invalid_limit.';
grant execute on function public.get_notifications(text, integer) to authenticated;

create function public.mark_notifications_read(p_ids uuid[] default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.reading_member()).user_id;
begin
    if pg_catalog.cardinality(p_ids) > 1000 then
        perform private.refuse(400, 'too_many', 'Mark at most 1,000 notifications at once.');
    end if;
    update public.notifications as n
    set read_at = pg_catalog.now()
    where n.user_id = v_user_id and n.read_at is null and (p_ids is null or n.id = any(p_ids));
    return pg_catalog.jsonb_build_object(
        'unread', (
            select count(*) from public.notifications as n where n.user_id = v_user_id and n.read_at is null
        )
    );
end
$$;
comment on function public.mark_notifications_read(uuid[]) is
'Marks the caller''s notifications as read, all of them without ids; ids of other members change nothing. Errors: too_many.';
grant execute on function public.mark_notifications_read(uuid[]) to authenticated;
