-- Rules about what a member has: journal, stored sums, cash-in, package, funding (250_ledger_checks.sql says how rules are written).

-- Members whose sums differ are found without a nested loop: a range within one step of a histogram is estimated as one member, and
-- the sums of each would be searched for in a list. Their own function, for views of what is rare are better looked up.
create function private.balance_discrepancies(p_part private.ledger_part)
returns table (
    user_id uuid, wrong_journal boolean, wrong_totals boolean, wrong_counts boolean, wrong_times boolean, wrong_cash_in boolean,
    wrong_package boolean, wrong_funding boolean, undecided_rows bigint, unlike_balances bigint
)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set enable_nestloop = 'off' set search_path = '' as $$
begin
    return query
    with earned as materialized (
        select
            b.user_id,
            sum(b.amount_cents) * 0.01 as total,
            coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
            coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
            coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
            sum(b.reentry_amount) as reentry,
            count(*) filter (where b.bonus_type = 'referral' and b.amount_cents > 0) as referrals,
            count(*) filter (where b.bonus_type = 'pairing' and b.amount_cents > 0) as pairings,
            count(*) filter (where b.bonus_type = 'override' and b.amount_cents > 0) as overrides
        from public.bonuses as b
        where private.is_asked(p_part, b.user_id)
        group by b.user_id
    ),

    claimed as materialized (
        select
            d.user_id,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
            coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
            min(d.decision_no) filter (where d.status = 'approved') as first_decision_no
        from public.deposits as d left join private.packages as k on d.amount = k.value and d.kind <> 'cash_in'
        where private.is_asked(p_part, d.user_id)
        group by d.user_id
    ),

    drawn as materialized (
        select
            w.user_id,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved
        from public.withdrawals as w
        where private.is_asked(p_part, w.user_id)
        group by w.user_id
    ),

    journal as materialized (
        select
            t.user_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
            count(*) filter (where t.balance_after is distinct from t.due_balance) as unlike_balances,
            min(t.created_at) as first_at,
            max(t.created_at) as last_at
        from private.running_balances as t
        where private.is_asked(p_part, t.user_id)
        group by t.user_id
    )

    select m.*
    from (
        select
            p.user_id,
            coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.total, 0) - coalesce(w.recounted, 0) as wrong_journal,
            (
                (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
                is distinct from (
                    coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
                    coalesce(w.recounted, 0), coalesce(w.reserved, 0)
                )
            ) as wrong_totals,
            (
                (s.referral_count, s.pairing_count, s.override_count)
                is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
            ) as wrong_counts,
            -- A clock may step back, and is days ahead at most.
            coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > pg_catalog.clock_timestamp() + interval '7 days', false) as wrong_times,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package,
            o.paid_order is distinct from case when o.paid_cents > 0 then d.first_decision_no end as wrong_funding,
            coalesce(j.undecided_rows, 0) as undecided_rows,
            coalesce(j.unlike_balances, 0) as unlike_balances
        from (
            select f.* from private.profiles as f
            where private.is_asked(p_part, f.user_id)
        ) as p
        left join (
            select g.* from private.totals as g
            where private.is_asked(p_part, g.user_id)
        ) as s
            on p.user_id = s.user_id
        left join (
            select n.* from private.positions as n
            where private.is_asked(p_part, n.no)
        ) as o
            on p.user_id = o.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where
        m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package or m.wrong_funding
        or m.undecided_rows > 0 or m.unlike_balances > 0;
end
$$;
comment on function private.balance_discrepancies(private.ledger_part) is
'Those of these members (null: all) of whom something that is stored is not the sum of its rows. What corrections explain is among it.';

create function private.balance_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with members as materialized (
        select d.* from private.balance_discrepancies(p_part) as d
    ),

    corrected as materialized (
        select distinct c.user_id from private.corrections as c
        where c.confirmed_by is not null and private.is_asked(p_part, c.user_id)
    )

    -- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
    select 'I02', m.user_id::text, m.user_id, null::jsonb
    from members as m
    where m.wrong_journal
    union all
    -- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
    select 'I07', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_totals
    union all
    -- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
    select
        'I08', s.user_id::text, s.user_id,
        pg_catalog.jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
    from private.shortfall_discrepancies as s
    where private.is_asked(p_part, s.user_id)
    union all
    -- I09 Cash-in equals the approved deposits that count.
    select 'I09', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_cash_in
    union all
    -- I13 A package follows from the approved deposits, and after a correction from that.
    select 'I13', m.user_id::text, m.user_id, null
    from (
        select w.user_id from members as w
        where w.wrong_package
        union
        select c.user_id from corrected as c
    ) as m
    inner join private.profiles as p on m.user_id = p.user_id
    where p.package_value <> private.due_package(m.user_id)
    union all
    -- I34 A member's place in the order of fundings is the decision that made the member funded.
    select 'I34', o.user_id::text, o.user_id, null
    from (
        select w.user_id from members as w
        where w.wrong_funding
        union
        select c.user_id from corrected as c
    ) as m
    inner join private.positions as o on m.user_id = o.user_id
    left join (
        select c.* from private.corrected_fundings as c
        where private.is_asked(p_part, c.user_id)
    ) as f
        on m.user_id = f.user_id
    cross join
        lateral (
            select min(d.decision_no) as decision_no from public.deposits as d
            where d.user_id = m.user_id and d.status = 'approved'
        ) as d
    where o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end
    union all
    -- I35 Whatever completed a journal row has its number.
    select 'I35', m.user_id::text, m.user_id, pg_catalog.jsonb_build_object('rows', m.undecided_rows)
    from members as m
    where m.undecided_rows > 0
    union all
    -- I37 The counts in totals are those of the bonuses, each type's its own.
    select 'I37', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_counts
    union all
    -- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
    select 'I42', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_times
    union all
    -- I53 The balance beside each journal row continues that of the last.
    select 'I53', m.user_id::text, m.user_id, pg_catalog.jsonb_build_object('rows', m.unlike_balances)
    from members as m
    where m.unlike_balances > 0;
end
$$;
comment on function private.balance_violations(private.ledger_part) is
'Rules about what these members (null: all) have: journal, stored sums, cash-in, package, funding. I02, I07 to I09, I13, I34, I35, I37, I42, I53.';
