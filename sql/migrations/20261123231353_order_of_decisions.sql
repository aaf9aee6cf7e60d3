-- What was decided first is a number taken under the money lock, because a clock can step back: decisions, the journal
-- rows that they write and the fundings that they cause carry it. Existing ones are numbered by their times. A pair that
-- pays again names the child that completed it; a bonus that a correction set to zero is counted no more; coverage is
-- that of the end of each day.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."corrections_confirmed_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."bonuses_lapsed_idx";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

ALTER TABLE "private"."corrections"
  -- squawk-ignore ban-drop-constraint
  DROP CONSTRAINT "confirmation_is_complete";

-- squawk-ignore ban-drop-function
DROP FUNCTION "jobs"."snapshot_coverage"();

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."paying_pair_count"(integer, integer);

-- squawk-ignore ban-drop-sequence
DROP SEQUENCE "private"."positions_paid_order_seq";

CREATE SEQUENCE "private"."decision_no_seq" AS bigint INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1 NO CYCLE;

ALTER TABLE "private"."corrections"
  ADD COLUMN "decision_no" bigint;

ALTER TABLE "public"."deposits"
  ADD COLUMN "decision_no" bigint;

ALTER TABLE "public"."transactions"
  ADD COLUMN "decision_no" bigint;

ALTER TABLE "public"."withdrawals"
  ADD COLUMN "decision_no" bigint;

-- Existing decisions by their times. At one time a correction comes last, as the package was computed until now.
CREATE TEMPORARY TABLE numbered_decisions AS
select
    o.id,
    o.at,
    o.changes_bonuses,
    row_number() over (order by o.at, o.is_correction, o.id) as decision_no
from (
    select d.id, d.decided_at as at, false as is_correction, d.status = 'approved' as changes_bonuses
    from public.deposits as d where d.decided_by is not null
    union all
    select w.id, w.decided_at, false, false from public.withdrawals as w where w.decided_by is not null
    union all
    select c.id, c.confirmed_at, true, c.kind <> 'void_withdrawal' from private.corrections as c where c.confirmed_by is not null
) as o;

SELECT setval('private.decision_no_seq', max(n.decision_no)) FROM numbered_decisions AS n HAVING count(*) > 0;

UPDATE public.deposits AS d SET decision_no = n.decision_no FROM numbered_decisions AS n WHERE d.id = n.id AND d.decision_no IS NULL;

UPDATE public.withdrawals AS w SET decision_no = n.decision_no FROM numbered_decisions AS n WHERE w.id = n.id AND w.decision_no IS NULL;

UPDATE private.corrections AS c SET decision_no = n.decision_no FROM numbered_decisions AS n WHERE c.id = n.id AND c.decision_no IS NULL;

UPDATE public.transactions AS t SET decision_no = n.decision_no
FROM numbered_decisions AS n
WHERE t.transaction_type <> 'bonus' AND t.reference_id = n.id AND t.decision_no IS NULL;

-- A bonus was credited by the last decision before it.
UPDATE public.transactions AS t SET decision_no = p.decision_no
FROM (
    select
        e.id,
        coalesce(max(e.decision_no) over (order by e.at, e.id is not null), 0) as decision_no
    from (
        select null::uuid as id, n.at, n.decision_no from numbered_decisions as n where n.changes_bonuses
        union all
        select b.id, b.created_at, null from public.transactions as b where b.transaction_type = 'bonus'
    ) as e
) AS p
WHERE t.id = p.id AND t.decision_no IS NULL;

-- squawk-ignore ban-drop-table
DROP TABLE numbered_decisions;

-- Bonuses that a correction set to zero.
UPDATE private.totals AS t SET
    referral_count = t.referral_count - z.referrals, pairing_count = t.pairing_count - z.pairings, override_count = t.override_count - z.overrides
FROM (
    select
        b.user_id,
        count(*) filter (where b.bonus_type = 'referral') as referrals,
        count(*) filter (where b.bonus_type = 'pairing') as pairings,
        count(*) filter (where b.bonus_type = 'override') as overrides
    from public.bonuses as b where b.amount = 0 group by b.user_id
) AS z
WHERE t.user_id = z.user_id;

INSERT INTO private.counter_deltas (name, delta)
SELECT 'bonus_rows', -count(*) FROM public.bonuses AS b WHERE b.amount = 0 HAVING count(*) > 0;

-- Days that were stored while they lasted. The worker computes them again.
ALTER TABLE private.coverage_days DISABLE TRIGGER _100_reject_delete;

DELETE FROM private.coverage_days AS c WHERE c.taken_at < (c.day + 1)::timestamp AT TIME ZONE 'UTC';

ALTER TABLE private.coverage_days ENABLE TRIGGER _100_reject_delete;

CREATE OR REPLACE FUNCTION jobs.check_ledger()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET work_mem TO '64MB'
  SET search_path TO ''
  SET enable_indexscan TO 'off'
  AS $function$
declare
    v_state private.ledger_check_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and private.is_recent(v_state.checked_at, v_state.check_duration * 9) then
        return v_state.rules;
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select c.rule, count(*) as rows from private.check_ledger() as c group by c.rule) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        -- Not longer, should the clock be set meanwhile: it says when the next one may run.
        check_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes'),
        rules = v_rules,
        violations = (select coalesce(sum(e.value::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as e);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.snapshot_coverage()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_days integer;
begin
    insert into private.coverage_days (day, figures, taken_at)
    select m.day, private.coverage_at((m.day + 1)::timestamp at time zone 'UTC'), private.clock()
    from (
        select s.day::date as day
        from pg_catalog.generate_series(
            (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
            (private.clock() at time zone 'UTC')::date - 1, interval '1 day'
        ) as s (day)
        where not exists (select 1 from private.coverage_days as c where c.day = s.day::date)
        -- The rest is for the next runs.
        order by s.day desc limit 31
    ) as m
    on conflict (day) do nothing;
    get diagnostics v_days = row_count;
    return v_days;
end
$function$;

CREATE OR REPLACE FUNCTION private.apply_correction (
  p_correction private.corrections
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_amount numeric;
    v_position integer;
begin
    if (p_correction).kind = 'void_withdrawal' then
        update public.withdrawals as w set voided_at = (p_correction).confirmed_at where w.id = (p_correction).target_id returning w.amount into v_amount;
        update private.totals as t set withdrawn_amount = t.withdrawn_amount - v_amount where t.user_id = (p_correction).user_id;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        values (
            (p_correction).user_id, v_amount, 'withdrawal', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no
        );
        perform private.increment_counter('withdrawals_approved', -v_amount);
        return;
    end if;
    if (p_correction).kind = 'void_deposit' then
        update public.deposits as d set voided_at = (p_correction).confirmed_at where d.id = (p_correction).target_id returning d.amount into v_amount;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        values (
            (p_correction).user_id, -v_amount, 'deposit', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no
        );
        perform private.increment_counter('deposits_approved', -v_amount);
    end if;
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount - coalesce(v_amount, 0),
        package_value = case when (p_correction).kind = 'set_package' then (p_correction).value else private.due_package(p.user_id) end
    where p.user_id = (p_correction).user_id;
    select o.no into v_position from private.positions as o where o.user_id = (p_correction).user_id;
    perform private.post_bonuses(v_position, (p_correction).confirmed_at);
    perform private.write_bonuses(array(select l from private.lapsed_bonuses(v_position) as l), (p_correction).confirmed_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    -- A pair that pays again may have been completed by its other child.
    if (new.id, new.user_id, new.bonus_type, new.subject_no, new.pair_number, new.created_at)
        is distinct from (old.id, old.user_id, old.bonus_type, old.subject_no, old.pair_number, old.created_at)
        or (new.source_user_id <> old.source_user_id and (old.amount > 0 or old.bonus_type <> 'pairing')) then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if new.amount < old.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return new;
end
$function$;

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
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at, v_decision_no from added as n where n.amount <> 0;
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
    where t.user_id = s.user_id;
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
    from added as n where n.bonus_type = 'referral' and n.amount > 0;
    insert into private.counter_deltas (name, delta)
    select 'bonuses', sum(n.amount) from added as n having sum(n.amount) <> 0
    union all
    select 'bonus_rows', count(*) from added as n where n.amount > 0 having count(*) > 0;
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
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    select c.user_id, sum(c.amount), 'bonus', 'completed', c.id, v_now, v_decision_no
    from (
        select n.id, n.user_id, n.amount from after as n
        union all
        select o.id, o.user_id, -o.amount from before as o
    ) as c
    group by c.id, c.user_id having sum(c.amount) <> 0;
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
        from (
            select n.user_id, n.bonus_type, n.amount, n.reentry_amount as reentry, (n.amount > 0)::integer as paid from after as n
            union all
            select o.user_id, o.bonus_type, -o.amount, -o.reentry_amount, -(o.amount > 0)::integer from before as o
        ) as c
        group by c.user_id
    ) as s
    where t.user_id = s.user_id;
    insert into private.network_deltas (no, day, referral, pairing, override, funded)
    select
        p.no,
        (v_now at time zone 'UTC')::date,
        coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0),
        0
    from (
        select n.user_id, n.bonus_type, sum(n.amount) as amount from after as n group by n.user_id, n.bonus_type
        union all
        select o.user_id, o.bonus_type, -sum(o.amount) from before as o group by o.user_id, o.bonus_type
    ) as c
    inner join private.positions as p on c.user_id = p.user_id
    group by p.no having sum(c.amount) <> 0
    union all
    -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
    select c.subject_no, c.day, 0, 0, 0, sum(c.funded)
    from (
        select n.subject_no, (n.created_at at time zone 'UTC')::date as day, (n.amount > 0)::integer as funded
        from after as n where n.bonus_type = 'referral'
        union all
        select o.subject_no, (o.created_at at time zone 'UTC')::date, -(o.amount > 0)::integer
        from before as o where o.bonus_type = 'referral'
    ) as c
    group by c.subject_no, c.day having sum(c.funded) <> 0;
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (
        select sum(n.amount) as amount, count(*) filter (where n.amount > 0) as rows from after as n
    ) as a
    cross join (
        select sum(o.amount) as amount, count(*) filter (where o.amount > 0) as rows from before as o
    ) as b
    cross join lateral (values ('bonuses', a.amount - b.amount), ('bonus_rows', a.rows - b.rows)) as c (name, delta)
    where c.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.child_bonus_discrepancies (
  p_no integer
)
  RETURNS SETOF private.due_bonus
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, 'referral'::public.bonus_type, d.subject_no, null::integer, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_referrals as d
    left join public.bonuses as b on b.bonus_type = 'referral' and d.subject_no = b.subject_no
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        case when b.id is null or b.amount = 0 then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select b.id, 'override'::public.bonus_type, d.subject_no, d.pair_no, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_overrides as d
    left join public.bonuses as b on b.bonus_type = 'override' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$function$;

CREATE OR REPLACE FUNCTION private.coverage()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_cash_in numeric := private.counter_value('deposits_approved');
    v_withdrawn numeric := private.counter_value('withdrawals_approved');
    v_pending numeric := private.counter_value('reserved');
    -- Per member: a shortfall of one member does not reduce what others may withdraw.
    v_claims numeric := private.counter_value('bonuses') - v_withdrawn + private.counter_value('shortfall');
begin
    return private.coverage_figures(v_cash_in, v_withdrawn, v_pending, v_claims);
end
$function$;

CREATE OR REPLACE FUNCTION private.coverage_at (
  p_at timestamp with time zone
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  SET work_mem TO '64MB'
  AS $function$
    select private.coverage_figures(
        (
            select coalesce(sum(d.amount), 0) from public.deposits as d
            where d.status = 'approved' and d.decided_at < p_at and coalesce(d.voided_at >= p_at, true)
        ),
        coalesce(sum(m.withdrawn), 0),
        coalesce(sum(m.pending), 0),
        -- Per member: a shortfall of one member does not reduce what others may withdraw.
        coalesce(sum(greatest(m.earned - m.withdrawn, m.pending)), 0)
    )
    from (
        select sum(a.earned) as earned, sum(a.withdrawn) as withdrawn, sum(a.pending) as pending
        from (
            select t.user_id, t.amount::numeric as earned, 0::numeric as withdrawn, 0::numeric as pending
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.created_at < p_at
            union all
            select
                w.user_id,
                0,
                case when w.status = 'approved' and w.decided_at < p_at and coalesce(w.voided_at >= p_at, true) then w.amount else 0 end,
                case when coalesce(w.decided_at >= p_at, true) then w.amount else 0 end
            from public.withdrawals as w
            where w.created_at < p_at
        ) as a
        group by a.user_id
    ) as m
$function$;

CREATE OR REPLACE FUNCTION private.coverage_figures (
  p_cash_in   numeric,
  p_withdrawn numeric,
  p_pending   numeric,
  p_claims    numeric
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(p_cash_in),
        'approved_withdrawals', private.money(p_withdrawn),
        'withdrawable', private.money(p_claims - p_pending),
        'pending', private.money(p_pending),
        'ratio', case when p_claims > 0 then private.percent((p_cash_in - p_withdrawn) / p_claims * 100) end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.current_decision_no()
  RETURNS bigint
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return nullif(pg_catalog.current_setting('app.decision_no', true), '')::bigint;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key, new.receipt_name)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key, old.receipt_name)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_record_decision()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    if new.status = 'approved' then
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_approved', new.amount), ('deposits_approved_count', 1);
        perform private.record_deposit_flow(new, 1);
    else
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_rejected_count', 1);
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    -- Copied text brings a line break; a retry brings it again and is compared with the stored value.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.deposits as d where d.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.reference_number, v_existing.receipt_url)
            is not distinct from (new.user_id, new.amount, new.reference_number, new.receipt_url) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_active_status(v_member.account_status);
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := private.reference_key(new.reference_number);
    if coalesce(new.reference_key, '') = '' or pg_catalog.length(new.reference_number) > 200 or not private.is_readable(new.reference_number) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.receipt_name := private.receipt_name(new.receipt_url);
    new.receipt_etag := private.check_receipt(new.user_id, new.receipt_name, new.kind = 'first');
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.due_package (
  p_user_id uuid
)
  RETURNS numeric
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with correction as (
        select c.value, c.decision_no from private.corrections as c
        where c.user_id = p_user_id and c.kind = 'set_package' and c.confirmed_by is not null
        order by c.decision_no desc limit 1
    )
    select greatest(
        coalesce((select c.value from correction as c), 0),
        coalesce((
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
                and d.decision_no > coalesce((select c.decision_no from correction as c), 0)
        ), 0)
    )
$function$;

CREATE OR REPLACE FUNCTION private.is_recent (
  p_at       timestamp with time zone,
  p_interval interval
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    -- A time in the future is from before the clock was set back, however long ago that was.
    return coalesce(p_at <= v_now and p_at > v_now - p_interval, false);
end
$function$;

CREATE OR REPLACE FUNCTION private.next_decision_no()
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_no bigint := pg_catalog.nextval('private.decision_no_seq');
begin
    perform pg_catalog.set_config('app.decision_no', v_no::text, true);
    return v_no;
end
$function$;

CREATE OR REPLACE FUNCTION private.owner_bonus_discrepancies (
  p_no integer
)
  RETURNS SETOF private.due_bonus
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
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

CREATE OR REPLACE FUNCTION private.profiles_sync_position()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_package integer := (new.package_value * 100)::integer;
    v_paid integer := case when new.package_value > 0 and new.cash_in_amount >= new.package_value then (new.package_value * 100)::integer else 0 end;
begin
    update private.positions as p set
        package_cents = v_package,
        paid_cents = v_paid,
        paid_order = case when v_paid = 0 then null when p.paid_cents = 0 then private.current_decision_no() else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    if new.package_value <> old.package_value then
        insert into private.counter_deltas (name, delta)
        select c.name, c.delta
        from (
            values
            ('active_profiles', (new.package_value > 0)::integer - (old.package_value > 0)::integer),
            ('package_investment', new.package_value - old.package_value)
        ) as c (name, delta)
        where c.delta <> 0;
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.reconcile()
  RETURNS integer
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_revision bigint;
    v_discrepancies private.due_bonus[];
    v_allow_decrease text := pg_catalog.current_setting('app.allow_bonus_decrease', true);
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_discrepancies := array(
            select row(
                coalesce(r.id, q.id), w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
            )::private.due_bonus
            from pg_catalog.unnest(v_discrepancies) as w
            left join public.bonuses as r on w.bonus_type = 'referral' and r.bonus_type = 'referral' and w.subject_no = r.subject_no
            left join public.bonuses as q
                on w.bonus_type = q.bonus_type and w.subject_no = q.subject_no and w.pair_number = q.pair_number
        );
        perform private.lock_members(array(
            select p.user_id from pg_catalog.unnest(v_discrepancies) as w
            inner join private.positions as s on w.subject_no = s.no
            inner join private.positions as p on p.no in (s.no, s.referrer_no)
        ));
        perform private.next_decision_no();
        perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
        perform private.write_bonuses(v_discrepancies, private.clock());
        perform pg_catalog.set_config('app.allow_bonus_decrease', coalesce(v_allow_decrease, ''), true);
        perform private.audit('system', 'books.repaired', 'bonuses', null, pg_catalog.jsonb_build_object('rows', pg_catalog.cardinality(v_discrepancies)));
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        bonus_revision = v_revision, ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
end
$function$;

CREATE OR REPLACE FUNCTION private.reconcile_if_stale()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_state private.reconcile_state;
    v_revision bigint;
begin
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or private.is_recent(v_state.ran_at, interval '10 seconds') then
        return;
    end if;
    -- A second caller waits here for the first run and then finds it done.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('reconcile'));
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or private.is_recent(v_state.ran_at, interval '10 seconds') then
        return;
    end if;
    perform private.reconcile();
exception when lock_not_available or sqlstate 'PGRST' then
    -- Another run takes long: return the last summary.
    return;
end
$function$;

CREATE OR REPLACE FUNCTION private.transaction_history (
  p_user_id   uuid,
  p_type      text,
  p_status    text,
  p_from      timestamp with time zone,
  p_to        timestamp with time zone,
  p_before_at timestamp with time zone,
  p_before_id uuid,
  p_limit     integer
)
  RETURNS TABLE (
    created_at timestamp with time zone,
    id         uuid,
    item       jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
begin
    return query
    -- Select all columns here: looking the rows up again would cost as much as finding them.
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
                -- A correction set the others to zero.
                and b.amount > 0
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
$function$;

CREATE OR REPLACE FUNCTION private.transactions_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.id, new.user_id, new.amount, new.transaction_type, new.reference_id, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.transaction_type, old.reference_id, old.created_at)
        or (old.status <> 'pending' and (new.status, new.decision_no) is distinct from (old.status, old.decision_no)) then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.id, new.user_id, new.amount, new.wallet_address, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.wallet_address, old.created_at)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no))
        or (old.payout_reference is not null and (new.payout_reference, new.payout_at) is distinct from (old.payout_reference, old.payout_at))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A withdrawal is decided once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_decision()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no
    where t.transaction_type = 'withdrawal' and t.reference_id = new.id;
    update private.totals as t set
        reserved_amount = t.reserved_amount - new.amount,
        withdrawn_amount = t.withdrawn_amount + case when new.status = 'approved' then new.amount else 0 end
    where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', -1);
    perform private.increment_counter('reserved', -new.amount);
    if new.status = 'approved' then
        perform private.increment_counter('withdrawals_approved', new.amount);
        perform private.increment_counter('withdrawals_approved_count', 1);
        perform private.record_withdrawal_flow(new, 1);
    else
        perform private.increment_counter('withdrawals_rejected_count', 1);
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.withdrawals;
    v_available numeric;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.wallet_address)
            is not distinct from (new.user_id, new.amount, new.wallet_address) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_active_status(v_member.account_status);
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > 10000000 then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.');
    end if;
    v_available := greatest(0, private.requestable_amount(new.user_id));
    if v_available is null or new.amount > v_available then
        perform private.raise_error(400, 'insufficient_balance', 'Insufficient balance. Available: ' || private.dollars(coalesce(v_available, 0)));
    end if;
    if new.amount < 100 then
        perform private.raise_error(400, 'below_minimum', 'Minimum withdrawal amount is $100');
    end if;
    if not v_member.account_verified then
        perform private.raise_error(403, 'not_verified', 'Please complete your profile, settings, and account verification first');
    end if;
    if new.wallet_address is distinct from v_member.trc20_wallet_address then
        perform private.raise_error(409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.');
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.payout_reference := null;
    new.payout_at := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.write_bonuses (
  p_due private.due_bonus[],
  p_at  timestamp with time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
declare
    v_due private.due_bonus;
    v_stored boolean := false;
    v_missing boolean := false;
begin
    foreach v_due in array p_due loop
        v_stored := v_stored or (v_due).bonus_id is not null;
        v_missing := v_missing or (v_due).bonus_id is null;
        exit when v_stored and v_missing;
    end loop;
    if v_stored then
        update public.bonuses as b set
            amount = d.cents * 0.01,
            rate = d.rate,
            volume = d.volume_cents * 0.01,
            source_user_id = case
                when b.bonus_type = 'pairing' and b.amount = 0 and d.cents > 0 then (select s.user_id from private.positions as s where s.no = d.source_no)
                else b.source_user_id
            end
        from pg_catalog.unnest(p_due) as d
        where b.id = d.bonus_id;
    end if;
    if v_missing then
        insert into public.bonuses (user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no)
        select u.user_id, s.user_id, d.bonus_type, d.cents * 0.01, p_at, d.pair_number, d.rate, d.volume_cents * 0.01, d.subject_no
        from pg_catalog.unnest(p_due) as d
        inner join private.positions as u on d.user_no = u.no
        inner join private.positions as s on d.source_no = s.no
        where d.bonus_id is null
        order by d.subject_no, d.bonus_type, d.pair_number;
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.confirm_correction (
  p_correction_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    if v_correction.proposed_by = v_admin.id then
        perform private.raise_error(403, 'two_people', 'Another administrator must confirm a correction.');
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id(),
        decision_no = private.next_decision_no()
    where c.id = p_correction_id
    returning * into v_correction;
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform private.apply_correction(v_correction);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.notify_member(
        v_correction.user_id, 'correction', 'Your account was corrected',
        pg_catalog.format('%s Reason: %s', case v_correction.kind
            when 'void_deposit' then 'A deposit no longer counts.'
            when 'void_withdrawal' then 'A withdrawal that was not paid counts as available again.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction);
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_deposit (
  p_deposit_id uuid,
  p_action     text,
  p_reason     text DEFAULT NULL::text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit.');
    end if;
    perform private.require_not_own_account(v_admin, v_deposit.user_id);
    perform private.lock_money();
    perform private.lock_members(private.upline_ids(v_deposit.user_id));
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id for no key update;
    if v_deposit.status <> 'pending' then
        if v_deposit.status is distinct from v_status or v_deposit.decided_by is distinct from v_admin.id then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
        end if;
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
    end if;
    v_deposit.decision_no := private.next_decision_no();
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set
        status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id, decision_no = v_deposit.decision_no
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.notify_decision('deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id,
        pg_catalog.jsonb_build_object('user_id', v_deposit.user_id, 'amount', private.money(v_deposit.amount), 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_withdrawal (
  p_withdrawal_id    uuid,
  p_action           text,
  p_reason           text DEFAULT NULL::text,
  p_payout_reference text DEFAULT NULL::text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.require_not_own_account(v_admin, v_withdrawal.user_id);
    perform private.lock_money();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- Any administrator who may decide may record the payout later.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)));
    end if;
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set
        status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id, decision_no = private.next_decision_no()
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        pg_catalog.jsonb_build_object('user_id', v_withdrawal.user_id, 'amount', private.money(v_withdrawal.amount), 'reason', v_reason)
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)));
end
$function$;

CREATE OR REPLACE FUNCTION public.get_coverage_history (
  p_days integer DEFAULT 90
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_admin();
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('day', c.day, 'taken_at', c.taken_at) || c.figures order by c.day), '[]'
        )
        from private.coverage_days as c
        where c.day >= (pg_catalog.clock_timestamp() at time zone 'UTC')::date - least(greatest(p_days, 1), 3660)
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_member_dashboard()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_screen jsonb;
begin
    -- One statement without variables: planned once per connection.
    select pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'trc20_wallet_address', p.trc20_wallet_address,
            'wallet_checksum_ok', case when p.trc20_wallet_address is not null then private.is_trc20_address(p.trc20_wallet_address) end,
            'account_status', p.account_status,
            'account_verified', p.account_verified,
            'package_value', private.money(p.package_value),
            'package_label', k.label,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'cash_in_amount', private.money(p.cash_in_amount),
            'created_at', p.created_at,
            'sponsor', case when s.id is not null then
                pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
            end
        ),
        'verification', private.verification_result(p),
        'balance', private.balance_figures(t, p),
        'bonuses', pg_catalog.jsonb_build_object(
            'referral', private.bonus_figures(t.referral_amount, t.referral_count),
            'pairing', private.bonus_figures(t.pairing_amount, t.pairing_count),
            'override', private.bonus_figures(t.override_amount, t.override_count),
            'total', private.money(t.bonus_amount),
            'reentry', private.money(t.reentry_amount)
        ),
        'roi', private.percent(private.return_on_investment(t.bonus_amount, p.package_value)),
        'net_profit', private.money(t.bonus_amount - p.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', o.children,
            'funded_referrals', c.funded,
            'active_pairs', o.children / 2,
            'paying_pairs', t.pairing_count,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'unread_notifications', (
            select count(*) from public.notifications as n where n.user_id = p.user_id and n.read_at is null
        ),
        'last_sync_at', (select r.ran_at from private.reconcile_state as r)
    )
    into v_screen
    from private.profiles as p
    left join private.totals as t on p.user_id = t.user_id
    left join private.positions as o on p.user_id = o.user_id
    left join private.packages as k on p.package_value = k.value
    left join private.profiles as s on p.referrer_id = s.id
    cross join lateral private.direct_referral_totals(o) as c
    where p.user_id = auth.uid();
    if v_screen is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_screen;
end
$function$;

CREATE OR REPLACE FUNCTION public.get_pairings (
  p_after integer DEFAULT NULL::integer,
  p_limit integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
    v_limit integer := private.page_limit(p_limit, 50, 200);
    v_after integer := greatest(coalesce(p_after, 0), 0);
    v_position private.positions;
    v_totals private.totals;
    v_rate numeric;
    v_pairs integer;
begin
    select o.* into v_position from private.positions as o where o.user_id = v_member.user_id;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    v_pairs := (v_position.children + 1) / 2;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_member.package_value;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(private.pair_items(v_position.no, v_rate, v_after, v_limit), '[]'),
        'pairs', v_pairs,
        'next', case when v_after + v_limit < v_pairs then v_after + v_limit end,
        'totals', pg_catalog.jsonb_build_object(
            -- Every paying pair earns the owner's current rate exactly, so the bonuses determine the volume.
            'total_volume', private.money(case when v_rate > 0 then v_totals.pairing_amount * 100 / v_rate else 0 end),
            'total_user_bonus', private.money(v_totals.pairing_amount),
            'paying_pairs', v_totals.pairing_count
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.list_corrections()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
begin
    return pg_catalog.jsonb_build_object(
        'waiting', coalesce(private.correction_items(array(
            select c.id from private.corrections as c
            where c.confirmed_by is null and c.discarded_by is null order by c.proposed_at, c.id limit 200
        ), v_admin), '[]'),
        'confirmed', coalesce(private.correction_items(array(
            select c.id from private.corrections as c where c.confirmed_by is not null order by c.decision_no desc limit 50
        ), v_admin), '[]')
    );
end
$function$;

ALTER TABLE "private"."corrections"
  -- squawk-ignore constraint-missing-not-valid
  ADD CONSTRAINT "confirmation_is_complete"
    CHECK ((((confirmed_by IS NULL) = (confirmed_at IS NULL)) AND ((confirmed_by IS NULL) = (confirmed_in IS NULL)) AND ((confirmed_by IS NULL) = (decision_no IS NULL))));

ALTER TABLE "public"."deposits"
  -- squawk-ignore constraint-missing-not-valid
  ADD CONSTRAINT "an_administrators_decision_has_a_number" CHECK (((decided_by IS NULL) = (decision_no IS NULL)));

ALTER TABLE "public"."withdrawals"
  -- squawk-ignore constraint-missing-not-valid
  ADD CONSTRAINT "an_administrators_decision_has_a_number" CHECK (((decided_by IS NULL) = (decision_no IS NULL)));

CREATE VIEW "private"."corrected_fundings" AS  WITH cash AS (
         SELECT d.user_id,
            d.decision_no,
            (d.amount)::numeric AS amount
           FROM public.deposits d
          WHERE ((d.status = 'approved'::public.request_status) AND (d.user_id IN ( SELECT c.user_id
                   FROM private.corrections c
                  WHERE ((c.confirmed_by IS NOT NULL) AND (c.kind <> 'void_withdrawal'::text)))))
        UNION ALL
         SELECT c.user_id,
            c.decision_no,
            COALESCE((- (d.amount)::numeric), (0)::numeric) AS "coalesce"
           FROM (private.corrections c
             LEFT JOIN public.deposits d ON (((c.kind = 'void_deposit'::text) AND (c.target_id = d.id))))
          WHERE ((c.confirmed_by IS NOT NULL) AND (c.kind <> 'void_withdrawal'::text))
        ), steps AS (
         SELECT e.user_id,
            e.decision_no,
            ((p.package > (0)::numeric) AND (sum(e.amount) OVER (PARTITION BY e.user_id ORDER BY e.decision_no) >= p.package)) AS funded
           FROM ((cash e
             LEFT JOIN LATERAL ( SELECT c.value,
                    c.decision_no
                   FROM private.corrections c
                  WHERE ((c.user_id = e.user_id) AND (c.kind = 'set_package'::text) AND (c.decision_no <= e.decision_no))
                  ORDER BY c.decision_no DESC
                 LIMIT 1) s ON (true))
             CROSS JOIN LATERAL ( SELECT GREATEST(COALESCE((s.value)::numeric, (0)::numeric), COALESCE(max((k.value)::numeric), (0)::numeric)) AS package
                   FROM (public.deposits d
                     JOIN private.packages k ON (((d.amount)::numeric = (k.value)::numeric)))
                  WHERE ((d.user_id = e.user_id) AND (d.status = 'approved'::public.request_status) AND (d.decision_no > COALESCE(s.decision_no, (0)::bigint)) AND (d.decision_no <= e.decision_no) AND (NOT (EXISTS ( SELECT 1
                           FROM private.corrections v
                          WHERE ((v.kind = 'void_deposit'::text) AND (v.target_id = d.id) AND (v.decision_no <= e.decision_no))))))) p)
        )
 SELECT f.user_id,
    max(f.decision_no) AS decision_no
   FROM ( SELECT g.user_id,
            g.decision_no,
            (g.funded AND (NOT lag(g.funded, 1, false) OVER (PARTITION BY g.user_id ORDER BY g.decision_no))) AS begins
           FROM steps g) f
  WHERE f.begins
  GROUP BY f.user_id;

CREATE VIEW "private"."shortfall_discrepancies" AS  SELECT s.user_id,
    ((s.withdrawn_amount)::numeric - (s.bonus_amount)::numeric) AS shortfall,
    x.excused
   FROM (private.totals s
     CROSS JOIN LATERAL ( SELECT COALESCE((sum(r.caused) + LEAST(min((r.shortfall - r.caused_so_far)), (0)::numeric)), (0)::numeric) AS excused
           FROM ( SELECT q.shortfall,
                    q.caused,
                    sum(q.caused) OVER (ORDER BY q.decision_no NULLS FIRST) AS caused_so_far
                   FROM ( SELECT e.decision_no,
                            GREATEST((- e.balance), (0)::numeric) AS shortfall,
                                CASE
                                    WHEN (c.id IS NOT NULL) THEN GREATEST((GREATEST((- e.balance), (0)::numeric) - GREATEST((e.amount - e.balance), (0)::numeric)), (0)::numeric)
                                    ELSE (0)::numeric
                                END AS caused
                           FROM (( SELECT t.decision_no,
                                    sum((t.amount)::numeric) AS amount,
                                    sum(sum((t.amount)::numeric)) OVER (ORDER BY t.decision_no NULLS FIRST) AS balance
                                   FROM public.transactions t
                                  WHERE ((t.user_id = s.user_id) AND (t.status = 'completed'::public.transaction_status) AND (t.transaction_type <> 'deposit'::public.transaction_type))
                                  GROUP BY t.decision_no) e
                             LEFT JOIN private.corrections c ON (((e.decision_no = c.decision_no) AND (c.confirmed_by IS NOT NULL))))) q) r) x)
  WHERE (((s.bonus_amount)::numeric < (s.withdrawn_amount)::numeric) AND (((s.withdrawn_amount)::numeric - (s.bonus_amount)::numeric) > x.excused));

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) filter (where b.amount_cents > 0) as bonus_rows
    from public.bonuses as b
    group by b.user_id
),

claimed as materialized (
    select
        d.user_id,
        coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
        coalesce(sum(d.amount) filter (where d.status = 'approved'), 0) as approved,
        coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
        min(d.decision_no) filter (where d.status = 'approved') as first_decision_no,
        count(*) filter (where d.status = 'pending') as pending_rows,
        count(*) filter (where d.status = 'approved') as approved_rows,
        count(*) filter (where d.status = 'rejected') as rejected_rows
    from public.deposits as d left join private.packages as k on d.amount = k.value
    group by d.user_id
),

drawn as materialized (
    select
        w.user_id,
        coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
        coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
        count(*) filter (where w.status = 'pending') as pending_rows,
        count(*) filter (where w.status = 'approved') as approved_rows,
        count(*) filter (where w.status = 'rejected') as rejected_rows
    from public.withdrawals as w
    group by w.user_id
),

journal as materialized (
    select
        t.user_id,
        coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
        count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
        count(*) filter (where t.transaction_type = 'bonus') as bonus_rows,
        coalesce(sum(abs(t.amount)) filter (where t.transaction_type = 'bonus'), 0) as bonus_volume
    from public.transactions as t
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
            )
            or s.referral_count + s.pairing_count + s.override_count <> coalesce(b.bonus_rows, 0) as wrong_totals,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    where b.id is null or coalesce(j.amount, 0) <> b.amount
),

deposit_entries as materialized (
    select
        d.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(d.user_id, t.user_id) as user_id
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
        d.user_id,
        d.amount::numeric,
        d.decision_no,
        case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
    )
),

withdrawal_entries as materialized (
    select
        w.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(w.user_id, t.user_id) as user_id
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
    )
),

bonus_rows as materialized (
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
    ) as r
    where r.wrong_owner or r.from_oneself or r.wrong_amount
),

places as materialized (
    select l.*
    from (
        select
            p.id,
            p.user_id,
            o.no,
            p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
            s.created_at >= p.created_at as older_than_referrer,
            o.user_id <> p.user_id
            or (r.profile_id is distinct from p.referrer_id)
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.id = o.profile_id
        left join private.positions as r on o.referrer_no = r.no
        left join (
            select
                c.referrer_no,
                count(*) as children,
                max(c.child_no) as last
            from private.positions as c
            where c.referrer_no is not null
            group by c.referrer_no
        ) as c on o.no = c.referrer_no
    ) as l
    where l.wrong_depth or l.older_than_referrer or l.wrong_place or l.no is null
)

-- I01 The journal rows of a bonus sum to its amount.
select
    'I01' as rule,
    e.source_id::text as object,
    e.user_id,
    null::jsonb as details
from bonus_entries as e
where e.source_id is not null
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select
    'I02',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_journal
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
-- the number of the same decision.
select
    'I03',
    e.source_id::text,
    e.user_id,
    null
from deposit_entries as e
where e.source_id is not null
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null
union all
-- I05 Every journal row has a source.
select
    'I05',
    o.entry_id::text,
    o.user_id,
    null
from (
    select
        d.entry_id,
        d.reference_id,
        d.user_id
    from deposit_entries as d
    where d.source_id is null
    union all
    select
        w.entry_id,
        w.reference_id,
        w.user_id
    from withdrawal_entries as w
    where w.source_id is null
    union all
    select
        t.id,
        t.reference_id,
        t.user_id
    from bonus_entries as b inner join public.transactions as t on t.transaction_type = 'bonus' and b.reference_id = t.reference_id
    where b.source_id is null
) as o
where
    not exists (
        select 1 from private.corrections as c
        where c.id = o.reference_id and c.confirmed_by is not null
    )
union all
-- I06 One journal row per deposit and withdrawal.
select
    'I06',
    t.reference_id::text,
    min(t.user_id::text)::uuid,
    null
from public.transactions as t
where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id
having count(*) > 1
union all
-- I07 Totals equal the sums of their rows, so the balance is max(0, bonuses - approved withdrawals).
select
    'I07',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_totals
union all
-- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
select
    'I08',
    s.user_id::text,
    s.user_id,
    jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
from private.shortfall_discrepancies as s
union all
-- I09 Cash-in equals the approved deposits that count.
select
    'I09',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_cash_in
union all
-- I10 One row per natural key; I11 checks owner and source.
select
    'I10',
    b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''),
    min(b.user_id::text)::uuid,
    null
from public.bonuses as b
group by b.bonus_type, b.subject_no, b.pair_number
having count(*) > 1
union all
-- I11 Bonuses match tree and packages, and are paid to the right members.
select
    'I11',
    w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''),
    o.user_id,
    null
from unnest(private.all_bonus_discrepancies()) as w
left join private.positions as s on w.subject_no = s.no
-- A bonus that is no longer due has no owner in the comparison.
left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
union all
select
    'I11',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.wrong_owner
union all
-- I12 Nobody earns a bonus from oneself.
select
    'I12',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.from_oneself
union all
-- I13 A package follows from the approved deposits, and after a correction from that.
select
    'I13',
    m.user_id::text,
    m.user_id,
    null
from (
    select w.user_id from members as w
    where w.wrong_package
    union
    select c.user_id from private.corrections as c
    where c.confirmed_by is not null
) as m
inner join private.profiles as p on m.user_id = p.user_id
where p.package_value <> private.due_package(m.user_id)
union all
-- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
select
    'I14',
    l.id::text,
    l.user_id,
    null
from places as l
where l.wrong_depth
union all
-- I15 A referrer is older than the referred member.
select
    'I15',
    l.id::text,
    l.user_id,
    null
from places as l
where l.older_than_referrer
union all
-- I16 Amounts are finite and in range. A bonus is zero only when a correction was the last to change it.
select
    'I16',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
where d.amount not between 1 and 10000000
union all
select
    'I16',
    w.id::text,
    w.user_id,
    null
from public.withdrawals as w
where w.amount not between 100 and 10000000
union all
select
    'I16',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where
    b.wrong_amount
    and not (b.amount = 0 and exists (
        select 1
        from (
            select
                t.amount,
                t.decision_no
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
            order by t.decision_no desc nulls last
            limit 1
        ) as l
        inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
        where l.amount < 0
    ))
union all
-- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
select
    'I17',
    r.id::text,
    r.user_id,
    null
from (
    select
        d.id,
        d.user_id,
        d.status,
        d.decided_at,
        d.decided_by,
        d.admin_notes
    from public.deposits as d
    union all
    select
        w.id,
        w.user_id,
        w.status,
        w.decided_at,
        w.decided_by,
        w.admin_notes
    from public.withdrawals as w
) as r
where
    (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select
    'I18',
    p.user_id::text,
    p.user_id,
    null
from (
    select lower(q.username) as username from private.profiles as q
    group by lower(q.username)
    having count(*) > 1
) as u inner join private.profiles as p on u.username = lower(p.username)
union all
-- I19 A transfer is approved once.
select
    'I19',
    d.id::text,
    d.user_id,
    null
from (
    select e.reference_key from public.deposits as e
    where e.status = 'approved' and e.voided_at is null
    group by e.reference_key
    having count(*) > 1
) as k inner join public.deposits as d on k.reference_key = d.reference_key and d.status = 'approved' and d.voided_at is null
union all
-- I20 The receipt exists, in the member's folder, owned by the member.
select
    'I20',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join storage.objects as o on o.bucket_id = 'receipts' and d.receipt_name = o.name
where o.owner_id is distinct from d.user_id::text or split_part(d.receipt_name, '/', 1) <> d.user_id::text
union all
-- I21 Bonuses never exceed 56% of funded packages.
select
    'I21',
    'all',
    null,
    null
where
    (select coalesce(sum(e.total), 0) from earned as e)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
select
    'I22',
    'all',
    null,
    null
where (select coalesce(sum(w.recounted), 0) from drawn as w) > (select coalesce(sum(d.approved), 0) from claimed as d)
union all
-- I23 Child numbers are unique and have no gap, and a position has the member's package.
select
    'I23',
    l.no::text,
    l.user_id,
    null
from places as l
where l.no is not null and l.wrong_place
union all
select
    'I23',
    l.id::text,
    l.user_id,
    null
from places as l
where l.no is null
union all
-- I24 One active or suspended subscription per member and bot.
select
    'I24',
    min(s.id::text),
    s.user_id,
    null
from public.bot_subscriptions as s
where s.status <> 'cancelled'
group by s.user_id, s.bot_name
having count(*) > 1
union all
-- I25 No administrator session lasts longer than eight hours.
select
    'I25',
    s.session_token::text,
    null,
    null
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is intact.
select
    'I26',
    a.seq::text,
    null,
    null
from private.verify_audit_chain() as a (seq)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    c.name,
    null,
    null
from private.counter_values() as c
inner join (
    select
        f.name,
        f.value
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
            ('profiles', p.members::numeric),
            ('active_profiles', p.active),
            ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(d.pending_rows) as pending,
            sum(d.recounted) as recounted,
            sum(d.approved_rows) as approved,
            sum(d.rejected_rows) as rejected
        from claimed as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(w.pending_rows) as pending,
            sum(w.recounted) as recounted,
            sum(w.approved_rows) as approved,
            sum(w.rejected_rows) as rejected,
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(e.total) as total,
        sum(e.bonus_rows) as bonus_rows
    from earned as e) as e
    cross join lateral (values ('bonuses', e.total), ('bonus_rows', e.bonus_rows)) as f (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(j.bonus_rows) as bonus_rows,
        sum(j.bonus_volume) as bonus_volume
    from journal as j) as j
    cross join lateral (values ('bonus_transactions', j.bonus_rows), ('bonus_volume', j.bonus_volume)) as f (name, value)
    union all
    select
        'subscriptions_' || e.status,
        coalesce(b.subscriptions, 0)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join (
        select
            s.status,
            count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status
) as f on c.name = f.name
where c.value <> f.value
union all
-- I27 So do the daily totals of deposits and withdrawals.
select
    'I27',
    'flow of ' || f.day,
    null,
    null
from (
    select
        k.day,
        k.deposits,
        k.withdrawals,
        k.decided_deposits
    from private.flows_since('-infinity') as k
    union all
    select
        v.day,
        -v.deposits,
        0,
        -v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        -w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
union all
-- I28 A member's daily earnings match the journal (sample of 10,000 members).
select
    'I28',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.earning_day_discrepancies as d left join private.positions as o on d.no = o.no
union all
-- I29 Network totals equal the member's own values plus the networks of the direct referrals (sample of 10,000
-- members).
select
    'I29',
    n.no::text,
    o.user_id,
    null
from private.network_discrepancies as n left join private.positions as o on n.no = o.no
union all
-- I30 The daily growth of a large team matches its members' joining and funding (sample of 20 teams).
select
    'I30',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.team_day_discrepancies() as d left join private.positions as o on d.no = o.no
union all
-- I33 The source of a pairing is the child that completed the pair.
select
    'I33',
    b.id::text,
    b.user_id,
    null
from private.pairs as q
inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
inner join private.positions as l on q.left_no = l.no
inner join private.positions as r on q.right_no = r.no
where b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
union all
-- I34 A member's place in the order of fundings is the decision that made the member funded.
select
    'I34',
    o.user_id::text,
    o.user_id,
    null
from private.positions as o
left join claimed as d on o.user_id = d.user_id
left join private.corrected_fundings as f on o.user_id = f.user_id
where o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
union all
-- I35 Whatever completed a journal row has its number.
select
    'I35',
    j.user_id::text,
    j.user_id,
    jsonb_build_object('rows', j.undecided_rows)
from journal as j
where j.undecided_rows > 0;

CREATE UNIQUE INDEX corrections_decision_no_key ON private.corrections USING btree (decision_no DESC)
  WHERE (confirmed_by IS NOT NULL);

COMMENT ON COLUMN "private"."corrections"."decision_no" IS 'Place of the confirmation in the order of all decisions; its journal rows carry it.';

COMMENT ON COLUMN "private"."positions"."paid_order" IS 'Number of the decision that funded the member, the last one after a correction; null while unfunded. Of a pair, the later one completed it.';

COMMENT ON COLUMN "public"."deposits"."decision_no" IS 'Place of an administrator''s decision in the order of all; null while pending and when taken back.';

COMMENT ON COLUMN "public"."transactions"."decision_no" IS 'Number of the decision, correction or repair that completed the row or wrote it; null while pending and when taken back.';

COMMENT ON COLUMN "public"."withdrawals"."decision_no" IS 'Place of an administrator''s decision in the order of all; null while pending and when taken back.';

COMMENT ON FUNCTION "jobs"."snapshot_coverage"() IS 'Stores the coverage of each ended day that has none, the last days first; returns how many.';

COMMENT ON FUNCTION "private"."coverage"() IS 'Coverage now, from counters.';

COMMENT ON FUNCTION "private"."coverage_at"(timestamp with time zone) IS 'Coverage at a moment of the past, from the times of all rows.';

COMMENT ON FUNCTION "private"."coverage_figures"(numeric, numeric, numeric, numeric) IS 'Approved cash-in minus approved withdrawals, in percent of what members claim: withdrawable plus pending. No ratio when that is zero.';

COMMENT ON FUNCTION "private"."current_decision_no"() IS 'Number of the decision that this transaction makes; null when it makes none.';

COMMENT ON FUNCTION "private"."is_recent"(timestamp with time zone, interval) IS 'Whether something happened within the interval before now; false for a time in the future, so that a clock that is set back delays nothing.';

COMMENT ON FUNCTION "private"."next_decision_no"() IS 'Begins a decision: takes its number, which current_decision_no() returns until the transaction ends. Call under the money lock.';

COMMENT ON FUNCTION "public"."get_coverage_history"(integer) IS 'Coverage at the end of the last days (UTC), yesterday last; taken_at says when it was computed. Every administrator. Errors: forbidden, session_ended.';

COMMENT ON SEQUENCE "private"."decision_no_seq" IS 'Numbers of decisions by administrators, confirmed corrections and repairs, in the order in which they held the money lock.';

COMMENT ON TABLE "private"."coverage_days" IS 'Coverage at the end of each UTC day. taken_at: when it was computed, minutes later unless the worker was away.';

COMMENT ON VIEW "private"."corrected_fundings" IS 'Of members whose deposits or package were corrected: the last decision that made them funded, from deposits and corrections alone.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

COMMENT ON VIEW "private"."shortfall_discrepancies" IS 'Members whose withdrawals exceed their bonuses by more than corrections caused, the part that they earned back left out.';

REVOKE ALL ON FUNCTION "jobs"."snapshot_coverage"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."snapshot_coverage"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."snapshot_coverage"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."snapshot_coverage"() TO "worker";

REVOKE ALL ON FUNCTION "private"."coverage_at"(timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."coverage_at"(timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."coverage_at"(timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."coverage_figures"(numeric, numeric, numeric, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."coverage_figures"(numeric, numeric, numeric, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."coverage_figures"(numeric, numeric, numeric, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."current_decision_no"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."current_decision_no"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."current_decision_no"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_recent"(timestamp WITH time zone, interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_recent"(timestamp WITH time zone, interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_recent"(timestamp WITH time zone, interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."next_decision_no"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."next_decision_no"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."next_decision_no"() TO "postgres";

-- The decision that funded each member, the last one after a correction; two steps, because the values are unique.
CREATE TEMPORARY TABLE fundings AS
select
    o.no,
    case when o.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end as paid_order
from private.positions as o
left join private.corrected_fundings as f on o.user_id = f.user_id
left join (
    select a.user_id, min(a.decision_no) as decision_no from public.deposits as a where a.status = 'approved' group by a.user_id
) as d on o.user_id = d.user_id;

UPDATE private.positions AS o SET paid_order = NULL
FROM fundings AS f WHERE o.no = f.no AND o.paid_order IS DISTINCT FROM f.paid_order;

UPDATE private.positions AS o SET paid_order = f.paid_order
FROM fundings AS f WHERE o.no = f.no AND o.paid_order IS DISTINCT FROM f.paid_order;

-- squawk-ignore ban-drop-table
DROP TABLE fundings;

ALTER TABLE public.bonuses DISABLE TRIGGER _100_immutable;

UPDATE public.bonuses AS b SET source_user_id = s.user_id
FROM private.pairs AS q
INNER JOIN private.positions AS l ON q.left_no = l.no
INNER JOIN private.positions AS r ON q.right_no = r.no
INNER JOIN private.positions AS s ON s.no = CASE WHEN l.paid_order > r.paid_order THEN l.no ELSE r.no END
WHERE b.bonus_type = 'pairing' AND b.subject_no = q.owner_no AND b.pair_number = q.pair_no AND b.amount > 0
    AND b.source_user_id <> s.user_id;

ALTER TABLE public.bonuses ENABLE TRIGGER _100_immutable;
