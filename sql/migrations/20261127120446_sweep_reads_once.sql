-- The ledger checks read what several rules ask about once, and look for large teams where those are: with six million
-- members a slice takes a quarter less time.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.audit_discrepancies (
  p_objects uuid[] DEFAULT NULL::uuid[]
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    -- Most requests are deposits: their ids would be looked for among the withdrawals once for each kind of entry.
    v_withdrawals uuid[] := array(select w.id from public.withdrawals as w where w.id = any(p_objects));
begin
    return query
    select
        coalesce(d.rule, e.rule),
        coalesce(d.object_id, e.object_id) || ' ' || coalesce(d.action, e.action),
        coalesce(d.user_id, private.uuid_or_null(e.user_text)),
        pg_catalog.jsonb_build_object('entry', e.id, 'says', e.facts, 'is', d.facts)
    from (
        select a.* from private.due_audit_entries as a
        where p_objects is null or a.object_id = any(case a.object_type when 'withdrawal' then v_withdrawals else p_objects end)
    ) as d
    full join (
        select a.* from private.money_audit_entries as a
        where p_objects is null or a.object_id = any(p_objects)
    ) as e on d.object_id = e.object_id and d.action = e.action
    where
        d.object_id is null or e.id is null
        or (d.actors is not null and e.actor <> all(d.actors))
        or (d.roles is not null and not e.is_backfilled and coalesce(e.actor_role <> all(d.roles), true))
        or (e.is_earlier and not d.facts @> e.facts)
        or (not e.is_earlier and (e.facts <> d.facts or e.at is distinct from d.at))
    union all
    -- One entry for each.
    select
        min(e.rule),
        e.object_id || ' ' || e.action || ' twice',
        min(private.uuid_or_null(e.user_text)::text)::uuid,
        pg_catalog.jsonb_build_object('entries', count(*))
    from (
        select m.object_id, m.action
        from private.money_audit_entries as m
        where p_objects is null or m.object_id = any(p_objects)
        group by m.object_id, m.action
        having count(*) > 1
    ) as t
    inner join private.money_audit_entries as e on t.object_id = e.object_id and t.action = e.action
    group by e.object_id, e.action;
end
$function$;

CREATE OR REPLACE FUNCTION private.balance_discrepancies (
  p_part private.ledger_part
)
  RETURNS TABLE (
    user_id        uuid,
    wrong_journal  boolean,
    wrong_totals   boolean,
    wrong_counts   boolean,
    wrong_times    boolean,
    wrong_cash_in  boolean,
    wrong_package  boolean,
    wrong_funding  boolean,
    undecided_rows bigint
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
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
        from public.deposits as d left join private.packages as k on d.amount = k.value
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
            min(t.created_at) as first_at,
            max(t.created_at) as last_at
        from public.transactions as t
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
            coalesce(j.undecided_rows, 0) as undecided_rows
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
        or m.undecided_rows > 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_decision_wrong (
  p_status     public.request_status,
  p_decided_at timestamp with time zone,
  p_decided_by uuid,
  p_notes      text
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
  PARALLEL SAFE
  AS $function$
    select (p_status = 'pending') <> (p_decided_at is null)
        or (p_status = 'pending' and p_decided_by is not null)
        or (p_status <> 'pending' and p_decided_by is null and coalesce(p_notes, '') not in ('Cancelled by the member', 'Account closed'))
$function$;

CREATE OR REPLACE FUNCTION private.journal_violations (
  p_part private.ledger_part
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
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
        select d.entry_id, d.reference_id, d.user_id
        from deposit_entries as d
        where d.source_id is null
        union all
        select w.entry_id, w.reference_id, w.user_id
        from withdrawal_entries as w
        where w.source_id is null
        union all
        select t.id, t.reference_id, t.user_id
        from bonus_entries as b
        inner join entries as t
            on t.transaction_type = 'bonus' and b.reference_id = t.reference_id and b.user_id = t.user_id
        where b.source_id is null
    ) as o
    where
        not exists (
            select 1 from private.corrections as c
            where c.id = o.reference_id and c.confirmed_by is not null
        )
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
        where b.wrong_time
        union all
        select d.source_id, d.user_id
        from deposit_entries as d
        where d.wrong_time
        union all
        select w.source_id, w.user_id
        from withdrawal_entries as w
        where w.wrong_time
    ) as e;
end
$function$;

CREATE OR REPLACE FUNCTION private.place_violations (
  p_part private.ledger_part
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    with places as materialized (
        select l.*
        from (
            select
                p.id,
                p.user_id,
                o.no,
                o.no is null as lacks_position,
                p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
                s.created_at >= p.created_at as older_than_referrer,
                (r.user_id is distinct from s.user_id)
                or o.joined_at <> p.created_at
                or o.package_cents <> p.package_value * 100
                or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
                or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
            from (
                select m.* from private.profiles as m
                where private.is_asked(p_part, m.user_id)
            ) as p
            left join (
                select n.* from private.positions as n
                where private.is_asked(p_part, n.no)
            ) as o
                on p.user_id = o.user_id
            left join private.profiles as s on p.referrer_id = s.id
            left join private.positions as r on o.referrer_no = r.no
            left join (
                select
                    c.referrer_no,
                    count(*) as children,
                    max(c.child_no) as last
                from private.positions as c
                where c.referrer_no is not null and private.is_asked(p_part, c.referrer_no)
                group by c.referrer_no
            ) as c on o.no = c.referrer_no
        ) as l
        where l.lacks_position or l.wrong_depth or l.older_than_referrer or l.wrong_place
    )

    -- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
    select 'I14', l.id::text, l.user_id, null::jsonb
    from places as l
    where l.wrong_depth
    union all
    -- I15 A referrer is older than the referred member.
    select 'I15', l.id::text, l.user_id, null
    from places as l
    where l.older_than_referrer
    union all
    -- I18 Usernames are unique ignoring case.
    select 'I18', p.user_id::text, p.user_id, null
    from private.profiles as p
    where
        private.is_asked(p_part, p.user_id)
        and exists (
            select 1 from private.profiles as q
            where pg_catalog.lower(q.username) = pg_catalog.lower(p.username) and q.id <> p.id
        )
    union all
    -- I23 Child numbers are unique and have no gap, and a position has the member's package.
    select 'I23', l.no::text, l.user_id, null
    from places as l
    where l.wrong_place and not l.lacks_position
    union all
    select 'I23', l.id::text, l.user_id, null
    from places as l
    -- None in this part, and none anywhere.
    where l.lacks_position and not exists (select 1 from private.positions as o where o.user_id = l.user_id)
    union all
    -- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
    select 'I41', s.no::text, o.user_id, null
    from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
    where private.is_asked(p_part, s.referrer_no);
end
$function$;

CREATE OR REPLACE FUNCTION private.request_violations (
  p_part private.ledger_part
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    with wrong_deposits as materialized (
        select f.*
        from (
            select
                d.id,
                d.user_id,
                d.amount not between 1 and 10000000 as wrong_amount,
                private.is_decision_wrong(d.status, d.decided_at, d.decided_by, d.admin_notes) as wrong_decision,
                (
                    o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
                    or o.metadata ->> 'eTag' is distinct from r.etag
                ) as wrong_receipt,
                k.key is null as lacks_keys
            from public.deposits as d
            left join private.deposit_receipts as r on d.id = r.deposit_id
            left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
            left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
            where private.is_asked(p_part, d.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_receipt or f.lacks_keys
    ),

    wrong_withdrawals as materialized (
        select f.*
        from (
            select
                w.id,
                w.user_id,
                w.amount not between 100 and 10000000 as wrong_amount,
                private.is_decision_wrong(w.status, w.decided_at, w.decided_by, w.admin_notes) as wrong_decision
            from public.withdrawals as w
            where private.is_asked(p_part, w.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision
    )

    -- I16 Amounts are finite and in range; bonus_violations has the bonuses.
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
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
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
    -- I31 A deposit has its keys: without them I19 is blind.
    select 'I31', d.id::text, d.user_id, null
    from wrong_deposits as d
    where d.lacks_keys;
end
$function$;

CREATE OR REPLACE FUNCTION private.team_day_discrepancies (
  p_teams integer,
  p_part  private.ledger_part DEFAULT NULL::private.ledger_part
)
  RETURNS TABLE (
    no  integer,
    day date
  )
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET enable_indexscan TO 'on'
  AS $function$
begin
    return query
    with recursive teams as materialized (
        (
            select n.no from private.networks as n
            -- The large teams first, which are few: the offset keeps the planner from reading all members of a range of ids.
            cross join lateral (select p.user_id from private.positions as p where p.no = n.no offset 0) as o
            where n.has_days and private.is_asked(p_part, o.user_id)
            order by pg_catalog.random() limit case when private.is_everybody(p_part) then p_teams end
        )
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no
        where n.has_days and private.is_everybody(p_part)
    ),

    downline as (
        select t.no as top_no, t.no, null::timestamptz as joined_at, true as has_children, false as is_funded, false as has_days
        from teams as t
        union all
        select b.top_no, c.no, c.joined_at, c.children > 0, c.paid_cents > 0, n.no is not null
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no and n.has_days
        -- A large team within it has its own days, checked separately.
        where b.has_children and not b.has_days
    ),

    found as (
        -- I23 compares it with the profile and the direct referrals, I11 the bonuses with who is funded.
        select b.top_no, (b.joined_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.is_funded
        union all
        select b.top_no, d.day, d.members, d.funded from downline as b inner join private.team_days as d on b.no = d.no where b.has_days
        union all
        select b.top_no, c.day, -c.members, -c.funded
        from downline as b inner join private.network_deltas as c on b.no = c.no where b.no <> b.top_no
        union all
        select t.no, d.day, -d.members, -d.funded from teams as t inner join private.team_days as d on t.no = d.no
    )
    select f.top_no, f.day
    from found as f group by f.top_no, f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
end
$function$;

CREATE INDEX networks_large_team_idx ON private.networks USING btree (NO)
  WHERE has_days;

COMMENT ON FUNCTION "private"."is_decision_wrong"(public.request_status, timestamp with time zone, uuid, text) IS 'Whether a request is pending with a decision, or decided without a time, or without a decider although no member''s cancellation or closed account explains it.';

COMMENT ON FUNCTION "private"."place_violations"(private.ledger_part) IS 'Rules about the places of these members (null: all) in the tree, and of their direct referrals. I14, I15, I18, I23, I41.';

REVOKE ALL ON FUNCTION "private"."is_decision_wrong"(public.request_status, timestamp WITH time zone, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_decision_wrong"(public.request_status, timestamp WITH time zone, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_decision_wrong"(public.request_status, timestamp WITH time zone, uuid, text) TO "postgres";
