-- Rules about bonuses: rate, package, pair and receiver of each are those that the compensation plan gives.

create function private.bonus_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with bonus_rows as materialized (
        select r.*
        from (
            select
                b.id,
                b.user_id,
                (b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end)
                or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
                or (b.amount > 0 and (b.rate is distinct from case b.bonus_type
                    when 'referral' then private.referral_percent()
                    when 'override' then private.override_percent()
                    else k.pairing_percent
                end)) as wrong_owner,
                b.user_id = b.source_user_id as from_oneself,
                b.amount not between 0.01 and private.largest_amount() as wrong_amount,
                b.amount
            from public.bonuses as b
            left join private.positions as s on b.subject_no = s.no
            left join private.positions as u on s.referrer_no = u.no
            left join private.packages as k on s.package_cents = k.value_cents
            where private.is_asked(p_part, b.user_id)
        ) as r
        where r.wrong_owner or r.from_oneself or r.wrong_amount
    )

    -- I10 One row per natural key; I11 checks owner and source.
    select 'I10', b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''), b.user_id, null::jsonb
    from public.bonuses as b
    where private.is_asked(p_part, b.user_id)
    group by b.bonus_type, b.subject_no, b.pair_number, b.user_id
    having count(*) > 1
    union all
    -- I11 Bonuses match tree and packages, and are paid to the right members.
    select 'I11', w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''), o.user_id, null
    from pg_catalog.unnest(
        case when private.is_everybody(p_part) then private.all_bonus_discrepancies() else private.bonus_discrepancies(p_part) end
    ) as w
    left join private.positions as s on w.subject_no = s.no
    -- A bonus that is no longer due has no owner in the comparison.
    left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
    union all
    select 'I11', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.wrong_owner
    union all
    -- I12 Nobody earns a bonus from oneself.
    select 'I12', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.from_oneself
    union all
    -- I16 A bonus is in range, and zero only when a correction or a repair was the last to change it.
    select 'I16', b.id::text, b.user_id, null
    from bonus_rows as b
    where
        b.wrong_amount
        and not (b.amount = 0 and exists (
            select 1
            from (
                select t.amount, t.decision_no
                from public.transactions as t
                where t.transaction_type = 'bonus' and t.reference_id = b.id
                order by t.decision_no desc nulls last
                limit 1
            ) as l
            inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
            where l.amount < 0
        ))
        -- Or a repair set it to zero, because it was never due.
        and not exists (
            select 1 from private.audit_log as a
            where
                a.actor = 'system'
                and a.action collate "C" = 'books.repaired'
                and a.payload -> 'repairs' @> pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
        )
    union all
    -- I33 The source of a pairing is the child that completed the pair.
    -- The owner is not joined: with it pairs are looked up by owner alone, where a hub has hundreds of thousands.
    select 'I33', b.id::text, (select o.user_id from private.positions as o where o.no = b.subject_no), null
    from public.bonuses as b
    inner join private.positions as l on b.subject_no = l.referrer_no and b.pair_number = l.pair_no and l.is_left and l.paid_cents > 0
    inner join private.positions as r on b.subject_no = r.referrer_no and b.pair_number = r.pair_no and not r.is_left and r.paid_cents > 0
    where
        b.bonus_type = 'pairing' and b.amount_cents > 0
        and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
        and private.is_asked(p_part, b.subject_no);
end
$$;
comment on function private.bonus_violations(private.ledger_part) is
'Rules about the bonuses that these members (null: all) earn or are at their positions the subject of. I10 to I12, I16, I33.';
