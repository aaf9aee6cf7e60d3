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
    -- What a row says is carried along: looking each of them up again would cost as much as finding them.
    with page (
        created_at, id, source, amount, kind, status, source_user_id, subject_no, pair_number, rate, volume, reentry_amount,
        reference, wallet_address, admin_notes, decided_at, payout_reference
    ) as materialized (
        (
            select
                b.created_at, b.id, 'bonus', b.amount::numeric, b.bonus_type || ' bonus', 'completed', b.source_user_id, b.subject_no,
                b.pair_number, b.rate, b.volume, b.reentry_amount, null::text, null::text, null::text, null::timestamptz, null::text
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
            select
                d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null,
                null, null, null, null, d.reference_number, null, d.admin_notes, d.decided_at, null
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
            select
                w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null,
                null, null, null, null, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference
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
            select
                t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null,
                null, null, null, null, null, null, null, null, null
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
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'source', g.source,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by o.child_no)
                from private.positions as o
                inner join private.profiles as c on o.profile_id = c.id
                where o.referrer_no = g.subject_no and o.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'reentry', private.money(g.reentry_amount),
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal')
        )
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    order by g.created_at desc, g.id desc;
end
$$;
