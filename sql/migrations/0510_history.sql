-- A member's money in one list: bonuses, deposits, withdrawals, and the journal rows that none of these three
-- stands for (corrections). Newest first, one keyset page at a time: each source gives at most a page from its
-- own (user, time) index, so the cost does not grow with the member's history. Days are UTC days.

create function private.history(
    p_user_id uuid,
    p_type text,
    p_status text,
    p_from timestamptz,
    p_to timestamptz,
    p_before_at timestamptz,
    p_before_id uuid,
    p_limit integer
) returns table (created_at timestamptz, id uuid, item jsonb)
language plpgsql stable set search_path = ''
-- One plan for everybody, made once a connection: planning this query costs more than running it, and each source
-- must be read along its index whatever the statistics say, or a hub's whole history would be sorted for a page.
set plan_cache_mode = 'force_generic_plan' set enable_bitmapscan = 'off' set enable_seqscan = 'off' as $$
begin
    return query
    with page as materialized (
        (
            select b.created_at, b.id, 'bonus' as source
            from public.bonuses as b
            where
                b.user_id = p_user_id
                and (b.created_at, b.id) < (p_before_at, p_before_id)
                and b.created_at >= p_from and b.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by b.created_at desc, b.id desc
            limit p_limit
        )
        union all
        (
            select d.created_at, d.id, 'deposit'
            from public.deposits as d
            where
                d.user_id = p_user_id
                and (d.created_at, d.id) < (p_before_at, p_before_id)
                and d.created_at >= p_from and d.created_at < p_to
                and (p_type is null or p_type = 'deposit')
                and (p_status is null or p_status = d.status::text)
            order by d.created_at desc, d.id desc
            limit p_limit
        )
        union all
        (
            select w.created_at, w.id, 'withdrawal'
            from public.withdrawals as w
            where
                w.user_id = p_user_id
                and (w.created_at, w.id) < (p_before_at, p_before_id)
                and w.created_at >= p_from and w.created_at < p_to
                and (p_type is null or p_type = 'withdrawal')
                and (p_status is null or p_status = w.status::text)
            order by w.created_at desc, w.id desc
            limit p_limit
        )
        union all
        (
            select t.created_at, t.id, 'transaction'
            from public.transactions as t
            where
                t.reference_id = any(array(select c.id from private.corrections as c where c.user_id = p_user_id))
                and (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'correction')
                and (p_status is null or p_status = t.status::text)
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        order by 1 desc, 2 desc
        limit p_limit
    )
    select
        g.created_at,
        g.id,
        pg_catalog.jsonb_build_object(
            'id', g.id,
            'user_id', p_user_id,
            'amount', case g.source
                when 'bonus' then private.money(b.amount)
                when 'deposit' then private.money(d.amount)
                when 'withdrawal' then private.money(-w.amount)
                else private.money(t.amount)
            end,
            'transaction_type', case g.source
                when 'bonus' then b.bonus_type || ' bonus'
                when 'transaction' then 'correction'
                else g.source
            end,
            'status', case g.source
                when 'bonus' then 'completed'
                else coalesce(d.status::text, w.status::text, t.status::text)
            end,
            'created_at', g.created_at,
            'source', g.source,
            'counterparty', coalesce(s.username, private.short_address(w.wallet_address)),
            'pair_number', b.pair_number,
            'pair_names', (
                select pg_catalog.jsonb_agg(c.username order by o.child_no)
                from private.positions as o
                inner join private.profiles as c on o.profile_id = c.id
                where o.referrer_no = b.subject_no and o.child_no in (b.pair_number * 2 - 1, b.pair_number * 2)
            ),
            'rate', private.percent(b.rate),
            'volume', private.money(b.volume),
            'reentry', private.money(b.reentry_amount),
            'reference', d.reference_number,
            'wallet_address', w.wallet_address,
            'admin_notes', coalesce(d.admin_notes, w.admin_notes),
            'decided_at', coalesce(d.decided_at, w.decided_at),
            'payout_reference', w.payout_reference,
            'can_cancel', coalesce(d.status, w.status) is not distinct from 'pending'
        )
    from page as g
    left join public.bonuses as b on g.source = 'bonus' and g.id = b.id
    left join private.profiles as s on b.source_user_id = s.user_id
    left join public.deposits as d on g.source = 'deposit' and g.id = d.id
    left join public.withdrawals as w on g.source = 'withdrawal' and g.id = w.id
    left join public.transactions as t on g.source = 'transaction' and g.id = t.id
    order by g.created_at desc, g.id desc;
end
$$;
comment on function private.history(uuid, text, text, timestamptz, timestamptz, timestamptz, uuid, integer) is
'One page of a member''s merged history, newest first, before a key. Withdrawals are negative. pair_names are the two children of the pair''s owner.';

create function private.page_limit(p_limit integer, p_default integer, p_most integer) returns integer
language plpgsql immutable set search_path = '' as $$
begin
    if p_limit not between 1 and p_most then
        perform private.refuse(400, 'invalid_limit', pg_catalog.format('A page holds 1 to %s rows.', p_most));
    end if;
    return coalesce(p_limit, p_default);
end
$$;
comment on function private.page_limit(integer, integer, integer) is 'Rows of a page: the default when not asked for. Errors: invalid_limit.';

create function private.cursor_of(p_at timestamptz, p_id uuid) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || p_id;
end
$$;
comment on function private.cursor_of(timestamptz, uuid) is 'Where a keyset page ends, for the next one to begin.';

create function private.read_cursor(p_cursor text, out at timestamptz, out id uuid)
language plpgsql immutable set search_path = '' as $$
begin
    if p_cursor is null then
        at := 'infinity';
        id := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    elsif p_cursor ~ '\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z' then
        at := pg_catalog.split_part(p_cursor, '_', 1)::timestamptz;
        id := pg_catalog.split_part(p_cursor, '_', 2)::uuid;
    else
        perform private.refuse(400, 'invalid_cursor', 'This page no longer exists. Start again from the first.');
    end if;
exception when datetime_field_overflow or invalid_datetime_format then
    perform private.refuse(400, 'invalid_cursor', 'This page no longer exists. Start again from the first.');
end
$$;
comment on function private.read_cursor(text) is 'The key a cursor holds; beyond everything without one. Errors: invalid_cursor.';

create function public.get_transaction_history(
    p_type text default null,
    p_status text default null,
    p_from date default null,
    p_to date default null,
    p_before text default null,
    p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.reading_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 25, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    if p_type not in ('deposit', 'withdrawal', 'bonus', 'referral bonus', 'pairing bonus', 'override bonus', 'correction') then
        perform private.refuse(400, 'invalid_filter', 'There is no such type of transaction.');
    end if;
    if p_status not in ('pending', 'approved', 'rejected', 'completed', 'failed') then
        perform private.refuse(400, 'invalid_filter', 'There is no such status.');
    end if;
    select * into v_before from private.read_cursor(p_before);
    -- One row more than asked for tells whether there is a next page.
    select
        pg_catalog.array_agg(h.item order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(private.cursor_of(h.created_at, h.id) order by h.created_at desc, h.id desc)
    into v_items, v_keys
    from private.history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end
    );
end
$$;
comment on function public.get_transaction_history(text, text, date, date, text, integer) is
'The caller''s movements, newest first, filtered by type, status and days (UTC, inclusive). next is the cursor of the following page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';
grant execute on function public.get_transaction_history(text, text, date, date, text, integer) to authenticated;
