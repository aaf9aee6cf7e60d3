-- A member's corrections were looked for along the whole journal, newest first, whenever the planner took the limit
-- for a short way: nobody has any, so it read to the end. The few rows are found by their reference before they
-- are put in order.

create or replace function private.history(
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
            from (
                select * from public.transactions as j
                where j.reference_id = any(array(select c.id from private.corrections as c where c.user_id = p_user_id))
                offset 0
            ) as t
            where
                (t.created_at, t.id) < (p_before_at, p_before_id)
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
