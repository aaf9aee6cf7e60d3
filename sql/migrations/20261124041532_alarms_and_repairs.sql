-- A repair makes journal, sums and counters agree; stored sums can be derived from the rows again; four more rules of the
-- ledger checks. Alarms reach administrators, stop decisions and are acknowledged.

SET local check_function_bodies = off;

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."earning_day_discrepancies";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."network_discrepancies";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."team_day_discrepancies"();

CREATE TABLE "private"."alarm_mail_state" (
  "only_row"  boolean                  NOT NULL DEFAULT true,
  "mailed_at" timestamp with time zone,
  CONSTRAINT "alarm_mail_state_only_row_check" CHECK (only_row),
  CONSTRAINT "alarm_mail_state_pkey" PRIMARY KEY (only_row)
);

INSERT INTO private.alarm_mail_state DEFAULT VALUES;

ALTER TABLE "private"."alarm_mail_state"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."alarms"
  ADD COLUMN "noticed_at" timestamp WITH time zone;

CREATE TYPE "private"."sum_change" AS (
  "kind"    text,
  "object"  text,
  "user_id" uuid,
  "old"     jsonb,
  "new"     jsonb
);

CREATE OR REPLACE FUNCTION jobs.check_alarms (
  p_disks  jsonb,
  p_full   numeric DEFAULT 80,
  p_urgent numeric DEFAULT 90
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform from private.alarm_mail_state as s for no key update;
    perform private.check_disks(p_disks, p_full, p_urgent);
    perform private.check_dead_jobs();
    perform private.check_failed_mail();
    perform private.announce_alarms();
    return (
        select coalesce(pg_catalog.jsonb_object_agg(o.kind, o.alarms), '{}')
        from (
            select a.kind, count(*) as alarms from private.alarms as a
            where a.ended_at is null and a.acknowledged_at is null group by a.kind
        ) as o
    );
end
$function$;

CREATE OR REPLACE FUNCTION jobs.check_deposit_address (
  p_expected text DEFAULT NULL::text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_shown text := private.setting_text('deposit.address');
    v_recorded text := coalesce(
        (
            select (l.payload ->> 'after')::jsonb #>> '{}' from private.audit_log as l
            where l.action = 'setting.changed' and l.payload ->> 'key' = 'deposit.address' order by l.id desc limit 1
        ),
        'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb'
    );
    v_discrepancies jsonb := '{}'::jsonb;
begin
    if v_shown is distinct from v_recorded then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('recorded', v_recorded);
    end if;
    if v_shown is distinct from coalesce(p_expected, v_shown) then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('expected', p_expected);
    end if;
    if v_discrepancies = '{}' then
        perform private.end_alarm('deposit_address', 'unexpected');
        return v_discrepancies;
    end if;
    v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('shown', v_shown);
    if private.raise_alarm('deposit_address', 'unexpected', null, v_discrepancies) then
        update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
        where a.kind = 'deposit_address' and a.object = 'unexpected' and a.ended_at is null;
        perform private.notify_administrators(
            'deposit_address_unexpected', 'The deposit address is not the expected one',
            pg_catalog.format('Members are shown %s. Expected is %s.', v_shown, coalesce(p_expected, v_recorded)), '/admin/readiness'
        );
        perform private.mail_administrators(
            'deposit_address_unexpected', 'The deposit address is not the expected one',
            pg_catalog.format(
                E'Members are shown %s.\nExpected is %s.\nFind out who changed it before another deposit is sent.', v_shown, coalesce(p_expected, v_recorded)
            ), '/admin/readiness'
        );
    end if;
    return v_discrepancies;
end
$function$;

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
    v_found jsonb;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and private.is_recent(v_state.checked_at, v_state.check_duration * 9) then
        return v_state.rules;
    end if;
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(c)), '[]') into v_found from private.check_ledger() as c;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select f.value ->> 'rule' as rule, count(*) as rows from pg_catalog.jsonb_array_elements(v_found) as f group by 1) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        -- Not longer, should the clock be set meanwhile: it says when the next one may run.
        check_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes'),
        rules = v_rules,
        violations = pg_catalog.jsonb_array_length(v_found);
    perform private.record_violations(v_found);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.end_dead_job (
  p_task text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select private.end_alarm('dead_job', p_task)
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
        inner join private.profiles as p on o.profile_id = p.id
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

CREATE OR REPLACE FUNCTION private.alarm_item (
  p_alarm private.alarms
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', (p_alarm).id, 'kind', (p_alarm).kind, 'object', (p_alarm).object, 'details', (p_alarm).details,
            'rule', case when (p_alarm).kind = 'ledger_violation' then pg_catalog.left((p_alarm).object, 3) end,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(p_alarm),
            'urgent', coalesce(((p_alarm).details ->> 'urgent')::boolean, false),
            'row', private.alarm_object(p_alarm),
            'profile_id', p.id, 'username', p.username,
            'raised_at', (p_alarm).raised_at, 'changed_at', (p_alarm).changed_at, 'last_seen', (p_alarm).last_seen,
            'ended_at', (p_alarm).ended_at, 'mailed_at', (p_alarm).mailed_at,
            'acknowledged_at', (p_alarm).acknowledged_at, 'acknowledged_by_name', coalesce(a.full_name, a.email), 'reason', (p_alarm).reason,
            'members', (
                select pg_catalog.jsonb_object_agg(m.user_id, pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id))
                from private.profiles as m
                where (p_alarm).kind = 'repair' and m.user_id::text in (
                    select r.value ->> 'user_id' from pg_catalog.jsonb_array_elements((p_alarm).details -> 'repairs') as r (value)
                )
            )
        )
        from private.alarm_texts(p_alarm) as t
        left join private.profiles as p on p.user_id = (p_alarm).user_id
        left join private.admin_users as a on a.id = (p_alarm).acknowledged_by
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.alarm_line (
  p_alarm private.alarms
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.concat_ws(
        ' ', t.problem, t.advice,
        case when (p_alarm).kind = 'ledger_violation' then pg_catalog.format('Check %s.', (p_alarm).object) end,
        pg_catalog.format('Member: %s.', p.username),
        pg_catalog.format('Since %s UTC.', pg_catalog.to_char((p_alarm).raised_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI')),
        case
            when (p_alarm).ended_at is not null then pg_catalog.format('Over since %s UTC.', pg_catalog.to_char((p_alarm).ended_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
            when (p_alarm).acknowledged_at is not null then 'Acknowledged.'
            when private.alarm_stops(p_alarm) = 'everybody' then 'It stops every decision about money.'
            when private.alarm_stops(p_alarm) = 'member' then 'It stops decisions about this member''s money.'
            else 'It stops nothing.'
        end
    )
    from private.alarm_texts(p_alarm) as t
    left join private.profiles as p on p.user_id = (p_alarm).user_id
$function$;

CREATE OR REPLACE FUNCTION private.alarm_object (
  p_alarm private.alarms
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_id uuid;
begin
    if (p_alarm).kind <> 'ledger_violation' or (p_alarm).object !~ '\AI[0-9]{2} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}( |\Z)' then
        return null;
    end if;
    v_id := pg_catalog.substr((p_alarm).object, 5, 36)::uuid;
    return (
        select pg_catalog.jsonb_build_object('kind', o.kind, 'id', v_id)
        from (
            select 'deposit' as kind from public.deposits as d where d.id = v_id
            union all
            select 'withdrawal' from public.withdrawals as w where w.id = v_id
            union all
            select 'bonus' from public.bonuses as b where b.id = v_id
            union all
            select 'transaction' from public.transactions as t where t.id = v_id
            union all
            select 'member' from private.profiles as p where v_id in (p.id, p.user_id)
            union all
            select 'administrator' from private.admin_users as a where a.id = v_id
        ) as o
        limit 1
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.alarm_stops (
  p_alarm private.alarms
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case
        when (p_alarm).kind <> 'ledger_violation' or (p_alarm).ended_at is not null or (p_alarm).acknowledged_at is not null then null
        when (p_alarm).user_id is null then 'everybody'
        else 'member'
    end
$function$;

CREATE OR REPLACE FUNCTION private.alarm_summary()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'open', count(*) filter (where a.acknowledged_at is null),
        'stopping', count(*) filter (where s.stops is not null),
        'stops_everybody', coalesce(bool_or(s.stops = 'everybody'), false),
        'stopped_members', coalesce(pg_catalog.jsonb_agg(distinct a.user_id) filter (where s.stops = 'member'), '[]'),
        'rules', coalesce(
            pg_catalog.jsonb_object_agg(pg_catalog.left(a.object, 3), coalesce(r.problem, 'A check of the ledger fails.')) filter (where s.stops is not null), '{}'
        )
    )
    from private.alarms as a
    cross join lateral (select private.alarm_stops(a) as stops) as s
    left join private.rule_texts() as r on r.rule = pg_catalog.left(a.object, 3)
    where a.ended_at is null
$function$;

CREATE OR REPLACE FUNCTION private.alarm_texts (
  p_alarm private.alarms,
  OUT     problem text,
  OUT     advice text
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_details jsonb := (p_alarm).details;
begin
    if (p_alarm).kind = 'ledger_violation' then
        select r.problem, r.advice into problem, advice from private.rule_texts() as r where r.rule = pg_catalog.left((p_alarm).object, 3);
        problem := coalesce(problem, 'A check of the ledger fails.')
            || case when (p_alarm).object !~ ' ' then pg_catalog.format(' This concerns %s rows, more than are listed one by one.', coalesce(v_details ->> 'violations', 'many')) else '' end;
        advice := coalesce(advice, 'Compare the row with what it was made from and with the audit log.');
        return;
    end if;
    select t.problem, t.advice into problem, advice
    from (
        values
        ('repair', 'any', pg_catalog.format(
            '%s stored differently from what tree and packages say, and repaired.',
            case when v_details ->> 'rows' = '1' then 'One bonus was' else coalesce(v_details ->> 'rows', 'Some') || ' bonuses were' end
        ), 'Find out who changed the rows: the product does not.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back at once: members send their deposits there.'),
        ('deposit_address', 'unexpected', pg_catalog.format('Members are shown the deposit address %s, which is not the expected one.', v_details ->> 'shown'), 'Find out who changed it before another deposit is sent.'),
        ('audit_entry', 'any', 'Entries wait to be written into the audit log''s chain.', 'See whether the worker runs, and what its log says.'),
        ('disk', 'any', pg_catalog.format('The disk of %s is more than %s%% full.', (p_alarm).object, v_details ->> 'above'), 'Make room before it is full: the product stops then.'),
        ('dead_job', 'any', pg_catalog.format('The job %s failed and was given up.', pg_catalog.regexp_replace((p_alarm).object, '^.*:', '')), 'The worker''s log says why. This ends when the job works again.'),
        ('failed_mail', 'any', pg_catalog.format(
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One e-mail' else v_details ->> 'emails' || ' e-mails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'See Readiness for the reasons, and send them again there.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_alarms()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_new bigint;
    v_body text;
begin
    perform from private.alarm_mail_state as s for no key update;
    select count(*), pg_catalog.string_agg((private.alarm_texts(a)).problem, ' ' order by a.raised_at desc, a.id) into v_new, v_body
    -- A deposit address has notices of its own.
    from private.alarms as a where a.noticed_at is null and a.kind <> 'deposit_address';
    if v_new > 0 then
        perform private.notify_administrators(
            'alarm', case v_new when 1 then 'A new alarm' else v_new || ' new alarms' end, pg_catalog.left(v_body, 600), '/admin/alarms'
        );
    end if;
    update private.alarms as a set noticed_at = pg_catalog.clock_timestamp() where a.noticed_at is null;
    perform private.mail_alarms();
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
    if private.is_repairing() then
        return null;
    end if;
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
    if private.is_repairing() then
        return null;
    end if;
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

CREATE OR REPLACE FUNCTION private.book_repairs (
  p_due private.due_bonus[],
  p_at  timestamp with time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    -- The first journal row of a bonus has its time.
    select
        b.user_id, b.amount - coalesce(j.amount, 0), 'bonus', 'completed', b.id,
        case when j.amount is null then b.created_at else p_at end, v_decision_no
    from pg_catalog.unnest(p_due) as d
    inner join public.bonuses as b on d.bonus_id = b.id
    cross join lateral (
        select sum(t.amount) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
    ) as j;
end
$function$;

CREATE OR REPLACE FUNCTION private.changed_fields (
  p_figures jsonb,
  p_others  jsonb
)
  RETURNS jsonb
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select coalesce(pg_catalog.jsonb_object_agg(f.key, f.value), '{}')
    from pg_catalog.jsonb_each(p_figures) as f
    where f.value is distinct from p_others -> f.key
$function$;

CREATE OR REPLACE FUNCTION private.changes_json (
  p_changes private.sum_change[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'changes', coalesce(pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'kind', c.kind, 'object', c.object, 'user_id', c.user_id,
                'old', private.changed_fields(c.old, c.new), 'new', private.changed_fields(c.new, c.old)
            )
        ), '[]'),
        'count', pg_catalog.cardinality(p_changes)
    )
    from pg_catalog.unnest(p_changes[1:100]) as c
$function$;

CREATE OR REPLACE FUNCTION private.check_dead_jobs()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_task text;
begin
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is not true then
        return;
    end if;
    for v_task in
        select j.task_name
        from procrastinate.procrastinate_jobs as j
        inner join procrastinate.procrastinate_events as e on j.id = e.job_id
        where j.status = 'failed'
        group by j.task_name
        -- A failed job stays in the queue's list for a month, also when the task has worked since.
        having max(e.at) > coalesce((select max(a.ended_at) from private.alarms as a where a.kind = 'dead_job' and a.object = j.task_name), '-infinity')
        order by j.task_name
    loop
        perform private.raise_alarm('dead_job', v_task, null, '{}');
    end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_disks (
  p_disks  jsonb,
  p_full   numeric,
  p_urgent numeric
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_disk record;
    v_above numeric;
begin
    for v_disk in
        select d.folder, d.percent, (a.details ->> 'above')::numeric as above
        from pg_catalog.jsonb_to_recordset(p_disks) as d (folder text, percent numeric)
        left join private.alarms as a on a.kind = 'disk' and a.object = d.folder and a.ended_at is null
        order by d.folder
    loop
        -- Two percent below its limit: what comes and goes around the limit is one alarm.
        v_above := case
            when v_disk.percent >= p_urgent - case when v_disk.above = p_urgent then 2 else 0 end then p_urgent
            when v_disk.percent >= p_full - case when v_disk.above is not null then 2 else 0 end then p_full
        end;
        if v_above is null then
            perform private.end_alarm('disk', v_disk.folder);
        else
            perform private.raise_alarm(
                'disk', v_disk.folder, null, pg_catalog.jsonb_build_object('above', v_above, 'urgent', v_above = p_urgent)
            );
        end if;
    end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_failed_mail()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_emails bigint := (select count(*) from private.outbox as o where o.failed_at is not null);
    v_known bigint;
begin
    select (a.details ->> 'emails')::bigint into v_known from private.alarms as a
    where a.kind = 'failed_mail' and a.object = 'outbox' and a.ended_at is null;
    if v_emails = 0 then
        perform private.end_alarm('failed_mail', 'outbox');
    elsif v_emails > coalesce(v_known, 0) then
        perform private.raise_alarm('failed_mail', 'outbox', null, pg_catalog.jsonb_build_object('emails', v_emails));
    elsif v_emails < v_known then
        -- Fewer is no news.
        update private.alarms as a set details = pg_catalog.jsonb_build_object('emails', v_emails)
        where a.kind = 'failed_mail' and a.object = 'outbox' and a.ended_at is null;
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.correction_items (
  p_ids   uuid[],
  p_admin private.admin_users
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', c.id,
            'kind', c.kind,
            'target_id', c.target_id,
            'profile_id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'amount', private.money(coalesce(d.amount, w.amount)),
            'reference', coalesce(d.reference_number, w.wallet_address),
            'requested_at', coalesce(d.created_at, w.created_at),
            'value', private.money(c.value),
            'package_value', private.money(p.package_value),
            'reason', c.reason,
            'proposed_by_name', coalesce(a.full_name, a.email),
            'proposed_at', c.proposed_at,
            'confirmed_by_name', coalesce(b.full_name, b.email),
            'confirmed_at', c.confirmed_at,
            'refusal', case when c.confirmed_by is null then private.correction_error(c, p.email, p_admin) end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join private.corrections as c on u.id = c.id
    inner join private.profiles as p on c.user_id = p.user_id
    inner join private.admin_users as a on c.proposed_by = a.id
    left join private.admin_users as b on c.confirmed_by = b.id
    left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
    left join public.withdrawals as w on c.kind = 'void_withdrawal' and c.target_id = w.id
$function$;

CREATE OR REPLACE FUNCTION private.earning_day_differences (
  p_first_no integer,
  p_last_no  integer
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
        from private.earning_days as d where d.no between p_first_no and p_last_no
        union all
        select c.no, c.day, -c.referral, -c.pairing, -c.override
        from private.network_deltas as c where c.no between p_first_no and p_last_no
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
        where o.no between p_first_no and p_last_no
    ) as e
    group by e.no, e.day
    having sum(e.referral) <> 0 or sum(e.pairing) <> 0 or sum(e.override) <> 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_repairing()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce(pg_catalog.current_setting('app.repair', true), '') = 'on';
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
        -- With an email address: one login attempt on an administrator's account at a time.
        when 'login_to_account' then return 49;
        -- With a client address: one login attempt of an administrator from it at a time.
        when 'login_from_address' then return 50;
        -- The end of the audit chain: one linker at a time.
        when 'audit_log' then return 43;
    end case;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_sums()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform private.lock_members(array(
        select d.user_id from private.member_discrepancies as d
        union
        select d.user_id from private.position_discrepancies as d
        union
        select d.user_id from private.total_discrepancies as d
    ));
    -- No roll-up moves deltas meanwhile.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_waiting_correction (
  p_correction_id uuid
)
  RETURNS private.corrections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_correction private.corrections;
begin
    perform private.lock_money();
    select * into v_correction from private.corrections as c where c.id = p_correction_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such correction.');
    end if;
    if v_correction.confirmed_by is not null then
        perform private.raise_error(409, 'already_decided', 'This correction was already confirmed.');
    end if;
    if v_correction.discarded_by is not null then
        perform private.raise_error(409, 'already_decided', 'This correction was discarded.');
    end if;
    perform private.require_no_alarm(v_correction.user_id);
    return v_correction;
end
$function$;

CREATE OR REPLACE FUNCTION private.mail_alarms()
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_new bigint;
    v_open bigint;
    v_due boolean;
    v_title text;
    v_body text;
begin
    if private.is_recent((select s.mailed_at from private.alarm_mail_state as s), interval '1 hour') then
        return 0;
    end if;
    select
        count(*) filter (where a.mailed_at is null),
        count(*) filter (where a.ended_at is null),
        coalesce(bool_or(not private.is_recent(a.mailed_at, interval '1 day')), false)
    into v_new, v_open, v_due
    from private.alarms as a where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    -- A reminder once a day, of all that lasts.
    if v_new = 0 and not v_due then
        return 0;
    end if;
    v_title := case
        when v_new = 0 then pg_catalog.format('Reminder: %s', case v_open when 1 then 'an alarm lasts' else v_open || ' alarms last' end)
        else case v_new when 1 then 'A new alarm' else v_new || ' new alarms' end
    end;
    select pg_catalog.string_agg(l.line, E'\n' order by l.place) into v_body
    from (
        select private.alarm_line(a) || case when a.mailed_at is not null then ' You were told before.' else '' end as line, row_number() over w as place
        from private.alarms as a
        where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null
        window w as (order by a.mailed_at is not null, private.alarm_stops(a) is null, a.raised_at desc, a.id)
        order by place
        limit 20
    ) as l;
    if v_new + (select count(*) from private.alarms as a where a.ended_at is null and a.mailed_at is not null and a.acknowledged_at is null) > 20 then
        v_body := v_body || E'\nThere are more than these 20: see the page.';
    end if;
    insert into private.outbox (template, recipient, data)
    select 'alarms', a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', v_title, 'body', v_body, 'link', '/admin/alarms')
    from private.admin_users as a where a.is_active and a.role in ('super_admin', 'finance_admin');
    update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
    where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    update private.alarm_mail_state as s set mailed_at = pg_catalog.clock_timestamp();
    return v_new;
end
$function$;

CREATE OR REPLACE FUNCTION private.network_differences (
  p_first_no integer,
  p_last_no  integer
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
        where o.no between p_first_no and p_last_no
    )
    select
        u.no, u.members::integer, u.package_cents::bigint, u.referral::numeric, u.pairing::numeric, u.override::numeric,
        u.direct_cents::bigint, u.direct_funded::integer
    from due as u
    where (u.members, u.package_cents, u.referral, u.pairing, u.override, u.direct_cents, u.direct_funded) is distinct from (0, 0, 0, 0, 0, 0, 0);
end
$function$;

CREATE OR REPLACE FUNCTION private.positions_record_network_delta()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if tg_op = 'INSERT' then
        insert into private.network_deltas (no, day, members, package_cents)
        select new.no, (p.created_at at time zone 'UTC')::date, 1, new.package_cents
        from private.profiles as p where p.id = new.profile_id;
    elsif not private.is_repairing() then
        insert into private.network_deltas (no, day, package_cents)
        values (new.no, (pg_catalog.now() at time zone 'UTC')::date, new.package_cents - old.package_cents);
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.positions_with_alarm (
  p_rule text
)
  RETURNS SETOF integer
  LANGUAGE sql
  STABLE
  ROWS 1
  SET search_path TO ''
  AS $function$
    select distinct pg_catalog.split_part(a.object, ' ', 2)::integer
    from private.alarms as a
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object ~ ('\A' || p_rule || ' [0-9]{1,9}( |\Z)')
$function$;

CREATE OR REPLACE FUNCTION private.profiles_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.id, new.user_id, new.referrer_id, new.created_at, new.depth, new.jump)
        is distinct from (old.id, old.user_id, old.referrer_id, old.created_at, old.depth, old.jump) then
        perform private.raise_error(403, 'immutable', 'A member''s id, sponsor and place in the tree never change.');
    end if;
    if new.package_value < old.package_value and not private.is_being_corrected(new.user_id) and not private.is_repairing() then
        perform private.raise_error(403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return new;
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
    if new.package_value <> old.package_value and not private.is_repairing() then
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

CREATE OR REPLACE FUNCTION private.profiles_update_verified_counter()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.is_repairing() then
        perform private.increment_counter('verified_profiles', case when new.account_verified then 1 else -1 end);
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.propagate_staged_totals()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_depth integer := (select max(c.depth) from private.network_rollup_staging as c);
begin
    while v_depth > 0 loop
        insert into private.network_rollup_staging as n (no, depth, members, package_cents, referral, pairing, override)
        select
            o.referrer_no, v_depth - 1, sum(c.members), sum(c.package_cents), sum(c.referral), sum(c.pairing), sum(c.override)
        from private.network_rollup_staging as c
        inner join private.positions as o on c.no = o.no
        where c.depth = v_depth
        group by o.referrer_no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override;
        perform private.propagate_team_days(v_depth);
        v_depth := v_depth - 1;
    end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.raise_alarm (
  p_kind    text,
  p_object  text,
  p_user_id uuid,
  p_details jsonb
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_alarm private.alarms;
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    -- Locked, so that nobody acknowledges what is just about to change.
    select * into v_alarm from private.alarms as a
    where a.kind = p_kind and a.object = p_object and a.ended_at is null for no key update;
    if v_alarm.user_id is not distinct from p_user_id and v_alarm.details = p_details then
        update private.alarms as a set last_seen = v_now where a.id = v_alarm.id;
        return false;
    end if;
    update private.alarms as a set ended_at = v_now where a.id = v_alarm.id and a.acknowledged_at is not null;
    insert into private.alarms as a (kind, object, user_id, details, raised_at, changed_at, last_seen)
    values (p_kind, p_object, p_user_id, p_details, v_now, v_now, v_now)
    on conflict (kind, object) where ended_at is null do update set
        user_id = excluded.user_id, details = excluded.details, changed_at = v_now, last_seen = v_now,
        acknowledged_at = null, acknowledged_by = null, reason = null, mailed_at = null, noticed_at = null;
    return true;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_counter_values()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    -- A counter has its value in one row and its deltas in others; what is missing is one more.
    insert into private.counters (name)
    select d.name from private.counter_discrepancies as d where d.stored is null
    on conflict do nothing;
    with wrong as materialized (
        select d.name, d.stored, d.value from private.counter_discrepancies as d
    ), rebuilt as (
        insert into private.counter_deltas (name, delta)
        select w.name, w.value - w.stored from wrong as w
    )
    select pg_catalog.array_agg(
        row(
            'counter', w.name, null, pg_catalog.jsonb_build_object('value', w.stored::text), pg_catalog.jsonb_build_object('value', w.value::text)
        )::private.sum_change order by w.name
    )
    into v_changes from wrong as w;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_earning_days()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select d.no, d.day, d.referral, d.pairing, d.override from private.earning_day_differences(0, 2147483647) as d
    ), rebuilt as (
        insert into private.earning_days as e (no, day, referral, pairing, override)
        select w.no, w.day, w.referral, w.pairing, w.override from wrong as w
        on conflict (no, day) do update set
            referral = e.referral + excluded.referral, pairing = e.pairing + excluded.pairing, override = e.override + excluded.override
        returning e.no, e.day, e.referral, e.pairing, e.override
    )
    select pg_catalog.array_agg(
        row(
            'earning_day', r.no || ' ' || r.day, o.user_id,
            pg_catalog.jsonb_build_object(
                'referral', private.money(r.referral - w.referral), 'pairing', private.money(r.pairing - w.pairing),
                'override', private.money(r.override - w.override)
            ),
            pg_catalog.jsonb_build_object(
                'referral', private.money(r.referral), 'pairing', private.money(r.pairing), 'override', private.money(r.override)
            )
        )::private.sum_change order by r.no, r.day
    )
    into v_changes
    from rebuilt as r
    inner join wrong as w on r.no = w.no and r.day = w.day
    inner join private.positions as o on r.no = o.no;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_flows()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select
            d.day, d.deposits, d.withdrawals, d.decided_deposits,
            coalesce(k.deposits, 0) as old_deposits,
            coalesce(k.withdrawals, 0) as old_withdrawals,
            coalesce(k.decided_deposits, 0) as old_decided
        from private.flow_discrepancies as d left join private.flows_since('-infinity') as k on d.day = k.day
    ), rebuilt as (
        insert into private.flow_deltas (day, deposits, withdrawals, decided_deposits)
        select w.day, w.deposits, w.withdrawals, w.decided_deposits from wrong as w
    )
    select pg_catalog.array_agg(
        row(
            'flow_day', w.day, null,
            pg_catalog.jsonb_build_object(
                'deposits', private.money(w.old_deposits), 'withdrawals', private.money(w.old_withdrawals),
                'decided_deposits', private.money(w.old_decided)
            ),
            pg_catalog.jsonb_build_object(
                'deposits', private.money(w.old_deposits + w.deposits), 'withdrawals', private.money(w.old_withdrawals + w.withdrawals),
                'decided_deposits', private.money(w.old_decided + w.decided_deposits)
            )
        )::private.sum_change order by w.day
    )
    into v_changes from wrong as w;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_journal()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_wrong private.due_bonus[] := private.all_bonus_discrepancies();
    v_due private.due_bonus[];
    v_changes private.sum_change[];
begin
    select
        pg_catalog.array_agg(
            row(b.id, b.bonus_type, b.subject_no, b.pair_number, null, null, b.volume * 100, b.rate, b.amount_cents)::private.due_bonus order by b.id
        ),
        pg_catalog.array_agg(
            row(
                'journal', b.id, b.user_id, pg_catalog.jsonb_build_object('amount', private.money(coalesce(j.amount, 0))),
                pg_catalog.jsonb_build_object('amount', private.money(b.amount))
            )::private.sum_change order by b.id
        )
    into v_due, v_changes
    from public.bonuses as b
    left join (
        select t.reference_id, sum(t.amount) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    -- A bonus that is wrong itself is for the next reconciliation.
    where b.amount <> coalesce(j.amount, 0) and not exists (
        select 1 from pg_catalog.unnest(v_wrong) as w
        where w.bonus_type = b.bonus_type and w.subject_no = b.subject_no and w.pair_number is not distinct from b.pair_number
    );
    if v_due is not null then
        if private.current_decision_no() is null then
            perform private.next_decision_no();
        end if;
        perform private.book_repairs(v_due, private.clock());
    end if;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_members()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    with rebuilt as (
        update private.profiles as p set
            cash_in_amount = (d.new ->> 'cash_in_amount')::numeric, package_value = (d.new ->> 'package_value')::numeric
        from private.member_discrepancies as d
        where p.user_id = d.user_id
        returning d.user_id, d.old, d.new
    )
    select pg_catalog.array_agg(
        row('member', r.user_id, r.user_id, r.old, r.new)::private.sum_change order by r.user_id
    )
    into v_changes from rebuilt as r;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_networks()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
    v_direct private.sum_change[];
begin
    with wrong as materialized (
        select d.* from private.network_differences(0, 2147483647) as d
    ), staged as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select w.no, p.depth, w.members, w.package_cents, w.referral, w.pairing, w.override
        from wrong as w
        inner join private.positions as o on w.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        where (w.members, w.package_cents, w.referral, w.pairing, w.override) is distinct from (0, 0, 0, 0, 0)
    ), rebuilt as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select w.no, w.direct_cents, w.direct_funded from wrong as w where w.direct_cents <> 0 or w.direct_funded <> 0
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
        returning n.no, n.direct_cents, n.direct_funded
    )
    select pg_catalog.array_agg(
        row(
            'direct_referrals', r.no, o.user_id,
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents - w.direct_cents, 'direct_funded', r.direct_funded - w.direct_funded),
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents, 'direct_funded', r.direct_funded)
        )::private.sum_change order by r.no
    )
    into v_direct
    from rebuilt as r
    inner join wrong as w on r.no = w.no
    inner join private.positions as o on r.no = o.no;
    perform private.propagate_staged_totals();
    select pg_catalog.array_agg(
        row(
            'network', s.no, o.user_id,
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0), 'package_cents', coalesce(n.package_cents, 0), 'referral', private.money(coalesce(n.referral, 0)),
                'pairing', private.money(coalesce(n.pairing, 0)), 'override', private.money(coalesce(n.override, 0))
            ),
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0) + s.members, 'package_cents', coalesce(n.package_cents, 0) + s.package_cents,
                'referral', private.money(coalesce(n.referral, 0) + s.referral), 'pairing', private.money(coalesce(n.pairing, 0) + s.pairing),
                'override', private.money(coalesce(n.override, 0) + s.override)
            )
        )::private.sum_change order by s.no
    )
    into v_changes
    from private.network_rollup_staging as s
    inner join private.positions as o on s.no = o.no
    left join private.networks as n on s.no = n.no
    where (s.members, s.package_cents, s.referral, s.pairing, s.override) is distinct from (0, 0, 0, 0, 0);
    -- A team that turns out to be large gets days of its own with the next roll-up of one of its members.
    perform private.finalise_network_roll_up();
    return v_direct || v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_positions()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_wrong private.position_discrepancies[] := array(select d from private.position_discrepancies as d order by d.no);
begin
    if pg_catalog.cardinality(v_wrong) > 0 then
        -- Two members may have changed places, and a place is unique.
        update private.positions as p set paid_order = null from pg_catalog.unnest(v_wrong) as d where p.no = d.no;
        update private.positions as p set
            package_cents = (d.new ->> 'package_cents')::integer,
            paid_cents = (d.new ->> 'paid_cents')::integer,
            children = (d.new ->> 'children')::integer,
            paid_order = (d.new ->> 'paid_order')::bigint
        from pg_catalog.unnest(v_wrong) as d
        where p.no = d.no;
        -- Other bonuses may be due.
        perform pg_catalog.nextval('private.bonus_revision_seq');
    end if;
    return array(
        select row('position', d.no, d.user_id, d.old, d.new)::private.sum_change from pg_catalog.unnest(v_wrong) as d
    );
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
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_team_days()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_teams integer[] := array(select distinct d.no from private.team_day_discrepancies(null) as d);
    v_before private.team_days[] := array(select d from private.team_days as d where d.no = any(v_teams));
begin
    if pg_catalog.cardinality(v_teams) > 0 then
        delete from private.team_days as d where d.no = any(v_teams);
        update private.networks as n set has_days = false where n.no = any(v_teams);
        perform private.backfill_team_days(v_teams, pg_catalog.cardinality(v_teams));
    end if;
    return array(
        select row(
            'team_day', o.no || ' ' || coalesce(a.day, b.day), o.user_id,
            pg_catalog.jsonb_build_object('members', coalesce(b.members, 0), 'funded', coalesce(b.funded, 0)),
            pg_catalog.jsonb_build_object('members', coalesce(a.members, 0), 'funded', coalesce(a.funded, 0))
        )::private.sum_change
        from pg_catalog.unnest(v_before) as b
        full join (select d.* from private.team_days as d where d.no = any(v_teams)) as a on b.no = a.no and b.day = a.day
        inner join private.positions as o on coalesce(a.no, b.no) = o.no
        where (a.members, a.funded) is distinct from (b.members, b.funded)
        order by o.no, coalesce(a.day, b.day)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_totals()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    insert into private.totals (user_id)
    select p.user_id from private.profiles as p where not exists (select 1 from private.totals as t where t.user_id = p.user_id);
    with rebuilt as (
        update private.totals as t set
            referral_amount = (d.new ->> 'referral_amount')::numeric, referral_count = (d.new ->> 'referral_count')::integer,
            pairing_amount = (d.new ->> 'pairing_amount')::numeric, pairing_count = (d.new ->> 'pairing_count')::integer,
            override_amount = (d.new ->> 'override_amount')::numeric, override_count = (d.new ->> 'override_count')::integer,
            reentry_amount = (d.new ->> 'reentry_amount')::numeric, withdrawn_amount = (d.new ->> 'withdrawn_amount')::numeric,
            reserved_amount = (d.new ->> 'reserved_amount')::numeric
        from private.total_discrepancies as d
        where t.user_id = d.user_id
        returning d.user_id, d.old, d.new
    )
    select pg_catalog.array_agg(
        row('totals', r.user_id, r.user_id, r.old, r.new)::private.sum_change order by r.user_id
    )
    into v_changes from rebuilt as r;
    return v_changes;
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
    v_found integer := 0;
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_found := pg_catalog.cardinality(v_discrepancies);
        v_discrepancies := private.sound_discrepancies(v_discrepancies);
    end if;
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
        perform private.repair_bonuses(v_discrepancies);
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        -- What was left is compared again by whoever asks next.
        bonus_revision = case when v_found = pg_catalog.cardinality(v_discrepancies) then v_revision else s.bonus_revision end,
        ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
end
$function$;

CREATE OR REPLACE FUNCTION private.record_violations (
  p_found jsonb
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
    for v_alarm in select v.object, v.user_id, v.details from private.violation_alarms(p_found) as v loop
        perform private.raise_alarm('ledger_violation', v_alarm.object, v_alarm.user_id, v_alarm.details);
        v_seen := v_seen || v_alarm.object;
    end loop;
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object <> all(v_seen)
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
  SET search_path TO ''
  AS $function$
declare
    v_at timestamptz := private.clock();
    v_rows integer := pg_catalog.cardinality(p_due);
    v_damaged boolean;
    v_decision_no bigint;
    v_details jsonb;
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    perform private.lock_members(array(
        select p.user_id from pg_catalog.unnest(p_due) as w
        inner join private.positions as s on w.subject_no = s.no
        inner join private.positions as p on p.no in (s.no, s.referrer_no)
    ));
    v_details := pg_catalog.jsonb_build_object('rows', v_rows, 'repairs', private.repair_items(p_due[1:100]));
    v_damaged := not private.sums_follow_rows(p_due);
    v_decision_no := private.next_decision_no();
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform pg_catalog.set_config('app.repair', case when v_damaged then 'on' else '' end, true);
    perform private.write_bonuses(p_due, v_at);
    if v_damaged then
        v_changes := private.rebuild_sums();
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.raise_alarm('repair', v_decision_no::text, null, v_details);
    perform private.audit('system', 'books.repaired', 'bonuses', null, v_details || private.changes_json(v_changes));
end
$function$;

CREATE OR REPLACE FUNCTION private.repair_items (
  p_due private.due_bonus[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'bonus_id', b.id,
            'bonus_type', d.bonus_type,
            'user_id', coalesce(b.user_id, u.user_id),
            'subject_no', d.subject_no,
            'pair_number', d.pair_number,
            'old_amount', private.money(coalesce(b.amount, 0)),
            'new_amount', private.money(d.cents * 0.01)
        ) || case when j.amount <> coalesce(b.amount, 0) then pg_catalog.jsonb_build_object('journal_amount', private.money(j.amount)) else '{}' end
        order by d.subject_no, d.bonus_type, d.pair_number
    )
    from pg_catalog.unnest(p_due) as d
    left join public.bonuses as b on d.bonus_id = b.id
    left join private.positions as u on d.user_no = u.no
    cross join lateral (
        select coalesce(sum(t.amount), 0) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
    ) as j
$function$;

CREATE OR REPLACE FUNCTION private.require_no_alarm (
  p_user_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_alarm private.alarms;
begin
    select * into v_alarm from private.alarms as a
    where a.kind = 'ledger_violation' and a.ended_at is null and a.acknowledged_at is null and (a.user_id = p_user_id or a.user_id is null)
    order by a.user_id is null, a.raised_at
    limit 1;
    if not found then
        return;
    end if;
    if private.my_role() = 'authenticated' then
        perform private.raise_error(409, 'ledger_alarm', 'Your account is being checked, so this cannot be changed now. Try again later, or contact support.');
    end if;
    perform private.raise_error(
        409, 'ledger_alarm', pg_catalog.format(
            case when v_alarm.user_id is null then 'Nothing can be decided now: a check of the ledger fails.' else 'Nothing can be decided about this member''s money now: a check of the ledger fails.' end
            || ' %s See Alarms: find out why, then a super admin acknowledges it there.', (private.alarm_texts(v_alarm)).problem
        ), pg_catalog.jsonb_build_object('alarm', v_alarm.id, 'rule', pg_catalog.left(v_alarm.object, 3))::text
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.rule_texts()
  RETURNS TABLE (
    rule    text,
    problem text,
    advice  text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    values
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Compare the bonus with its rows under Transactions; find out who changed which.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Compare the member''s transactions with the deposits, bonuses and withdrawals.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Compare the deposit with its transaction and with the audit log.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Compare the withdrawal with its transaction and with the audit log. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who wrote the row: nothing of the product does.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who wrote the second row: the product writes one.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Rebuild the counters once it is known who changed what.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Compare bonuses and withdrawals of the member; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Compare the member''s deposits with the audit log; rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who wrote the second row: the product writes one.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. The next run of the bonus comparison repairs the amount.'),
    ('I12', 'A member earns a bonus from the own package.', 'Find out who changed the bonus or the tree.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Compare the package with the deposits; a correction sets another one.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'Find out who moved the member: the product moves nobody.'),
    ('I15', 'A member joined before the own sponsor.', 'Find out who changed a sponsor or a date: the product changes neither.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it: the product accepts no such amount.'),
    ('I17', 'A decided request has no decider or no time, or a pending one has.', 'Compare the request with the audit log.'),
    ('I18', 'Two members have the same username.', 'Rename one of them.'),
    ('I19', 'A transfer was approved twice.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from the own package.', 'Find out who changed the tree; rebuild the counters.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Cancel one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out everywhere and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup: who changed it hides something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Rebuild the counters once it is known who changed what.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I31', 'A deposit lacks the keys by which a second claim of its transfer is found.', 'Compare its reference with all other deposits by hand.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Compare the member''s first approved deposit with the audit log.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or completed the row: the product does so in a decision only.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Compare the times with the audit log; find out who changed one.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Rebuild the counters once it is known who changed what.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Set it back at once: every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'Find out who changed the order; rebuild the counters.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Compare the times with the audit log.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Compare the deposit with the audit log and the receipt before it is decided.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Compare amount and address with the audit log, and ask the member. Pay nothing meanwhile.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once. Pay nothing meanwhile.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Compare the correction with the audit log and ask who proposed and confirmed it.'),
    ('I49', 'An administrator''s role is not the one of the last entry in the audit log.', 'Take the role away and find out who gave it.')
$function$;

CREATE OR REPLACE FUNCTION private.settings_mail_deposit_address()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.mail_administrators(
        'deposit_address_changed', 'The deposit address was changed',
        pg_catalog.format(
            E'It was %s.\nIt is now %s.\nMembers send deposits to the new address from now on. If this was not agreed, change it back at once.',
            old.value #>> '{}', new.value #>> '{}'
        ), '/admin/readiness'
    );
    perform private.raise_alarm(
        'deposit_address', 'changed', null, pg_catalog.jsonb_build_object('from', old.value #>> '{}', 'to', new.value #>> '{}')
    );
    update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
    where a.kind = 'deposit_address' and a.object = 'changed' and a.ended_at is null;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.sound_discrepancies (
  p_due private.due_bonus[]
)
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    if exists (select 1 from private.plan_discrepancies) then
        return '{}'::private.due_bonus[];
    end if;
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where (d).bonus_type = 'referral' or (d).subject_no not in (
            select s.referrer_no from private.sibling_discrepancies as s
            where s.referrer_no = any(array(select o.subject_no from pg_catalog.unnest(p_due) as o where o.bonus_type <> 'referral'))
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.sums_follow_rows (
  p_due private.due_bonus[]
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return not exists (
        select 1 from pg_catalog.unnest(p_due) as d
        inner join public.bonuses as b on d.bonus_id = b.id
        where b.amount is distinct from (
            select sum(t.amount) from public.transactions as t
            where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
        )
    ) and not exists (
        select 1
        from private.totals as t
        where
            t.user_id = any(array(
                select coalesce(b.user_id, u.user_id) from pg_catalog.unnest(p_due) as d
                left join public.bonuses as b on d.bonus_id = b.id
                left join private.positions as u on d.user_no = u.no
            ))
            and t.bonus_amount <> (select coalesce(sum(b.amount), 0) from public.bonuses as b where b.user_id = t.user_id)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.team_day_discrepancies (
  p_teams integer
)
  RETURNS TABLE (
    no  integer,
    day date
  )
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET enable_indexscan TO 'on'
  AS $function$
begin
    return query
    with recursive teams as materialized (
        (select n.no from private.networks as n where n.has_days order by pg_catalog.random() limit p_teams)
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no where n.has_days
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
        inner join private.profiles as p on o.profile_id = p.id
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

CREATE OR REPLACE FUNCTION private.totals_update_shortfall_counter()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.is_repairing() then
        perform private.increment_counter(
            'shortfall',
            greatest(new.withdrawn_amount + new.reserved_amount - new.bonus_amount, 0)
            - greatest(old.withdrawn_amount + old.reserved_amount - old.bonus_amount, 0)
        );
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.violation_alarms (
  p_found jsonb
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
        -- A sample has another number each time.
        case when f.rule in ('I28', 'I29', 'I30') then '{}' else jsonb_build_object('violations', count(*)) end
    from found as f
    group by f.rule
    having count(*) > (select count(*) from listed as l where l.rule = f.rule)
    order by 1
$function$;

CREATE OR REPLACE FUNCTION public.acknowledge_alarm (
  p_id     uuid,
  p_reason text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_alarm private.alarms;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    -- Locked: the next check may be about to change it.
    select * into v_alarm from private.alarms as a where a.id = p_id for no key update;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such alarm.');
    end if;
    if v_alarm.acknowledged_by = v_admin.id then
        return '{"success": true, "already": true}'::jsonb;
    end if;
    if v_alarm.acknowledged_at is not null or v_alarm.ended_at is not null then
        perform private.raise_error(409, 'already_decided', case
            when v_alarm.acknowledged_at is null then 'This alarm is over.'
            else (
                select pg_catalog.format('Already acknowledged by %s.', coalesce(a.full_name, a.email))
                from private.admin_users as a where a.id = v_alarm.acknowledged_by
            )
        end);
    end if;
    update private.alarms as a set
        acknowledged_at = pg_catalog.clock_timestamp(), acknowledged_by = v_admin.id, reason = v_reason,
        -- What has happened is over when it is understood; a state lasts until it is mended.
        ended_at = case when a.kind = 'repair' or (a.kind, a.object) = ('deposit_address', 'changed') then pg_catalog.clock_timestamp() end
    where a.id = p_id;
    perform private.audit(
        'admin:' || v_admin.id, 'alarm.acknowledged', 'alarm', p_id,
        pg_catalog.jsonb_build_object('kind', v_alarm.kind, 'object', v_alarm.object, 'user_id', v_alarm.user_id, 'details', v_alarm.details, 'reason', v_reason)
    );
    return '{"success": true}'::jsonb;
end
$function$;

REVOKE ALL ON FUNCTION "public"."acknowledge_alarm"(uuid, text) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.cancel_request (
  p_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_row jsonb;
begin
    -- Status pending blocks only new requests.
    perform private.require_active_status(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    -- Without an id all would be cancelled.
    if p_id is not null and private.cancel_requests(auth.uid(), p_id, 'Cancelled by the member') > 0 then
        perform private.require_no_alarm(auth.uid());
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.raise_error(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.raise_error(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.relative_time((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
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
    perform private.require_no_alarm(v_deposit.user_id);
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
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id, private.deposit_decision_facts(v_deposit), v_deposit.decided_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit))) || private.audit_entries();
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
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id);
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
        private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.get_admin_overview()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_deposit jsonb;
    v_withdrawal jsonb;
    v_recent jsonb;
    v_ledger_check record;
begin
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_deposit
    from (
        select d.id, d.user_id, d.amount, d.created_at from public.deposits as d
        where d.status = 'pending' order by d.created_at, d.id limit 1
    ) as r;
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_withdrawal
    from (
        select w.id, w.user_id, w.amount, w.created_at from public.withdrawals as w
        where w.status = 'pending' order by w.created_at, w.id limit 1
    ) as r;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', r.id, 'type', r.type, 'user_email', p.email, 'username', p.username,
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status
            from public.withdrawals as w order by w.created_at desc, w.id desc limit 10
        )
        order by 4 desc, 1 desc
        limit 10
    ) as r
    inner join private.profiles as p on r.user_id = p.user_id;
    select s.checked_at, s.violations into v_ledger_check from private.ledger_check_state as s;
    return pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'admin', pg_catalog.jsonb_build_object(
            'id', v_admin.id, 'email', v_admin.email, 'full_name', v_admin.full_name, 'role', v_admin.role
        ),
        'oldest_pending', pg_catalog.jsonb_build_object('deposit', v_deposit, 'withdrawal', v_withdrawal),
        'pending', pg_catalog.jsonb_build_object(
            'deposits', private.counter_value('pending_deposits')::bigint, 'withdrawals', private.counter_value('pending_withdrawals')::bigint
        ),
        'net_cash_flow', private.money(private.counter_value('deposits_approved') - private.counter_value('withdrawals_approved')),
        'recent', coalesce(v_recent, '[]'),
        'flows', private.daily_flows(90),
        'books', pg_catalog.jsonb_build_object(
            'ok', case when v_ledger_check.checked_at is not null then v_ledger_check.violations = 0 end,
            'violations', v_ledger_check.violations,
            'checked_at', v_ledger_check.checked_at
        ),
        'alarms', private.alarm_summary(),
        'coverage', private.coverage()
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.list_alarms (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['raised_at']);
    v_ended boolean := coalesce((v_request).status, 'open') = 'ended';
begin
    perform private.require_admin();
    if coalesce((v_request).status, 'open') not in ('open', 'ended') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    return pg_catalog.jsonb_build_object(
        'items', coalesce((
            select pg_catalog.jsonb_agg(private.alarm_item(q.alarm) order by q.place)
            from (
                select
                    a as alarm,
                    row_number() over (
                        order by
                            case when v_ended then a.ended_at end desc, a.acknowledged_at is not null, a.kind <> 'ledger_violation',
                            a.raised_at desc, a.id
                    ) as place
                from private.alarms as a
                where (a.ended_at is not null) = v_ended
                order by place
                limit (v_request).page_size offset ((v_request).page - 1) * (v_request).page_size
            ) as q
        ), '[]'),
        'total', (select count(*) from private.alarms as a where (a.ended_at is not null) = v_ended)
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."list_alarms"(jsonb) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.rebuild_counters (
  p_reason text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := private.validate_reason(p_reason);
    v_response jsonb;
begin
    if nullif(pg_catalog.btrim(p_reason), '') is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.lock_money();
    perform pg_catalog.set_config('app.repair', 'on', true);
    v_response := private.changes_json(private.rebuild_sums());
    perform pg_catalog.set_config('app.repair', '', true);
    perform private.audit(
        'admin:' || v_admin.id, 'books.rebuilt', 'counters', null, pg_catalog.jsonb_build_object('reason', v_reason) || v_response
    );
    return v_response || '{"success": true}';
end
$function$;

REVOKE ALL ON FUNCTION "public"."rebuild_counters"(text) FROM PUBLIC, "anon", "authenticated", "service_role";

create view private.counter_discrepancies as
select
    f.name,
    c.value as stored,
    f.value
from (
    select
        v.name,
        v.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as m
    cross join
        lateral (
            values
            ('profiles', m.members::numeric), ('active_profiles', m.active), ('package_investment', m.packages), ('verified_profiles', m.verified)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as amount,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as r
    cross join
        lateral (
            values
            ('pending_deposits', r.pending::numeric), ('deposits_approved', r.amount), ('deposits_approved_count', r.approved),
            ('deposits_rejected_count', r.rejected)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as amount,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected
        from public.withdrawals as w
    ) as r
    cross join
        lateral (
            values
            ('pending_withdrawals', r.pending::numeric), ('reserved', r.reserved), ('withdrawals_approved', r.amount),
            ('withdrawals_approved_count', r.approved), ('withdrawals_rejected_count', r.rejected)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            coalesce(sum(b.amount), 0) as amount,
            count(*) filter (where b.amount > 0) as bonuses
        from public.bonuses as b
    ) as r
    cross join lateral (values ('bonuses', r.amount), ('bonus_rows', r.bonuses)) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) as entries,
            coalesce(sum(abs(t.amount)), 0) as volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as r
    cross join lateral (values ('bonus_transactions', r.entries::numeric), ('bonus_volume', r.volume)) as v (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        'subscriptions_' || e.status,
        count(s.id)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join public.bot_subscriptions as s on e.status = s.status
    group by e.status
) as f
left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value;

create view private.earning_day_discrepancies as
select distinct
    d.no,
    d.day
from (
    select
        c.first_no,
        c.last_no
    from private.ledger_check_sample() as c
    union all
    select
        a.no as first_no,
        a.no as last_no
    from private.positions_with_alarm('I28') as a (no)
) as s
cross join lateral private.earning_day_differences(s.first_no, s.last_no) as d;

create view private.flow_discrepancies as
select
    f.day,
    sum(f.deposits) as deposits,
    sum(f.withdrawals) as withdrawals,
    sum(f.decided_deposits) as decided_deposits
from (
    select
        v.day,
        v.deposits,
        0 as withdrawals,
        v.decided_deposits
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
        w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
    union all
    select
        k.day,
        -k.deposits,
        -k.withdrawals,
        -k.decided_deposits
    from private.flows_since('-infinity') as k
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0;

create view private.network_discrepancies as
select distinct d.no
from (
    select
        c.first_no,
        c.last_no
    from private.ledger_check_sample() as c
    union all
    select
        a.no as first_no,
        a.no as last_no
    from private.positions_with_alarm('I29') as a (no)
) as s
cross join lateral private.network_differences(s.first_no, s.last_no) as d;

create view private.plan_discrepancies as
select 'packages' as object
where (
    select pg_catalog.array_agg((k.value::numeric, k.pairing_percent)::text order by k.value) from private.packages as k
) is distinct from array['(50,10)', '(100,20)', '(250,30)', '(500,40)', '(1000,50)']
union all
select c.object
from (
    values
    ('referral_percent', private.referral_percent(), 5),
    ('override_percent', private.override_percent(), 1),
    ('reentry_percent', private.reentry_percent(), 10)
) as c (object, percent, specified)
where c.percent is distinct from c.specified;

create view private.member_discrepancies as
select
    m.user_id,
    pg_catalog.jsonb_build_object('cash_in_amount', private.money(m.cash_in_amount), 'package_value', private.money(m.package_value)) as old,
    pg_catalog.jsonb_build_object('cash_in_amount', private.money(m.due_cash_in), 'package_value', private.money(m.due_package)) as new
from (
    select
        p.user_id,
        p.cash_in_amount,
        p.package_value,
        coalesce(d.cash_in, 0) as due_cash_in,
        case when c.user_id is null then coalesce(d.package, 0) else private.due_package(p.user_id) end as due_package
    from private.profiles as p
    left join (
        select
            a.user_id,
            sum(a.amount) as cash_in,
            max(k.value) as package
        from public.deposits as a left join private.packages as k on a.amount = k.value
        where a.status = 'approved' and a.voided_at is null
        group by a.user_id
    ) as d on p.user_id = d.user_id
    left join (
        select distinct s.user_id from private.corrections as s
        where s.kind = 'set_package' and s.confirmed_by is not null
    ) as c on p.user_id = c.user_id
) as m
-- Without the right package sizes no package can be derived.
where
    (m.cash_in_amount, m.package_value) is distinct from (m.due_cash_in, m.due_package)
    and not exists (select 1 from private.plan_discrepancies);

create view private.position_discrepancies as
select
    q.no,
    q.user_id,
    pg_catalog.jsonb_build_object(
        'package_cents', q.package_cents, 'paid_cents', q.paid_cents, 'children', q.children, 'paid_order', q.paid_order
    ) as old,
    pg_catalog.jsonb_build_object(
        'package_cents', q.due_package, 'paid_cents', q.due_paid, 'children', q.due_children, 'paid_order', q.due_order
    ) as new
from (
    select
        o.no,
        o.user_id,
        o.package_cents,
        o.paid_cents,
        o.children,
        o.paid_order,
        n.package_cents as due_package,
        n.paid_cents as due_paid,
        coalesce(c.children, 0)::integer as due_children,
        case when n.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end as due_order
    from private.positions as o
    inner join private.profiles as p on o.profile_id = p.id
    cross join
        lateral (
            select
                (p.package_value * 100)::integer as package_cents,
                case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end as paid_cents
        ) as n
    left join (
        select
            r.referrer_no,
            count(*) as children
        from private.positions as r
        group by r.referrer_no
    ) as c on o.no = c.referrer_no
    left join (
        select
            a.user_id,
            min(a.decision_no) as decision_no
        from public.deposits as a
        where a.status = 'approved'
        group by a.user_id
    ) as d on o.user_id = d.user_id
    left join private.corrected_fundings as f on o.user_id = f.user_id
) as q
where (q.package_cents, q.paid_cents, q.children, q.paid_order) is distinct from (q.due_package, q.due_paid, q.due_children, q.due_order);

create view private.sibling_discrepancies as
select
    s.no,
    s.referrer_no
from (
    select
        c.no,
        c.referrer_no,
        c.child_no,
        pg_catalog.row_number() over (partition by c.referrer_no order by p.created_at, p.id) as due_no
    from private.positions as c inner join private.profiles as p on c.profile_id = p.id
    where c.referrer_no is not null
) as s
where s.child_no <> s.due_no;

create view private.ledger_violations as
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
        min(t.created_at) as first_at,
        max(t.created_at) as last_at,
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
            ) as wrong_totals,
            (
                (s.referral_count, s.pairing_count, s.override_count)
                is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
            ) as wrong_counts,
            -- A clock may step back, and is days ahead at most.
            coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > clock_timestamp() + interval '7 days', false) as wrong_times,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id,
        (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
        -- The first is the one of the first decision: a clock can step back.
        (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
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
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                d.user_id,
                d.amount::numeric,
                d.decision_no,
                case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        d.user_id,
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
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                w.user_id,
                -w.amount::numeric,
                w.decision_no,
                case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        w.created_at
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
where e.source_id is not null and e.wrong_amount
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
where e.source_id is not null and e.wrong_entry
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null and e.wrong_entry
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
-- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
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
-- I16 Amounts are finite and in range. A bonus is zero only when a correction or a repair was the last to change it.
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
    -- Or a repair set it to zero, because it was never due.
    and not exists (
        select 1 from private.audit_log as a
        where
            a.actor = 'system'
            and a.action = 'books.repaired'
            and a.payload -> 'repairs' @> jsonb_build_array(jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
    )
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
    t.deposit_id::text,
    t.user_id,
    null
from private.transfers_credited_twice as t
union all
-- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
select
    'I20',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join storage.objects as o on o.bucket_id = 'receipts' and d.receipt_name = o.name
where
    o.owner_id is distinct from d.user_id::text or split_part(d.receipt_name, '/', 1) <> d.user_id::text
    or o.metadata ->> 'eTag' is distinct from d.receipt_etag
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
    a.object,
    null,
    null
from private.verify_audit_chain() as a (object)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    f.name,
    null,
    null
from (
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
        sum(e.referrals + e.pairings + e.overrides) as bonus_rows
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
) as f left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value
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
from private.team_day_discrepancies(20) as d left join private.positions as o on d.no = o.no
union all
-- I31 A deposit has its keys: without them I19 is blind.
select
    'I31',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
where k.key is null
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
where j.undecided_rows > 0
union all
-- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
select
    'I36',
    e.source_id::text,
    e.user_id,
    null
from (
    select
        b.source_id,
        b.user_id
    from bonus_entries as b
    where b.wrong_time
    union all
    select
        d.source_id,
        d.user_id
    from deposit_entries as d
    where d.wrong_time
    union all
    select
        w.source_id,
        w.user_id
    from withdrawal_entries as w
    where w.wrong_time
) as e
union all
-- I37 The counts in totals are those of the bonuses, each type's its own.
select
    'I37',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_counts
union all
-- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
select
    'I40',
    c.object,
    null,
    null
from private.plan_discrepancies as c
union all
-- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
select
    'I41',
    s.no::text,
    o.user_id,
    null
from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
union all
-- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
select
    'I42',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_times
union all
-- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
-- same. I49 An administrator has the role of the last entry.
select
    a.rule,
    a.object,
    a.user_id,
    a.details
from private.audit_discrepancies as a;

create view private.total_discrepancies as
select
    t.user_id,
    pg_catalog.jsonb_build_object(
        'referral_amount', private.money(t.referral_amount), 'referral_count', t.referral_count,
        'pairing_amount', private.money(t.pairing_amount), 'pairing_count', t.pairing_count,
        'override_amount', private.money(t.override_amount), 'override_count', t.override_count,
        'reentry_amount', private.money(t.reentry_amount), 'withdrawn_amount', private.money(t.withdrawn_amount),
        'reserved_amount', private.money(t.reserved_amount)
    ) as old,
    pg_catalog.jsonb_build_object(
        'referral_amount', private.money(coalesce(b.referral, 0)), 'referral_count', coalesce(b.referrals, 0),
        'pairing_amount', private.money(coalesce(b.pairing, 0)), 'pairing_count', coalesce(b.pairings, 0),
        'override_amount', private.money(coalesce(b.override, 0)), 'override_count', coalesce(b.overrides, 0),
        'reentry_amount', private.money(coalesce(b.reentry, 0)), 'withdrawn_amount', private.money(coalesce(w.withdrawn, 0)),
        'reserved_amount', private.money(coalesce(w.reserved, 0))
    ) as new
from private.totals as t
left join (
    select
        r.user_id,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'referral'), 0) as referral,
        count(*) filter (where r.bonus_type = 'referral' and r.amount > 0) as referrals,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'pairing'), 0) as pairing,
        count(*) filter (where r.bonus_type = 'pairing' and r.amount > 0) as pairings,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'override'), 0) as override,
        count(*) filter (where r.bonus_type = 'override' and r.amount > 0) as overrides,
        sum(r.reentry_amount) as reentry
    from public.bonuses as r
    group by r.user_id
) as b on t.user_id = b.user_id
left join (
    select
        o.user_id,
        coalesce(sum(o.amount) filter (where o.status = 'approved' and o.voided_at is null), 0) as withdrawn,
        coalesce(sum(o.amount) filter (where o.status = 'pending'), 0) as reserved
    from public.withdrawals as o
    group by o.user_id
) as w on t.user_id = w.user_id
where (
    t.referral_amount, t.referral_count, t.pairing_amount, t.pairing_count, t.override_amount, t.override_count,
    t.reentry_amount, t.withdrawn_amount, t.reserved_amount
) is distinct from (
    coalesce(b.referral, 0), coalesce(b.referrals, 0), coalesce(b.pairing, 0), coalesce(b.pairings, 0), coalesce(b.override, 0),
    coalesce(b.overrides, 0), coalesce(b.reentry, 0), coalesce(w.withdrawn, 0), coalesce(w.reserved, 0)
);

CREATE INDEX alarms_stopping_idx ON private.alarms USING btree (user_id)
  WHERE ((kind = 'ledger_violation'::text) AND (ended_at IS NULL) AND (acknowledged_at IS NULL));

CREATE INDEX alarms_unmailed_idx ON private.alarms USING btree (raised_at)
  WHERE ((mailed_at IS NULL) OR (noticed_at IS NULL));

COMMENT ON COLUMN "private"."alarms"."mailed_at" IS 'When administrators were last e-mailed of it as it is now; null: not yet.';

COMMENT ON COLUMN "private"."alarms"."noticed_at" IS 'When administrators had a notice of it as it is now; null: not yet.';

COMMENT ON FUNCTION "jobs"."check_alarms"(jsonb, numeric, numeric) IS 'Looks at disks, given-up jobs and e-mails, and notifies administrators of all alarms that are new; returns the number of open ones by kind. p_disks: [{folder, percent}].';

COMMENT ON FUNCTION "jobs"."check_deposit_address"(text) IS 'Compares the displayed deposit address with the last audited one and with one configured outside the database; returns {} or the differences, raises or ends the alarm, and notifies all administrators at once.';

COMMENT ON FUNCTION "jobs"."check_ledger"() IS 'Runs the ledger checks, stores the result and raises and ends their alarms, or returns the last one while a long check is throttled: violations by rule, {} when there are none.';

COMMENT ON FUNCTION "jobs"."end_dead_job"(text) IS 'A job of this task has worked: ends its alarm.';

COMMENT ON FUNCTION "private"."alarm_item"(private.alarms) IS 'An alarm as an item of the administrators'' list, with the usernames of those whom it names.';

COMMENT ON FUNCTION "private"."alarm_line"(private.alarms) IS 'An alarm as a paragraph of an e-mail: what is wrong, what to do, what it concerns, since when, what it stops.';

COMMENT ON FUNCTION "private"."alarm_object"(private.alarms) IS 'The row that a violation names: kind (deposit, withdrawal, bonus, transaction, member, administrator) and id; null when it is no such row.';

COMMENT ON FUNCTION "private"."alarm_stops"(private.alarms) IS 'Whose money an alarm lets no decision be made about: member, everybody, or null for no one''s. Only violations of the ledger stop decisions, until they are acknowledged.';

COMMENT ON FUNCTION "private"."alarm_summary"() IS 'Number of open alarms that wait to be acknowledged, and what they stop: the rules in words, and the members.';

COMMENT ON FUNCTION "private"."alarm_texts"(private.alarms) IS 'An alarm in words: what is wrong, and what to do.';

COMMENT ON FUNCTION "private"."announce_alarms"() IS 'Notifies administrators of alarms that are new: one notice in the app, and an e-mail when one may be sent.';

COMMENT ON FUNCTION "private"."bonuses_record_insert"() IS 'Trigger: journal rows, totals, daily deltas and counters of new bonuses; a repair books its own.';

COMMENT ON FUNCTION "private"."bonuses_record_update"() IS 'Trigger: journal rows of the differences, totals, daily deltas and counters of changed bonuses; a repair books its own.';

COMMENT ON FUNCTION "private"."book_repairs"(private.due_bonus[], timestamp with time zone) IS 'Journal rows of these stored bonuses: the difference to what their journal says.';

COMMENT ON FUNCTION "private"."changed_fields"(jsonb, jsonb) IS 'The figures that are not the same in the other object.';

COMMENT ON FUNCTION "private"."changes_json"(private.sum_change[]) IS 'The first hundred changes, each with the figures that differ, and how many there are.';

COMMENT ON FUNCTION "private"."check_dead_jobs"() IS 'Raises an alarm for each task of which a job was given up since it last worked.';

COMMENT ON FUNCTION "private"."check_disks"(jsonb, numeric, numeric) IS 'Raises or ends the alarm of each disk: [{folder, percent}], full above the first percentage, urgent above the second.';

COMMENT ON FUNCTION "private"."check_failed_mail"() IS 'Raises an alarm while e-mails are given up; more of them are a change.';

COMMENT ON FUNCTION "private"."earning_day_differences"(integer, integer) IS 'What the materialised earnings of these members lack of the journal, by day; negative: what they have too much.';

COMMENT ON FUNCTION "private"."is_repairing"() IS 'True while sums are derived from the rows in this transaction, so that no trigger keeps them up. No API role can set app.repair.';

COMMENT ON FUNCTION "private"."lock_sums"() IS 'Locks the members whose sums differ, and the roll-up. Errors: try_again.';

COMMENT ON FUNCTION "private"."mail_alarms"() IS 'E-mails every active super and finance administrator all that is new and what lasts, at most once an hour, and once a day while anything lasts; returns how many were new.';

COMMENT ON FUNCTION "private"."network_differences"(integer, integer) IS 'What the network totals of these members lack of their own values plus their direct referrals'' networks. One level of the tree is enough: if it holds for every member, it holds for the whole downline.';

COMMENT ON FUNCTION "private"."positions_with_alarm"(text) IS 'Numbers of the members that open alarms of a sampled rule name.';

COMMENT ON FUNCTION "private"."profiles_immutable"() IS 'Trigger: identity and position never change; a package never decreases, except within a confirmed correction or a rebuild. Errors: immutable.';

COMMENT ON FUNCTION "private"."propagate_staged_totals"() IS 'Adds the staged totals of each level, and the staged days, to the level above, from the deepest to the roots.';

COMMENT ON FUNCTION "private"."rebuild_counter_values"() IS 'Adds to each counter what it lacks; returns the changes.';

COMMENT ON FUNCTION "private"."rebuild_earning_days"() IS 'Adds to the members'' daily earnings what the journal has and they lack; returns the changes. Call under the lock of the roll-up.';

COMMENT ON FUNCTION "private"."rebuild_flows"() IS 'Adds to the daily totals of deposits and withdrawals what they lack; returns the changes.';

COMMENT ON FUNCTION "private"."rebuild_journal"() IS 'Books what the journal of bonuses that are right lacks, under the number of the repair or one of its own; returns the changes.';

COMMENT ON FUNCTION "private"."rebuild_members"() IS 'Derives cash-in and packages from deposits and corrections; returns the changes.';

COMMENT ON FUNCTION "private"."rebuild_networks"() IS 'Adds to the rolled-up networks what positions, totals and tree have and they lack; returns the changes. Call under the lock of the roll-up.';

COMMENT ON FUNCTION "private"."rebuild_positions"() IS 'Derives package, payment, number of direct referrals and order of fundings of all positions; returns the changes. The number of a direct referral is no sum and stays.';

COMMENT ON FUNCTION "private"."rebuild_sums"() IS 'Derives all stored sums and counters from the rows; returns the changes. Call under the money lock, with app.repair on. Errors: try_again.';

COMMENT ON FUNCTION "private"."rebuild_team_days"() IS 'Materialises the days of large teams again where they differ from tree and bonuses; returns the changes. Call under the lock of the roll-up.';

COMMENT ON FUNCTION "private"."rebuild_totals"() IS 'Derives all totals from bonuses and withdrawals; returns the changes.';

COMMENT ON FUNCTION "private"."reconcile"() IS 'Compares all bonuses with tree and packages and repairs differences, with an alarm and an audit row; returns how many. Leaves bonuses whose basis is damaged, as sound_discrepancies() says: the ledger checks report both. Errors: try_again.';

COMMENT ON FUNCTION "private"."record_violations"(jsonb) IS 'Raises an alarm for each violation found, ends those of violations that are not there any more, and notifies administrators.';

COMMENT ON FUNCTION "private"."repair_bonuses"(private.due_bonus[]) IS 'Writes the bonuses that are due, the journal rows that are missing and the sums that differ, raises an alarm and audits what it did. Call under the money lock. Errors: try_again.';

COMMENT ON FUNCTION "private"."repair_items"(private.due_bonus[]) IS 'What a repair of these bonuses changes, for the alarm and the audit log: old and new amounts as text, and what the journal says where that is a third one. Call before writing; bonus_id is null where the row is missing.';

COMMENT ON FUNCTION "private"."require_no_alarm"(uuid) IS 'Before a decision about this member''s money, under its locks: raises while an open, unacknowledged violation of the ledger names the member, or nobody. Errors: ledger_alarm.';

COMMENT ON FUNCTION "private"."rule_texts"() IS 'Each rule of the ledger checks in words: what is wrong, and what to do. Every rule of private.ledger_violations has a row.';

COMMENT ON FUNCTION "private"."settings_mail_deposit_address"() IS 'Trigger: e-mails every administrator of a changed deposit address, whatever changed it, and raises an alarm.';

COMMENT ON FUNCTION "private"."sound_discrepancies"(private.due_bonus[]) IS 'Of these, what a repair may write: nothing with a damaged plan, and no pair of a member whose direct referrals are out of order.';

COMMENT ON FUNCTION "private"."sums_follow_rows"(private.due_bonus[]) IS 'Whether the journal of these bonuses and the totals of their earners say what the rows say, so that only the tree has changed.';

COMMENT ON FUNCTION "private"."team_day_discrepancies"(integer) IS 'Days on which the materialised growth of a large team differs from tree and bonuses. A sample of as many large teams; null: all.';

COMMENT ON FUNCTION "private"."violation_alarms"(jsonb) IS 'The alarms of what private.check_ledger() found, as an array: object, member, figures.';

COMMENT ON FUNCTION "public"."acknowledge_alarm"(uuid, text) IS 'Super administrators: an alarm is understood. No reminder follows, and what it stops goes on, until it changes. Errors: forbidden, two_step_required, invalid_reason, not_found, already_decided.';

COMMENT ON FUNCTION "public"."cancel_request"(uuid) IS 'A member, also a pending one, cancels an own pending deposit or withdrawal; it becomes rejected, ''Cancelled by the member''. Errors: not_found, already_decided, ledger_alarm, account_disabled, account_suspended.';

COMMENT ON FUNCTION "public"."confirm_correction"(uuid) IS 'Finance and super administrators, never the proposer: applies a correction. Errors: forbidden, not_found, already_decided, ledger_alarm, two_people, own_account, not_correctable, try_again.';

COMMENT ON FUNCTION "public"."decide_deposit"(uuid, text, text) IS 'Finance and super administrators: approves or rejects a pending deposit, once; approval credits cash-in, package and bonuses. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, reference_used, already_decided, ledger_alarm, try_again.';

COMMENT ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text) IS 'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, try_again.';

COMMENT ON FUNCTION "public"."discard_correction"(uuid) IS 'Finance and super administrators, also the proposer: discards a pending correction. Changes nothing else. Errors: forbidden, not_found, already_decided, ledger_alarm, own_account, try_again.';

COMMENT ON FUNCTION "public"."get_admin_overview"() IS 'Administrators: the panel''s first screen in one request. books is the last ledger check; ok is null before the first; alarms is what waits for an acknowledgement and what it stops. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."list_alarms"(jsonb) IS 'Administrators: open alarms, those first that stop decisions, or the history, newest first. Filters: status (open, ended), page, pageSize. Errors: forbidden, session_ended, invalid_filter.';

COMMENT ON FUNCTION "public"."rebuild_counters"(text) IS 'Super administrators: derives every stored sum and counter from the rows, and books what the journal of bonuses lacks, with an audit row. Returns the first hundred changes, each with its kind, object, member and figures before and after, and their count; 0 when all agreed. Errors: forbidden, session_ended, two_step_required, invalid_reason, reason_required, try_again.';

COMMENT ON TABLE "private"."alarm_mail_state" IS 'When the last e-mail about alarms was written. Whoever changes many alarms locks this row first, so that all take them in one order.';

COMMENT ON TYPE "private"."sum_change" IS 'A stored sum that was not what the rows say: where it is, whose it is (null: nobody''s alone), the figures before and after.';

COMMENT ON VIEW "private"."counter_discrepancies" IS 'Counters whose value is not that of the rows; stored is null where there is no counter.';

COMMENT ON VIEW "private"."earning_day_discrepancies" IS 'Days of sampled members on which the materialised earnings differ from the journal.';

COMMENT ON VIEW "private"."flow_discrepancies" IS 'What the daily totals of deposits and withdrawals lack, by day; negative: what they have too much.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

COMMENT ON VIEW "private"."member_discrepancies" IS 'Members whose cash-in or package is not what deposits and corrections say.';

COMMENT ON VIEW "private"."network_discrepancies" IS 'Sampled members whose network totals are not their own values plus their direct referrals'' networks.';

COMMENT ON VIEW "private"."plan_discrepancies" IS 'What differs from the compensation plan of the specification, whose numbers are written here: package sizes with their pairing rates, and the other percentages. Empty when nothing does.';

COMMENT ON VIEW "private"."position_discrepancies" IS 'Positions whose package, payment, number of direct referrals or place in the order of fundings is not what members, deposits and corrections say.';

COMMENT ON VIEW "private"."sibling_discrepancies" IS 'Direct referrals whose number is not their place in the order of joining. Empty when all are in order.';

COMMENT ON VIEW "private"."total_discrepancies" IS 'Members whose totals are not the sums and counts of their bonuses and withdrawals.';

REVOKE ALL ON FUNCTION "jobs"."check_alarms"(jsonb, numeric, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."check_alarms"(jsonb, numeric, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_alarms"(jsonb, numeric, numeric) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_alarms"(jsonb, numeric, numeric) TO "worker";

REVOKE ALL ON FUNCTION "jobs"."end_dead_job"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."end_dead_job"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."end_dead_job"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."end_dead_job"(text) TO "worker";

REVOKE ALL ON FUNCTION "private"."alarm_item"(private.alarms) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_item"(private.alarms) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_item"(private.alarms) TO "postgres";

REVOKE ALL ON FUNCTION "private"."alarm_line"(private.alarms) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_line"(private.alarms) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_line"(private.alarms) TO "postgres";

REVOKE ALL ON FUNCTION "private"."alarm_object"(private.alarms) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_object"(private.alarms) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_object"(private.alarms) TO "postgres";

REVOKE ALL ON FUNCTION "private"."alarm_stops"(private.alarms) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_stops"(private.alarms) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_stops"(private.alarms) TO "postgres";

REVOKE ALL ON FUNCTION "private"."alarm_summary"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_summary"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_summary"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."alarm_texts"(private.alarms) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_texts"(private.alarms) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_texts"(private.alarms) TO "postgres";

REVOKE ALL ON FUNCTION "private"."announce_alarms"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."announce_alarms"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."announce_alarms"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."book_repairs"(private.due_bonus[], timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."book_repairs"(private.due_bonus[], timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."book_repairs"(private.due_bonus[], timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."changed_fields"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."changed_fields"(jsonb, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."changed_fields"(jsonb, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."changes_json"(private.sum_change[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."changes_json"(private.sum_change[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."changes_json"(private.sum_change[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_dead_jobs"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_dead_jobs"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_dead_jobs"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_disks"(jsonb, numeric, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_disks"(jsonb, numeric, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_disks"(jsonb, numeric, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_failed_mail"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_failed_mail"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_failed_mail"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."earning_day_differences"(integer, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earning_day_differences"(integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earning_day_differences"(integer, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_repairing"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_repairing"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_repairing"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."lock_sums"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."lock_sums"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."lock_sums"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_alarms"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_alarms"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_alarms"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."network_differences"(integer, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."network_differences"(integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."network_differences"(integer, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."positions_with_alarm"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."positions_with_alarm"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."positions_with_alarm"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."propagate_staged_totals"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."propagate_staged_totals"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."propagate_staged_totals"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_counter_values"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_counter_values"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_counter_values"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_earning_days"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_earning_days"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_earning_days"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_flows"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_flows"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_flows"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_journal"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_journal"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_journal"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_members"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_members"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_members"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_networks"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_networks"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_networks"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_positions"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_positions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_positions"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_sums"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_sums"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_sums"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_team_days"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_team_days"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_team_days"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_totals"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_totals"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_totals"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_violations"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."record_violations"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_violations"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."repair_bonuses"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."repair_bonuses"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."repair_bonuses"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."repair_items"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."repair_items"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."repair_items"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_no_alarm"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_no_alarm"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_no_alarm"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rule_texts"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rule_texts"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rule_texts"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."sound_discrepancies"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sound_discrepancies"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sound_discrepancies"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."sums_follow_rows"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sums_follow_rows"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sums_follow_rows"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."team_day_discrepancies"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."team_day_discrepancies"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."team_day_discrepancies"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."violation_alarms"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."violation_alarms"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."violation_alarms"(jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."acknowledge_alarm"(uuid, text) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."acknowledge_alarm"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."acknowledge_alarm"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."list_alarms"(jsonb) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."list_alarms"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."list_alarms"(jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."rebuild_counters"(text) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."rebuild_counters"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."rebuild_counters"(text) TO "postgres";
