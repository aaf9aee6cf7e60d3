-- With more than a million members a ledger check looks each minute at what that minute changed and at the next slice of
-- everything, which takes less than an hour: reading every row each minute took longer than the minute.
SET local check_function_bodies = off;

DROP VIEW "private"."ledger_violations";

DROP VIEW "private"."audit_discrepancies";

DROP VIEW "private"."earning_day_discrepancies";

DROP VIEW "private"."money_audit_entries";

DROP VIEW "private"."network_discrepancies";

DROP VIEW "private"."transfers_credited_twice";

DROP FUNCTION "private"."earning_day_differences"(integer, integer);

DROP FUNCTION "private"."entry_hash"(private.audit_log);

DROP FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log);

DROP FUNCTION "private"."network_differences"(integer, integer);

DROP FUNCTION "private"."record_violations"(jsonb);

DROP FUNCTION "private"."team_day_discrepancies"(integer);

DROP FUNCTION "private"."verify_audit_chain"();

DROP FUNCTION "private"."violation_alarms"(jsonb);

CREATE TABLE "private"."ledger_changes" (
  "user_id"   uuid,
  "no"        integer,
  "is_earner" boolean NOT NULL DEFAULT false,
  CONSTRAINT "ledger_changes_one_check" CHECK ((num_nonnulls(user_id, no) = 1))
);

ALTER TABLE "private"."ledger_changes"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."ledger_changes"
  SET (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

CREATE TABLE "private"."ledger_slices" (
  "round"        bigint                   NOT NULL,
  "no"           integer                  NOT NULL,
  "seen_at"      timestamp with time zone NOT NULL,
  "next_user"    uuid,
  "next_no"      integer,
  "entry_id"     bigint                   NOT NULL,
  "entries_done" boolean                  NOT NULL,
  "is_last"      boolean                  NOT NULL,
  CONSTRAINT "ledger_slices_pkey" PRIMARY KEY (round, NO)
);

ALTER TABLE "private"."ledger_slices"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."ledger_check_state"
  ADD COLUMN "whole_at" timestamp WITH time zone;

ALTER TABLE "private"."ledger_check_state"
  ADD COLUMN "seen_since" timestamp WITH time zone;

ALTER TABLE "private"."ledger_check_state"
  ADD COLUMN "seen_seq" bigint;

ALTER TABLE "private"."ledger_check_state"
  ADD COLUMN "sums_at" timestamp WITH time zone;

ALTER TABLE "private"."ledger_check_state"
  ADD COLUMN "sums_duration" interval NOT NULL DEFAULT '00:00:00'::interval;

CREATE TYPE "private"."ledger_part" AS (
  "users"      uuid[],
  "first_user" uuid,
  "until_user" uuid,
  "nos"        integer[],
  "first_no"   integer,
  "until_no"   integer
);

CREATE OR REPLACE FUNCTION jobs.check_ledger()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    return case when private.is_swept() then private.check_ledger_in_parts() else private.check_whole_ledger() end;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.roll_up_networks()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_rows integer;
    v_large_teams integer[];
begin
    -- One roll-up at a time; readers see either the deltas or the totals that include them.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    with taken as (
        delete from private.network_deltas
        returning no, day, members, funded, package_cents, referral, pairing, override
    ),
    placed as (
        select t.*, o.referrer_no, p.depth
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
    ),
    propagated as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select t.no, t.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from placed as t group by t.no, t.depth
    ),
    days as (
        insert into private.team_day_rollup_staging (no, day, depth, own_members, own_funded)
        select t.no, t.day, t.depth, sum(t.members), sum(t.funded)
        from placed as t where t.members <> 0 or t.funded <> 0 group by t.no, t.day, t.depth
    ),
    direct as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select t.referrer_no, sum(t.package_cents), sum(t.funded)
        from placed as t
        where t.referrer_no is not null and (t.package_cents <> 0 or t.funded <> 0)
        group by t.referrer_no order by t.referrer_no
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
    ),
    earned as (
        insert into private.earning_days as d (no, day, referral, pairing, override)
        select t.no, t.day, sum(t.referral), sum(t.pairing), sum(t.override)
        from taken as t where t.referral <> 0 or t.pairing <> 0 or t.override <> 0 group by t.no, t.day
        on conflict (no, day) do update set
            referral = d.referral + excluded.referral,
            pairing = d.pairing + excluded.pairing,
            override = d.override + excluded.override
        returning d.no
    ),
    noted as (
        insert into private.ledger_changes (no, is_earner) select distinct e.no, true from earned as e
    )
    select count(*)::integer into v_rows from taken;
    perform private.propagate_staged_totals();
    v_large_teams := private.finalise_network_roll_up();
    if pg_catalog.cardinality(v_large_teams) > 0 then
        perform private.backfill_team_days(v_large_teams, 20);
    end if;
    return v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.alarm_places (
  OUT users uuid[],
  OUT nos integer[],
  OUT objects uuid[],
  OUT entries bigint[]
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    select
        coalesce(pg_catalog.array_agg(distinct p.user_id) filter (where p.user_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct p.no) filter (where p.no is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct p.object_id) filter (where p.object_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct coalesce(p.entry_id, c.entry_id)) filter (where coalesce(p.entry_id, c.entry_id) is not null), '{}')
    into users, nos, objects, entries
    from (
        select
            a.user_id,
            pg_catalog.substring(a.object, '\AI(?:1[01] [a-z]+|23|28|29|30|41) ([0-9]{1,9})(?: |\Z)')::integer as no,
            pg_catalog.substring(a.object, '\AI4[3-8] ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) ')::uuid as object_id,
            pg_catalog.substring(a.object, '\AI26 entry ([0-9]{1,18})\Z')::bigint as entry_id,
            pg_catalog.substring(a.object, '\AI26 ([0-9]{1,18})\Z')::bigint as seq
        from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
    ) as p
    left join private.audit_chain as c on p.seq = c.seq;
end
$function$;

CREATE OR REPLACE FUNCTION private.all_bonus_discrepancies()
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_material TO 'off'
  SET join_collapse_limit TO '1'
  SET min_parallel_table_scan_size TO '4TB'
  SET min_parallel_index_scan_size TO '4TB'
  SET parallel_setup_cost TO '2000'
  SET parallel_tuple_cost TO '0'
  SET max_parallel_workers_per_gather TO '1'
  SET work_mem TO '64MB'
  AS $function$
declare
    v_percents integer[] := private.pairing_percents();
begin
    return array(select d from private.compared_bonuses(null, v_percents) as d);
end
$function$;

CREATE OR REPLACE FUNCTION private.all_seen_since()
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_slice private.ledger_slices;
    v_first timestamptz;
    v_user timestamptz;
    v_no timestamptz;
    v_entry timestamptz;
    v_sums timestamptz;
begin
    select * into v_slice from private.ledger_slices as s order by s.round desc, s.no desc limit 1;
    select min(s.seen_at) into v_first from private.ledger_slices as s where s.round = v_slice.round;
    -- What this round has not come to yet was looked at by the last one.
    select
        min(s.seen_at) filter (where s.next_user is null or s.next_user > v_slice.next_user),
        min(s.seen_at) filter (where s.next_no is null or s.next_no > v_slice.next_no),
        min(s.seen_at) filter (where s.entries_done or s.entry_id > v_slice.entry_id),
        min(s.seen_at) filter (where s.is_last)
    into v_user, v_no, v_entry, v_sums
    from private.ledger_slices as s
    where s.round = v_slice.round - 1;
    v_user := case when v_slice.next_user is null then v_first else v_user end;
    v_no := case when v_slice.next_no is null then v_first else v_no end;
    v_entry := case when v_slice.entries_done then v_first else v_entry end;
    v_sums := case when v_slice.is_last then v_slice.seen_at else v_sums end;
    return case when num_nulls(v_user, v_no, v_entry, v_sums) = 0 then least(v_user, v_no, v_entry, v_sums) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.are_members_done (
  p_slice private.ledger_slices
)
  RETURNS boolean
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return (p_slice).next_user is null and (p_slice).next_no is null;
end
$function$;

CREATE OR REPLACE FUNCTION private.are_sums_due (
  p_slice private.ledger_slices
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_state private.ledger_check_state;
begin
    if private.are_members_done(p_slice) and (p_slice).entries_done then
        return true;
    end if;
    select * into v_state from private.ledger_check_state;
    return not private.is_recent(v_state.sums_at, v_state.sums_duration * 9) and exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.left(a.object, 3) = any(private.sum_rules())
    );
end
$function$;

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
begin
    return query
    select
        coalesce(d.rule, e.rule),
        coalesce(d.object_id, e.object_id) || ' ' || coalesce(d.action, e.action),
        coalesce(d.user_id, private.uuid_or_null(e.user_text)),
        pg_catalog.jsonb_build_object('entry', e.id, 'says', e.facts, 'is', d.facts)
    from (
        select a.* from private.due_audit_entries as a
        where p_objects is null or a.object_id = any(p_objects)
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
    ),

    -- Members with any discrepancy.
    members as materialized (
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
                p.package_value <> coalesce(d.package, 0) as wrong_package
            from private.profiles as p
            left join private.totals as s on p.user_id = s.user_id
            left join journal as j on p.user_id = j.user_id
            left join earned as b on p.user_id = b.user_id
            left join claimed as d on p.user_id = d.user_id
            left join drawn as w on p.user_id = w.user_id
            where private.is_asked(p_part, p.user_id)
        ) as m
        where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
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
        select c.user_id from private.corrections as c
        where c.confirmed_by is not null and private.is_asked(p_part, c.user_id)
    ) as m
    inner join private.profiles as p on m.user_id = p.user_id
    where p.package_value <> private.due_package(m.user_id)
    union all
    -- I34 A member's place in the order of fundings is the decision that made the member funded.
    select 'I34', o.user_id::text, o.user_id, null
    from private.positions as o
    left join claimed as d on o.user_id = d.user_id
    left join (
        select c.* from private.corrected_fundings as c
        where private.is_asked(p_part, c.user_id)
    ) as f
        on o.user_id = f.user_id
    where
        o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
        and private.is_asked(p_part, o.user_id)
    union all
    -- I35 Whatever completed a journal row has its number.
    select 'I35', j.user_id::text, j.user_id, pg_catalog.jsonb_build_object('rows', j.undecided_rows)
    from journal as j
    where j.undecided_rows > 0
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

CREATE OR REPLACE FUNCTION private.bonus_discrepancies (
  p_part private.ledger_part
)
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_percents integer[] := private.pairing_percents();
begin
    return array(select d from private.compared_bonuses(p_part, v_percents) as d);
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
    select 'I33', b.id::text, o.user_id, null
    from private.pairs as q
    inner join private.positions as o on q.owner_no = o.no
    inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
    inner join private.positions as l on q.left_no = l.no
    inner join private.positions as r on q.right_no = r.no
    where
        b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
        and private.is_asked(p_part, q.owner_no);
end
$function$;

CREATE OR REPLACE FUNCTION private.check_chain (
  p_after bigint,
  p_until bigint
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('rule', 'I26', 'object', c.object)), '[]')
        from private.verify_audit_chain(p_after, p_until) as c (object)
    );
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
            private.listed_part('{}', p_nos[i:i + 1999]), private.listed_part('{}', p_earners[i:i + 1999]), private.listed_part('{}', p_teams[i:i + 1999])
        );
    end loop;
    return v_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_changes()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changed record := private.take_changes();
    v_alarmed record := private.alarm_places();
    v_first bigint;
    v_last bigint;
    v_seq bigint;
    v_users uuid[];
    v_nos integer[];
    v_found jsonb;
    v_entry bigint;
begin
    -- What was linked before the first run is left to the sweep.
    update private.ledger_check_state as s set seen_seq = (select max(c.seq) from private.audit_chain as c) where s.seen_seq is null;
    -- Without the offset the least entry would be looked for from the first one on.
    select min(c.entry_id) - 1, max(c.entry_id), max(c.seq) into v_first, v_last, v_seq
    from (
        select k.entry_id, k.seq from private.audit_chain as k
        where k.seq > (select s.seen_seq from private.ledger_check_state as s) offset 0
    ) as c;
    v_users := private.concerned_users(v_changed.users || v_alarmed.users, v_alarmed.nos);
    v_nos := array(
        select o.no from private.positions as o where o.user_id = any(v_users)
        union
        select u.no from pg_catalog.unnest(v_alarmed.nos) as u (no)
    );
    v_found := private.check_members(v_users)
        || private.check_changed_networks(v_nos || v_changed.nos, v_nos || v_changed.earners, v_alarmed.nos)
        || private.check_entries(coalesce(v_first, 0), coalesce(v_last, 0))
        || private.check_objects(v_alarmed.objects || array(
            select distinct e.object_id from private.money_audit_entries as e where e.id > v_first and e.id <= v_last
        ))
        || (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.standing_violations() as v);
    foreach v_entry in array v_alarmed.entries loop
        v_found := v_found || private.check_chain(v_entry - 1, v_entry);
    end loop;
    update private.ledger_check_state as s set seen_seq = v_seq where v_seq is not null;
    return v_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_entries (
  p_after bigint,
  p_until bigint
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_found jsonb := '[]'::jsonb;
    v_after bigint := p_after;
    v_last bigint;
begin
    while v_after < p_until loop
        v_last := least(v_after + 5000, p_until);
        v_found := v_found || private.check_chain(v_after, v_last) || private.check_objects(private.orphaned_objects(v_after, v_last));
        v_after := v_last;
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
    -- One run at a time.
    lock table private.ledger_slices in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION private.check_members (
  p_users uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_found jsonb := '[]'::jsonb;
    v_users uuid[];
begin
    for i in 1..pg_catalog.cardinality(p_users) by 2000 loop
        v_users := p_users[i:i + 1999];
        v_found := v_found || private.check_part(
            private.listed_part(v_users, array(select o.no from private.positions as o where o.user_id = any(v_users)))
        );
    end loop;
    return v_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_networks (
  p_networks private.ledger_part,
  p_earners  private.ledger_part,
  p_teams    private.ledger_part
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  SET max_parallel_workers_per_gather TO '0'
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.network_violations(p_networks, p_earners, p_teams) as v
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.check_objects (
  p_objects uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.audit_discrepancies(p_objects) as v
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.check_part (
  p_part private.ledger_part
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  SET max_parallel_workers_per_gather TO '0'
  AS $function$
declare
    v_objects uuid[] := array(
        select d.id from public.deposits as d where private.is_asked(p_part, d.user_id)
        union all
        select w.id from public.withdrawals as w where private.is_asked(p_part, w.user_id)
        union all
        select c.id from private.corrections as c where private.is_asked(p_part, c.user_id)
    );
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.member_violations(p_part, v_objects) as v
    );
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
        v_found := v_found || private.check_part(v_part) || private.check_networks(v_part, v_part, v_part);
        v_slice.next_user := v_part.until_user;
        v_slice.next_no := v_part.until_no;
    end loop;
    v_slice.entry_id := v_after + v_size.entries;
    v_slice.entries_done := v_slice.entry_id >= coalesce((select max(l.id) from private.audit_log as l), 0);
    insert into private.ledger_slices select (v_slice).*;
    return v_found || private.check_entries(v_after, v_slice.entry_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.check_sums()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb := (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.sum_violations() as v);
begin
    update private.ledger_check_state as s set
        sums_at = v_started, sums_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes');
    return v_found;
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
    if v_state.check_duration > interval '3 seconds' and private.is_recent(v_state.checked_at, v_state.check_duration * 9) then
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

CREATE OR REPLACE FUNCTION private.compared_bonuses (
  p_part     private.ledger_part,
  p_percents integer[]
)
  RETURNS SETOF private.due_bonus
  LANGUAGE sql
  STABLE
  PARALLEL SAFE
  AS $function$
    with stored_pairs as (
        select
            coalesce(p.subject_no, o.subject_no) as owner_no,
            coalesce(p.pair_number, o.pair_number) as pair_no,
            p.amount_cents as pairing_cents,
            o.amount_cents as override_cents
        from (
            select b.* from public.bonuses as b
            where b.bonus_type = 'pairing' and private.is_asked(p_part, b.subject_no)
        ) as p
        full join (
            select b.* from public.bonuses as b
            where b.bonus_type = 'override' and private.is_asked(p_part, b.subject_no)
        ) as o
            on p.subject_no = o.subject_no and p.pair_number = o.pair_number
    ),

    owned_pairs as (
        select
            q.*,
            o.referrer_no,
            case when o.package_cents % 5000 = 0 then p_percents[o.package_cents / 5000] end as pairing_percent
        from private.pairs as q
        inner join private.positions as o on q.owner_no = o.no
        where private.is_asked(p_part, q.owner_no)
    ),

    due_pairs as (
        select
            q.*,
            q.volume_cents::bigint * q.pairing_percent / 100 as pairing_cents,
            case when q.referrer_no is not null then q.volume_cents::bigint * private.override_percent() / 100 end as override_cents
        from owned_pairs as q
    ),

    -- Where nothing is due, a stored bonus is zero, or there is none.
    different_pairs as (
        select
            coalesce(d.owner_no, s.owner_no) as owner_no,
            coalesce(d.pair_no, s.pair_no) as pair_no,
            d.left_no,
            d.right_no,
            d.volume_cents,
            d.referrer_no,
            d.pairing_percent,
            d.pairing_cents,
            d.override_cents,
            s.pairing_cents as stored_cents,
            (coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents) as pairing_differs,
            (coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents) as override_differs
        from due_pairs as d
        full join stored_pairs as s on d.owner_no = s.owner_no and d.pair_no = s.pair_no
        where
            coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents
            or coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents
    )

    select (f.due).*
    from (
        select row(
            null, 'referral'::public.bonus_type, coalesce(d.subject_no, b.subject_no), null::integer, d.user_no, d.subject_no,
            coalesce(d.volume_cents, 0)::bigint, coalesce(d.rate, 0), coalesce(d.cents, 0)
        )::private.due_bonus as due
        from (
            select * from private.due_referrals as e
            where private.is_asked(p_part, e.subject_no)
        ) as d
        full join (
            select
                r.subject_no,
                r.amount_cents as cents
            from public.bonuses as r
            where r.bonus_type = 'referral' and private.is_asked(p_part, r.subject_no)
        ) as b
            on d.subject_no = b.subject_no
        where coalesce(d.cents, 0) is distinct from b.cents
        union all
        select pg_catalog.unnest(pg_catalog.array_remove(array[
            case when d.pairing_differs then row(
                null, 'pairing'::public.bonus_type, d.owner_no, d.pair_no,
                case when d.pairing_cents is not null then d.owner_no end,
                case when d.pairing_cents is not null and coalesce(d.stored_cents, 0) = 0 then private.pair_source(d.left_no, d.right_no) end,
                case when d.pairing_cents is not null then d.volume_cents else 0 end::bigint,
                coalesce(d.pairing_percent, 0), coalesce(d.pairing_cents, 0)
            )::private.due_bonus end,
            case when d.override_differs then row(
                null, 'override'::public.bonus_type, d.owner_no, d.pair_no, d.referrer_no,
                case when d.override_cents is not null then d.owner_no end,
                case when d.override_cents is not null then d.volume_cents else 0 end::bigint,
                case when d.override_cents is not null then private.override_percent() else 0 end, coalesce(d.override_cents, 0)
            )::private.due_bonus end
        ], null))
        from different_pairs as d
    ) as f
$function$;

CREATE OR REPLACE FUNCTION private.concerned_users (
  p_users uuid[],
  p_nos   integer[]
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return array(
        select u.user_id from pg_catalog.unnest(p_users) as u (user_id)
        union
        select o.user_id from private.positions as o where o.no = any(p_nos)
        union
        select r.user_id
        from private.positions as o inner join private.positions as r on o.referrer_no = r.no
        where o.user_id = any(p_users)
        union
        select r.user_id
        from private.positions as o inner join private.positions as r on o.referrer_no = r.no
        where o.no = any(p_nos)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.due_counters()
  RETURNS TABLE (
    name  text,
    value numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    select f.name, f.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as p
    cross join
        lateral (
            values
            ('profiles', p.members::numeric), ('active_profiles', p.active), ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null) as recounted,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending::numeric), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null) as recounted,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid,
            sum(w.amount) filter (where w.status = 'pending') as reserved
        from public.withdrawals as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending::numeric), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            sum(b.amount_cents) * 0.01 as total,
            count(*) filter (where b.amount_cents > 0) as bonus_rows
        from public.bonuses as b
    ) as b
    cross join lateral (values ('bonuses', b.total), ('bonus_rows', b.bonus_rows::numeric)) as f (name, value)
    union all
    select 'shortfall', coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) as bonus_rows,
            sum(abs(t.amount)) as bonus_volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as t
    cross join lateral (values ('bonus_transactions', t.bonus_rows::numeric), ('bonus_volume', t.bonus_volume)) as f (name, value)
    union all
    select 'subscriptions_' || e.status, coalesce(b.subscriptions, 0)
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as e (status)
    left join (
        select s.status, count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status;
end
$function$;

CREATE OR REPLACE FUNCTION private.earning_day_differences (
  p_first_no integer,
  p_last_no  integer,
  p_nos      integer[] DEFAULT NULL::integer[]
)
  RETURNS TABLE (
    no       integer,
    day      date,
    referral numeric,
    pairing  numeric,
    override numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    select e.no, e.day, sum(e.referral), sum(e.pairing), sum(e.override)
    from (
        select d.no, d.day, -d.referral as referral, -d.pairing as pairing, -d.override as override
        from private.earning_days as d where d.no between p_first_no and p_last_no and (p_nos is null or d.no = any(p_nos))
        union all
        select c.no, c.day, -c.referral, -c.pairing, -c.override
        from private.network_deltas as c where c.no between p_first_no and p_last_no and (p_nos is null or c.no = any(p_nos))
        union all
        select
            o.no,
            (t.created_at at time zone 'UTC')::date,
            case b.bonus_type when 'referral' then t.amount else 0 end,
            case b.bonus_type when 'pairing' then t.amount else 0 end,
            case b.bonus_type when 'override' then t.amount else 0 end
        from private.positions as o
        inner join public.transactions as t on o.user_id = t.user_id and t.transaction_type = 'bonus'
        inner join public.bonuses as b on t.reference_id = b.id
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    ) as e
    group by e.no, e.day
    having sum(e.referral) <> 0 or sum(e.pairing) <> 0 or sum(e.override) <> 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.earning_day_discrepancies (
  p_part private.ledger_part
)
  RETURNS TABLE (
    no  integer,
    day date
  )
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return query
    select distinct d.no, d.day
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I28') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.earning_day_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$function$;

CREATE OR REPLACE FUNCTION private.end_round (
  p_slice private.ledger_slices
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    insert into private.ledger_slices
    select (p_slice).round, (p_slice).no + 1, s.sums_at, null, null, (p_slice).entry_id, true, true from private.ledger_check_state as s;
    delete from private.ledger_slices as s where s.round < (p_slice).round;
    update private.ledger_check_state as s set whole_at = pg_catalog.clock_timestamp();
    -- A rule as a whole is over when a round has found no more than its alarms.
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.length(a.object) = 3
        and a.last_seen < (select min(s.seen_at) from private.ledger_slices as s where s.round = (p_slice).round);
end
$function$;

CREATE OR REPLACE FUNCTION private.entry_hash (
  p_entry private.audit_log
)
  RETURNS bytea
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.sha256(pg_catalog.convert_to(
        pg_catalog.concat_ws(
            '|', (p_entry).id, extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
            coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
        ), 'UTF8'
    ))
$function$;

CREATE OR REPLACE FUNCTION private.finalise_network_roll_up()
  RETURNS integer[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_large_teams integer[];
begin
    with propagated as (
        delete from private.team_day_rollup_staging returning no, day, members, funded
    )
    insert into private.team_days as d (no, day, members, funded)
    select c.no, c.day, c.members, c.funded
    from propagated as c inner join private.networks as n on c.no = n.no
    where n.has_days and (c.members <> 0 or c.funded <> 0)
    order by c.no, c.day
    on conflict (no, day) do update set members = d.members + excluded.members, funded = d.funded + excluded.funded;
    with propagated as (
        delete from private.network_rollup_staging
        returning no, members, package_cents, referral, pairing, override
    ),
    finalised as (
        insert into private.networks as n (no, members, package_cents, referral, pairing, override)
        select c.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from propagated as c
        order by c.no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override
        returning n.no, n.members, n.has_days
    ),
    noted as (
        insert into private.ledger_changes (no) select f.no from finalised as f
    )
    select array(select s.no from finalised as s where s.members > 500 and not s.has_days) into v_large_teams;
    return v_large_teams;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_asked (
  p_part private.ledger_part,
  p_no   integer
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
  PARALLEL SAFE
  AS $function$
    select case
        when (p_part).nos is not null then p_no = any((p_part).nos)
        when (p_part).until_no is not null then p_no >= (p_part).first_no and p_no < (p_part).until_no
        when (p_part).first_no is not null then p_no >= (p_part).first_no
        else true
    end
$function$;

CREATE OR REPLACE FUNCTION private.is_asked (
  p_part private.ledger_part,
  p_user uuid
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
  PARALLEL SAFE
  AS $function$
    select case
        when (p_part).users is not null then p_user = any((p_part).users)
        when (p_part).until_user is not null then p_user >= (p_part).first_user and p_user < (p_part).until_user
        when (p_part).first_user is not null then p_user >= (p_part).first_user
        else true
    end
$function$;

CREATE OR REPLACE FUNCTION private.is_everybody (
  p_part private.ledger_part
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
  PARALLEL SAFE
  AS $function$
    select pg_catalog.num_nonnulls((p_part).users, (p_part).first_user, (p_part).nos, (p_part).first_no) = 0
$function$;

CREATE OR REPLACE FUNCTION private.is_swept()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    -- Numbers are given in the order of joining and never given again.
    return coalesce((select max(o.no) from private.positions as o) > private.whole_check_limit(), false);
end
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
    -- Sources and journal rows that do not match. A row is its source's when it is of the same member.
    with bonus_entries as materialized (
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
            from public.transactions as t
            where t.transaction_type = 'bonus' and private.is_asked(p_part, t.user_id)
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
            select * from public.transactions as j
            where j.transaction_type = 'deposit' and private.is_asked(p_part, j.user_id)
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
            select * from public.transactions as j
            where j.transaction_type = 'withdrawal' and private.is_asked(p_part, j.user_id)
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
        inner join public.transactions as t
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
    from public.transactions as t
    where t.transaction_type <> 'bonus' and private.is_asked(p_part, t.user_id)
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

CREATE OR REPLACE FUNCTION private.last_slice()
  RETURNS private.ledger_slices
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_slice private.ledger_slices;
begin
    select * into v_slice from private.ledger_slices as s order by s.round desc, s.no desc limit 1;
    if coalesce(v_slice.is_last, true) then
        v_slice := row(coalesce(v_slice.round, 0) + 1, 0, null, '00000000-0000-0000-0000-000000000000', 0, 0, false, false);
    end if;
    return v_slice;
end
$function$;

CREATE OR REPLACE FUNCTION private.ledger_gauges()
  RETURNS TABLE (
    name   text,
    labels jsonb,
    value  double precision
  )
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select 'harborline_ledger_violations', pg_catalog.jsonb_build_object('rule', r.rule), coalesce((s.rules ->> r.rule)::double precision, 0)
    from private.ledger_check_state as s
    cross join (
        select t.rule from private.rule_texts() as t
        union
        select k.rule from private.ledger_check_state as l cross join lateral pg_catalog.jsonb_object_keys(l.rules) as k (rule)
    ) as r
    where s.checked_at is not null
    union all
    select 'harborline_ledger_checked_timestamp_seconds', '{}', extract(epoch from s.checked_at)
    from private.ledger_check_state as s where s.checked_at is not null
    union all
    -- Until the first round of a sweep has ended, its beginning: who waits for the end must see time pass.
    select 'harborline_ledger_seen_timestamp_seconds', '{}', extract(epoch from f.seen_since)
    from (
        select coalesce(s.seen_since, (select min(l.seen_at) from private.ledger_slices as l)) as seen_since from private.ledger_check_state as s
    ) as f
    where f.seen_since is not null
    union all
    select 'harborline_repaired_bonuses', '{}', r.repaired from private.reconcile_state as r
    union all
    select 'harborline_coverage_ratio', '{}', (c.figures ->> 'ratio')::double precision / 100
    from (select private.coverage() as figures) as c where c.figures ->> 'ratio' is not null
    union all
    select 'harborline_unlinked_audit_seconds', '{}', private.age_seconds((select min(u.at) from private.unlinked_entries as u))
$function$;

CREATE OR REPLACE FUNCTION private.link_hash (
  p_prev  bytea,
  p_seq   bigint,
  p_entry private.audit_log
)
  RETURNS bytea
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.sha256(
        coalesce(p_prev, ''::bytea) || pg_catalog.convert_to(
            pg_catalog.concat_ws(
                -- An id that is the number is left out: links from before entries had ids are still what they were.
                '|', p_seq, nullif((p_entry).id, p_seq), extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
                coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
            ), 'UTF8'
        )
    )
$function$;

CREATE OR REPLACE FUNCTION private.listed_part (
  p_users uuid[],
  p_nos   integer[]
)
  RETURNS private.ledger_part
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return row(p_users, null, null, p_nos, null, null)::private.ledger_part;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_violations (
  p_part    private.ledger_part,
  p_objects uuid[]
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select v.* from private.balance_violations(p_part) as v
    union all
    select v.* from private.journal_violations(p_part) as v
    union all
    select v.* from private.bonus_violations(p_part) as v
    union all
    select v.* from private.request_violations(p_part) as v
    union all
    select v.* from private.place_violations(p_part) as v
    union all
    -- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
    -- same.
    select v.* from private.audit_discrepancies(p_objects) as v
$function$;

CREATE OR REPLACE FUNCTION private.network_differences (
  p_first_no integer,
  p_last_no  integer,
  p_nos      integer[] DEFAULT NULL::integer[]
)
  RETURNS TABLE (
    no            integer,
    members       integer,
    package_cents bigint,
    referral      numeric,
    pairing       numeric,
    override      numeric,
    direct_cents  bigint,
    direct_funded integer
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    with changed as materialized (
        select
            c.no,
            sum(c.members) as members,
            sum(c.package_cents) as package_cents,
            sum(c.funded) as funded,
            sum(c.referral) as referral,
            sum(c.pairing) as pairing,
            sum(c.override) as override
        from private.network_deltas as c
        group by c.no
    ),
    due as (
        select
            o.no,
            1 + b.members - coalesce(n.members, 0) - coalesce(h.members, 0) as members,
            o.package_cents + b.package_cents - coalesce(n.package_cents, 0) - coalesce(h.package_cents, 0) as package_cents,
            t.referral_amount + b.referral - coalesce(n.referral, 0) - coalesce(h.referral, 0) as referral,
            t.pairing_amount + b.pairing - coalesce(n.pairing, 0) - coalesce(h.pairing, 0) as pairing,
            t.override_amount + b.override - coalesce(n.override, 0) - coalesce(h.override, 0) as override,
            b.direct_cents - coalesce(n.direct_cents, 0) - coalesce(d.package_cents, 0) as direct_cents,
            b.direct_funded - coalesce(n.direct_funded, 0) - coalesce(d.funded, 0) as direct_funded
        from private.positions as o
        inner join private.totals as t on o.user_id = t.user_id
        left join private.networks as n on o.no = n.no
        left join changed as h on o.no = h.no
        left join (
            select p.referrer_no, sum(c.package_cents) as package_cents, sum(c.funded) as funded
            from changed as c inner join private.positions as p on c.no = p.no
            group by p.referrer_no
        ) as d on o.no = d.referrer_no
        cross join lateral (
            select
                coalesce(sum(k.members), 0) as members,
                coalesce(sum(k.package_cents), 0) as package_cents,
                coalesce(sum(k.referral), 0) as referral,
                coalesce(sum(k.pairing), 0) as pairing,
                coalesce(sum(k.override), 0) as override,
                coalesce(sum(c.package_cents), 0) as direct_cents,
                count(*) filter (where c.paid_cents > 0) as direct_funded
            from private.positions as c left join private.networks as k on c.no = k.no
            where c.referrer_no = o.no
        ) as b
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    )
    select
        u.no, u.members::integer, u.package_cents::bigint, u.referral::numeric, u.pairing::numeric, u.override::numeric,
        u.direct_cents::bigint, u.direct_funded::integer
    from due as u
    where (u.members, u.package_cents, u.referral, u.pairing, u.override, u.direct_cents, u.direct_funded) is distinct from (0, 0, 0, 0, 0, 0, 0);
end
$function$;

CREATE OR REPLACE FUNCTION private.network_discrepancies (
  p_part private.ledger_part
)
  RETURNS SETOF integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return query
    select distinct d.no
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I29') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.network_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$function$;

CREATE OR REPLACE FUNCTION private.network_violations (
  p_networks private.ledger_part,
  p_earners  private.ledger_part,
  p_teams    private.ledger_part
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    -- I28 A member's daily earnings match the journal (of all members a sample of 10,000).
    select 'I28', d.no || ' ' || d.day, o.user_id, null::jsonb
    from private.earning_day_discrepancies(p_earners) as d left join private.positions as o on d.no = o.no
    union all
    -- I29 Network totals equal the member's own values plus the networks of the direct referrals (of all members a
    -- sample of 10,000).
    select 'I29', n.no::text, o.user_id, null
    from private.network_discrepancies(p_networks) as n (no) left join private.positions as o on n.no = o.no
    union all
    -- I30 The daily growth of a large team matches its members' joining and funding (of all teams a sample of 20).
    select 'I30', d.no || ' ' || d.day, o.user_id, null
    from private.team_day_discrepancies(20, p_teams) as d left join private.positions as o on d.no = o.no;
end
$function$;

CREATE OR REPLACE FUNCTION private.next_part (
  p_slice   private.ledger_slices,
  p_members integer
)
  RETURNS private.ledger_part
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_part private.ledger_part := private.listed_part('{}', '{}');
begin
    if (p_slice).next_user is not null then
        v_part.users := null;
        v_part.first_user := (p_slice).next_user;
        v_part.until_user := (
            select p.user_id from private.profiles as p where p.user_id >= (p_slice).next_user
            order by p.user_id offset p_members limit 1
        );
    end if;
    if (p_slice).next_no is not null then
        v_part.nos := null;
        v_part.first_no := (p_slice).next_no;
        v_part.until_no := (
            select o.no from private.positions as o where o.no >= (p_slice).next_no
            order by o.no offset p_members limit 1
        );
    end if;
    return v_part;
end
$function$;

CREATE OR REPLACE FUNCTION private.orphaned_objects (
  p_after bigint,
  p_until bigint
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return array(
        select distinct e.object_id
        from private.money_audit_entries as e
        where
            e.id > p_after and e.id <= p_until
            and not exists (select 1 from public.deposits as d where d.id = e.object_id)
            and not exists (select 1 from public.withdrawals as w where w.id = e.object_id)
            and not exists (select 1 from private.corrections as c where c.id = e.object_id)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.pairing_percents()
  RETURNS integer[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return array(
        select s.pairing_percent
        from pg_catalog.generate_series(1, (select max(k.value_cents) / 5000 from private.packages as k)) as u (units)
        left join private.packages as s on u.units * 5000 = s.value_cents
        order by u.units
    );
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
                p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
                s.created_at >= p.created_at as older_than_referrer,
                (r.user_id is distinct from s.user_id)
                or o.joined_at <> p.created_at
                or o.package_cents <> p.package_value * 100
                or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
                or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
            from private.positions as o
            inner join private.profiles as p on o.user_id = p.user_id
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
            where private.is_asked(p_part, o.no)
        ) as l
        where l.wrong_depth or l.older_than_referrer or l.wrong_place
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
    where l.wrong_place
    union all
    select 'I23', p.id::text, p.user_id, null
    from private.profiles as p left join private.positions as o on p.user_id = o.user_id
    where o.no is null and private.is_asked(p_part, p.user_id)
    union all
    -- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
    select 'I41', s.no::text, o.user_id, null
    from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
    where private.is_asked(p_part, s.referrer_no);
end
$function$;

CREATE OR REPLACE FUNCTION private.profiles_note_change()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    insert into private.ledger_changes (user_id) values (new.user_id);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_sums()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    perform private.lock_sums();
    -- In this order: each is derived from those before it.
    v_changes := v_changes || private.rebuild_journal();
    v_changes := v_changes || private.rebuild_members();
    v_changes := v_changes || private.rebuild_positions();
    v_changes := v_changes || private.rebuild_totals();
    v_changes := v_changes || private.rebuild_counter_values();
    v_changes := v_changes || private.rebuild_flows();
    v_changes := v_changes || private.rebuild_earning_days();
    v_changes := v_changes || private.rebuild_networks();
    v_changes := v_changes || private.rebuild_team_days();
    insert into private.ledger_changes (user_id) select distinct c.user_id from pg_catalog.unnest(v_changes) as c where c.user_id is not null;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_violations (
  p_found        jsonb,
  p_is_part      boolean DEFAULT false,
  p_unseen_rules text[]  DEFAULT '{}'::text[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_alarm record;
    v_seen text[] := array[]::text[];
begin
    perform from private.alarm_mail_state as s for no key update;
    for v_alarm in select v.object, v.user_id, v.details from private.violation_alarms(p_found, p_is_part) as v loop
        perform private.raise_alarm('ledger_violation', v_alarm.object, v_alarm.user_id, v_alarm.details);
        v_seen := v_seen || v_alarm.object;
    end loop;
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object <> all(v_seen)
        and pg_catalog.left(a.object, 3) <> all(p_unseen_rules)
        -- A rule as a whole may be violated elsewhere.
        and not (p_is_part and pg_catalog.length(a.object) = 3)
        -- The next sample may have fewer: a sampled rule as a whole is over when nothing of it is found.
        and not (
            a.object in ('I28', 'I29', 'I30')
            and exists (select 1 from pg_catalog.unnest(v_seen) as s (object) where pg_catalog.starts_with(s.object, a.object))
        );
    perform private.announce_alarms();
end
$function$;

CREATE OR REPLACE FUNCTION private.repair_bonuses (
  p_due private.due_bonus[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
    v_at timestamptz := private.clock();
    v_stored record;
    v_damaged boolean;
    v_decision_no bigint;
    v_details jsonb;
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    select * into v_stored from private.find_stored_bonuses(p_due);
    perform private.lock_members(v_stored.earners);
    v_details := pg_catalog.jsonb_build_object(
        'rows', pg_catalog.cardinality(p_due), 'repairs', private.repair_items(v_stored.due[1:100])
    );
    -- Otherwise only the tree has changed.
    v_damaged := (v_stored.in_journal and private.totals_follow_rows(v_stored.earners)) is not true;
    v_decision_no := private.next_decision_no();
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform pg_catalog.set_config('app.repair', case when v_damaged then 'on' else '' end, true);
    perform private.write_bonuses(v_stored.due, v_at);
    insert into private.ledger_changes (user_id) select e.user_id from pg_catalog.unnest(v_stored.earners) as e (user_id) where e.user_id is not null;
    if v_damaged then
        v_changes := private.rebuild_sums();
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.raise_alarm('repair', v_decision_no::text, null, v_details);
    perform private.audit('system', 'books.repaired', 'bonuses', null, v_details || private.changes_json(v_changes));
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
    -- I16 Amounts are finite and in range; bonus_violations has the bonuses.
    select 'I16', d.id::text, d.user_id, null::jsonb
    from public.deposits as d
    where d.amount not between 1 and 10000000 and private.is_asked(p_part, d.user_id)
    union all
    select 'I16', w.id::text, w.user_id, null
    from public.withdrawals as w
    where w.amount not between 100 and 10000000 and private.is_asked(p_part, w.user_id)
    union all
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
    select 'I17', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id, d.status, d.decided_at, d.decided_by, d.admin_notes
        from public.deposits as d
        where private.is_asked(p_part, d.user_id)
        union all
        select w.id, w.user_id, w.status, w.decided_at, w.decided_by, w.admin_notes
        from public.withdrawals as w
        where private.is_asked(p_part, w.user_id)
    ) as r
    where
        (r.status = 'pending') <> (r.decided_at is null)
        or (r.status = 'pending' and r.decided_by is not null)
        or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
    union all
    -- I19 A transfer is approved once.
    select 'I19', t.deposit_id::text, t.user_id, null
    from private.transfers_credited_twice as t
    where private.is_asked(p_part, t.user_id)
    union all
    -- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
    select 'I20', d.id::text, d.user_id, null
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
    where
        (
            o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
            or o.metadata ->> 'eTag' is distinct from r.etag
        )
        and private.is_asked(p_part, d.user_id)
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
    from public.deposits as d
    left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
    where k.key is null and private.is_asked(p_part, d.user_id);
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
    at_most := interval '75 seconds';
end
$function$;

CREATE OR REPLACE FUNCTION private.standing_violations()
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    -- I25 No administrator session lasts longer than eight hours.
    select 'I25', s.session_token::text, null::uuid, null::jsonb
    from public.admin_sessions as s
    left join private.admin_session_activity as a on s.session_token = a.session_token
    where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
    union all
    -- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
    select 'I40', c.object, null, null
    from private.plan_discrepancies as c
    union all
    -- I49 An administrator has the role of the last entry of the audit log.
    select 'I49', a.id::text, null, a.details
    from private.administrator_discrepancies as a;
end
$function$;

CREATE OR REPLACE FUNCTION private.sum_rules()
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
    return array['I21', 'I22', 'I27', 'I38', 'I39'];
end
$function$;

CREATE OR REPLACE FUNCTION private.sum_violations()
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    -- I21 Bonuses never exceed 56% of funded packages.
    select 'I21', 'all', null::uuid, null::jsonb
    where
        (select coalesce(sum(b.amount_cents), 0) * 0.01 from public.bonuses as b)
        > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
    union all
    -- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
    select 'I22', 'all', null, null
    where
        (select coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'approved' and w.voided_at is null)
        > (select coalesce(sum(d.amount), 0) from public.deposits as d where d.status = 'approved')
    union all
    -- I27 Counters equal the values they count.
    select 'I27', f.name, null, null
    from private.due_counters() as f left join private.counter_values() as c on f.name = c.name
    where c.value is distinct from f.value
    union all
    -- I27 So do the daily totals of deposits and withdrawals.
    select 'I27', 'flow of ' || coalesce(f.day::text, 'no day'), null, null
    from (
        select k.day, k.deposits, k.withdrawals, k.decided_deposits
        from private.flows_since('-infinity') as k
        union all
        select v.day, -v.deposits, 0, -v.decided_deposits
        from public.deposits as d
        cross join
            lateral (
                values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
            ) as v (day, deposits, decided_deposits)
        where d.status = 'approved' and d.voided_at is null
        union all
        select (w.created_at at time zone 'UTC')::date, 0, -w.amount, 0
        from public.withdrawals as w
        where w.status = 'approved' and w.voided_at is null
    ) as f
    group by f.day
    having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
    union all
    -- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
    select 'I38', c.day::text, null, c.details
    from private.coverage_discrepancies() as c
    union all
    -- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
    -- numbers of members agree with each other.
    select 'I39', (d.computed_at at time zone 'UTC')::text, null, d.details
    from private.disclosure_discrepancies() as d;
end
$function$;

CREATE OR REPLACE FUNCTION private.take_changes (
  OUT users uuid[],
  OUT nos integer[],
  OUT earners integer[]
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    with taken as (
        delete from private.ledger_changes as c returning c.user_id, c.no, c.is_earner
    )
    select
        coalesce(pg_catalog.array_agg(distinct t.user_id) filter (where t.user_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct t.no) filter (where t.no is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct t.no) filter (where t.is_earner), '{}')
    into users, nos, earners
    from taken as t;
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
            where n.has_days and private.is_asked(p_part, n.no)
            order by pg_catalog.random() limit case when private.is_everybody(p_part) then p_teams end
        )
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no
        where n.has_days and private.is_everybody(p_part)
    ),

    downline as (
        select t.no as top_no, t.no, false as has_days from teams as t
        union all
        select b.top_no, c.no, coalesce(n.has_days, false)
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no
        -- A large team within it has its own days, checked separately.
        where not b.has_days
    ),

    found as (
        select b.top_no, (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        inner join private.positions as o on b.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
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

CREATE OR REPLACE FUNCTION private.transactions_note_change()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    insert into private.ledger_changes (user_id) select distinct n.user_id from after as n;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.uuid_or_null (
  p_text text
)
  RETURNS uuid
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
    return case when p_text ~ '\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z' then p_text::uuid end;
end
$function$;

CREATE OR REPLACE FUNCTION private.verify_audit_chain (
  p_after bigint DEFAULT NULL::bigint,
  p_until bigint DEFAULT NULL::bigint
)
  RETURNS SETOF text
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    select coalesce(a.seq::text, 'entry ' || a.id)
    from (
        select
            c.seq,
            l.id,
            (l.entry).hash is distinct from private.entry_hash(l.entry) as wrong_entry,
            c.hash is distinct from private.link_hash(b.hash, c.seq, l.entry) as wrong_link,
            b.seq as seq_before,
            s.final_id
        from (
            select e.id, e as entry from private.audit_log as e
            where p_until is null or (e.id > p_after and e.id <= p_until)
        ) as l
        full join (
            select * from private.audit_chain as k
            where p_until is null or (k.entry_id > p_after and k.entry_id <= p_until)
        ) as c on l.id = c.entry_id
        left join private.audit_chain as b on c.seq - 1 = b.seq
        cross join private.audit_state as s
    ) as a
    where a.id is null or a.wrong_entry
        or (a.seq is not null and (a.wrong_link or a.seq <> coalesce(a.seq_before, 0) + 1))
        or (a.seq is null and a.id < a.final_id)
    union
    select s.anchored_seq::text
    from private.ledger_check_state as s
    left join private.audit_chain as c on s.anchored_seq = c.seq and s.anchored_hash = c.hash
    where s.anchored_seq is not null and c.seq is null;
end
$function$;

CREATE OR REPLACE FUNCTION private.violation_alarms (
  p_found   jsonb,
  p_is_part boolean DEFAULT false
)
  RETURNS TABLE (
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with found as materialized (
        select distinct on (o.object)
            v.rule,
            o.object,
            v.user_id,
            coalesce(v.details, '{}') as details
        from jsonb_to_recordset(p_found) as v (rule text, object text, user_id uuid, details jsonb)
        cross join lateral (select left(v.rule || ' ' || v.object, 200) as object) as o
        order by o.object
    ),

    ranked as (
        select
            f.*,
            row_number() over (partition by f.rule order by a.id is null, f.object) as place
        from found as f
        left join private.alarms as a on a.kind = 'ledger_violation' and f.object = a.object and a.ended_at is null
    ),

    listed as materialized (
        select r.* from ranked as r order by r.place, r.rule limit 300
    )

    select
        l.object,
        l.user_id,
        l.details
    from listed as l
    union all
    select
        f.rule,
        null,
        -- A sample has another number each time, and so has a part.
        case when p_is_part or f.rule in ('I28', 'I29', 'I30') then '{}' else jsonb_build_object('violations', count(*)) end
    from found as f
    group by f.rule
    having count(*) > (select count(*) from listed as l where l.rule = f.rule)
    order by 1
$function$;

CREATE OR REPLACE FUNCTION private.whole_check_limit()
  RETURNS integer
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
    return 1000000;
end
$function$;

CREATE VIEW "private"."administrator_discrepancies" AS  SELECT COALESCE(a.id, e.object_id) AS id,
    jsonb_build_object('entry', e.id, 'role', a.role, 'is_active', a.is_active) AS details
   FROM (private.admin_users a
     FULL JOIN ( SELECT DISTINCT ON (l.object_id) l.object_id,
            l.id,
            (l.payload ->> 'role'::text) AS role,
            COALESCE((l.payload ->> 'is_active'::text), 'true'::text) AS is_active,
            ((NOT starts_with(l.actor, 'admin:'::text)) OR ((l.payload ->> 'actor_role'::text) = 'super_admin'::text)) AS is_allowed
           FROM private.audit_log l
          WHERE ((l.action COLLATE "C") = ANY (ARRAY['admin.created'::text, 'admin.updated'::text]))
          ORDER BY l.object_id, l.id DESC) e ON ((a.id = e.object_id)))
  WHERE (((a.role)::text IS DISTINCT FROM e.role) OR ((a.is_active)::text IS DISTINCT FROM e.is_active) OR (e.is_allowed IS DISTINCT FROM true));

CREATE VIEW "private"."ledger_violations" AS  SELECT m.rule,
    m.object,
    m.user_id,
    m.details
   FROM private.member_violations(NULL::private.ledger_part, NULL::uuid[]) m(rule, object, user_id, details)
UNION ALL
 SELECT n.rule,
    n.object,
    n.user_id,
    n.details
   FROM private.network_violations(NULL::private.ledger_part, NULL::private.ledger_part, NULL::private.ledger_part) n(rule, object, user_id, details)
UNION ALL
 SELECT 'I26'::text AS rule,
    c.object,
    NULL::uuid AS user_id,
    NULL::jsonb AS details
   FROM private.verify_audit_chain() c(object)
UNION ALL
 SELECT s.rule,
    s.object,
    s.user_id,
    s.details
   FROM private.sum_violations() s(rule, object, user_id, details)
UNION ALL
 SELECT t.rule,
    t.object,
    t.user_id,
    t.details
   FROM private.standing_violations() t(rule, object, user_id, details);

CREATE VIEW "private"."money_audit_entries" AS  SELECT r.rule,
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_id,
    (l.payload ->> 'user_id'::text) AS user_text,
    (l.payload ->> 'actor_role'::text) AS actor_role,
    (l.id <= s.earlier_id) AS is_earlier,
    ((l.id <= s.earlier_id) AND (l.payload ? 'backfilled'::text)) AS is_backfilled,
        CASE
            WHEN (l.id <= s.earlier_id) THEN (l.payload - ARRAY['actor_role'::text, 'request_id'::text, 'backfilled'::text, 'value'::text])
            ELSE (l.payload - ARRAY['actor_role'::text, 'request_id'::text])
        END AS facts
   FROM ((private.audit_log l
     JOIN ( VALUES ('I43'::text,'deposit.requested'::text), ('I44'::text,'withdrawal.requested'::text), ('I45'::text,'deposit.approved'::text), ('I45'::text,'deposit.rejected'::text), ('I45'::text,'deposit.cancelled'::text), ('I46'::text,'withdrawal.approved'::text), ('I46'::text,'withdrawal.rejected'::text), ('I46'::text,'withdrawal.cancelled'::text), ('I47'::text,'withdrawal.paid'::text), ('I48'::text,'correction.proposed'::text), ('I48'::text,'correction.confirmed'::text), ('I48'::text,'correction.discarded'::text)) r(rule, action) ON ((l.action = r.action)))
     CROSS JOIN private.audit_state s);

CREATE VIEW "private"."transfers_credited_twice" AS  SELECT DISTINCT k.deposit_id,
    d.user_id
   FROM (private.deposit_keys k
     JOIN public.deposits d ON ((k.deposit_id = d.id)))
  WHERE ((d.status = 'approved'::public.request_status) AND (d.voided_at IS NULL) AND (EXISTS ( SELECT 1
           FROM (private.deposit_keys o
             JOIN public.deposits c ON ((o.deposit_id = c.id)))
          WHERE ((o.key = k.key) AND (o.deposit_id <> k.deposit_id) AND (c.status = 'approved'::public.request_status) AND (c.voided_at IS NULL)))));

CREATE TRIGGER _500_note_change
  AFTER INSERT OR UPDATE OF package_value, cash_in_amount, username ON private.profiles
  FOR EACH ROW
  EXECUTE FUNCTION private.profiles_note_change();

CREATE TRIGGER _500_note_insert
  AFTER INSERT ON public.transactions REFERENCING NEW TABLE AS
  AFTER
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.transactions_note_change();

CREATE TRIGGER _500_note_update
  AFTER UPDATE ON public.transactions REFERENCING NEW TABLE AS
  AFTER
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.transactions_note_change();

COMMENT ON COLUMN "private"."ledger_changes"."is_earner" IS 'The earnings by day of the position, not only its network.';

COMMENT ON COLUMN "private"."ledger_changes"."no" IS 'A position of which only what is rolled up has changed.';

COMMENT ON COLUMN "private"."ledger_changes"."user_id" IS 'A member. No foreign key: only triggers write here.';

COMMENT ON COLUMN "private"."ledger_check_state"."seen_seq" IS 'The last link of the audit chain whose entry was looked at as a new one.';

COMMENT ON COLUMN "private"."ledger_check_state"."seen_since" IS 'Every row was looked at since then.';

COMMENT ON COLUMN "private"."ledger_check_state"."sums_at" IS 'When the rules about sums over everybody were last looked at.';

COMMENT ON COLUMN "private"."ledger_check_state"."sums_duration" IS 'How long that took.';

COMMENT ON COLUMN "private"."ledger_check_state"."whole_at" IS 'When everything was last looked at: the last check of a ledger that is read whole, else the end of the last round of the sweep.';

COMMENT ON COLUMN "private"."ledger_slices"."entry_id" IS 'The last entry of the audit log looked at.';

COMMENT ON COLUMN "private"."ledger_slices"."is_last" IS 'The run that looked at sums over everybody after the last slice, and ended the round.';

COMMENT ON COLUMN "private"."ledger_slices"."next_no" IS 'The same of positions, in the order of their numbers.';

COMMENT ON COLUMN "private"."ledger_slices"."next_user" IS 'Where the next run goes on in the order of ids; null when no member is left. Who joins behind it is looked at as a change, and by the next round.';

COMMENT ON COLUMN "private"."ledger_slices"."seen_at" IS 'When the run began that looked at what lies between the slice before and this one.';

COMMENT ON FUNCTION "jobs"."check_ledger"() IS 'Runs the ledger checks, on everything or, with very many members, on what changed and the next slice: violations by rule, {} when there are none. Stores the result and raises and ends their alarms.';

COMMENT ON FUNCTION "private"."alarm_places"() IS 'What open alarms of the ledger name: members, positions, requests and corrections, entries of the audit log.';

COMMENT ON FUNCTION "private"."all_bonus_discrepancies"() IS 'Bonuses that differ from tree and packages, as private.compared_bonuses() says, of all subjects. Empty when all match.';

COMMENT ON FUNCTION "private"."all_seen_since"() IS 'The oldest time at which a row was last looked at; null before the end of the first round.';

COMMENT ON FUNCTION "private"."are_members_done"(private.ledger_slices) IS 'Whether a round has come to the last member and position.';

COMMENT ON FUNCTION "private"."are_sums_due"(private.ledger_slices) IS 'Whether nothing but sums is left of the round, or one of the rules about sums is violated and was not looked at just now.';

COMMENT ON FUNCTION "private"."audit_discrepancies"(uuid[]) IS 'Of these requests and corrections (null: all), those that differ from their entries of the audit log, have none or more than one, or were decided in a role that may not; and such entries without their row.';

COMMENT ON FUNCTION "private"."balance_violations"(private.ledger_part) IS 'Rules about what these members (null: all) have: journal, stored sums, cash-in, package, funding. I02, I07 to I09, I13, I34, I35, I37, I42.';

COMMENT ON FUNCTION "private"."bonus_discrepancies"(private.ledger_part) IS 'Bonuses of the subjects at these positions that differ from tree and packages, as private.compared_bonuses() says. Empty when all match.';

COMMENT ON FUNCTION "private"."bonus_violations"(private.ledger_part) IS 'Rules about the bonuses that these members (null: all) earn or are at their positions the subject of. I10 to I12, I16, I33.';

COMMENT ON FUNCTION "private"."check_chain"(bigint, bigint) IS 'What is wrong with the chain of the audit log, from one entry to another: an array.';

COMMENT ON FUNCTION "private"."check_changed_networks"(integer[], integer[], integer[]) IS 'The same of positions in any number, a few thousand at once.';

COMMENT ON FUNCTION "private"."check_changes"() IS 'What the rules find of what changed since the last call and of what open alarms name: an array. The large teams of others are left to the sweep.';

COMMENT ON FUNCTION "private"."check_entries"(bigint, bigint) IS 'What is wrong with the chain of the audit log from one entry to another, and with entries of what is not there: an array.';

COMMENT ON FUNCTION "private"."check_ledger_in_parts"() IS 'Looks at what changed, at what open alarms name and at the next slice of everything, and records it: open alarms by rule.';

COMMENT ON FUNCTION "private"."check_members"(uuid[]) IS 'What the rules about members find of these, also at their positions: an array.';

COMMENT ON FUNCTION "private"."check_networks"(private.ledger_part, private.ledger_part, private.ledger_part) IS 'What the rules about rolled-up sums find: of the networks of some positions, the earnings by day of others, and the large teams of others: an array.';

COMMENT ON FUNCTION "private"."check_objects"(uuid[]) IS 'What the audit log says otherwise of these requests and corrections: an array.';

COMMENT ON FUNCTION "private"."check_part"(private.ledger_part) IS 'What the rules about members find of these: an array.';

COMMENT ON FUNCTION "private"."check_slice"() IS 'What the rules find of the next slice of members and of the audit log: an array.';

COMMENT ON FUNCTION "private"."check_sums"() IS 'What the rules about sums over everybody find: an array.';

COMMENT ON FUNCTION "private"."check_whole_ledger"() IS 'Reads the whole ledger, stores the result and raises and ends its alarms, or returns the last one while a long check is throttled: violations by rule.';

COMMENT ON FUNCTION "private"."compared_bonuses"(private.ledger_part, integer[]) IS 'Bonuses of the subjects at these positions (null: of all) that differ from tree and packages: missing, different, or no longer due; without the ids of the stored rows, and with the source of a pairing only where none is paid. p_percents is private.pairing_percents().';

COMMENT ON FUNCTION "private"."concerned_users"(uuid[], integer[]) IS 'These members, those at these positions, and who referred them: a bonus that was never written is missing there.';

COMMENT ON FUNCTION "private"."due_counters"() IS 'What each counter counts, counted in the rows.';

COMMENT ON FUNCTION "private"."earning_day_differences"(integer, integer, integer[]) IS 'What the materialised earnings of the members from one number to another, or those of them who are named, lack of the journal, by day; negative: what they have too much.';

COMMENT ON FUNCTION "private"."earning_day_discrepancies"(private.ledger_part) IS 'Days of the members at these positions, or of a sample of all (null), on which the materialised earnings differ from the journal.';

COMMENT ON FUNCTION "private"."end_round"(private.ledger_slices) IS 'Ends a round of the sweep after its last slice and the sums: everything was looked at.';

COMMENT ON FUNCTION "private"."entry_hash"(private.audit_log) IS 'Hash of an entry: covers every other column.';

COMMENT ON FUNCTION "private"."finalise_network_roll_up"() IS 'The end of a roll-up: adds the staged values to totals and days, and notes whose totals changed. Returns large teams whose days are not materialised yet.';

COMMENT ON FUNCTION "private"."is_asked"(private.ledger_part, integer) IS 'Whether a position is in this part.';

COMMENT ON FUNCTION "private"."is_asked"(private.ledger_part, uuid) IS 'Whether a member is in this part.';

COMMENT ON FUNCTION "private"."is_everybody"(private.ledger_part) IS 'Whether this part is everybody.';

COMMENT ON FUNCTION "private"."is_swept"() IS 'Whether there are too many members to read the whole ledger each minute.';

COMMENT ON FUNCTION "private"."journal_violations"(private.ledger_part) IS 'Rules about the journal rows of these members (null: all) and what they are of. I01, I03 to I06, I36.';

COMMENT ON FUNCTION "private"."last_slice"() IS 'Where the sweep goes on: its last slice, or the beginning of the next round.';

COMMENT ON FUNCTION "private"."ledger_gauges"() IS 'The last ledger check by rule and when it was, when everything was last looked at and the row that was not for the longest time, bonuses ever repaired, coverage, and the age of the oldest entry of the audit log outside its chain.';

COMMENT ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) IS 'Hash of a link: covers the hash of the link before it, its number and every column of its entry.';

COMMENT ON FUNCTION "private"."listed_part"(uuid[], integer[]) IS 'These members and these positions.';

COMMENT ON FUNCTION "private"."member_violations"(private.ledger_part, uuid[]) IS 'The rules about these members (null: all), these positions, and these requests and corrections.';

COMMENT ON FUNCTION "private"."network_differences"(integer, integer, integer[]) IS 'What the network totals of the members from one number to another, or those of them who are named, lack of their own values plus their direct referrals'' networks. One level of the tree is enough: if it holds for every member, it holds for the whole downline.';

COMMENT ON FUNCTION "private"."network_discrepancies"(private.ledger_part) IS 'Of the members at these positions, or of a sample of all (null), those whose network totals are not their own values plus their direct referrals'' networks.';

COMMENT ON FUNCTION "private"."network_violations"(private.ledger_part, private.ledger_part, private.ledger_part) IS 'Rules about what is rolled up: the networks of these positions, the earnings by day of these, the growth of these large teams; of null a sample. I28 to I30.';

COMMENT ON FUNCTION "private"."next_part"(private.ledger_slices, integer) IS 'As many members and positions from where the next run goes on; nobody where none is left.';

COMMENT ON FUNCTION "private"."orphaned_objects"(bigint, bigint) IS 'What entries of the audit log name although it is not there. What is there is looked at with its member.';

COMMENT ON FUNCTION "private"."pairing_percents"() IS 'The pairing rates by packages in multiples of $50; null where there is no such package.';

COMMENT ON FUNCTION "private"."place_violations"(private.ledger_part) IS 'Rules about the places of these members (null: all) in the tree, and of their direct referrals; of members at these positions, but for names and for members without one. I14, I15, I18, I23, I41.';

COMMENT ON FUNCTION "private"."profiles_note_change"() IS 'Trigger: notes a new member, and one with another package, cash-in or name.';

COMMENT ON FUNCTION "private"."record_violations"(jsonb, boolean, text[]) IS 'Raises an alarm for each violation found, ends those of violations that are not there any more, and notifies administrators. p_is_part: it did not look at everything, but at the rows of all open alarms, those of p_unseen_rules excepted.';

COMMENT ON FUNCTION "private"."request_violations"(private.ledger_part) IS 'Rules about what these members (null: all) asked for: deposits, withdrawals, bots. I16, I17, I19, I20, I24, I31.';

COMMENT ON FUNCTION "private"."slice_size"() IS 'How many members, positions and entries of the audit log one run of the sweep looks at: so many members at once, and no more of them after this time.';

COMMENT ON FUNCTION "private"."standing_violations"() IS 'Rules about what stays small: administrators, their sessions, the compensation plan. I25, I40, I49.';

COMMENT ON FUNCTION "private"."sum_rules"() IS 'The rules of private.sum_violations().';

COMMENT ON FUNCTION "private"."sum_violations"() IS 'Rules about sums over everybody: what all earned and paid, counters, stored days, disclosures. They read whole tables. I21, I22, I27, I38, I39.';

COMMENT ON FUNCTION "private"."take_changes"() IS 'Members and positions that committed transactions have changed since the last call; earners are those of the positions whose earnings by day have changed.';

COMMENT ON FUNCTION "private"."team_day_discrepancies"(integer, private.ledger_part) IS 'Days on which the materialised growth of a large team differs from tree and bonuses: of those of these positions that are large, or of a sample of as many; null, null: all.';

COMMENT ON FUNCTION "private"."transactions_note_change"() IS 'Trigger: notes whose journal changed. Whatever moves money writes the journal.';

COMMENT ON FUNCTION "private"."uuid_or_null"(text) IS 'This text as an id; null where it is none.';

COMMENT ON FUNCTION "private"."verify_audit_chain"(bigint, bigint) IS 'Of the entries after one id up to another (null: of all), the numbers of their links at which the chain is broken, and those that were changed or have lost their link; and the number of the externally anchored link when it is missing or different. None when the chain is intact. What is not linked yet is no error.';

COMMENT ON FUNCTION "private"."violation_alarms"(jsonb, boolean) IS 'The alarms of what a check found, as an array: object, member, figures; p_is_part: it did not look at everything.';

COMMENT ON FUNCTION "private"."whole_check_limit"() IS 'Up to this number of members each check reads the whole ledger.';

COMMENT ON TABLE "private"."ledger_changes" IS 'Members whose journal, package or name changed since the last ledger check, and positions whose networks a roll-up changed. Appended; a check deletes what it has looked at.';

COMMENT ON TABLE "private"."ledger_slices" IS 'How far the sweep had come after each run of the present round and of the last one. The next run goes on from the last row.';

COMMENT ON TYPE "private"."ledger_part" IS 'Members by id and positions by number, a list or a range each, without its end; without an end, all the rest; null: everybody.';

COMMENT ON VIEW "private"."administrator_discrepancies" IS 'Administrators who have not the role that their last entry of the audit log gives them, and such entries without an administrator.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

COMMENT ON VIEW "private"."money_audit_entries" IS 'The entries that private.due_audit_entries asks for, and what they say beside role and request.';

COMMENT ON VIEW "private"."transfers_credited_twice" IS 'Approved deposits that share a key with another one; each of them is a row. None while every transfer is approved once.';

REVOKE ALL ON FUNCTION "private"."alarm_places"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_places"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_places"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."all_seen_since"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."all_seen_since"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."all_seen_since"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_members_done"(private.ledger_slices) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_members_done"(private.ledger_slices) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_members_done"(private.ledger_slices) TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_sums_due"(private.ledger_slices) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_sums_due"(private.ledger_slices) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_sums_due"(private.ledger_slices) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_discrepancies"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_discrepancies"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_discrepancies"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."balance_violations"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_violations"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_violations"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."bonus_discrepancies"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."bonus_discrepancies"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."bonus_discrepancies"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."bonus_violations"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."bonus_violations"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."bonus_violations"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_chain"(bigint, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_chain"(bigint, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_chain"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_changed_networks"(integer[], integer[], integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_changed_networks"(integer[], integer[], integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_changed_networks"(integer[], integer[], integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_changes"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_changes"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_changes"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_entries"(bigint, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_entries"(bigint, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_entries"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_ledger_in_parts"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_ledger_in_parts"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_ledger_in_parts"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_members"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_members"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_members"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_networks"(private.ledger_part, private.ledger_part, private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_networks"(private.ledger_part, private.ledger_part, private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_networks"(private.ledger_part, private.ledger_part, private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_objects"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_objects"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_objects"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_part"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_part"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_part"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_slice"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_slice"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_slice"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_sums"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_sums"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_sums"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_whole_ledger"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_whole_ledger"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_whole_ledger"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."compared_bonuses"(private.ledger_part, integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."compared_bonuses"(private.ledger_part, integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."compared_bonuses"(private.ledger_part, integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."concerned_users"(uuid[], integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."concerned_users"(uuid[], integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."concerned_users"(uuid[], integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."due_counters"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."due_counters"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."due_counters"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."earning_day_differences"(integer, integer, integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earning_day_differences"(integer, integer, integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earning_day_differences"(integer, integer, integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."earning_day_discrepancies"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earning_day_discrepancies"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earning_day_discrepancies"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_round"(private.ledger_slices) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."end_round"(private.ledger_slices) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_round"(private.ledger_slices) TO "postgres";

REVOKE ALL ON FUNCTION "private"."entry_hash"(private.audit_log) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."entry_hash"(private.audit_log) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."entry_hash"(private.audit_log) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_asked"(private.ledger_part, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_asked"(private.ledger_part, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_asked"(private.ledger_part, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_asked"(private.ledger_part, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_asked"(private.ledger_part, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_asked"(private.ledger_part, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_everybody"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_everybody"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_everybody"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_swept"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_swept"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_swept"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."journal_violations"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."journal_violations"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."journal_violations"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."last_slice"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."last_slice"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."last_slice"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) TO "postgres";

REVOKE ALL ON FUNCTION "private"."listed_part"(uuid[], integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."listed_part"(uuid[], integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."listed_part"(uuid[], integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_violations"(private.ledger_part, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_violations"(private.ledger_part, uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_violations"(private.ledger_part, uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."network_differences"(integer, integer, integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."network_differences"(integer, integer, integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."network_differences"(integer, integer, integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."network_discrepancies"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."network_discrepancies"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."network_discrepancies"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."network_violations"(private.ledger_part, private.ledger_part, private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."network_violations"(private.ledger_part, private.ledger_part, private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."network_violations"(private.ledger_part, private.ledger_part, private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."next_part"(private.ledger_slices, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."next_part"(private.ledger_slices, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."next_part"(private.ledger_slices, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."orphaned_objects"(bigint, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."orphaned_objects"(bigint, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."orphaned_objects"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."pairing_percents"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."pairing_percents"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."pairing_percents"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."place_violations"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."place_violations"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."place_violations"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."profiles_note_change"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."profiles_note_change"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."profiles_note_change"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_violations"(jsonb, boolean, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."record_violations"(jsonb, boolean, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_violations"(jsonb, boolean, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."request_violations"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."request_violations"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."request_violations"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."slice_size"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."slice_size"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."slice_size"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."standing_violations"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."standing_violations"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."standing_violations"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."sum_rules"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sum_rules"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sum_rules"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."sum_violations"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sum_violations"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sum_violations"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_changes"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_changes"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_changes"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."team_day_discrepancies"(integer, private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."team_day_discrepancies"(integer, private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."team_day_discrepancies"(integer, private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."transactions_note_change"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."transactions_note_change"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."transactions_note_change"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."uuid_or_null"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."uuid_or_null"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."uuid_or_null"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."verify_audit_chain"(bigint, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."verify_audit_chain"(bigint, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."verify_audit_chain"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."violation_alarms"(jsonb, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."violation_alarms"(jsonb, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."violation_alarms"(jsonb, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."whole_check_limit"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."whole_check_limit"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."whole_check_limit"() TO "postgres";
