-- The deltas of a counter and of a member have one index, and what an approval books for its bonuses is one statement.
-- Both tables are emptied every minute: their keys are built at once.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."counter_deltas_name_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."network_deltas_no_idx";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."counter_deltas" DROP CONSTRAINT "counter_deltas_pkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."network_deltas" DROP CONSTRAINT "network_deltas_pkey";

CREATE OR REPLACE FUNCTION private.bonuses_record_insert()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    with journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at, v_decision_no from added as n where n.amount <> 0
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
            pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
            override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
            reentry_amount = t.reentry_amount + s.reentry
        from (
            select
                n.user_id,
                coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0) as referral,
                count(*) filter (where n.bonus_type = 'referral') as referrals,
                coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0) as pairing,
                count(*) filter (where n.bonus_type = 'pairing') as pairings,
                coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0) as override,
                count(*) filter (where n.bonus_type = 'override') as overrides,
                sum(n.reentry_amount) as reentry
            from added as n where n.amount > 0 group by n.user_id
        ) as s
        where t.user_id = s.user_id
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select
            o.no,
            (n.created_at at time zone 'UTC')::date,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0),
            coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0),
            coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0),
            0
        from added as n inner join private.positions as o on n.user_id = o.user_id
        where n.amount <> 0
        group by o.no, (n.created_at at time zone 'UTC')::date
        union all
        select n.subject_no, (n.created_at at time zone 'UTC')::date, 0, 0, 0, 1
        from added as n where n.bonus_type = 'referral' and n.amount > 0
    )
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (select sum(n.amount) as amount, count(*) filter (where n.amount > 0) as rows from added as n) as s
    cross join lateral (values ('bonuses', s.amount), ('bonus_rows', s.rows)) as c (name, delta)
    where c.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_record_update()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := private.clock();
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    -- Sorted or hashed by the bonus, never joined: a plan is made for the first update of a connection, which is
    -- often of one row, and a nested loop over the next ten thousand would be quadratic.
    with changed as materialized (
        select
            c.id,
            c.user_id,
            c.bonus_type,
            c.subject_no,
            c.created_at,
            sum(c.amount) as amount,
            sum(c.reentry) as reentry,
            sum(c.paid) as paid
        from (
            select n.id, n.user_id, n.bonus_type, n.subject_no, n.created_at, n.amount, n.reentry_amount as reentry, (n.amount > 0)::integer as paid
            from after as n
            union all
            select o.id, o.user_id, o.bonus_type, o.subject_no, o.created_at, -o.amount, -o.reentry_amount, -(o.amount > 0)::integer
            from before as o
        ) as c
        group by c.id, c.user_id, c.bonus_type, c.subject_no, c.created_at
    ), journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select c.user_id, c.amount, 'bonus', 'completed', c.id, v_now, v_decision_no from changed as c where c.amount <> 0
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
            pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
            override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
            reentry_amount = t.reentry_amount + s.reentry
        from (
            select
                c.user_id,
                coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
                coalesce(sum(c.paid) filter (where c.bonus_type = 'referral'), 0) as referrals,
                coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
                coalesce(sum(c.paid) filter (where c.bonus_type = 'pairing'), 0) as pairings,
                coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
                coalesce(sum(c.paid) filter (where c.bonus_type = 'override'), 0) as overrides,
                sum(c.reentry) as reentry
            from changed as c
            group by c.user_id
        ) as s
        where t.user_id = s.user_id
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select
            p.no,
            (v_now at time zone 'UTC')::date,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0),
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0),
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0),
            0
        from changed as c inner join private.positions as p on c.user_id = p.user_id
        group by p.no having sum(c.amount) <> 0
        union all
        -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
        select c.subject_no, (c.created_at at time zone 'UTC')::date, 0, 0, 0, c.paid
        from changed as c where c.bonus_type = 'referral' and c.paid <> 0
    )
    insert into private.counter_deltas (name, delta)
    select d.name, d.delta
    from (select sum(c.amount) as amount, sum(c.paid) as rows from changed as c) as s
    cross join lateral (values ('bonuses', s.amount), ('bonus_rows', s.rows)) as d (name, delta)
    where d.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.owner_bonus_discrepancies (
  p_no integer
)
  RETURNS SETOF private.due_bonus
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
begin
    return query
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        case when b.id is null or b.amount = 0 then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$function$;

-- squawk-ignore constraint-missing-not-valid, adding-serial-primary-key-field
ALTER TABLE "private"."counter_deltas" ADD CONSTRAINT "counter_deltas_pkey" PRIMARY KEY (name, id);

-- squawk-ignore constraint-missing-not-valid, adding-serial-primary-key-field
ALTER TABLE "private"."network_deltas" ADD CONSTRAINT "network_deltas_pkey" PRIMARY KEY (no, id);
