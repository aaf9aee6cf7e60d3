-- Functions in SQL with a search_path of their own are parsed and planned at every call: in a list of members that
-- was more than half of the time, once for each row of the page; in the figures of the panel, once a figure. The
-- same questions in plpgsql keep their plans between requests. What they answer does not change.

create or replace function private.counted() returns table (name text, value numeric)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select c.name, c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
    from private.counters as c;
end
$$;

create or replace function private.counter(p_name text) returns numeric
language plpgsql stable set search_path = '' as $$
begin
    return (
        select c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
        from private.counters as c where c.name = p_name
    );
end
$$;

create or replace function private.tree_path(p_root private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
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
    );
end
$$;

create or replace function private.oldest_pending(p_row jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', p_row -> 'id',
            'amount', private.money((p_row ->> 'amount')::numeric),
            'username', p.username,
            'created_at', p_row -> 'created_at',
            'due_at', (p_row ->> 'created_at')::timestamptz + private.due_after()
        )
        from private.profiles as p where p.user_id = (p_row ->> 'user_id')::uuid
    );
end
$$;

create or replace function private.member_item(p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', (p_member).id,
            'user_id', (p_member).user_id,
            'username', (p_member).username,
            'display_name', (p_member).display_name,
            'email', (p_member).email,
            'referrer_id', (p_member).referrer_id,
            'trc20_wallet_address', (p_member).trc20_wallet_address,
            'package_value', private.money((p_member).package_value),
            'package_approved', (p_member).package_approved,
            'cash_in_amount', private.money((p_member).cash_in_amount),
            'available_balance', private.money(t.available_balance),
            'account_status', (p_member).account_status,
            'account_verified', (p_member).account_verified,
            'admin_notes', (p_member).admin_notes,
            'hold_until', case when (p_member).hold_until > pg_catalog.now() then (p_member).hold_until end,
            'created_at', (p_member).created_at
        )
        from private.totals as t where t.user_id = (p_member).user_id
    );
end
$$;
