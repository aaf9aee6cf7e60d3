-- A round of the sweep is made at last: 53 minutes with six million members. Its first run looked at nearly all large teams,
-- which the first positions have; sums of members were searched for in a list wherever the planner took a range for one
-- member; a hub's pairs were looked up by owner alone; and members in the order of their ids have no two rows on one page.
SET local check_function_bodies = off;

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
            where private.is_asked(p_part, n.user_id)
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

CREATE OR REPLACE FUNCTION private.balance_violations (
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
    where m.wrong_times;
end
$function$;

CREATE OR REPLACE FUNCTION private.bonus_violations (
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
                b.amount not between 0.01 and 10000000 as wrong_amount,
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
$function$;

CREATE OR REPLACE FUNCTION private.check_changed_networks (
  p_nos     integer[],
  p_earners integer[],
  p_teams   integer[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_found jsonb := '[]'::jsonb;
begin
    for i in 1..greatest(pg_catalog.cardinality(p_nos), pg_catalog.cardinality(p_earners), pg_catalog.cardinality(p_teams)) by 2000 loop
        v_found := v_found || private.check_networks(
            private.listed_part('{}', p_nos[i:i + 1999]),
            private.listed_part('{}', p_earners[i:i + 1999]),
            private.listed_part(array(select o.user_id from private.positions as o where o.no = any(p_teams[i:i + 1999])), '{}')
        );
    end loop;
    return v_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_ledger_in_parts()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb;
    v_slice private.ledger_slices;
    v_sums boolean;
    v_rules jsonb;
begin
    -- One run at a time. What waited for it would keep a worker from its other jobs.
    if not pg_catalog.pg_try_advisory_xact_lock(private.lock_key('ledger_check')) then
        return (select s.rules from private.ledger_check_state as s);
    end if;
    v_slice := private.last_slice();
    v_sums := private.are_sums_due(v_slice);
    v_found := case when v_sums then private.check_sums() else private.check_slice() end;
    -- What changed comes last: it locks the row of the last check, for which the anchor of the audit log would wait.
    v_found := v_found || private.check_changes();
    perform private.record_violations(v_found, true, case when v_sums then '{}' else private.sum_rules() end);
    if private.are_members_done(v_slice) and (v_slice).entries_done then
        perform private.end_round(v_slice);
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (
        select pg_catalog.left(a.object, 3) as rule, count(*) as rows from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
        group by 1
    ) as r;
    update private.ledger_check_state as s set
        checked_at = v_started,
        check_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes'),
        rules = v_rules,
        violations = (select coalesce(sum(r.rows::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as r (rule, rows)),
        seen_since = coalesce(private.all_seen_since(), s.seen_since);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_slice()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_size record := private.slice_size();
    v_slice private.ledger_slices := private.last_slice();
    v_part private.ledger_part;
    v_after bigint := (v_slice).entry_id;
    v_found jsonb := '[]'::jsonb;
begin
    v_slice.no := v_slice.no + 1;
    v_slice.seen_at := pg_catalog.clock_timestamp();
    for i in 1..v_size.members by v_size.at_once loop
        exit when private.are_members_done(v_slice) or (i > 1 and pg_catalog.clock_timestamp() > v_slice.seen_at + v_size.at_most);
        v_part := private.next_part(v_slice, least(v_size.members - i + 1, v_size.at_once));
        v_found := v_found || private.check_part(private.placed_part(v_part)) || private.check_networks(v_part, v_part, v_part);
        v_slice.next_user := v_part.until_user;
        v_slice.next_no := v_part.until_no;
    end loop;
    v_slice.entry_id := v_after + v_size.entries;
    v_slice.entries_done := v_slice.entry_id >= coalesce((select max(l.id) from private.audit_log as l), 0);
    insert into private.ledger_slices select (v_slice).*;
    return v_found || private.check_entries(v_after, v_slice.entry_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.check_whole_ledger()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET work_mem TO '64MB'
  SET search_path TO ''
  SET enable_indexscan TO 'off'
  AS $function$
declare
    v_state private.ledger_check_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
    v_found jsonb;
    v_seq bigint;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and (
        private.is_recent(v_state.checked_at, v_state.check_duration * 9)
        or not pg_catalog.pg_try_advisory_xact_lock(private.lock_key('ledger_check'))
    ) then
        return v_state.rules;
    end if;
    perform private.take_changes();
    delete from private.ledger_slices;
    select max(c.seq) into v_seq from private.audit_chain as c;
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(c)), '[]') into v_found from private.check_ledger() as c;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select f.value ->> 'rule' as rule, count(*) as rows from pg_catalog.jsonb_array_elements(v_found) as f group by 1) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        -- Not longer, should the clock be set meanwhile: it says when the next one may run.
        check_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes'),
        rules = v_rules,
        violations = pg_catalog.jsonb_array_length(v_found),
        whole_at = v_started,
        seen_since = v_started,
        seen_seq = v_seq;
    perform private.record_violations(v_found);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_key (
  p_name text
)
  RETURNS integer
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
    case p_name
        -- A decision, a correction, a reconciliation, leaving demo mode: one at a time.
        when 'money' then return 42;
        -- One reconciliation of all bonuses at a time; whoever waited takes its result.
        when 'reconcile' then return 44;
        -- With the id of a new request: two members' requests of one id.
        when 'request' then return 51;
        -- With an owner: how many receipts a member has.
        when 'receipts_of_owner' then return 45;
        -- With a name: using a receipt in a deposit, or deleting it.
        when 'receipt' then return 48;
        -- The roll-up of team totals; a repair and a rebuild of counters keep it out.
        when 'networks' then return 46;
        -- The income disclosure is published by one.
        when 'income_disclosure' then return 47;
        -- A long ledger check runs once at a time; another one takes the last result.
        when 'ledger_check' then return 52;
        -- With an email address: one login attempt on an administrator's account at a time.
        when 'login_to_account' then return 49;
        -- With a client address: one login attempt of an administrator from it at a time.
        when 'login_from_address' then return 50;
        -- The end of the audit chain: one linker at a time.
        when 'audit_log' then return 43;
    end case;
end
$function$;

CREATE OR REPLACE FUNCTION private.placed_part (
  p_part private.ledger_part
)
  RETURNS private.ledger_part
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return row(
        array(select o.user_id from private.positions as o where private.is_asked(p_part, o.no)) || array(
            (
                select p.user_id from private.profiles as p where private.is_asked(p_part, p.user_id)
                union all
                select t.user_id from public.transactions as t where private.is_asked(p_part, t.user_id)
                union all
                select b.user_id from public.bonuses as b where private.is_asked(p_part, b.user_id)
                union all
                select d.user_id from public.deposits as d where private.is_asked(p_part, d.user_id)
                union all
                select w.user_id from public.withdrawals as w where private.is_asked(p_part, w.user_id)
                union all
                select c.user_id from private.corrections as c where private.is_asked(p_part, c.user_id)
                union all
                select s.user_id from public.bot_subscriptions as s where private.is_asked(p_part, s.user_id)
            )
            except
            select o.user_id from private.positions as o where private.is_asked(p_part, o.user_id)
        ),
        null, null, (p_part).nos, (p_part).first_no, (p_part).until_no
    )::private.ledger_part;
end
$function$;

CREATE OR REPLACE FUNCTION private.slice_size (
  OUT members integer,
  OUT entries bigint,
  OUT at_once integer,
  OUT at_most interval
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    members := pg_catalog.ceil(coalesce((select max(o.no) from private.positions as o), 0) / 50.0);
    entries := pg_catalog.ceil(coalesce((select max(l.id) from private.audit_log as l), 0) / 50.0);
    at_once := 5000;
    at_most := interval '50 seconds';
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
            select n.no from private.networks as n inner join private.positions as o on n.no = o.no
            where n.has_days and private.is_asked(p_part, o.user_id)
            order by pg_catalog.random() limit case when private.is_everybody(p_part) then p_teams end
        )
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no
        where n.has_days and private.is_everybody(p_part)
    ),

    downline as (
        select t.no as top_no, t.no, null::timestamptz as joined_at, false as has_days from teams as t
        union all
        select b.top_no, c.no, c.joined_at, coalesce(n.has_days, false)
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no
        -- A large team within it has its own days, checked separately.
        where not b.has_days
    ),

    found as (
        -- I23 compares it with the profile.
        select b.top_no, (b.joined_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.no <> b.top_no
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

COMMENT ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) IS 'Those of these members (null: all) of whom something that is stored is not the sum of its rows. What corrections explain is among it.';

COMMENT ON FUNCTION "private"."network_violations"(private.ledger_part, private.ledger_part, private.ledger_part) IS 'Rules about what is rolled up: the networks of these positions, the earnings by day of these, the growth of these members'' large teams; of null a sample. I28 to I30.';

COMMENT ON FUNCTION "private"."placed_part"(private.ledger_part) IS 'These positions with their members, and those of these members who have none. Who joined together has rows side by side on the disk; in the order of ids each row would be a page of its own.';

COMMENT ON FUNCTION "private"."team_day_discrepancies"(integer, private.ledger_part) IS 'Days on which the materialised growth of a large team differs from tree and bonuses: of those of these members that are large, or of a sample of as many; null, null: all. By member: the first positions have most of the large teams.';

REVOKE ALL ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."placed_part"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."placed_part"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."placed_part"(private.ledger_part) TO "postgres";
