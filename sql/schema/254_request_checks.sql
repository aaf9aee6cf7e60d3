-- Rules about deposits, withdrawals and corrections: each was decided as a decision is, and no transfer counts twice.

create function private.is_decision_wrong(
    p_status public.request_status, p_decided_at timestamptz, p_decided_by uuid, p_notes text
) returns boolean
language sql immutable parallel safe as $$
    select (p_status = 'pending') <> (p_decided_at is null)
        or (p_status = 'pending' and p_decided_by is not null)
        or (p_status <> 'pending' and p_decided_by is null and coalesce(p_notes, '') not in ('Cancelled by the member', 'Account closed'))
$$;
comment on function private.is_decision_wrong(public.request_status, timestamptz, uuid, text) is
'Whether a request is pending with a decision, or decided without a time, or without a decider although no member''s cancellation or closed account explains it.';

create function private.request_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with wrong_deposits as materialized (
        select f.*
        from (
            select
                d.id,
                d.user_id,
                d.amount not between 1 and private.largest_amount()
                or (d.kind <> 'cash_in' and not exists (select 1 from private.packages as p where p.value = d.amount)) as wrong_amount,
                (
                    private.is_decision_wrong(d.status, d.decided_at, d.decided_by, d.admin_notes)
                    or d.voided_at is distinct from v.confirmed_at
                    or exists (
                        select 1 from private.deposit_rests as s
                        where s.deposit_id = d.id and s.ended_at is distinct from coalesce(
                            (select min(n.asked_at) from private.deposit_rests as n where n.deposit_id = s.deposit_id and n.no > s.no), d.decided_at
                        )
                    )
                ) as wrong_decision,
                (
                    o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
                    or o.metadata ->> 'eTag' is distinct from r.etag
                ) as wrong_receipt,
                -- Most are a hash as it is written: to take each apart would cost more than all other rules.
                case
                    when k.keys = 1 and k.kind = 'hash' and k.key = d.reference_number and d.reference_number ~ '\A[0-9a-f]{64}\Z'
                        then exists (select 1 from private.deposit_rests as s where s.deposit_id = d.id and s.reference_number is not null)
                    else private.are_keys_wrong(d.id, d.reference_number, false)
                end as wrong_keys
            from public.deposits as d
            left join private.deposit_receipts as r on d.id = r.deposit_id
            left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
            left join private.confirmed_voids as v on d.id = v.target_id
            cross join lateral (
                select count(*) as keys, min(t.key) as key, min(t.kind) as kind from private.transfer_keys as t
                where t.request_id = d.id and not t.is_payout
            ) as k
            where private.is_asked(p_part, d.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_receipt or f.wrong_keys
    ),

    wrong_withdrawals as materialized (
        select f.*
        from (
            select
                w.id,
                w.user_id,
                w.amount not between 100 and private.largest_amount() as wrong_amount,
                (
                    private.is_decision_wrong(w.status, w.decided_at, w.decided_by, w.admin_notes)
                    or w.voided_at is distinct from v.confirmed_at
                ) as wrong_decision,
                private.are_keys_wrong(w.id, w.payout_reference, true) as wrong_keys
            from public.withdrawals as w
            left join private.confirmed_voids as v on w.id = v.target_id
            where private.is_asked(p_part, w.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_keys
    )

    -- I16 Amounts are finite and in range, and packages sizes; bonus_violations has the bonuses.
    select 'I16', r.id::text, r.user_id, null::jsonb
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_amount
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_amount
    ) as r
    union all
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider. A
    -- confirmed correction voids a request, and nothing else does.
    select 'I17', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_decision
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_decision
    ) as r
    union all
    -- I19 A transfer is approved once.
    select 'I19', t.deposit_id::text, t.user_id, null
    from private.transfers_credited_twice as t
    where private.is_asked(p_part, t.user_id)
    union all
    -- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
    select 'I20', d.id::text, d.user_id, null
    from wrong_deposits as d
    where d.wrong_receipt
    union all
    -- I24 One active or suspended subscription per member and bot.
    select 'I24', min(s.id::text), s.user_id, null
    from public.bot_subscriptions as s
    where s.status <> 'cancelled' and private.is_asked(p_part, s.user_id)
    group by s.user_id, s.bot_name
    having count(*) > 1
    union all
    -- I31 A deposit and a payout have their keys: without them I19 is blind.
    select 'I31', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_keys
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_keys
    ) as r;
end
$$;
comment on function private.request_violations(private.ledger_part) is
'Rules about what these members (null: all) asked for: deposits, withdrawals, bots. I16, I17, I19, I20, I24, I31.';
