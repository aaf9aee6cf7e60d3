-- Rules about the journal: each row follows from its request, bonus or correction, and each of these has its rows.

create function private.journal_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with entries as materialized (
        select t.id, t.user_id, t.transaction_type, t.reference_id, t.amount, t.status, t.decision_no, t.created_at
        from public.transactions as t
        where private.is_asked(p_part, t.user_id)
    ),

    -- Sources and journal rows that do not match. A row is its source's when it is of the same member.
    bonus_entries as materialized (
        select
            b.id as source_id,
            coalesce(b.user_id, j.user_id) as user_id,
            j.reference_id,
            (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
            -- The first is the one of the first decision: a clock can step back.
            (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
        from (
            select s.* from public.bonuses as s
            where private.is_asked(p_part, s.user_id)
        ) as b
        full join (
            select
                t.reference_id,
                t.user_id,
                coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
                (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
            from entries as t
            where t.transaction_type = 'bonus'
            group by t.reference_id, t.user_id
        ) as j on b.id = j.reference_id and b.user_id = j.user_id
        where b.id is null or coalesce(j.amount, 0) <> b.amount or j.first_at <> extract(epoch from b.created_at) * 1000000
    ),

    deposit_entries as materialized (
        select
            d.id as source_id,
            t.id as entry_id,
            t.reference_id,
            coalesce(d.user_id, t.user_id) as user_id,
            (t.created_at <> d.created_at) as wrong_time,
            (
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    d.amount::numeric,
                    d.decision_no,
                    case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.deposits as s
            where private.is_asked(p_part, s.user_id)
        ) as d
        full join (
            select * from entries as j where j.transaction_type = 'deposit'
        ) as t on d.id = t.reference_id and d.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            d.amount::numeric,
            d.decision_no,
            case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            d.created_at
        )
    ),

    withdrawal_entries as materialized (
        select
            w.id as source_id,
            t.id as entry_id,
            t.reference_id,
            coalesce(w.user_id, t.user_id) as user_id,
            (t.created_at <> w.created_at) as wrong_time,
            (
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    -w.amount::numeric,
                    w.decision_no,
                    case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.withdrawals as s
            where private.is_asked(p_part, s.user_id)
        ) as w
        full join (
            select * from entries as j where j.transaction_type = 'withdrawal'
        ) as t on w.id = t.reference_id and w.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            -w.amount::numeric,
            w.decision_no,
            case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            w.created_at
        )
    )

    -- I01 The journal rows of a bonus sum to its amount.
    select 'I01', e.source_id::text, e.user_id, null::jsonb
    from bonus_entries as e
    where e.source_id is not null and e.wrong_amount
    union all
    -- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
    -- the number of the same decision.
    select 'I03', e.source_id::text, e.user_id, null
    from deposit_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I04 The same for withdrawals, negative.
    select 'I04', e.source_id::text, e.user_id, null
    from withdrawal_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I05 Every journal row has a source.
    select 'I05', o.entry_id::text, o.user_id, null
    from (
        select d.entry_id, d.user_id
        from deposit_entries as d
        where d.source_id is null
        union all
        select w.entry_id, w.user_id
        from withdrawal_entries as w
        where w.source_id is null
        union all
        select t.id, t.user_id
        from bonus_entries as b
        inner join entries as t
            on t.transaction_type = 'bonus' and b.reference_id = t.reference_id and b.user_id = t.user_id
        where b.source_id is null
    ) as o
    inner join entries as t on o.entry_id = t.id
    where
        not exists (
            select 1 from private.due_request_rows as q
            where q.reference_id = t.reference_id
                and (q.transaction_type, q.user_id, q.amount, q.status, q.decision_no, q.created_at)
                    is not distinct from (t.transaction_type, t.user_id, t.amount::numeric, t.status, t.decision_no, t.created_at)
        )
        and not private.is_booked_back(t.reference_id, t.user_id)
    union all
    -- I06 One journal row per deposit and withdrawal.
    select 'I06', t.reference_id::text, t.user_id, null
    from entries as t
    where t.transaction_type <> 'bonus'
    group by t.transaction_type, t.reference_id, t.user_id
    having count(*) > 1
    union all
    -- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
    select 'I36', e.source_id::text, e.user_id, null
    from (
        select b.source_id, b.user_id
        from bonus_entries as b
        where b.wrong_time and not private.is_booked_elsewhere_first(b.source_id, b.user_id)
        union all
        select d.source_id, d.user_id
        from deposit_entries as d
        where d.wrong_time
        union all
        select w.source_id, w.user_id
        from withdrawal_entries as w
        where w.wrong_time
    ) as e
    union all
    -- I50 No decision, correction or repair has a number that is yet to be given; the highest such number stands for all.
    select 'I50', n.object, null::uuid, null
    from (
        select g.object
        from (
            select e.id::text as object, e.decision_no from entries as e
            union all
            select c.id::text, c.decision_no from private.corrections as c where private.is_asked(p_part, c.user_id)
            union all
            select r.decision_no::text, r.decision_no from private.numbered_repairs as r
        ) as g
        where g.decision_no > coalesce(private.last_decision_no(), -1)
        order by g.decision_no desc limit 1
    ) as n;
end
$$;
comment on function private.journal_violations(private.ledger_part) is
'Rules about the journal rows of these members (null: all) and what they are of. I01, I03 to I06, I36, I50.';
