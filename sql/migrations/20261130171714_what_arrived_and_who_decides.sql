-- An approval says what arrived, and the rest is asked for; what completes a package is cash-in. A payout in spite of warnings
-- takes a reason. Rows of money that are wrong in themselves stop a rebuild, and two people have them made again what their
-- sources say. What decides where money goes, and who decides, is what the audit log last said of it. Each journal row says
-- the balance after it.
-- The dropped functions are back with other arguments, the views with other columns.
-- squawk-ignore-file ban-drop-view, ban-drop-function, ban-drop-constraint, require-concurrent-index-creation, require-concurrent-index-deletion
-- squawk-ignore-file constraint-missing-not-valid, adding-foreign-key-constraint, adding-serial-primary-key-field

SET local check_function_bodies = off;

DROP TRIGGER "_500_note_change" ON "private"."profiles";

DROP VIEW "private"."administrator_discrepancies";

DROP VIEW "private"."due_audit_entries";

DROP VIEW "private"."member_discrepancies";

DROP VIEW "private"."money_audit_entries";

DROP VIEW "private"."position_discrepancies";

DROP VIEW "private"."corrected_fundings";

ALTER TABLE "private"."alarms"
  DROP CONSTRAINT "alarms_kind_check";

ALTER TABLE "private"."corrections"
  DROP CONSTRAINT "corrections_kind_check";

ALTER TABLE "private"."request_texts"
  DROP CONSTRAINT "request_texts_pkey";

ALTER TABLE "private"."settings"
  DROP CONSTRAINT "settings_kind_check";

DROP FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean);

DROP FUNCTION "private"."balance_discrepancies"(private.ledger_part);

DROP FUNCTION "private"."balances_after"(uuid, timestamp WITH time zone[], uuid[]);

DROP FUNCTION "private"."book_repairs"(private.due_bonus[], timestamp WITH time zone);

DROP FUNCTION "private"."deposit_kind"(numeric, numeric);

DROP FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]);

DROP FUNCTION "private"."notify_decision"(text, uuid, numeric, public.request_status, text);

DROP FUNCTION "private"."rebuild_earning_days"();

DROP FUNCTION "private"."rebuild_journal"();

DROP FUNCTION "private"."reconcile"();

DROP FUNCTION "private"."require_no_alarm"(uuid);

DROP FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer);

DROP FUNCTION "public"."decide_deposit"(uuid, text, text);

DROP FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean);

CREATE TABLE "private"."deposit_rests" (
  "deposit_id"       uuid                     NOT NULL,
  "no"               integer                  NOT NULL,
  "received_amount"  public.usd               NOT NULL,
  "asked_by"         uuid                     NOT NULL,
  "asked_at"         timestamp with time zone NOT NULL,
  "reference_number" text,
  "referenced_at"    timestamp with time zone,
  "ended_at"         timestamp with time zone,
  CONSTRAINT "a_reference_has_its_time" CHECK (((reference_number IS NULL) = (referenced_at IS NULL))),
  CONSTRAINT "deposit_rests_no_check" CHECK ((no > 0)),
  CONSTRAINT "deposit_rests_pkey" PRIMARY KEY (deposit_id, NO),
  CONSTRAINT "deposit_rests_received_amount_check" CHECK ((((received_amount)::numeric >= 0.01) AND ((received_amount)::numeric <= (10000000)::numeric))),
  CONSTRAINT "deposit_rests_reference_number_check" CHECK (((length(reference_number) >= 1) AND (length(reference_number) <= 200)))
);

ALTER TABLE "private"."deposit_rests"
  ENABLE ROW LEVEL SECURITY;

CREATE TABLE "private"."schema_objects" (
  "object" text NOT NULL,
  "digest" text NOT NULL,
  CONSTRAINT "schema_objects_pkey" PRIMARY KEY (object)
);

ALTER TABLE "private"."schema_objects"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."admin_users"
  ADD COLUMN "revision" bigint NOT NULL DEFAULT 1;

ALTER TABLE "private"."corrections"
  ADD COLUMN "restores" jsonb;

ALTER TABLE "private"."profiles"
  ADD COLUMN "revision" bigint NOT NULL DEFAULT 1;

ALTER TABLE "private"."settings"
  ADD COLUMN "revision" bigint NOT NULL DEFAULT 1;

ALTER TABLE "public"."deposits"
  ADD COLUMN "received_amount" public.usd;

ALTER TABLE "public"."transactions"
  ADD COLUMN "balance_after" public.usd;

CREATE TYPE "private"."row_change" AS (
  "table_name" regclass,
  "key"        jsonb,
  "old"        jsonb,
  "new"        jsonb
);

CREATE OR REPLACE FUNCTION edge.confirm_totp (
  p_admin_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_fresh_admin_proof('turn two-step sign-in on');
    update private.admin_users as a set totp_confirmed_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id and a.totp_secret is not null and a.totp_confirmed_at is null;
    if not found then
        return;
    end if;
    delete from public.admin_sessions as s
    where s.admin_id = p_admin_id and s.session_token is distinct from private.uuid_claim(auth.jwt(), 'sid');
    perform private.audit(
        'admin:' || p_admin_id, 'admin.two_step_on', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['two_step'])
    );
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was turned on.', p_admin_id);
end
$function$;

CREATE OR REPLACE FUNCTION edge.create_administrator (
  p_caller    uuid,
  p_email     text,
  p_full_name text,
  p_role      text,
  p_hash      text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    perform private.require_fresh_admin_proof('create an administrator');
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id,
        pg_catalog.jsonb_build_object('role', p_role, 'is_active', true)
        || private.administrator_entry(v_admin.id)
    );
    perform private.mail_admin_change(
        v_admin.id, pg_catalog.format('The account was created, with the role %s.', pg_catalog.replace(p_role, '_', ' ')), v_caller.id
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin)) || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION edge.remove_totp (
  p_admin_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.is_demo() and (select a.role from private.admin_users as a where a.id = p_admin_id) <> 'support_admin' then
        perform private.raise_error(403, 'two_step_required', 'Your role needs two-step sign-in.');
    end if;
    perform private.require_fresh_admin_proof('turn two-step sign-in off');
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    perform private.audit(
        'admin:' || p_admin_id, 'admin.two_step_off', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['two_step'])
    );
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was turned off.', p_admin_id);
end
$function$;

CREATE OR REPLACE FUNCTION edge.reset_admin_password (
  p_caller   uuid,
  p_admin_id uuid,
  p_hash     text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Change your own password with the current one.');
    end if;
    perform private.require_fresh_admin_proof('reset a password');
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id returning a.* into v_admin;
    if v_admin.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.password_reset', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['password'])
    );
    perform private.mail_admin_change(p_admin_id, 'The password was reset.', v_caller.id);
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin));
end
$function$;

CREATE OR REPLACE FUNCTION edge.set_admin_password (
  p_admin_id     uuid,
  p_hash         text,
  p_keep_session uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp() where a.id = p_admin_id;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id and s.session_token is distinct from p_keep_session;
    perform private.audit(
        'admin:' || p_admin_id, 'admin.password_changed', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['password'])
    );
    perform private.mail_admin_change(p_admin_id, 'The password was changed.', p_admin_id);
end
$function$;

CREATE OR REPLACE FUNCTION jobs.check_schema()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_found jsonb := (
        select pg_catalog.jsonb_object_agg(d.object, d.difference) from (
            select s.object, s.difference from private.schema_discrepancies as s order by s.object limit 50
        ) as d
    );
begin
    if v_found is null then
        perform private.end_alarm('schema', 'changed');
    else
        perform private.raise_alarm('schema', 'changed', null, v_found);
    end if;
    return coalesce(v_found, '{}');
end
$function$;

CREATE OR REPLACE FUNCTION jobs.reconcile()
  RETURNS integer
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select private.reconcile(private.is_misplacement_known())
$function$;

CREATE OR REPLACE FUNCTION jobs.report_installation (
  p_site_url    text,
  p_mail_server text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update private.settings as s set value = pg_catalog.to_jsonb(p_site_url), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'site.url' and s.value is distinct from pg_catalog.to_jsonb(p_site_url);
    if found then
        perform private.audit_setting('system', 'site.url');
    end if;
    update private.settings as s set value = pg_catalog.to_jsonb(p_mail_server), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'mail.server' and s.value is distinct from pg_catalog.to_jsonb(p_mail_server);
    if found then
        perform private.audit_setting('system', 'mail.server');
        -- The test email was another server's.
        update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = null
        where s.key = 'mail.ready' and s.value = 'true';
        if found then
            perform private.audit_setting('system', 'mail.ready');
        end if;
    end if;
    return '{}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION pre_request.check_request()
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_role text := pg_catalog.current_setting('role', true);
    v_claims jsonb;
begin
    if v_role = 'service_role' then
        return;
    end if;
    perform private.require_exact_count();
    if v_role = 'anon' then
        perform private.check_anonymous_request(pg_catalog.current_setting('request.path', true));
        return;
    end if;
    v_claims := nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb;
    -- PostgREST accepts a token without an audience.
    if v_claims -> 'aud' is null or not (v_claims -> 'aud' ? 'authenticated') then
        perform private.raise_error(401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.');
    end if;
    if v_role = 'authenticated' then
        perform private.check_member_session(v_claims);
    elsif v_role = 'platform_admin' then
        perform private.check_administrator_session(v_claims);
    else
        perform private.raise_error(403, 'forbidden', 'You are not allowed to do this.');
    end if;
    if session_user = 'authenticator' then
        perform private.take_place(v_claims ->> 'sub');
        perform private.limit_read();
    end if;
-- A lock on what it reads, such as a migration's: PostgREST has a 500 for it, with the database's words.
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$function$;

CREATE OR REPLACE FUNCTION private.add_payout_reference (
  p_withdrawal public.withdrawals,
  p_member     private.profiles,
  p_admin      private.admin_users,
  p_reference  text,
  p_shared     boolean,
  p_reason     text
)
  RETURNS public.withdrawals
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
    v_warned jsonb;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    perform private.require_plausible_reference(v_reference);
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    perform private.require_new_payout((p_withdrawal).id, v_reference, p_shared);
    v_warned := private.require_payout_reason(p_withdrawal, p_member, p_reason);
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal) || v_warned,
        v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$function$;

CREATE OR REPLACE FUNCTION private.administrator_entry (
  p_admin_id uuid,
  p_changed  text[] DEFAULT NULL::text[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select private.state_entry(a.id, a.revision, private.administrator_state(a), p_changed) from private.admin_users as a where a.id = p_admin_id
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.administrator_state (
  p_admin private.admin_users
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'email', (p_admin).email, 'role', (p_admin).role, 'is_active', (p_admin).is_active,
        'password', private.digest_text((p_admin).password_hash),
        'two_step', private.digest_text(
            private.utc_text((p_admin).totp_confirmed_at) || ' ' || (p_admin).totp_key_id || ' ' || pg_catalog.encode((p_admin).totp_secret, 'hex')
        )
    )
$function$;

CREATE OR REPLACE FUNCTION private.alarm_gauges()
  RETURNS TABLE (
    name   text,
    labels jsonb,
    value  double precision
  )
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select 'harborline_open_alarms', pg_catalog.jsonb_build_object('kind', k.kind), count(a.id)::double precision
    from pg_catalog.unnest(array['ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail', 'backup', 'restored', 'schema']) as k (kind)
    left join private.alarms as a on k.kind = a.kind and a.ended_at is null and a.acknowledged_at is null
    group by k.kind
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
            -- A bonus or an order names a place in the tree by its number.
            'at_place', (
                select pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id)
                from private.positions as o inner join private.profiles as m on o.user_id = m.user_id
                where
                    (p_alarm).kind = 'ledger_violation'
                    and o.no = pg_catalog.substring((p_alarm).object, '\AI(?:10|11|41) (?:[a-z]+ )?([0-9]{1,9})(?: |\Z)')::integer
            ),
            'profile_id', p.id, 'username', p.username,
            'raised_at', (p_alarm).raised_at, 'changed_at', (p_alarm).changed_at, 'last_seen', (p_alarm).last_seen,
            'ended_at', (p_alarm).ended_at, 'mailed_at', (p_alarm).mailed_at,
            'acknowledged_at', (p_alarm).acknowledged_at, 'acknowledged_by_name', coalesce(a.full_name, a.email), 'reason', (p_alarm).reason,
            'members', (
                select pg_catalog.jsonb_object_agg(m.user_id, pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id))
                from private.profiles as m
                where (p_alarm).kind = 'repair' and m.user_id::text in (
                    select i.id from pg_catalog.jsonb_array_elements((p_alarm).details -> 'repairs') as r (value)
                    cross join lateral (values (r.value ->> 'user_id'), (r.value ->> 'taken_from')) as i (id)
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
        'Member: ' || p.username || '.',
        'Administrator: ' || (private.alarm_object(p_alarm) ->> 'name') || '.',
        pg_catalog.format('Since %s UTC.', pg_catalog.to_char((p_alarm).raised_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI')),
        case
            when (p_alarm).ended_at is not null then pg_catalog.format('Over since %s UTC.', pg_catalog.to_char((p_alarm).ended_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
            when (p_alarm).acknowledged_at is not null then 'Acknowledged.'
            when private.alarm_stops(p_alarm) = 'everybody' then 'Every decision about money is blocked.'
            when private.alarm_stops(p_alarm) = 'member' then 'Decisions about this member''s money are blocked.'
            when private.alarm_stops(p_alarm) = 'administrator' then 'Decisions of this administrator are blocked.'
            when private.alarm_stops(p_alarm) = 'setting' then 'Decisions that depend on this setting are blocked.'
            else 'Decisions go on.'
        end
    )
    from private.alarm_texts(p_alarm) as t
    left join private.profiles as p on p.user_id = (p_alarm).user_id
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
        when (p_alarm).kind not in ('ledger_violation', 'restored') or (p_alarm).ended_at is not null or (p_alarm).acknowledged_at is not null then null
        when (p_alarm).user_id is not null then 'member'
        when (p_alarm).object like 'I49%' then 'administrator'
        when (p_alarm).object like 'I51%' then 'member'
        when (p_alarm).object like 'I52 %' then case
            when pg_catalog.substr((p_alarm).object, 5) = any(private.governing_settings('deposit') || private.governing_settings('withdrawal'))
                then 'setting'
        end
        else 'everybody'
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
        'stopped_members', coalesce(pg_catalog.jsonb_agg(distinct a.user_id) filter (where s.stops = 'member' and a.user_id is not null), '[]'),
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
        ), 'Find out who changed the rows: the product never does. Nothing else is to be done: journal and sums agree.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back immediately: members send their deposits there.'),
        ('deposit_address', 'unexpected', pg_catalog.format('Members are shown the deposit address %s, which is not the expected one.', v_details ->> 'shown'), 'Find out who changed it before another deposit is sent.'),
        ('audit_entry', 'any', 'Entries wait to be written into the audit log''s chain.', 'See whether the worker runs, and what its log says.'),
        ('disk', 'any', pg_catalog.format('The disk of %s is more than %s%% full.', (p_alarm).object, v_details ->> 'above'), 'Make room before it is full: the product stops then.'),
        ('dead_job', 'any', pg_catalog.format('The job %s failed and was given up.', pg_catalog.regexp_replace((p_alarm).object, '^.*:', '')), 'See Readiness: the failed jobs are listed there with their times. This ends when the job works again.'),
        ('failed_mail', 'any', pg_catalog.format(
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One email' else v_details ->> 'emails' || ' emails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'A super administrator sees the reasons under Readiness and sends them again there.'),
        ('backup', 'off', 'No backups are made.', 'Switch them on: what happens meanwhile is lost with this machine.'),
        ('backup', 'database', case when v_details ->> 'last' is null then 'No backup of the database was finished yet.' else pg_catalog.format('The last backup of the database is of %s UTC.', v_details ->> 'last') end, 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'files', pg_catalog.format('Receipts and keys are not known to be in the backups %s.', coalesce('since ' || (v_details ->> 'last') || ' UTC', 'yet')), 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'wal', pg_catalog.format('Changes of the database have not reached the backups since %s UTC.', v_details ->> 'last'), 'PostgreSQL''s log says why. The disk of the database fills up meanwhile.'),
        ('backup', 'proof', 'No backup was restored to try it for more than forty days.', 'Run: make restore-drill.'),
        ('schema', 'any', pg_catalog.format(
            'The rules of the database are not what the last migration left: %s.',
            (select pg_catalog.string_agg(o.key, ', ') from (select k.key from pg_catalog.jsonb_object_keys(v_details) as k (key) order by k.key limit 3) as o)
        ), 'Find out who changed them: docs/runbooks/schema.md says how they are set back.'),
        ('restored', 'any', 'This is a copy that was restored from a backup. It sends no email and makes no decision.', 'Acknowledge this only when the original is gone and this copy takes over: compare the last withdrawals with the wallet first.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
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
    v_balance numeric;
    v_position integer;
begin
    if (p_correction).kind = 'void_withdrawal' then
        update public.withdrawals as w set voided_at = (p_correction).confirmed_at where w.id = (p_correction).target_id returning w.amount into v_amount;
        update private.totals as t set withdrawn_amount = t.withdrawn_amount - v_amount where t.user_id = (p_correction).user_id
        returning t.bonus_amount - t.withdrawn_amount into v_balance;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
        values (
            (p_correction).user_id, v_amount, 'withdrawal', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no,
            v_balance
        );
        perform private.increment_counter('withdrawals_approved', -v_amount);
        return;
    end if;
    if (p_correction).kind = 'repair_rows' then
        if private.restore_rows((p_correction).user_id) <> (p_correction).restores then
            perform private.raise_error(
                409, 'changed_since', 'Other rows are wrong than when this was proposed. Discard it, and propose again what is right now.'
            );
        end if;
        return;
    end if;
    if (p_correction).kind = 'void_deposit' then
        update public.deposits as d set voided_at = (p_correction).confirmed_at where d.id = (p_correction).target_id returning d.amount into v_amount;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        values (
            (p_correction).user_id, -v_amount, 'deposit', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no
        );
        perform private.increment_counter('deposits_approved', -v_amount);
        if (select p.cash_in_amount < v_amount from private.profiles as p where p.user_id = (p_correction).user_id) then
            perform private.raise_error(
                409, 'rows_wrong', 'This deposit never counted as cash-in, so nobody approved it through the product. Propose a repair of rows.'
            );
        end if;
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

CREATE OR REPLACE FUNCTION private.are_deposits_open()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return private.setting_text('deposit.open')::boolean and not exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.object = 'I52 deposit.address' and a.ended_at is null and a.acknowledged_at is null
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.are_keys_wrong (
  p_request_id uuid,
  p_reference  text,
  p_is_payout  boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return array(
        select k.key || ' ' || k.kind from private.transfer_keys as k
        where k.request_id = p_request_id and k.is_payout = p_is_payout order by k.key
    ) is distinct from array(
        select d.key || ' ' || d.kind
        from (
            select p_reference as reference
            union all
            select r.reference_number from private.deposit_rests as r
            where r.deposit_id = p_request_id and r.reference_number is not null and not p_is_payout
        ) as n
        cross join lateral private.due_transfer_keys(n.reference) as d
        order by d.key
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.ask_rest (
  p_admin      private.admin_users,
  p_deposit_id uuid,
  p_received   numeric
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_deposit public.deposits;
    v_rest private.deposit_rests;
    v_now timestamptz;
begin
    if p_received is null then
        perform private.raise_error(400, 'received_amount_required', 'Enter how much has arrived.');
    end if;
    v_deposit := private.lock_deposit(p_deposit_id, p_admin);
    if v_deposit.status <> 'pending' then
        perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
    end if;
    select * into v_rest from private.deposit_rests as r where r.deposit_id = p_deposit_id order by r.no desc limit 1;
    if v_rest.no is not null and v_rest.reference_number is null then
        if v_rest.asked_by <> (p_admin).id then
            perform private.raise_error(
                409, 'rest_asked', pg_catalog.format(
                    '%s asked for the rest %s: %s had arrived. Wait for the member''s reference, or decide the deposit.',
                    (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = v_rest.asked_by),
                    private.relative_time(v_rest.asked_at, private.clock()), private.dollars(v_rest.received_amount)
                )
            );
        end if;
        if v_rest.received_amount = p_received then
            return pg_catalog.jsonb_build_object(
                'success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)),
                'rest', private.rest_json(v_rest, v_deposit.amount)
            );
        end if;
    end if;
    perform private.require_no_alarm(v_deposit.user_id, 'deposit');
    if p_received >= v_deposit.amount - private.deposit_tolerance(v_deposit.amount) then
        perform private.raise_error(
            409, 'nothing_missing', case
                when p_received > v_deposit.amount + private.deposit_tolerance(v_deposit.amount)
                    then 'More arrived than the member claimed: there is no rest to ask for. Reject the deposit with a reason that names both amounts.'
                else pg_catalog.format(
                    'The member claimed %s, and %s arrived: that can be approved as it is.', private.dollars(v_deposit.amount), private.dollars(p_received)
                )
            end
        );
    end if;
    v_now := private.clock();
    update private.deposit_rests as r set ended_at = v_now where r.deposit_id = p_deposit_id and r.ended_at is null;
    insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at)
    values (p_deposit_id, coalesce(v_rest.no, 0) + 1, p_received, (p_admin).id, v_now)
    returning * into v_rest;
    perform private.notify_member(
        v_deposit.user_id, 'deposit_rest_asked', 'Part of your deposit is missing',
        pg_catalog.format(
            '%s of your deposit of %s arrived. Send the missing %s to the deposit address, then add the reference of that transfer to the deposit. It is credited once all has arrived.',
            private.dollars(p_received), private.dollars(v_deposit.amount), private.dollars(v_deposit.amount - p_received)
        ),
        v_deposit.amount - p_received, '/deposit'
    );
    perform private.audit(
        'admin:' || (p_admin).id, 'deposit.rest_asked', 'deposit', p_deposit_id, private.rest_facts(v_deposit, v_rest), v_now
    );
    return pg_catalog.jsonb_build_object(
        'success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)), 'rest', private.rest_json(v_rest, v_deposit.amount)
    ) || private.audit_entries();
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
    ) as e on d.object_id = e.object_id and d.action = e.action and d.rest_no = e.rest_no
    where
        d.object_id is null or e.id is null
        or (d.actors is not null and e.actor <> all(d.actors))
        or (d.roles is not null and not e.is_backfilled and coalesce(e.actor_role <> all(d.roles), true))
        or (e.is_earlier and not d.facts @> e.facts)
        or (not e.is_earlier and (e.facts <> case when e.is_without_kind then d.facts - 'kind' else d.facts end or e.at is distinct from d.at))
    union all
    -- One entry for each.
    select
        min(e.rule),
        e.object_id || ' ' || e.action || ' twice',
        min(private.uuid_or_null(e.user_text)::text)::uuid,
        pg_catalog.jsonb_build_object('entries', count(*))
    from (
        select m.object_id, m.action, m.rest_no
        from private.money_audit_entries as m
        where p_objects is null or m.object_id = any(p_objects)
        group by m.object_id, m.action, m.rest_no
        having count(*) > 1
    ) as t
    inner join private.money_audit_entries as e on t.object_id = e.object_id and t.action = e.action and t.rest_no = e.rest_no
    group by e.object_id, e.action, e.rest_no;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_setting (
  p_actor  text,
  p_key    text,
  p_before jsonb DEFAULT NULL::jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform private.audit(p_actor, 'setting.changed', null, null, (
        select pg_catalog.jsonb_strip_nulls(
            pg_catalog.jsonb_build_object('key', p_key, 'before', pg_catalog.left(p_before::text, 500), 'after', pg_catalog.left(s.value::text, 500))
        ) || pg_catalog.jsonb_build_object('state', private.setting_state(s))
        from private.settings as s where s.key = p_key
    ));
end
$function$;

CREATE OR REPLACE FUNCTION private.backfill_states()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform private.audit_setting('system', s.key)
    from private.settings as s
    where not exists (
        select 1 from private.audit_log as l
        where l.action = 'setting.changed' and l.payload ->> 'key' = s.key and l.payload operator(pg_catalog.?) 'state'
    )
    order by s.key;
    perform private.audit(
        'system', 'admin.recorded', 'admin_user', a.id,
        '{"backfilled": true}' || private.administrator_entry(a.id)
    )
    from private.admin_users as a
    where not exists (select 1 from private.audit_log as l where l.object_id = a.id and l.payload operator(pg_catalog.?) 'state')
    order by a.id;
    perform private.audit(
        'system', 'member.recorded', 'profile', p.id,
        '{"backfilled": true}' || private.member_entry(p.id)
    )
    from private.profiles as p
    where not exists (select 1 from private.audit_log as l where l.object_id = p.id and l.payload operator(pg_catalog.?) 'state')
    order by p.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.balance_at (
  p_user_id uuid,
  p_at      timestamp with time zone,
  p_id      uuid
)
  RETURNS numeric
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
begin
    return coalesce((
        select m.balance_after
        from (
            (
                select t.created_at as at, t.decision_no, t.id, t.balance_after
                from public.transactions as t
                where t.user_id = p_user_id and t.transaction_type = 'bonus' and (t.created_at, t.id) <= (p_at, p_id)
                order by t.created_at desc, t.id desc
                limit 1
            )
            union all
            (
                select w.decided_at, t.decision_no, t.id, t.balance_after
                from (
                    select q.id, q.decided_at from public.withdrawals as q
                    where q.user_id = p_user_id and q.status = 'approved' and (q.decided_at, q.id) <= (p_at, p_id)
                    order by q.decided_at desc, q.id desc
                    limit 1
                ) as w
                inner join public.transactions as t on t.transaction_type = 'withdrawal' and w.id = t.reference_id
            )
            union all
            (
                select c.confirmed_at, t.decision_no, t.id, t.balance_after
                from private.corrections as c
                inner join public.transactions as t on t.transaction_type = 'withdrawal' and c.id = t.reference_id
                where c.user_id = p_user_id and c.kind = 'void_withdrawal' and (c.confirmed_at, t.id) <= (p_at, p_id)
                order by c.confirmed_at desc, t.id desc
                limit 1
            )
        ) as m
        order by m.at desc, m.decision_no desc, m.id desc
        limit 1
    ), 0);
end
$function$;

CREATE OR REPLACE FUNCTION private.balance_discrepancies (
  p_part private.ledger_part
)
  RETURNS TABLE (
    user_id         uuid,
    wrong_journal   boolean,
    wrong_totals    boolean,
    wrong_counts    boolean,
    wrong_times     boolean,
    wrong_cash_in   boolean,
    wrong_package   boolean,
    wrong_funding   boolean,
    undecided_rows  bigint,
    unlike_balances bigint
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
    where m.wrong_times
    union all
    -- I53 The balance beside each journal row continues that of the last.
    select 'I53', m.user_id::text, m.user_id, pg_catalog.jsonb_build_object('rows', m.unlike_balances)
    from members as m
    where m.unlike_balances > 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  AS $function$
declare
    v_broken record;
    v_is_repair boolean := private.is_repairing();
begin
    select
        -- A pair that pays again may have been completed by its other child.
        bool_or(
            (n.bonus_type, n.subject_no, n.pair_number, n.created_at)
                is distinct from (o.bonus_type, o.subject_no, o.pair_number, o.created_at)
            or (not v_is_repair and n.user_id <> o.user_id)
            or (not v_is_repair and n.source_user_id <> o.source_user_id and (o.amount > 0 or o.bonus_type <> 'pairing'))
        ) as key,
        bool_or(n.amount < o.amount) as amount
    into v_broken
    from before as o left join after as n on o.id = n.id;
    if v_broken.key then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if v_broken.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return null;
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
    with sums as (
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
        returning t.user_id, t.bonus_amount - t.withdrawn_amount - s.referral - s.pairing - s.override as balance
    ), journal as (
        insert into public.transactions (id, user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
        select b.id, b.user_id, b.amount, 'bonus', 'completed', b.bonus_id, b.created_at, v_decision_no, b.balance
        from (
            -- The balance before goes first. Never joined, as in bonuses_record_update().
            select r.*, sum(r.amount) over (partition by r.user_id order by r.id nulls first rows unbounded preceding) as balance
            from (
                select private.time_ordered_id() as id, n.user_id, n.amount::numeric as amount, n.id as bonus_id, n.created_at
                from added as n where n.amount <> 0
                union all
                select null, s.user_id, s.balance, null, null from sums as s
            ) as r
        ) as b
        where b.id is not null
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
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.rows), ('bonus_volume', s.amount)
    ) as c (name, delta)
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
    ), earned as materialized (
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
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + e.referral, referral_count = t.referral_count + e.referrals,
            pairing_amount = t.pairing_amount + e.pairing, pairing_count = t.pairing_count + e.pairings,
            override_amount = t.override_amount + e.override, override_count = t.override_count + e.overrides,
            reentry_amount = t.reentry_amount + e.reentry
        from earned as e
        where t.user_id = e.user_id
        returning t.user_id, t.bonus_amount - t.withdrawn_amount - e.referral - e.pairing - e.override as balance
    ), journal as (
        insert into public.transactions (id, user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
        select b.id, b.user_id, b.amount, 'bonus', 'completed', b.bonus_id, v_now, v_decision_no, b.balance
        from (
            select r.*, sum(r.amount) over (partition by r.user_id order by r.id nulls first rows unbounded preceding) as balance
            from (
                select private.time_ordered_id() as id, c.user_id, c.amount, c.id as bonus_id from changed as c where c.amount <> 0
                union all
                select null, s.user_id, s.balance, null from sums as s
            ) as r
        ) as b
        where b.id is not null
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select p.no, (v_now at time zone 'UTC')::date, e.referral, e.pairing, e.override, 0
        from earned as e inner join private.positions as p on e.user_id = p.user_id
        where e.referral + e.pairing + e.override <> 0
        union all
        -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
        select c.subject_no, (c.created_at at time zone 'UTC')::date, 0, 0, 0, c.paid
        from changed as c where c.bonus_type = 'referral' and c.paid <> 0
    )
    insert into private.counter_deltas (name, delta)
    select d.name, d.delta
    from (
        select
            sum(c.amount) as amount,
            sum(c.paid) as rows,
            count(*) filter (where c.amount <> 0) as entries,
            sum(pg_catalog.abs(c.amount)) as volume
        from changed as c
    ) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.entries), ('bonus_volume', s.volume)
    ) as d (name, delta)
    where d.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.book_repairs (
  p_bonuses uuid[],
  p_at      timestamp with time zone
)
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_decision_no bigint := private.current_decision_no();
    v_changes private.sum_change[];
begin
    with journal as materialized (
        select t.reference_id, t.user_id, sum(t.amount) as amount
        from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = any(p_bonuses)
        group by t.reference_id, t.user_id
    ), due as (
        select b.id, b.user_id, b.amount, b.created_at from public.bonuses as b where b.id = any(p_bonuses)
    ), lacking as materialized (
        select
            coalesce(d.id, j.reference_id) as id,
            coalesce(d.user_id, j.user_id) as user_id,
            coalesce(j.amount, 0) as old,
            coalesce(d.amount, 0) as new,
            -- The first journal row of a bonus has its time.
            case when j.amount is null then d.created_at else p_at end as created_at
        from due as d full join journal as j on d.id = j.reference_id and d.user_id = j.user_id
        where coalesce(d.amount, 0) <> coalesce(j.amount, 0)
    ), booked as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select l.user_id, l.new - l.old, 'bonus', 'completed', l.id, l.created_at, v_decision_no from lacking as l
        returning amount
    ), counters as (
        insert into private.counter_deltas (name, delta)
        select c.name, c.delta
        from (select count(*) as entries, sum(pg_catalog.abs(b.amount)) as volume from booked as b) as s
        cross join lateral (values ('bonus_transactions', s.entries), ('bonus_volume', s.volume)) as c (name, delta)
        where s.entries > 0
    )
    select coalesce(pg_catalog.array_agg(
        row(
            'journal', l.id, l.user_id, pg_catalog.jsonb_build_object('amount', private.money(l.old)),
            pg_catalog.jsonb_build_object('amount', private.money(l.new))
        )::private.sum_change order by l.id, l.user_id
    ), '{}')
    into v_changes from lacking as l;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_setting (
  p_key   text,
  p_value jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_row private.settings;
    v_size numeric;
    v_ok boolean;
begin
    select * into v_row from private.settings as s where s.key = p_key;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such setting.');
    end if;
    v_ok := p_value is not null and case v_row.kind
        when 'text' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'time' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'integer' then pg_catalog.jsonb_typeof(p_value) = 'number' and p_value #>> '{}' ~ '\A-?[0-9]{1,15}\Z'
        when 'boolean' then pg_catalog.jsonb_typeof(p_value) = 'boolean'
        when 'amount' then pg_catalog.jsonb_typeof(p_value) = 'string' and p_value #>> '{}' ~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.raise_error(
            400, 'invalid_setting', pg_catalog.format(
                case v_row.kind when 'amount' then '%s must be an amount with at most two decimals, such as "5.00".' else '%s must be of type %s.' end,
                p_key, v_row.kind
            )
        );
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind in ('integer', 'amount') then (p_value #>> '{}')::numeric
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.is_trc20_address(p_value #>> '{}') then
        perform private.raise_error(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
    -- A line break in a name would begin another header of a mail, or another line of a log.
    if v_row.kind = 'text' and p_key not in ('terms.text', 'risk.text', 'operator.address') and p_value #>> '{}' ~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be one line.', p_key));
    end if;
    -- Shown as links: nothing that could close an attribute or begin another scheme, and one place for the hash.
    if p_key = 'support.url' and not p_value #>> '{}' ~ '\A(https://[a-zA-Z0-9.-]+(:[0-9]+)?(/[^\s"''<>{}\\]*)?)?\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address.');
    end if;
    if p_key = 'explorer.url' and not p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]+)?/[^\s"''<>{}\\]*\{hash\}[^\s"''<>{}\\]*\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address with {hash} in place of the transaction hash.');
    end if;
    -- Where the address leads is looked at by the worker, whenever it sends.
    if p_key = 'alarm.webhook_url' and not (
        p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]{1,5})?(/\S*)?\Z'
        or private.is_demo() and p_value #>> '{}' ~ '\Ahttp://(127\.0\.0\.1|localhost)(:[0-9]{1,5})?(/\S*)?\Z'
    ) then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address. In demo mode http on this machine is taken too.');
    end if;
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
        -- No check counts as longer: private.believable_duration().
        private.is_recent(v_state.checked_at, least(v_state.check_duration, interval '10 minutes') * 9)
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
        check_duration = private.believable_duration(v_started, s.check_duration),
        rules = v_rules,
        violations = pg_catalog.jsonb_array_length(v_found),
        whole_at = v_started,
        seen_since = v_started,
        seen_seq = v_seq;
    perform private.record_violations(v_found);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION private.close_profile (
  p_user_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_now timestamptz := private.clock();
    v_left jsonb := private.money_left(p_user_id);
    v_actor text := private.closing_actor(v_member.id, p_user_id);
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    -- While the address is still known.
    perform private.notify_member(
        p_user_id, 'account_closed', 'Your account was closed',
        'You can no longer sign in. Pending requests were cancelled. If this was not you, contact support.', null, null
    );
    perform private.cancel_requests(p_user_id, null, 'Account closed', v_actor);
    delete from private.bot_secrets as b using public.bot_subscriptions as s
    where s.id = b.subscription_id and s.user_id = p_user_id;
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = v_now
    where s.user_id = p_user_id and s.status <> 'cancelled';
    update private.profiles as p set
        account_status = 'disabled',
        username = private.closed_username(p.id),
        display_name = 'Closed account',
        email = null,
        trc20_wallet_address = null,
        hold_until = null,
        hold_reason = null,
        closed_at = v_now
    where p.id = v_member.id;
    perform private.audit(
        v_actor, 'member.closed', 'profile', v_member.id,
        pg_catalog.jsonb_build_object('money_left', v_left)
        || private.member_entry(v_member.id)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.correctable_member (
  p_kind      text,
  p_target_id uuid
)
  RETURNS uuid
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select d.user_id from public.deposits as d
    where p_kind = 'void_deposit' and d.id = p_target_id and d.status = 'approved' and d.voided_at is null
    union all
    select w.user_id from public.withdrawals as w
    where p_kind = 'void_withdrawal' and w.id = p_target_id and w.status = 'approved' and w.voided_at is null and w.payout_reference is null
    union all
    select p.user_id from private.profiles as p
    where p.id = p_target_id and (p_kind = 'repair_rows' or (p_kind = 'set_package' and p.closed_at is null))
$function$;

CREATE OR REPLACE FUNCTION private.correction_changes (
  p_ids uuid[]
)
  RETURNS private.row_change[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select array(
        select row(
            'private.corrections', pg_catalog.jsonb_build_object('id', i.id), case when c.id is not null then pg_catalog.to_jsonb(c) end,
            case when q.id is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                c, q.request || pg_catalog.jsonb_build_object(
                    'id', i.id, 'proposed_at', q.requested_at, 'decision_no', q.decision -> 'decision_no',
                    'confirmed_at', case q.verb when 'confirmed' then q.decided_at end,
                    'confirmed_by', case q.verb when 'confirmed' then q.decided_by end,
                    -- A row that is deleted says no more than that its transaction is over.
                    'confirmed_in', case q.verb when 'confirmed' then coalesce(c.confirmed_in, '1') end,
                    'discarded_at', case q.verb when 'discarded' then q.decided_at end,
                    'discarded_by', case q.verb when 'discarded' then q.decided_by end
                )
            )) end
        )::private.row_change
        from pg_catalog.unnest(p_ids) as i (id)
        left join private.corrections as c on i.id = c.id
        left join lateral (select r.* from private.recorded_requests as r where r.id = i.id and r.noun = 'correction') as q on true
        where q.id is not null or (c.id is not null and private.has_no_entry(c.id))
        order by i.id
    )
$function$;

CREATE OR REPLACE FUNCTION private.correction_facts (
  p_correction private.corrections
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_correction).user_id, 'kind', (p_correction).kind, 'target_id', (p_correction).target_id,
        'value', private.money((p_correction).value), 'reason', (p_correction).reason, 'proposed_by', (p_correction).proposed_by,
        'decision_no', (p_correction).decision_no
    ) || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'based_on_package', private.money((p_correction).based_on_package), 'based_on_cash_in', private.money((p_correction).based_on_cash_in)
    )) || case when (p_correction).restores is not null then pg_catalog.jsonb_build_object('restores', (p_correction).restores) else '{}' end
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
            'based_on_package', private.money(c.based_on_package),
            'based_on_cash_in', private.money(c.based_on_cash_in),
            'restores', c.restores,
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

CREATE OR REPLACE FUNCTION private.correction_text (
  p_correction private.corrections
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select case (p_correction).kind
        when 'void_deposit' then (select 'To void the deposit of ' || private.dollars(d.amount) from public.deposits as d where d.id = (p_correction).target_id)
        when 'void_withdrawal' then (select 'To void the withdrawal of ' || private.dollars(w.amount) from public.withdrawals as w where w.id = (p_correction).target_id)
        when 'repair_rows' then 'To make rows again what their sources say, ' || pg_catalog.jsonb_array_length((p_correction).restores) || ' in all,'
        else 'To set the package to ' || private.dollars((p_correction).value)
    end || (select ' of member ' || p.username || '.' from private.profiles as p where p.user_id = (p_correction).user_id)
$function$;

CREATE OR REPLACE FUNCTION private.count_revision()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    -- Above what the audit log says too: a count that somebody set back does not stay behind for ever.
    new.revision := 1 + greatest(old.revision, (private.last_state(old.id) ->> 'revision')::bigint);
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_administrator (
  p_email         text,
  p_full_name     text,
  p_role          public.admin_role,
  p_password_hash text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id uuid;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role, p_password_hash)
    returning id into v_id;
    perform private.audit(
        'system', 'admin.created', 'admin_user', v_id,
        pg_catalog.jsonb_build_object('role', p_role, 'is_active', true)
        || private.administrator_entry(v_id)
    );
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_profile (
  p_user_id      uuid,
  p_email        text,
  p_username     text,
  p_display_name text,
  p_referrer_id  uuid
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id uuid := pg_catalog.gen_random_uuid();
begin
    insert into private.profiles (id, user_id, username, display_name, email, referrer_id, depth, jump)
    values (v_id, p_user_id, p_username, p_display_name, pg_catalog.lower(p_email), p_referrer_id, 0, v_id);
    -- Other sign-ups of the address are void now, too.
    delete from private.username_reservations as r
    where pg_catalog.lower(r.username) = pg_catalog.lower(p_username) or r.email = pg_catalog.lower(p_email);
    perform private.audit(
        'member:' || p_user_id, 'member.joined', 'profile', v_id, private.member_entry(v_id)
    );
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.credit_deposit (
  p_deposit public.deposits
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_position private.positions;
begin
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount + (p_deposit).amount,
        -- The larger of the two, in whatever order pending deposits are approved.
        package_value = greatest(p.package_value, coalesce((
            select k.value from private.packages as k where k.value = (p_deposit).amount and (p_deposit).kind <> 'cash_in'
        ), 0))
    where p.user_id = (p_deposit).user_id;
    select * into v_position from private.positions as o where o.user_id = (p_deposit).user_id;
    perform private.post_bonuses(v_position.no, (p_deposit).decided_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.current_schema_objects()
  RETURNS TABLE (
    object text,
    digest text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with schemas as materialized (
        select n.oid, n.nspname from pg_catalog.pg_namespace as n
        where n.nspname in ('public', 'private', 'pre_request', 'hooks', 'edge', 'jobs')
    ),

    tables as materialized (
        select
            c.oid, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.relowner, c.relpersistence, c.relacl, c.reloptions,
            pg_catalog.format('%s.%s', s.nspname, c.relname) as name
        from pg_catalog.pg_class as c
        inner join schemas as s on c.relnamespace = s.oid
        -- A partition has what its table has, and is made by the worker.
        where c.relkind in ('r', 'p', 'v', 'S') and not c.relispartition
    ),

    triggers as materialized (
        select t.tgname, t.tgrelid, t.tgenabled, pg_catalog.pg_get_triggerdef(t.oid) as definition
        from pg_catalog.pg_trigger as t
        inner join pg_catalog.pg_class as c on t.tgrelid = c.oid
        inner join pg_catalog.pg_proc as p on t.tgfoid = p.oid
        left join schemas as f on p.pronamespace = f.oid
        where not t.tgisinternal
            -- On a table of the auth or storage service a function in public is a developer's own.
            and case
                when c.relnamespace in (select s.oid from schemas as s) then not c.relispartition
                when c.relnamespace::regnamespace::text in ('auth', 'storage') then f.nspname is distinct from 'public'
                -- The worker's queue comes later.
                else f.nspname <> 'public'
            end
    ),

    policies as materialized (
        select l.*, l.polrelid::regclass::text as name from pg_catalog.pg_policy as l
        where l.polrelid in (select b.oid from tables as b) or l.polrelid in ('storage.objects'::regclass, 'storage.buckets'::regclass)
    )

    select o.object, private.digest_text(o.definition)
    from (
        select
            pg_catalog.format('function %s.%s(%s)', s.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)) as object,
            pg_catalog.concat_ws(
                '|', pg_catalog.pg_get_userbyid(p.proowner), pg_catalog.pg_get_functiondef(p.oid),
                private.rights_text(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)))
            ) as definition
        from pg_catalog.pg_proc as p inner join schemas as s on p.pronamespace = s.oid
        where p.prokind in ('f', 'p')
        union all
        select pg_catalog.format('trigger %s on %s', t.tgname, t.tgrelid::regclass), t.tgenabled::text || t.definition
        from triggers as t
        union all
        -- The options of a view say whose rights it uses; those of a table are for operators to tune.
        select 'view ' || v.name, pg_catalog.concat_ws('|', pg_catalog.pg_get_viewdef(v.oid), v.reloptions)
        from tables as v where v.relkind = 'v'
        union all
        select
            'rights of ' || b.name,
            pg_catalog.concat_ws(
                '|', pg_catalog.pg_get_userbyid(b.relowner), private.rights_text(coalesce(b.relacl, pg_catalog.acldefault(case b.relkind when 'S' then 's' else 'r' end::"char", b.relowner))),
                (
                    select pg_catalog.string_agg(a.attname || ' ' || private.rights_text(a.attacl), ', ' order by a.attnum)
                    from pg_catalog.pg_attribute as a where a.attrelid = b.oid and a.attnum > 0 and not a.attisdropped and a.attacl is not null
                )
            )
        from tables as b
        union all
        select
            'columns of ' || b.name,
            b.relpersistence::text || pg_catalog.string_agg(
                pg_catalog.concat_ws(
                    ' ', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
                    pg_catalog.pg_get_expr(d.adbin, d.adrelid)
                ), ', ' order by a.attname collate "C"
            )
        from tables as b
        inner join pg_catalog.pg_attribute as a on b.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
        left join pg_catalog.pg_attrdef as d on a.attrelid = d.adrelid and a.attnum = d.adnum
        where b.relkind in ('r', 'p')
        group by b.oid, b.name, b.relpersistence
        union all
        select
            pg_catalog.format('index %s on %s', i.indexrelid::regclass, b.name),
            pg_catalog.concat(pg_catalog.pg_get_indexdef(i.indexrelid), i.indisvalid)
        from pg_catalog.pg_index as i inner join tables as b on i.indrelid = b.oid
        -- Others only make it faster; those of a constraint are named there.
        where i.indisunique and not exists (select from pg_catalog.pg_constraint as c where c.conindid = i.indexrelid)
        union all
        select
            pg_catalog.format('type %s.%s', s.nspname, t.typname),
            pg_catalog.concat_ws(
                '|', pg_catalog.format_type(t.typbasetype, t.typtypmod), t.typnotnull,
                (
                    select pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(c.oid), ', ' order by c.conname)
                    from pg_catalog.pg_constraint as c where c.contypid = t.oid
                ),
                (select pg_catalog.string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_catalog.pg_enum as e where e.enumtypid = t.oid)
            )
        from pg_catalog.pg_type as t inner join schemas as s on t.typnamespace = s.oid
        where t.typtype in ('d', 'e')
        union all
        select 'rights of schema ' || n.nspname, private.rights_text(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)))
        from pg_catalog.pg_namespace as n inner join schemas as s on n.oid = s.oid
        union all
        select
            'role ' || r.rolname,
            pg_catalog.concat_ws(
                '|', r.rolsuper, r.rolbypassrls, r.rolcreaterole,
                (
                    select coalesce(pg_catalog.string_agg(g.rolname, ', ' order by g.rolname), '')
                    from pg_catalog.pg_auth_members as m inner join pg_catalog.pg_roles as g on m.roleid = g.oid
                    where m.member = r.oid
                ),
                (
                    select coalesce(pg_catalog.string_agg(g.rolname, ', ' order by g.rolname), '')
                    from pg_catalog.pg_auth_members as m inner join pg_catalog.pg_roles as g on m.member = g.oid
                    where m.roleid = r.oid
                )
            )
        from pg_catalog.pg_roles as r
        where r.rolname in ('anon', 'authenticated', 'authenticator', 'edge_functions', 'platform_admin', 'service_role', 'worker')
        union all
        select
            pg_catalog.format('constraint %s on %s', c.conname, b.name),
            pg_catalog.concat(
                pg_catalog.pg_get_constraintdef(c.oid), c.convalidated,
                -- A foreign key is enforced by triggers of its own.
                (select pg_catalog.string_agg(distinct t.tgenabled::text, '') from pg_catalog.pg_trigger as t where t.tgconstraint = c.oid)
            )
        from pg_catalog.pg_constraint as c inner join tables as b on c.conrelid = b.oid
        -- The worker's partitions bring theirs.
        where c.conparentid = 0
        union all
        select
            pg_catalog.format('policy %s on %s', l.polname, l.name),
            pg_catalog.concat_ws(
                '|', l.polcmd, l.polpermissive, l.polroles::regrole[],
                pg_catalog.pg_get_expr(l.polqual, l.polrelid), pg_catalog.pg_get_expr(l.polwithcheck, l.polrelid)
            )
        from policies as l
        union all
        select 'row-level security of ' || b.name, pg_catalog.concat(b.relrowsecurity, b.relforcerowsecurity)
        from tables as b where b.relkind in ('r', 'p')
        union all
        select pg_catalog.format('row-level security for %s', c.oid::regclass), pg_catalog.concat(c.relrowsecurity, c.relforcerowsecurity)
        from pg_catalog.pg_class as c where c.oid in ('storage.objects'::regclass, 'storage.buckets'::regclass)
        union all
        -- Settings of this database, of a role, or of both. Times and limits are for operators to tune.
        select 'settings of ' || coalesce(r.rolname, 'the database'), pg_catalog.string_agg(c.value, ', ' order by c.value)
        from pg_catalog.pg_db_role_setting as g
        left join pg_catalog.pg_roles as r on g.setrole = r.oid
        cross join pg_catalog.unnest(g.setconfig) as c (value)
        where
            g.setdatabase in (0, (select d.oid from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database()))
            and c.value ~ '^(session_replication_role|row_security|role|search_path|pgrst\..*|app\..*)='
        group by r.rolname
        union all
        select
            pg_catalog.format('default rights in %s of %s', coalesce(n.nspname, 'all schemas'), pg_catalog.pg_get_userbyid(d.defaclrole)),
            pg_catalog.string_agg(d.defaclobjtype::text || ' ' || coalesce(private.rights_text(d.defaclacl), ''), ', ' order by d.defaclobjtype)
        from pg_catalog.pg_default_acl as d left join pg_catalog.pg_namespace as n on d.defaclnamespace = n.oid
        where d.defaclnamespace = 0 or n.oid in (select s.oid from schemas as s)
        group by n.nspname, d.defaclrole
        union all
        select 'event trigger ' || e.evtname, pg_catalog.concat_ws('|', e.evtevent, e.evtenabled, e.evttags, e.evtfoid::regprocedure)
        from pg_catalog.pg_event_trigger as e
        union all
        select pg_catalog.format('rule %s on %s', r.rulename, b.name), pg_catalog.pg_get_ruledef(r.oid)
        from pg_catalog.pg_rewrite as r inner join tables as b on r.ev_class = b.oid
        where r.rulename <> '_RETURN'
    ) as o
$function$;

CREATE OR REPLACE FUNCTION private.deposit_decision_facts (
  p_deposit public.deposits
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount),
        'reason', (p_deposit).admin_notes, 'decision_no', (p_deposit).decision_no
    ) || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('received_amount', private.money((p_deposit).received_amount)))
$function$;

CREATE OR REPLACE FUNCTION private.deposit_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(d) || pg_catalog.jsonb_build_object(
            'amount', private.money(d.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', d.status = 'rejected' and d.decided_by is null,
            'received_amount', private.money(d.received_amount),
            'further_references', coalesce(f.numbers, '[]'),
            'rest', case when r.no is not null then
                private.rest_json(r, d.amount)
                || pg_catalog.jsonb_build_object('asked_by_name', (select coalesce(b.full_name, b.email) from private.admin_users as b where b.id = r.asked_by))
            end,
            'tolerance', case when d.status = 'pending' then private.money(private.deposit_tolerance(d.amount)) end,
            'due_at', coalesce(r.referenced_at, r.asked_at, d.created_at) + e.due_after,
            'total_deposits', private.money(p.cash_in_amount),
            'package_before', case when d.status = 'pending' then private.money(p.package_value) end,
            'package_after', case when d.status = 'pending' then private.money(greatest(p.package_value, k.value)) end,
            'cash_in_before', case when d.status = 'pending' then private.money(p.cash_in_amount) end,
            'cash_in_after', case when d.status = 'pending' then private.money(p.cash_in_amount + d.amount) end,
            'refusal', case when d.status = 'pending' then private.transfer_error(d.id) end,
            'flags', case when d.status = 'pending' then private.deposit_flags(d, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.deposits as d on u.id = d.id
    inner join private.profiles as p on d.user_id = p.user_id
    inner join private.totals as t on d.user_id = t.user_id
    left join private.packages as k on d.amount = k.value and d.kind <> 'cash_in'
    left join private.deposit_rests as r on d.id = r.deposit_id and r.ended_at is null
    -- Few have any: together, not by private.further_references() for each.
    left join (
        select s.deposit_id, pg_catalog.jsonb_agg(s.reference_number order by s.no) as numbers
        from private.deposit_rests as s
        where s.deposit_id = any(p_ids) and s.reference_number is not null
        group by s.deposit_id
    ) as f on d.id = f.deposit_id
    left join private.admin_users as a on d.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$function$;

CREATE OR REPLACE FUNCTION private.deposit_kind (
  p_amount  numeric,
  p_package numeric,
  p_cash_in numeric
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_is_size boolean := exists (select 1 from private.packages as k where k.value = p_amount);
begin
    if p_amount not between 1 and 10000000 then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.');
    end if;
    if p_amount <= private.missing_cash_in(p_package, p_cash_in) then
        return 'cash_in';
    end if;
    if p_package = 0 and not v_is_size then
        perform private.raise_error(
            400, 'package_required', pg_catalog.format(
                'Choose a package for your first deposit: %s.',
                (select pg_catalog.string_agg('$' || k.value::text, ', ' order by k.value) from private.packages as k)
            )
        );
    end if;
    if p_package > 0 and v_is_size and p_amount <= p_package then
        perform private.raise_error(400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return case when not v_is_size then 'cash_in' when p_package = 0 then 'first' else 'upgrade' end;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_request_facts (
  p_deposit public.deposits
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount), 'reference_number', (p_deposit).reference_number,
        'kind', (p_deposit).kind
    )
$function$;

CREATE OR REPLACE FUNCTION private.deposit_rests_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    if (new.deposit_id, new.no, new.received_amount, new.asked_by, new.asked_at)
        is distinct from (old.deposit_id, old.no, old.received_amount, old.asked_by, old.asked_at)
        or (coalesce(old.referenced_at, old.ended_at) is not null and (new.reference_number, new.referenced_at)
            is distinct from (old.reference_number, old.referenced_at))
        or (old.ended_at is not null and new.ended_at is distinct from old.ended_at) then
        perform private.raise_error(403, 'append_only', 'The rest of a deposit is asked for once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_tolerance (
  p_amount numeric
)
  RETURNS numeric
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return least(private.setting_text('deposit.tolerance')::numeric, pg_catalog.trunc(p_amount / 10, 2));
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_credit_once()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_error text := private.transfer_error(new.id);
begin
    if v_error is not null and not private.is_restoring_rows() then
        perform private.raise_error(409, 'reference_used', v_error);
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if private.is_restoring_rows() and new.id = old.id then
        return new;
    end if;
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no, new.received_amount)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no, old.received_amount))
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
    if private.is_restoring_rows() then
        return null;
    end if;
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    update private.deposit_rests as r set ended_at = new.decided_at where r.deposit_id = new.id and r.ended_at is null;
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

CREATE OR REPLACE FUNCTION private.deposits_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_receipt text := private.receipt_name(new.receipt_url);
    v_etag text;
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    v_etag := private.check_receipt(new.user_id, v_receipt, new.kind = 'first');
    insert into private.deposit_receipts (deposit_id, name, etag) values (new.id, v_receipt, v_etag);
    perform private.register_transfer(new.id, new.reference_number, false);
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.reference_number));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    perform private.audit(
        private.requester(), 'deposit.requested', 'deposit', new.id,
        private.deposit_request_facts(new) || pg_catalog.jsonb_build_object('receipt', private.receipt_facts(new.receipt_url, v_etag)), new.created_at
    );
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_record_void()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.is_repairing() then
        perform private.record_deposit_flow(new, -1);
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
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
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
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if not private.are_deposits_open() then
        perform private.raise_error(
            403, 'deposits_closed', 'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'
        );
    end if;
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value, v_member.cash_in_amount);
    new.reference_key := private.validate_reference(new.reference_number);
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    new.received_amount := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.digest_text (
  p_text text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  AS $function$
    select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(p_text, 'UTF8')), 'hex')
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
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount and d.kind <> 'cash_in'
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
                and d.decision_no > coalesce((select c.decision_no from correction as c), 0)
        ), 0)
    )
$function$;

CREATE OR REPLACE FUNCTION private.find_stored_bonuses (
  p_due private.due_bonus[],
  OUT   due private.due_bonus[],
  OUT   earners uuid[],
  OUT   in_journal boolean,
  OUT   in_place boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    select
        pg_catalog.array_agg(row(
            f.id, f.bonus_type, f.subject_no, f.pair_number, f.user_no, f.source_no, f.volume_cents, f.rate, f.cents
        )::private.due_bonus),
        pg_catalog.array_agg(distinct coalesce(f.user_id, o.owner_id)),
        bool_and(f.amount is not distinct from j.amount and j.elsewhere is not true),
        bool_and(f.id is null or (f.user_id is not distinct from o.owner_id and f.source_user_id = coalesce(o.source_id, f.source_user_id)))
    into due, earners, in_journal, in_place
    from (
        select w.*, b.id, b.user_id, b.source_user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'referral' and w.subject_no = b.subject_no
        where w.bonus_type = 'referral'
        union all
        select w.*, b.id, b.user_id, b.source_user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'pairing' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'pairing'
        union all
        select w.*, b.id, b.user_id, b.source_user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'override' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'override'
    ) as f
    left join private.positions as s on f.subject_no = s.no
    left join private.positions as u on s.referrer_no = u.no
    left join private.positions as c on case when f.bonus_type = 'pairing' then f.source_no end = c.no
    cross join lateral (
        select
            case when f.bonus_type = 'pairing' then s.user_id else u.user_id end as owner_id,
            case when f.bonus_type = 'pairing' then c.user_id else s.user_id end as source_id
    ) as o
    cross join lateral (
        select sum(t.amount) filter (where t.user_id = f.user_id) as amount, bool_or(t.user_id <> f.user_id) as elsewhere
        from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = f.id
    ) as j;
end
$function$;

CREATE OR REPLACE FUNCTION private.first_id_at (
  p_at timestamp with time zone
)
  RETURNS uuid
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.rpad(
        pg_catalog.encode(pg_catalog.substr(pg_catalog.int8send(pg_catalog.trunc(extract(epoch from p_at) * 1000)::bigint), 3), 'hex'), 32, '0'
    )::uuid
$function$;

CREATE OR REPLACE FUNCTION private.further_references (
  p_deposit_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(r.reference_number order by r.no), '[]') from private.deposit_rests as r
        where r.deposit_id = p_deposit_id and r.reference_number is not null
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.governing_settings (
  p_noun text
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case p_noun
        when 'deposit' then array['demo', 'deposit.address', 'deposit.open', 'deposit.tolerance', 'explorer.url']
        when 'withdrawal' then array['explorer.url', 'wallet.strict']
        else '{}'
    end
$function$;

CREATE OR REPLACE FUNCTION private.has_no_entry (
  p_id uuid
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select not exists (
        select from private.audit_log as l
        where l.object_id = p_id and l.action in ('deposit.requested', 'withdrawal.requested', 'correction.proposed')
    )
$function$;

CREATE OR REPLACE FUNCTION private.is_as_planned (
  p_bonus public.bonuses
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return exists (
        select from private.positions as s
        left join private.positions as u on s.referrer_no = u.no
        left join private.due_referrals as r on (p_bonus).bonus_type = 'referral' and s.no = r.subject_no
        left join private.due_pairings as p on (p_bonus).bonus_type = 'pairing' and s.no = p.subject_no and (p_bonus).pair_number = p.pair_no
        left join private.due_overrides as o on (p_bonus).bonus_type = 'override' and s.no = o.subject_no and (p_bonus).pair_number = o.pair_no
        where s.no = (p_bonus).subject_no
            and (p_bonus).user_id = case (p_bonus).bonus_type when 'pairing' then s.user_id else u.user_id end
            and (p_bonus).amount_cents = coalesce(r.cents, p.cents, o.cents, 0)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.is_being_confirmed (
  p_object text
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select exists (
        select from private.corrections as c
        where c.confirmed_in = pg_catalog.pg_current_xact_id_if_assigned() and starts_with(p_object, c.id::text)
    )
$function$;

CREATE OR REPLACE FUNCTION private.is_booked_back (
  p_bonus_id uuid,
  p_user_id  uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return exists (
        select from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = p_bonus_id and t.user_id = p_user_id
        having sum(t.amount) = 0 and exists (
            select from private.audit_log as a
            where a.actor = 'system' and a.action collate "C" = 'books.repaired'
                and a.payload -> 'decision_no' = pg_catalog.to_jsonb(max(t.decision_no))
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.is_booked_elsewhere_first (
  p_bonus_id uuid,
  p_user_id  uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return exists (
        select from public.transactions as t inner join public.bonuses as b on t.reference_id = b.id
        where t.reference_id = p_bonus_id and t.user_id <> p_user_id and t.created_at = b.created_at
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.is_misplacement_known()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select exists (
        select from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and left(a.object, 3) in ('I11', 'I12', 'I33')
    )
$function$;

CREATE OR REPLACE FUNCTION private.is_repairing()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce(pg_catalog.current_setting('app.repair', true), '') in ('on', 'rows');
end
$function$;

CREATE OR REPLACE FUNCTION private.is_restoring_rows()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce(pg_catalog.current_setting('app.repair', true), '') = 'rows';
end
$function$;

CREATE OR REPLACE FUNCTION private.is_stopped_by (
  p_object  text,
  p_user_id uuid,
  p_noun    text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return case
        when p_object = 'I49' then exists (select 1 from private.administrator_discrepancies as d where d.id = auth.uid())
        when p_object like 'I49 %' then p_object = 'I49 ' || auth.uid()
        when p_object = 'I51' then exists (
            select 1 from private.member_state_violations(private.listed_part(array[p_user_id], '{}')) as v where v.rule = 'I51'
        )
        when p_object like 'I52 %' then pg_catalog.substr(p_object, 5) = any(private.governing_settings(p_noun))
        else p_object <> 'I52'
    end;
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
$function$;

CREATE OR REPLACE FUNCTION private.last_state (
  p_object_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select l.payload -> 'state' from private.audit_log as l
        where l.object_id = p_object_id and l.payload operator(pg_catalog.?) 'state' and private.state_revision(l.payload) is not null
        order by private.state_revision(l.payload) desc, l.id desc limit 1
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_deposit (
  p_deposit_id uuid,
  p_admin      private.admin_users
)
  RETURNS public.deposits
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit.');
    end if;
    perform private.require_not_own_account(p_admin, v_deposit.user_id);
    perform private.lock_money();
    perform private.lock_members(private.upline_ids(v_deposit.user_id));
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id for no key update;
    return v_deposit;
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
        union
        select b.user_id from private.running_balances as b where b.balance_after is distinct from b.due_balance
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
    -- A repair of rows is what ends an alarm of theirs.
    perform private.require_no_alarm(v_correction.user_id, case when v_correction.kind = 'repair_rows' then 'repair' else 'correction' end);
    return v_correction;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_entry (
  p_profile_id uuid,
  p_changed    text[] DEFAULT NULL::text[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (select private.state_entry(p.id, p.revision, private.member_state(p), p_changed) from private.profiles as p where p.id = p_profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.member_money_data (
  p_user_id uuid
)
  RETURNS TABLE (
    list text,
    item jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    select 'deposits', pg_catalog.jsonb_build_object(
        'id', d.id, 'amount', private.money(d.amount), 'received_amount', private.money(d.received_amount), 'kind', d.kind, 'reference_number', d.reference_number, 'receipt_name', r.name,
        'status', d.status, 'admin_notes', d.admin_notes, 'created_at', d.created_at, 'decided_at', d.decided_at, 'voided_at', d.voided_at
    )
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    where d.user_id = p_user_id
    order by d.created_at, d.id;
    return query
    select 'deposit_rests', pg_catalog.jsonb_build_object(
        'deposit_id', r.deposit_id, 'no', r.no, 'received_amount', private.money(r.received_amount), 'asked_at', r.asked_at,
        'reference_number', r.reference_number, 'referenced_at', r.referenced_at
    )
    from private.deposit_rests as r
    inner join public.deposits as d on r.deposit_id = d.id
    where d.user_id = p_user_id
    order by r.asked_at, r.deposit_id, r.no;
    return query
    select 'withdrawals', pg_catalog.jsonb_build_object(
        'id', w.id, 'amount', private.money(w.amount), 'wallet_address', w.wallet_address, 'status', w.status, 'admin_notes', w.admin_notes,
        'payout_reference', w.payout_reference, 'created_at', w.created_at, 'decided_at', w.decided_at, 'payout_at', w.payout_at, 'voided_at', w.voided_at
    )
    from public.withdrawals as w where w.user_id = p_user_id
    order by w.created_at, w.id;
    return query
    select 'bonuses', pg_catalog.jsonb_build_object(
        'id', b.id, 'bonus_type', b.bonus_type, 'amount', private.money(b.amount), 'rate', private.percent(b.rate), 'volume', private.money(b.volume),
        'reentry_amount', private.money(b.reentry_amount), 'pair_number', b.pair_number, 'source_username', s.username, 'created_at', b.created_at
    )
    from public.bonuses as b
    inner join private.profiles as s on b.source_user_id = s.user_id
    where b.user_id = p_user_id
    order by b.created_at, b.id;
    return query
    select 'transactions', pg_catalog.jsonb_build_object(
        'id', t.id, 'transaction_type', t.transaction_type, 'amount', private.money(t.amount), 'status', t.status, 'reference_id', t.reference_id,
        'created_at', t.created_at, 'balance_after', private.money(t.balance_after)
    )
    from public.transactions as t where t.user_id = p_user_id
    order by t.created_at, t.id;
    return query
    select 'receipts', pg_catalog.jsonb_build_object(
        'name', o.name, 'bytes', (o.metadata ->> 'size')::bigint, 'type', o.metadata ->> 'mimetype', 'created_at', o.created_at
    )
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= p_user_id || '/' and o.name < p_user_id || '0'
    order by o.created_at, o.name;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_state (
  p_member private.profiles
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'wallet', (p_member).trc20_wallet_address, 'email', private.digest_text((p_member).id || ' ' || (p_member).email),
        'status', (p_member).account_status, 'hold_until', private.utc_text((p_member).hold_until), 'closed_at', private.utc_text((p_member).closed_at),
        'sponsor', private.digest_text((p_member).id || ' ' || (p_member).referrer_id), 'joined_at', private.utc_text((p_member).created_at)
    )
$function$;

CREATE OR REPLACE FUNCTION private.member_state_violations (
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
declare
    v_ids uuid[] := case
        when not private.is_everybody(p_part) then array(select p.id from private.profiles as p where private.is_asked(p_part, p.user_id))
    end;
begin
    return query
    with recorded as materialized (
        select distinct on (l.object_id)
            l.object_id,
            l.id,
            l.payload -> 'state' as state
        from private.audit_log as l
        where
            l.object_id is not null and l.payload operator(pg_catalog.?) 'state' and l.object_type = 'profile'
            and private.state_revision(l.payload) is not null
            and (v_ids is null or l.object_id = any(v_ids))
        order by l.object_id, private.state_revision(l.payload) desc, l.id desc
    ),

    due as materialized (
        select
            p.id,
            p.user_id,
            private.member_state(p) || pg_catalog.jsonb_build_object('revision', p.revision) as state,
            -- Sample data has no account to sign in with.
            case
                when u.id is not null and p.closed_at is null and pg_catalog.lower(u.email) is distinct from p.email
                    then pg_catalog.jsonb_build_array(pg_catalog.lower(u.email), p.email)
            end as wrong_emails
        from private.profiles as p
        left join auth.users as u on p.user_id = u.id
        where v_ids is null or p.id = any(v_ids)
    )

    -- I51 Wallet, email, status and hold of a member are what the last entry says, and the email is the one to sign in with.
    select
        'I51', d.id::text, d.user_id,
        private.state_differences(
            r.id,
            r.state - array['sponsor', 'joined_at'] || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('sign_in_email', d.wrong_emails -> 0)),
            d.state - array['sponsor', 'joined_at'] || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('sign_in_email', d.wrong_emails -> 1))
        )
    from due as d
    left join recorded as r on d.id = r.object_id
    where r.state - array['sponsor', 'joined_at'] is distinct from d.state - array['sponsor', 'joined_at'] or d.wrong_emails is not null
    union all
    -- I54 A member's sponsor and date of joining are what the entries say: they decide who earns.
    select
        'I54', d.id::text, d.user_id,
        private.state_differences(
            r.id, pg_catalog.jsonb_build_object('sponsor', r.state -> 'sponsor', 'joined_at', r.state -> 'joined_at'),
            pg_catalog.jsonb_build_object('sponsor', d.state -> 'sponsor', 'joined_at', d.state -> 'joined_at')
        )
    from due as d
    inner join recorded as r on d.id = r.object_id
    where (r.state -> 'sponsor', r.state -> 'joined_at') is distinct from (d.state -> 'sponsor', d.state -> 'joined_at')
    union all
    -- A closed account stays, so every member with an entry is there. Only the check of all looks for those who are not.
    select 'I51', r.object_id::text, r.object_id, private.state_differences(r.id, r.state, null)
    from recorded as r
    where v_ids is null and not exists (select from private.profiles as p where p.id = r.object_id)
    union all
    -- I20 The receipt of a deposit that waits is the one that came with it, under the name by which it is opened.
    select 'I20', d.id::text, d.user_id, private.state_differences(l.id, l.payload -> 'receipt', f.receipt)
    from public.deposits as d
    inner join private.audit_log as l on d.id = l.object_id and l.action = 'deposit.requested' and l.payload operator(pg_catalog.?) 'receipt'
    left join private.deposit_receipts as r on d.id = r.deposit_id
    cross join lateral (select private.receipt_facts(d.receipt_url, r.etag) as receipt) as f
    where
        d.status = 'pending' and private.is_asked(p_part, d.user_id)
        and (l.payload -> 'receipt' is distinct from f.receipt or r.name is distinct from private.receipt_name(d.receipt_url));
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
    select v.* from private.member_state_violations(p_part) as v
    union all
    -- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
    -- same.
    select v.* from private.audit_discrepancies(p_objects) as v
$function$;

CREATE OR REPLACE FUNCTION private.misplaced_bonuses()
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  SET work_mem TO '64MB'
  AS $function$
declare
    v_misplaced private.due_bonus[] := array(
        select row(null, b.bonus_type, b.subject_no, b.pair_number, null, null, null, null, null)::private.due_bonus
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        where b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end
            or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
            -- With the right amount another rate is another volume.
            or (b.bonus_type = 'referral' and b.amount_cents > 0 and b.rate <> private.referral_percent())
            or (b.bonus_type = 'override' and b.amount_cents > 0 and b.rate <> private.override_percent())
        union
        select row(null, b.bonus_type, b.subject_no, b.pair_number, null, null, null, null, null)::private.due_bonus
        from public.bonuses as b
        inner join private.positions as l on b.subject_no = l.referrer_no and b.pair_number = l.pair_no and l.is_left and l.paid_cents > 0
        inner join private.positions as r on b.subject_no = r.referrer_no and b.pair_number = r.pair_no and not r.is_left and r.paid_cents > 0
        where b.bonus_type = 'pairing' and b.amount_cents > 0
            and (
                b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
                or b.volume <> (l.paid_cents + r.paid_cents) * 0.01
            )
    );
begin
    -- A few are looked up.
    return array(
        select row(
            null, m.bonus_type, m.subject_no, m.pair_number, coalesce(r.user_no, p.user_no, o.user_no),
            case m.bonus_type when 'pairing' then private.pair_source(p.left_no, p.right_no) else m.subject_no end,
            coalesce(r.volume_cents, p.volume_cents, o.volume_cents, 0), coalesce(r.rate, p.rate, o.rate, 0),
            coalesce(r.cents, p.cents, o.cents, 0)
        )::private.due_bonus
        from pg_catalog.unnest(v_misplaced) as m
        left join private.due_referrals as r on m.bonus_type = 'referral' and m.subject_no = r.subject_no
        left join private.due_pairings as p on m.bonus_type = 'pairing' and m.subject_no = p.subject_no and m.pair_number = p.pair_no
        left join private.due_overrides as o on m.bonus_type = 'override' and m.subject_no = o.subject_no and m.pair_number = o.pair_no
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.missing_cash_in (
  p_package numeric,
  p_cash_in numeric
)
  RETURNS numeric
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return case when p_cash_in < p_package then greatest(p_package - p_cash_in, 1) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.money_as_text (
  p_row jsonb
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_object_agg(f.key, case
        when pg_catalog.jsonb_typeof(f.value) = 'number' and f.key in ('amount', 'volume', 'value', 'reentry_amount', 'balance_after')
            then pg_catalog.to_jsonb(private.money((f.value #>> '{}')::numeric))
        else f.value
    end)
    from pg_catalog.jsonb_each(p_row) as f
$function$;

CREATE OR REPLACE FUNCTION private.notify_decision (
  p_noun    text,
  p_user_id uuid,
  p_amount  numeric,
  p_status  public.request_status,
  p_reason  text,
  p_arrived numeric               DEFAULT NULL::numeric
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_body text := case
        when p_status = 'rejected' then pg_catalog.format('Your %s of %s was rejected. Reason: %s', p_noun, private.dollars(p_amount), p_reason)
        when p_noun = 'deposit' then pg_catalog.format(
            'Your deposit of %s was approved and counts from now on.%s', private.dollars(p_amount), ' ' || private.dollars(p_arrived) || ' arrived.'
        )
        else pg_catalog.format('Your withdrawal of %s was approved and will be paid to the wallet you named.', private.dollars(p_amount))
    end;
begin
    perform private.notify_member(
        p_user_id, p_noun || '_' || p_status, pg_catalog.initcap(p_noun) || ' ' || p_status, v_body, p_amount, '/transactions'
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.notify_security_change (
  p_user_id     uuid,
  p_kind        text,
  p_title       text,
  p_hold_reason text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_profile_id uuid := (select p.id from private.profiles as p where p.user_id = p_user_id and p.closed_at is null);
begin
    if v_profile_id is null then
        return;
    end if;
    if p_hold_reason is not null then
        perform private.place_withdrawal_hold(p_user_id, p_hold_reason);
        perform private.audit(
            'member:' || p_user_id, 'member.held', 'profile', v_profile_id,
            pg_catalog.jsonb_build_object('reason', p_hold_reason) || private.member_entry(v_profile_id, array['hold_until'])
        );
    end if;
    perform private.notify_member(
        p_user_id, p_kind, p_title, pg_catalog.concat_ws(
            ' ', case when p_hold_reason is not null then 'You can request a withdrawal now; it cannot be approved for 24 hours.' end,
            'If this was not you, contact support.'
        ), null, '/settings'
    );
exception when others then
    -- Never fail the auth service's transaction.
    raise log 'no notice for %: % %', p_user_id, sqlstate, sqlerrm;
end
$function$;

CREATE OR REPLACE FUNCTION private.oldest_pending (
  p_row jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', p_row -> 'id',
            'amount', private.money((p_row ->> 'amount')::numeric),
            'username', p.username,
            'created_at', p_row -> 'created_at',
            'due_at', coalesce(p_row ->> 'waits_since', p_row ->> 'created_at')::timestamptz + private.review_interval()
        )
        from private.profiles as p where p.user_id = (p_row ->> 'user_id')::uuid
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.open_rest (
  p_deposit_id uuid,
  p_amount     numeric
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (select private.rest_json(r, p_amount) from private.deposit_rests as r where r.deposit_id = p_deposit_id and r.ended_at is null);
end
$function$;

CREATE OR REPLACE FUNCTION private.place_bonuses (
  p_due private.due_bonus[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    update public.bonuses as b set
        user_id = coalesce(o.owner_id, b.user_id), source_user_id = coalesce(o.source_id, b.source_user_id)
    from pg_catalog.unnest(p_due) as d
    inner join private.positions as s on d.subject_no = s.no
    left join private.positions as u on s.referrer_no = u.no
    left join private.positions as c on case when d.bonus_type = 'pairing' then d.source_no end = c.no
    cross join lateral (
        select
            case when d.bonus_type = 'pairing' then s.user_id else u.user_id end as owner_id,
            case when d.bonus_type = 'pairing' then c.user_id else s.user_id end as source_id
    ) as o
    where b.id = d.bonus_id and (b.user_id <> o.owner_id or b.source_user_id <> o.source_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.put_administrator (
  p_email         text,
  p_full_name     text,
  p_role          public.admin_role,
  p_password_hash text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id uuid;
begin
    update private.admin_users as a set password_hash = p_password_hash, updated_at = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_id;
    if v_id is null then
        return private.create_administrator(p_email, p_full_name, p_role, p_password_hash);
    end if;
    perform private.audit('system', 'admin.password_reset', 'admin_user', v_id, private.administrator_entry(v_id, array['password']));
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.put_back_administrator (
  p_email text,
  p_hash  text
)
  RETURNS private.admin_users
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users;
begin
    insert into private.admin_users (id, email, role, is_active, password_hash, revision)
    select l.id, p_email, (l.state ->> 'role')::public.admin_role, (l.state ->> 'is_active')::boolean, p_hash, (l.state ->> 'revision')::bigint
    from (
        select d.id, private.last_state(d.id) as state
        from private.administrator_discrepancies as d
        where not exists (select from private.admin_users as a where a.id = d.id)
    ) as l
    where l.state ->> 'email' = p_email
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    return v_admin;
end
$function$;

CREATE OR REPLACE FUNCTION private.raise_rows_wrong (
  p_found jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    -- I02 only follows, where another rule names the row.
    v_causes jsonb := pg_catalog.jsonb_path_query_array(p_found, '$[*] ? (@.rule != "I02")');
    v_found jsonb := case when v_causes = '[]' then p_found else v_causes end;
begin
    perform private.raise_error(
        409, 'rows_wrong', (
            select pg_catalog.format(
                'Nothing was changed: sums made of wrong rows would be wrong, too. Mend the rows first. %s',
                pg_catalog.string_agg(pg_catalog.format(
                    '%s (%s): %s %s', w.rule, case w.violations when 1 then 'one row' else w.violations || ' rows' end,
                    coalesce(r.problem, 'A check of the ledger fails.'), coalesce(r.advice, '')
                ), ' ' order by w.rule)
            )
            from (
                select v.rule, count(*) as violations
                from pg_catalog.jsonb_to_recordset(v_found) as v (rule text) group by v.rule
            ) as w
            left join private.rule_texts() as r on w.rule = r.rule
        ), pg_catalog.jsonb_build_object('rows', (
            select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('rule', v.rule, 'object', v.object, 'user_id', v.user_id))
            from pg_catalog.jsonb_to_recordset(pg_catalog.jsonb_path_query_array(v_found, '$[0 to 19]')) as v (rule text, object text, user_id uuid)
        ))::text
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_balances (
  p_users uuid[]
)
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select
            b.id,
            b.user_id,
            b.balance_after,
            b.due_balance,
            row_number() over (partition by b.user_id order by b.decision_no, b.id) as place,
            count(*) over (partition by b.user_id) as rows
        from private.running_balances as b
        where (p_users is null or b.user_id = any(p_users)) and b.balance_after is distinct from b.due_balance
    ), rebuilt as (
        update public.transactions as t set balance_after = w.due_balance from wrong as w where t.id = w.id
    )
    select pg_catalog.array_agg(
        row(
            'balance', w.id, w.user_id, pg_catalog.jsonb_build_object('balance_after', private.money(w.balance_after)),
            pg_catalog.jsonb_build_object('balance_after', private.money(w.due_balance), 'rows', w.rows)
        )::private.sum_change order by w.user_id
    )
    into v_changes from wrong as w where w.place = 1;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_earning_days (
  p_nos integer[] DEFAULT NULL::integer[]
)
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select d.no, d.day, d.referral, d.pairing, d.override from private.earning_day_differences(0, 2147483647, p_nos) as d
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
    v_changes := v_changes || private.rebuild_members();
    v_changes := v_changes || private.rebuild_positions();
    v_changes := v_changes || private.rebuild_totals();
    v_changes := v_changes || private.rebuild_balances(null);
    v_changes := v_changes || private.rebuild_counter_values();
    v_changes := v_changes || private.rebuild_flows();
    v_changes := v_changes || private.rebuild_earning_days();
    v_changes := v_changes || private.rebuild_networks();
    v_changes := v_changes || private.rebuild_team_days();
    insert into private.ledger_changes (user_id) select distinct c.user_id from pg_catalog.unnest(v_changes) as c where c.user_id is not null;
    return v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.receipt_facts (
  p_receipt_url text,
  p_etag        text
)
  RETURNS jsonb
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object('url', p_receipt_url, 'etag', p_etag)
$function$;

CREATE OR REPLACE FUNCTION private.reconcile (
  p_owners boolean DEFAULT true
)
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
    if p_owners then
        v_discrepancies := v_discrepancies || array(
            select m from pg_catalog.unnest(private.misplaced_bonuses()) as m
            where not exists (
                select from pg_catalog.unnest(v_discrepancies) as d
                where d.bonus_type = m.bonus_type and d.subject_no = m.subject_no and d.pair_number is not distinct from m.pair_number
            )
        );
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_found := pg_catalog.cardinality(v_discrepancies);
        v_discrepancies := private.sound_discrepancies(v_discrepancies);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        perform private.repair_bonuses(v_discrepancies);
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        -- Bonuses that were left are compared again by whoever asks next.
        bonus_revision = case when v_found = pg_catalog.cardinality(v_discrepancies) then v_revision else s.bonus_revision end,
        ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
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
    perform private.reconcile(private.is_misplacement_known());
exception when lock_not_available or sqlstate 'PGRST' then
    -- Another run takes long, or nothing can be repaired before other rows are: return the last summary.
    if sqlerrm like '%"rows_wrong"%' then
        update private.reconcile_state as s set ran_at = pg_catalog.clock_timestamp();
    end if;
    return;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_schema()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    delete from private.schema_objects;
    insert into private.schema_objects (object, digest) select c.object, c.digest from private.current_schema_objects() as c;
    perform private.audit('system', 'schema.recorded', null, null, private.schema_record());
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
    update private.alarms as a set acknowledged_at = null, acknowledged_by = null, reason = null
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is not null
        and not exists (select from private.audit_log as l where l.object_id = a.id and l.action = 'alarm.acknowledged');
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

CREATE OR REPLACE FUNCTION private.record_wallet_change (
  p_before private.profiles,
  p_wallet text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (p_before).trc20_wallet_address is not null then
        perform private.place_withdrawal_hold((p_before).user_id, 'wallet');
        perform private.notify_member(
            (p_before).user_id, 'wallet_changed', 'Your wallet address was changed',
            pg_catalog.format(
                'Withdrawals now go to %s. You can request one now; it cannot be approved for 24 hours. If this was not you, change your password and contact support.',
                p_wallet
            ),
            null, '/settings'
        );
    end if;
    perform private.audit(
        'member:' || (p_before).user_id, 'member.wallet_changed', 'profile', (p_before).id,
        pg_catalog.jsonb_build_object('from', (p_before).trc20_wallet_address, 'to', p_wallet)
        || private.member_entry((p_before).id, array['wallet', 'hold_until'])
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.recover_administrator (
  p_email     text,
  p_new_email text,
  p_hash      text,
  p_reason    text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users;
    v_is_known boolean;
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_email text := pg_catalog.lower(coalesce(nullif(pg_catalog.btrim(p_new_email), ''), p_email));
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    select * into v_admin from private.admin_users as a where a.email = pg_catalog.lower(p_email);
    if not found then
        v_admin := private.put_back_administrator(pg_catalog.lower(p_email), p_hash);
    end if;
    v_is_known := coalesce(private.last_state(v_admin.id) operator(pg_catalog.?) 'role', false);
    if v_is_known and not v_admin.is_active then
        perform private.raise_error(409, 'invalid_state', 'This account is switched off. A super admin switches it on in the panel.');
    end if;
    if exists (select 1 from private.admin_users as a where a.email = v_email and a.id <> v_admin.id) then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    update private.admin_users as a set
        email = v_email,
        password_hash = p_hash,
        totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null,
        updated_at = pg_catalog.clock_timestamp()
    where a.id = v_admin.id;
    delete from public.admin_sessions as s where s.admin_id = v_admin.id;
    perform private.audit(
        'system', 'admin.recovered', 'admin_user', v_admin.id,
        pg_catalog.jsonb_build_object('reason', v_reason, 'email_changed', v_email <> v_admin.email)
        || private.administrator_entry(v_admin.id, case when v_is_known then array['email', 'password', 'two_step'] end)
    );
    perform private.mail_admin_change(
        v_admin.id,
        pg_catalog.concat_ws(
            ' ', 'The account was recovered: it has a new password, and two-step sign-in is off.',
            case when v_email <> v_admin.email then 'Its email was changed.' end
        ),
        null, v_admin.email
    );
    return v_admin.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.register_transfer (
  p_request_id uuid,
  p_reference  text,
  p_is_payout  boolean
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    insert into private.transfer_keys (request_id, key, kind, is_payout)
    select p_request_id, k.key, k.kind, p_is_payout from private.due_transfer_keys(p_reference) as k
    -- By the runbook, where some are gone.
    on conflict (request_id, key) do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION private.reject_change()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if tg_op = 'DELETE' and private.is_restoring_rows() and not pg_catalog.starts_with(tg_table_name, 'audit_') then
        return null;
    end if;
    perform private.raise_error(403, 'append_only', pg_catalog.format('Rows of %s are kept as they are.', tg_table_name));
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.remove_double_bonuses (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    for v_row in
        select b.id, pg_catalog.to_jsonb(b) as old
        from (
            select
                r as bonus,
                row_number() over (
                    partition by r.bonus_type, r.subject_no, r.pair_number
                    order by j.is_timely desc nulls last, j.decision_no nulls last, r.created_at, r.id
                ) as place
            from public.bonuses as r
            cross join lateral (
                select
                    min(t.decision_no) as decision_no,
                    bool_or(exists (select from private.numbered_decisions as n where n.decision_no = t.decision_no and n.at = r.created_at)) as is_timely
                from public.transactions as t
                where t.reference_id = r.id and t.transaction_type = 'bonus'
            ) as j
            where (r.bonus_type, r.subject_no, coalesce(r.pair_number, 0)) in (
                select o.bonus_type, o.subject_no, coalesce(o.pair_number, 0) from public.bonuses as o
                where (o.bonus_type, o.subject_no, coalesce(o.pair_number, 0)) in (
                    select m.bonus_type, m.subject_no, coalesce(m.pair_number, 0) from public.bonuses as m where m.user_id = p_user_id
                )
                group by o.bonus_type, o.subject_no, coalesce(o.pair_number, 0)
                having count(*) > 1
            )
        ) as k
        inner join public.bonuses as b on (k.bonus).id = b.id
        where k.place > 1
        order by b.id
    loop
        v_done := v_done || private.write_rows(array(
            select row('public.transactions', pg_catalog.jsonb_build_object('id', t.id), pg_catalog.to_jsonb(t), null)::private.row_change
            from public.transactions as t where t.reference_id = v_row.id order by t.id
        ) || row('public.bonuses', pg_catalog.jsonb_build_object('id', v_row.id), v_row.old, null)::private.row_change);
    end loop;
    return v_done;
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
    v_damaged := (v_stored.in_place and v_stored.in_journal and private.totals_follow_rows(v_stored.earners)) is not true;
    v_decision_no := private.next_decision_no();
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform pg_catalog.set_config('app.repair', case when v_damaged then 'on' else '' end, true);
    if v_damaged then
        perform private.place_bonuses(v_stored.due);
    end if;
    perform private.write_bonuses(v_stored.due, v_at);
    insert into private.ledger_changes (user_id) select e.user_id from pg_catalog.unnest(v_stored.earners) as e (user_id) where e.user_id is not null;
    if v_damaged then
        v_changes := private.book_repairs(array(
            select (d).bonus_id from pg_catalog.unnest((private.find_stored_bonuses(p_due)).due) as d
        ), v_at) || private.rebuild_sums();
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.raise_alarm('repair', v_decision_no::text, null, v_details);
    perform private.audit(
        'system', 'books.repaired', 'bonuses', null,
        v_details || pg_catalog.jsonb_build_object('decision_no', v_decision_no) || private.changes_json(v_changes)
    );
    -- Last, because the entry explains what was set to zero or booked back.
    if v_damaged then
        perform private.require_repaired(p_due);
    end if;
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
            'user_id', coalesce(o.owner_id, b.user_id),
            'subject_no', d.subject_no,
            'pair_number', d.pair_number,
            'old_amount', private.money(coalesce(b.amount, 0)),
            'new_amount', private.money(d.cents * 0.01)
        )
        || case when j.amount <> coalesce(b.amount, 0) then pg_catalog.jsonb_build_object('journal_amount', private.money(j.amount)) else '{}' end
        || case when b.user_id <> o.owner_id then pg_catalog.jsonb_build_object('taken_from', b.user_id) else '{}' end
        || case when b.source_user_id <> o.source_id then pg_catalog.jsonb_build_object('old_source', b.source_user_id) else '{}' end
        order by d.subject_no, d.bonus_type, d.pair_number
    )
    from pg_catalog.unnest(p_due) as d
    left join public.bonuses as b on d.bonus_id = b.id
    left join private.positions as s on d.subject_no = s.no
    left join private.positions as u on s.referrer_no = u.no
    left join private.positions as c on case when d.bonus_type = 'pairing' then d.source_no end = c.no
    cross join lateral (
        select
            case when d.bonus_type = 'pairing' then s.user_id else u.user_id end as owner_id,
            case when d.bonus_type = 'pairing' then c.user_id else s.user_id end as source_id
    ) as o
    cross join lateral (
        select coalesce(sum(t.amount), 0) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
    ) as j
$function$;

CREATE OR REPLACE FUNCTION private.request_changes (
  p_ids uuid[]
)
  RETURNS private.row_change[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select array(
        select row(
            'public.deposits', pg_catalog.jsonb_build_object('id', i.id), case when d.id is not null then pg_catalog.to_jsonb(d) end,
            case when q.id is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                d, q.request || pg_catalog.jsonb_build_object(
                    'id', i.id, 'created_at', q.requested_at, 'receipt_url', coalesce(q.request #>> '{receipt,url}', d.receipt_url),
                    'reference_key', case
                        when d.reference_number = q.request ->> 'reference_number' then d.reference_key
                        else (private.reference_keys(q.request ->> 'reference_number'))[1]
                    end,
                    'status', q.status,
                    'admin_notes', q.decision -> 'reason', 'decision_no', q.decision -> 'decision_no',
                    'received_amount', q.decision -> 'received_amount', 'decided_at', q.decided_at,
                    'decided_by', case when q.verb <> 'cancelled' then q.decided_by end, 'voided_at', v.confirmed_at
                )
            )) end
        )::private.row_change
        from pg_catalog.unnest(p_ids) as i (id)
        left join public.deposits as d on i.id = d.id
        left join lateral (select r.* from private.recorded_requests as r where r.id = i.id and r.noun = 'deposit') as q on true
        left join private.confirmed_voids as v on i.id = v.target_id
        where (q.id is not null and (d.id is not null or q.request operator(pg_catalog.?&) array['receipt', 'kind']))
            or (d.id is not null and private.has_no_entry(d.id))
        order by i.id
    ) || array(
        select row(
            'public.withdrawals', pg_catalog.jsonb_build_object('id', i.id), case when w.id is not null then pg_catalog.to_jsonb(w) end,
            case when q.id is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                w, q.request || pg_catalog.jsonb_build_object(
                    'id', i.id, 'created_at', q.requested_at,
                    'status', q.status,
                    'admin_notes', q.decision -> 'reason', 'decision_no', q.decision -> 'decision_no', 'decided_at', q.decided_at,
                    'decided_by', case when q.verb <> 'cancelled' then q.decided_by end,
                    'payout_reference', q.payout_reference, 'payout_at', q.paid_at, 'voided_at', v.confirmed_at
                )
            )) end
        )::private.row_change
        from pg_catalog.unnest(p_ids) as i (id)
        left join public.withdrawals as w on i.id = w.id
        left join lateral (select r.* from private.recorded_requests as r where r.id = i.id and r.noun = 'withdrawal') as q on true
        left join private.confirmed_voids as v on i.id = v.target_id
        where q.id is not null or (w.id is not null and private.has_no_entry(w.id))
        order by i.id
    )
$function$;

CREATE OR REPLACE FUNCTION private.request_gauges()
  RETURNS TABLE (
    name   text,
    labels jsonb,
    value  double precision
  )
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    with pending as (
        select 'deposit' as kind, count(*) as requests, min(coalesce(r.referenced_at, r.asked_at, d.created_at)) as oldest
        from public.deposits as d
        left join private.deposit_rests as r on d.id = r.deposit_id and r.ended_at is null
        where d.status = 'pending'
        union all
        select 'withdrawal', count(*), min(w.created_at) from public.withdrawals as w where w.status = 'pending'
    )

    select 'harborline_pending_requests', pg_catalog.jsonb_build_object('kind', p.kind), p.requests::double precision from pending as p
    union all
    select 'harborline_oldest_pending_seconds', pg_catalog.jsonb_build_object('kind', p.kind), private.age_seconds(p.oldest) from pending as p
$function$;

CREATE OR REPLACE FUNCTION private.request_json (
  p_row jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return p_row || pg_catalog.jsonb_build_object('amount', private.money((p_row ->> 'amount')::numeric))
        || case when p_row ? 'received_amount'
            then pg_catalog.jsonb_build_object('received_amount', private.money((p_row ->> 'received_amount')::numeric)) else '{}' end;
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
                d.amount not between 1 and 10000000
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
                w.amount not between 100 and 10000000 as wrong_amount,
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
$function$;

CREATE OR REPLACE FUNCTION private.requests_to_restore (
  p_user_id uuid
)
  RETURNS uuid[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select array(
        select d.id from public.deposits as d where d.user_id = p_user_id
        union
        select w.id from public.withdrawals as w where w.user_id = p_user_id
        union
        select c.id from private.corrections as c
        -- The last entry of the one that is being confirmed is yet to be written.
        where c.user_id = p_user_id and c.confirmed_in is distinct from pg_catalog.pg_current_xact_id_if_assigned()
        union
        -- Rows that are gone.
        select private.uuid_or_null(pg_catalog.split_part(a.object, ' ', 2)) from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and a.user_id = p_user_id
    )
$function$;

CREATE OR REPLACE FUNCTION private.require_correctable_member (
  p_kind      text,
  p_target_id uuid
)
  RETURNS uuid
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := private.correctable_member(p_kind, p_target_id);
begin
    if p_kind is null or p_kind not in ('void_deposit', 'void_withdrawal', 'set_package', 'repair_rows') then
        perform private.raise_error(400, 'invalid_input', 'The kind must be void_deposit, void_withdrawal, set_package or repair_rows.');
    end if;
    if v_user_id is null then
        perform private.raise_error(
            409, 'not_correctable', case p_kind
                when 'void_deposit' then 'Only an approved deposit that still counts can be voided.'
                when 'void_withdrawal' then 'Only an approved withdrawal that was not paid can be voided.'
                else 'There is no such member.'
            end
        );
    end if;
    return v_user_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_fresh_admin_proof (
  p_for text
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    if exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.object = 'I49 ' || auth.uid() and a.ended_at is null and a.acknowledged_at is null
    ) then
        perform private.raise_error(409, 'ledger_alarm', 'You can change this only once your account is again what the audit log says. Another super admin sets it right.');
    end if;
    if not private.is_live_admin_session(auth.jwt()) or not exists (
        select 1 from private.admin_session_activity as a
        where a.session_token = private.uuid_claim(auth.jwt(), 'sid') and private.is_recent(a.started_at, interval '10 minutes')
    ) then
        perform private.raise_error(403, 'reauthentication_needed', pg_catalog.format('Sign in again to %s: your last sign-in is more than ten minutes old.', p_for));
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_near_claim (
  p_deposit  public.deposits,
  p_received numeric
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_tolerance numeric;
begin
    if p_received is null then
        if exists (select 1 from private.deposit_rests as r where r.deposit_id = (p_deposit).id and r.ended_at is null) then
            perform private.raise_error(
                400, 'received_amount_required',
                'The rest of this deposit was asked for. Enter how much has arrived in all, the rest included.'
            );
        end if;
        return;
    end if;
    v_tolerance := private.deposit_tolerance((p_deposit).amount);
    if pg_catalog.abs(p_received - (p_deposit).amount) > v_tolerance then
        perform private.raise_error(
            409, 'amount_differs', pg_catalog.format(
                'The member claimed %s, and %s arrived. An approval allows a difference of %s at most. %s',
                private.dollars((p_deposit).amount), private.dollars(p_received), private.dollars(v_tolerance),
                case
                    when p_received < (p_deposit).amount
                        then 'Ask for the rest, or reject the deposit with a reason that names both amounts.'
                    else 'Reject the deposit with a reason that names both amounts.'
                end
            ),
            pg_catalog.jsonb_build_object(
                'claimed', private.money((p_deposit).amount), 'received', private.money(p_received), 'tolerance', private.money(v_tolerance)
            )::text
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_no_alarm (
  p_user_id uuid,
  p_noun    text
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
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is null
        and (a.user_id = p_user_id or (a.user_id is null and private.is_stopped_by(a.object, p_user_id, p_noun)))
        and (p_noun <> 'repair' or a.kind = 'restored' or a.object like 'I49%')
    order by a.user_id is null, a.raised_at
    limit 1;
    if not found then
        return;
    end if;
    if private.my_role() = 'authenticated' then
        perform private.raise_error(409, 'ledger_alarm', 'Your account is being checked, so this cannot be changed now. Try again later, or contact support.');
    end if;
    if v_alarm.kind = 'restored' then
        perform private.raise_error(
            409, 'ledger_alarm', 'Nothing can be decided now: this is a copy that was restored from a backup. See Alarms: a super admin acknowledges it there when it takes over.',
            pg_catalog.jsonb_build_object('alarm', v_alarm.id)::text
        );
    end if;
    perform private.raise_error(
        409, 'ledger_alarm', pg_catalog.format(
            case private.alarm_stops(v_alarm)
                when 'administrator' then 'You can decide nothing now: a check of your account fails.'
                when 'setting' then 'This cannot be decided now: a check of a setting fails.'
                when 'member' then 'Nothing can be decided about this member''s money now: a check of the ledger fails.'
                else 'Nothing can be decided now: a check of the ledger fails.'
            end
            || ' %s See Alarms: find out why, then a super admin acknowledges it there.', (private.alarm_texts(v_alarm)).problem
        ), pg_catalog.jsonb_build_object('alarm', v_alarm.id, 'rule', pg_catalog.left(v_alarm.object, 3))::text
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.require_payout_reason (
  p_withdrawal public.withdrawals,
  p_member     private.profiles,
  p_reason     text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_reason text := nullif(pg_catalog.btrim(p_reason, E' \t\r\n'), '');
    v_flags jsonb := pg_catalog.jsonb_path_query_array(
        private.withdrawal_flags(p_withdrawal, p_member), '$[*] ? (@.kind != "other_requests" && @.kind != "closed")'
    );
begin
    if v_flags = '[]' then
        return '{}'::jsonb;
    end if;
    if v_reason is null then
        perform private.raise_error(
            409, 'payout_warned', 'This withdrawal has warnings. Give a reason to record its payout all the same.', v_flags::text
        );
    end if;
    return pg_catalog.jsonb_build_object(
        'payout_reason', private.validate_reason(v_reason), 'warnings', pg_catalog.jsonb_path_query_array(v_flags, '$[*].text')
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.require_received_amount (
  p_received numeric
)
  RETURNS void
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    if p_received not between 0.01 and 10000000 or p_received <> pg_catalog.trunc(p_received, 2) then
        perform private.raise_error(
            400, 'invalid_amount', 'Enter the amount that arrived: from $0.01 to $10,000,000.00, with at most two decimals.'
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_repaired (
  p_due private.due_bonus[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_found jsonb := coalesce(private.wrong_rows(), '[]') || coalesce((
        select pg_catalog.jsonb_agg(u.value)
        from pg_catalog.jsonb_array_elements(private.unlike_rows()) as u (value)
        -- Bonuses that sound_discrepancies() has left stay wrong.
        where u.value ->> 'rule' not in ('I11', 'I33', 'I41')
    ), '[]');
begin
    if (private.find_stored_bonuses(p_due)).in_place is not true then
        v_found := v_found || '{"rule": "I11"}';
    end if;
    if v_found <> '[]' then
        perform private.raise_rows_wrong(v_found);
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_rows_to_restore (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_restores jsonb;
begin
    if exists (
        select from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.left(a.object, 3) = 'I26'
    ) then
        perform private.raise_error(
            409, 'not_correctable', 'The audit log itself was changed, so nothing says what the rows were. Compare it with a backup.'
        );
    end if;
    v_restores := private.rows_to_restore(p_user_id);
    if v_restores = '[]' then
        perform private.raise_error(409, 'not_correctable', 'The rows of this member are what their sources say. Where an alarm about the member stays, restore the moment before.');
    end if;
    return v_restores;
end
$function$;

CREATE OR REPLACE FUNCTION private.rest_changes (
  p_ids uuid[]
)
  RETURNS private.row_change[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select array(
        select row(
            'private.deposit_rests',
            pg_catalog.jsonb_build_object('deposit_id', coalesce(r.deposit_id, q.deposit_id), 'no', coalesce(r.no, q.no)),
            case when r.no is not null then pg_catalog.to_jsonb(r) end,
            case when q.no is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(null::private.deposit_rests, pg_catalog.to_jsonb(q))) end
        )::private.row_change
        from (select e.* from private.deposit_rests as e where e.deposit_id = any(p_ids)) as r
        full join (
            select
                a.object_id as deposit_id, n.no, a.facts -> 'received_amount' as received_amount, pg_catalog.substr(a.actor, 7) as asked_by, a.at as asked_at,
                b.facts -> 'reference_number' as reference_number, b.at as referenced_at,
                coalesce(lead(a.at) over (partition by a.object_id order by n.no), d.decided_at) as ended_at
            from private.sound_entries as a
            inner join public.deposits as d on a.object_id = d.id
            cross join lateral (select (a.facts ->> 'rest_no')::integer as no) as n
            left join private.sound_entries as b
                on a.object_id = b.object_id and b.action = 'deposit.reference_added' and a.facts -> 'rest_no' = b.facts -> 'rest_no'
            where a.object_id = any(p_ids) and a.action = 'deposit.rest_asked'
        ) as q on r.deposit_id = q.deposit_id and r.no = q.no
        order by coalesce(r.deposit_id, q.deposit_id), coalesce(r.no, q.no)
    )
$function$;

CREATE OR REPLACE FUNCTION private.rest_facts (
  p_deposit public.deposits,
  p_rest    private.deposit_rests
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount),
        'received_amount', private.money((p_rest).received_amount), 'rest_no', (p_rest).no
    )
$function$;

CREATE OR REPLACE FUNCTION private.rest_json (
  p_rest   private.deposit_rests,
  p_amount numeric
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return case when (p_rest).no is not null then pg_catalog.jsonb_build_object(
        'no', (p_rest).no,
        'received_amount', private.money((p_rest).received_amount),
        'missing', private.money(p_amount - (p_rest).received_amount),
        'asked_at', (p_rest).asked_at,
        'reference_number', (p_rest).reference_number,
        'referenced_at', (p_rest).referenced_at
    ) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.rest_reference_facts (
  p_deposit public.deposits,
  p_rest    private.deposit_rests
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'reference_number', (p_rest).reference_number, 'rest_no', (p_rest).no
    )
$function$;

CREATE OR REPLACE FUNCTION private.restore_bonus_rows (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_wrong uuid[];
    v_done jsonb;
begin
    v_wrong := array(
        select b.id
        from public.bonuses as b
        cross join lateral (
            select
                coalesce(sum(t.amount) filter (where t.user_id = b.user_id and t.status = 'completed'), 0) <> b.amount
                or (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]) filter (where t.user_id = b.user_id))[2]
                    <> extract(epoch from b.created_at) * 1000000
                or bool_or(t.decision_no is null or t.status <> 'completed')
                or bool_or(t.user_id <> b.user_id and not private.is_booked_back(b.id, t.user_id)) as is_wrong
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
        ) as j
        where (
            b.user_id = p_user_id
            or b.id in (select r.reference_id from public.transactions as r where r.user_id = p_user_id and r.transaction_type = 'bonus')
        )
            and j.is_wrong
            and private.is_as_planned(b)
        order by b.id
    );
    v_done := private.write_rows(array(
        with numbers as materialized (
            select distinct d.decision_no from private.numbered_decisions as d
        ), sourced as materialized (
            select
                t.id, t as entry, b.id as bonus_id, b.user_id, b.created_at as earned_at, b.amount as due, t.amount,
                coalesce(n.decision_no, a.decision_no) as decision_no
            from public.bonuses as b
            inner join public.transactions as t on b.id = t.reference_id and t.transaction_type = 'bonus'
            left join numbers as n on t.decision_no = n.decision_no
            -- A decision writes rows whose times begin with its own.
            left join lateral (
                select d.decision_no from private.numbered_decisions as d
                where n.decision_no is null and d.at <= t.created_at and d.at > t.created_at - interval '10 seconds'
                order by d.at desc, d.decision_no desc limit 1
            ) as a on true
            where b.id = any(v_wrong) and not private.is_booked_back(b.id, t.user_id)
        ), summed as (
            select
                j.*,
                row_number() over (partition by j.bonus_id order by j.decision_no, j.id) = 1
                and not private.is_booked_elsewhere_first(j.bonus_id, j.user_id) as is_first,
                count(*) over same > 1 as is_shared,
                j.due - sum(j.amount) over (partition by j.bonus_id) + sum(j.amount) over same as share
            from sourced as j
            where j.decision_no is not null
            window same as (partition by j.bonus_id, j.decision_no)
        ), placed as (
            -- One decision changes a bonus once: of more rows that have its number, the one stays that fits.
            select
                s.id, s.user_id, s.decision_no, s.is_first, s.earned_at,
                s.is_shared and (
                    s.share = 0
                    or row_number() over (partition by s.bonus_id, s.decision_no, s.amount = s.share order by s.id) > 1
                    or (s.amount <> s.share and bool_or(s.amount = s.share) over (partition by s.bonus_id, s.decision_no))
                ) as is_second
            from summed as s
        )
        select row('public.transactions', pg_catalog.jsonb_build_object('id', r.id), r.old, r.new)::private.row_change
        from (
            select
                j.id, pg_catalog.to_jsonb(j.entry) as old,
                case when not p.is_second then pg_catalog.to_jsonb(j.entry) || pg_catalog.jsonb_build_object(
                    'user_id', p.user_id, 'decision_no', p.decision_no, 'status', 'completed',
                    'created_at', case when p.is_first then p.earned_at else (j.entry).created_at end
                ) end as new
            from sourced as j left join placed as p on j.id = p.id
            union all
            select t.id, pg_catalog.to_jsonb(t), null
            from public.transactions as t
            where t.user_id = p_user_id and t.transaction_type = 'bonus'
                and not exists (select from public.bonuses as b where b.id = t.reference_id)
        ) as r
        order by r.id
    ));
    return v_done || (
        select coalesce(pg_catalog.jsonb_agg(w.change #- '{new,decision_no}' #- '{new,created_at}'), '[]')
        from pg_catalog.jsonb_array_elements(private.write_rows(array(
            select row('public.transactions', '{}', null, pg_catalog.jsonb_build_object(
                'user_id', b.user_id, 'amount', b.amount - coalesce(j.amount, 0), 'transaction_type', 'bonus', 'status', 'completed', 'reference_id', b.id,
                'created_at', case when j.amount is null then b.created_at else private.clock() end,
                'decision_no', coalesce(private.current_decision_no(), private.last_decision_no())
            ))::private.row_change
            from public.bonuses as b
            cross join lateral (
                select sum(t.amount) as amount from public.transactions as t
                where t.transaction_type = 'bonus' and t.reference_id = b.id and t.user_id = b.user_id
            ) as j
            where b.id = any(v_wrong) and b.amount <> coalesce(j.amount, 0)
            order by b.id
        ))) as w (change)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.restore_limits (
  p_key   text,
  p_value jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    insert into private.settings as s (key, value, kind, minimum, maximum, is_public, needs_proof, description, revision)
    select
        p_key, coalesce(p_value, 'null'), l.limits ->> 0, (l.limits ->> 1)::bigint, (l.limits ->> 2)::bigint, (l.limits ->> 3)::boolean,
        (l.limits ->> 4)::boolean, l.limits ->> 5, l.revision
    from (
        select a.payload #> '{state,limits}' as limits, private.state_revision(a.payload) as revision
        from private.audit_log as a
        where a.action collate "C" = 'setting.changed' and a.payload ->> 'key' = p_key and private.state_revision(a.payload) is not null
        order by private.state_revision(a.payload) desc, a.id desc limit 1
    ) as l
    on conflict (key) do update set
        kind = excluded.kind, minimum = excluded.minimum, maximum = excluded.maximum, is_public = excluded.is_public,
        needs_proof = excluded.needs_proof, description = excluded.description
    where (s.kind, s.minimum, s.maximum, s.is_public, s.needs_proof, s.description)
        is distinct from (excluded.kind, excluded.minimum, excluded.maximum, excluded.is_public, excluded.needs_proof, excluded.description);
end
$function$;

CREATE OR REPLACE FUNCTION private.restore_parts (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    for v_row in
        select
            d.id, private.receipt_name(d.receipt_url) as name, q.request #>> '{receipt,etag}' as etag,
            f.name as old_name, f.etag as old_etag
        from public.deposits as d
        cross join lateral (select r.* from private.recorded_requests as r where r.id = d.id) as q
        left join private.deposit_receipts as f on d.id = f.deposit_id
        where d.id = any(p_ids) and q.request operator(pg_catalog.?) 'receipt'
            and (f.name, f.etag) is distinct from (private.receipt_name(d.receipt_url), q.request #>> '{receipt,etag}')
    loop
        delete from private.deposit_receipts as f where f.deposit_id = v_row.id;
        v_done := v_done || private.row_change_json(row(
            'private.deposit_receipts', pg_catalog.jsonb_build_object('id', v_row.id),
            pg_catalog.jsonb_build_object('name', v_row.old_name, 'etag', v_row.old_etag),
            pg_catalog.jsonb_build_object('name', v_row.name, 'etag', v_row.etag)
        )::private.row_change);
    end loop;
    insert into private.deposit_receipts (deposit_id, name, etag)
    select d.id, private.receipt_name(d.receipt_url), q.request #>> '{receipt,etag}'
    from public.deposits as d
    cross join lateral (select r.* from private.recorded_requests as r where r.id = d.id) as q
    where d.id = any(p_ids) and q.request operator(pg_catalog.?) 'receipt'
    on conflict (deposit_id) do nothing;
    for v_row in
        select i.id, k.keys as old, n.keys as new, n.texts
        from pg_catalog.unnest(p_ids) as i (id)
        cross join lateral (
            select pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.key, t.kind, case when t.is_payout then 'payout' end), ', ' order by t.key) as keys
            from private.transfer_keys as t where t.request_id = i.id
        ) as k
        cross join lateral (
            select
                pg_catalog.string_agg(distinct pg_catalog.concat_ws(' ', t.key, t.kind, case when m.is_payout then 'payout' end), ', ') as keys,
                pg_catalog.jsonb_object_agg(m.reference, m.is_payout) as texts
            from (
                select d.reference_number as reference, false as is_payout from public.deposits as d where d.id = i.id
                union
                select r.reference_number, false from private.deposit_rests as r where r.deposit_id = i.id and r.reference_number is not null
                union
                select w.payout_reference, true from public.withdrawals as w where w.id = i.id and w.payout_reference is not null
            ) as m
            cross join lateral private.due_transfer_keys(m.reference) as t
        ) as n
        where k.keys is distinct from n.keys
    loop
        delete from private.transfer_keys as t where t.request_id = v_row.id;
        perform private.register_transfer(v_row.id, t.key, t.value::boolean) from pg_catalog.jsonb_each_text(v_row.texts) as t;
        v_done := v_done || private.row_change_json(row(
            'private.transfer_keys', pg_catalog.jsonb_build_object('id', v_row.id),
            pg_catalog.jsonb_build_object('keys', v_row.old), pg_catalog.jsonb_build_object('keys', v_row.new)
        )::private.row_change);
    end loop;
    insert into private.request_texts (request_id, text)
    select d.id, pg_catalog.lower(d.reference_number) from public.deposits as d where d.id = any(p_ids)
    union
    select r.deposit_id, pg_catalog.lower(r.reference_number) from private.deposit_rests as r where r.deposit_id = any(p_ids) and r.reference_number is not null
    union
    select w.id, pg_catalog.lower(w.wallet_address) from public.withdrawals as w where w.id = any(p_ids)
    on conflict do nothing;
    return v_done;
end
$function$;

CREATE OR REPLACE FUNCTION private.restore_proposal (
  p_correction_id uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform pg_catalog.set_config('app.repair', 'rows', true);
    perform private.write_rows(private.correction_changes(array[p_correction_id]));
    perform pg_catalog.set_config('app.repair', '', true);
    return exists (select from private.corrections as c where c.id = p_correction_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.restore_request_rows (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return private.write_rows(array(
        select row('public.transactions', pg_catalog.jsonb_build_object('id', r.id), r.old, r.new)::private.row_change
        from (
            select
                t.id,
                case when t.id is not null then pg_catalog.to_jsonb(t) end as old,
                -- The one that is as it should be, otherwise the first, is the request's.
                case when row_number() over (
                    partition by d.transaction_type, d.reference_id order by (to_jsonb(t) @> d.row) desc, t.id
                ) = 1 then coalesce(pg_catalog.to_jsonb(t), '{}') || d.row end as new
            from (
                select
                    q.transaction_type, q.reference_id,
                    pg_catalog.to_jsonb(q) || pg_catalog.jsonb_build_object('amount', q.amount::public.usd) as row
                from private.due_request_rows as q
                where q.user_id = p_user_id
            ) as d
            left join public.transactions as t on d.reference_id = t.reference_id
            union all
            select t.id, pg_catalog.to_jsonb(t), null
            from public.transactions as t
            where t.user_id = p_user_id and t.transaction_type <> 'bonus'
                and not exists (select from private.due_request_rows as q where q.reference_id = t.reference_id)
        ) as r
        order by r.id
    ));
end
$function$;

CREATE OR REPLACE FUNCTION private.restore_requests (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_users uuid[] := array[p_user_id];
    v_ids uuid[];
    v_more uuid[];
    v_done jsonb := '[]'::jsonb;
begin
    -- A member who was given another's request may have lost one.
    loop
        v_ids := array(select distinct i.id from pg_catalog.unnest(v_users) as u (id), pg_catalog.unnest(private.requests_to_restore(u.id)) as i (id));
        -- Each after what explains it.
        v_done := v_done || private.write_rows(private.correction_changes(v_ids));
        v_done := v_done || private.write_rows(private.request_changes(v_ids));
        v_done := v_done || private.write_rows(private.rest_changes(v_ids));
        v_done := v_done || private.restore_parts(v_ids);
        v_more := array(select u.id from pg_catalog.unnest(private.users_in(v_done)) as u (id) where u.id <> all(v_users));
        exit when v_more = '{}';
        v_users := v_users || v_more;
    end loop;
    return v_done;
end
$function$;

CREATE OR REPLACE FUNCTION private.restore_rows (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_done jsonb;
    v_user uuid;
    v_users uuid[];
    v_found jsonb;
begin
    perform private.lock_members(array[p_user_id]);
    begin
        -- No roll-up moves deltas meanwhile.
        perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    exception when lock_not_available then
        perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
    end;
    perform pg_catalog.set_config('app.repair', 'rows', true);
    v_done := private.restore_requests(p_user_id);
    -- Also of whom a request, or the request of a journal row, is really.
    for v_user in
        select p_user_id
        union
        select u.id from pg_catalog.unnest(private.users_in(v_done)) as u (id)
        union
        select q.user_id
        from public.transactions as t inner join private.due_request_rows as q on t.reference_id = q.reference_id
        where t.user_id = p_user_id and t.transaction_type <> 'bonus'
        order by 1
    loop
        v_done := v_done || private.restore_request_rows(v_user);
    end loop;
    v_done := v_done || private.remove_double_bonuses(p_user_id);
    v_done := v_done || private.restore_bonus_rows(p_user_id);
    v_users := array(select p_user_id union select u.id from pg_catalog.unnest(private.users_in(v_done)) as u (id));
    -- Balances and days of earnings are derived from the journal.
    perform private.rebuild_balances(v_users);
    perform private.rebuild_earning_days(array(select o.no from private.positions as o where o.user_id = any(v_users)));
    insert into private.counter_deltas (name, delta)
    select f.name, f.value - c.value
    from (
        select count(*) as entries, coalesce(sum(pg_catalog.abs(t.amount)), 0) as volume
        from public.transactions as t where t.transaction_type = 'bonus'
    ) as s
    cross join lateral (values ('bonus_transactions', s.entries), ('bonus_volume', s.volume)) as f (name, value)
    inner join private.counter_values() as c on f.name = c.name
    where c.value <> f.value;
    insert into private.ledger_changes (user_id) select u.id from pg_catalog.unnest(v_users) as u (id);
    perform pg_catalog.set_config('app.repair', '', true);
    select pg_catalog.jsonb_agg(f.value) into v_found
    from pg_catalog.jsonb_array_elements(private.check_members(v_users)) as f (value)
    where f.value ->> 'rule' in ('I01', 'I03', 'I04', 'I05', 'I06', 'I10', 'I17', 'I31', 'I35', 'I36', 'I43', 'I44', 'I45', 'I46', 'I47', 'I48')
        -- The reconciliation's: then the journal goes with the bonus.
        and not exists (
            select from public.bonuses as b
            where not private.is_as_planned(b)
                and (
                    b.id::text = f.value ->> 'object'
                    or b.id = (select t.reference_id from public.transactions as t where t.id::text = f.value ->> 'object' and f.value ->> 'rule' = 'I05')
                )
        )
        -- Its own entry is written last.
        and not private.is_being_confirmed(f.value ->> 'object');
    if v_found is not null then
        perform private.raise_rows_wrong(v_found);
    end if;
    return v_done;
end
$function$;

CREATE OR REPLACE FUNCTION private.rights_text (
  p_rights aclitem[]
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.string_agg(
        pg_catalog.concat_ws(' ', case r.grantee when 0 then 'public' else pg_catalog.pg_get_userbyid(r.grantee) end, r.privilege_type, r.is_grantable),
        ', ' order by r.grantee::regrole::text collate "C", r.privilege_type
    )
    from pg_catalog.aclexplode(p_rights) as r
$function$;

CREATE OR REPLACE FUNCTION private.row_change_json (
  p_change private.row_change
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'table', (p_change).table_name::text, 'id', coalesce((p_change).key -> 'id', (p_change).key -> 'deposit_id'),
        'old', private.money_as_text(case when (p_change).new is null then (p_change).old else private.changed_fields((p_change).old, (p_change).new) end),
        'new', private.money_as_text(case when (p_change).old is null then (p_change).new else private.changed_fields((p_change).new, (p_change).old) end)
    )
$function$;

CREATE OR REPLACE FUNCTION private.row_rules()
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select array[
        'I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I10', 'I11', 'I12', 'I14', 'I15', 'I16', 'I17', 'I23', 'I33', 'I35', 'I36', 'I40', 'I41',
        'I42', 'I43', 'I44', 'I45', 'I46', 'I47', 'I48', 'I50', 'I54'
    ]
$function$;

CREATE OR REPLACE FUNCTION private.rows_to_restore (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_done jsonb;
begin
    begin
        v_done := private.restore_rows(p_user_id);
        raise exception 'taken back' using errcode = 'HL001';
    exception
        when sqlstate 'HL001' then
            return v_done;
        -- As where the administrator who decided is gone, or an entry is nobody's of the product.
        when integrity_constraint_violation or data_exception then
            perform private.raise_error(
                409, 'not_correctable', pg_catalog.format('Something else stands in the way of what the audit log says: %s. Mend that first.', sqlerrm)
            );
    end;
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
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Find out who changed the bonus or its rows. Where nothing else is wrong with the bonus, propose a repair of rows under Members: another administrator confirms it.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Another rule about the same member says what is wrong: follow its advice. Where none does, propose a repair of rows under Members.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it. Where the row is of a bonus that is paid to another member, the comparison of the bonuses mends both.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Mend rows and counters first where another rule names the member. Then compare bonuses and withdrawals; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. Rebuild the counters where a package or a place is wrong (I09, I13, I23); otherwise the next comparison of the bonuses repairs owner, source and amount, once no other row is wrong.'),
    ('I12', 'A member earns a bonus from their own package.', 'Find out who changed the bonus or the tree. The next comparison of the bonuses repairs it, once no other row is wrong.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'The product moves nobody, and nothing derives it again: find out who moved the member, and restore the moment before.'),
    ('I15', 'A member joined before their own sponsor.', 'The product changes no sponsor and no date, and nothing derives it again: find out who did, and restore the moment before.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it. A repair of rows under Members sets a request back to what was asked for; a bonus is repaired by the next comparison.'),
    ('I17', 'A decided request has no decider or no time, a pending one has, or one is voided without a correction.', 'Find out who changed the request. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I18', 'Two members have the same username.', 'Ask one of them to choose another username under Profile.'),
    ('I19', 'A transfer was approved twice, or is a payout of ours.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it. Where the deposit names another receipt than was sent with it, propose a repair of rows under Members.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from their own package.', 'Find out who changed the tree. Rebuild the counters: that mends packages and numbers of referrals. A sponsor or an order that was changed is mended by nothing: restore the moment before.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Ask the member to unsubscribe one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out under Administrators and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup. Whoever changed it is hiding something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I31', 'A deposit or a payout has other keys than its reference, so a second claim of its transfer is not found.', 'Find out who changed the register, and compare the reference with all other deposits and payouts. Propose a repair of rows under Members: another administrator confirms it.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings. Where I34 names the member, rebuild the counters; otherwise the next comparison of the bonuses repairs the source.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or changed the row. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I38', 'The stored coverage of a past day is not what had been decided when it was computed.', 'Find out who changed the day, or a deposit, withdrawal or bonus from before it. The day stays as it is: acknowledge this once it is known why.'),
    ('I39', 'A published income disclosure is not what had been decided when it was published, or contradicts itself.', 'Find out who changed it, or a withdrawal or bonus of its period, before anybody relies on it. It stays as it is: acknowledge this once it is known why.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Whoever runs the database must set it back immediately: sizes and pairing rates in private.packages, a percentage in the function of its name. Every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'The product changes no order, and nothing derives it again: find out who did, and restore the moment before.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Find out who changed the time. Propose a repair of rows under Members: another administrator confirms it.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Find out who changed the deposit. Propose a repair of rows under Members: it is again what the audit log says, and is taken out where no entry says that it was requested.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Pay nothing. Find out who changed the withdrawal. Propose a repair of rows under Members: it is again what the audit log says, and is taken out where no entry says that it was requested.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided or changed it: the product writes both at once. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Pay nothing. Find out who decided or changed it: the product writes both at once. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers, and find out who changed it. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Ask who proposed and confirmed the correction. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I49', 'An administrator''s email, role, activity, password or second step is not what the audit log says.', 'Find out who changed it. Then set it right in the panel: role and activity, or another password, or two-step sign-in reset; an email, and an account that is gone or that nobody made, on the server, by letting the administrator in again.'),
    ('I50', 'A decision has a number that is yet to be given, so a later one would get it too.', 'Whoever runs the database sets private.last_decision to the highest number that was given, by the statement of the runbook, before anything is decided.'),
    ('I51', 'A member''s wallet, email, status or hold is not what the audit log says, the email is not the one to sign in with, or the member is gone.', 'Find out who changed it and ask the member. Then a super admin restores here what the audit log says, or enters what is right. A member who is gone comes back only with a restored moment.'),
    ('I52', 'A setting is not what the audit log says.', 'Find out who changed it. Then a super admin enters the right value in the panel, under Readiness.'),
    ('I54', 'A member''s sponsor or date of joining is not what the audit log says.', 'The product changes neither, and nothing derives it again: find out who did, and restore the moment before.'),
    ('I53', 'The balance beside a journal row does not follow from the rows before it.', 'Mend the rows first where another rule names some. Then rebuild the counters.')
$function$;

CREATE OR REPLACE FUNCTION private.schema_record()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'objects', count(*),
        'digest', private.digest_text(pg_catalog.string_agg(o.object || ' ' || o.digest, E'\n' order by o.object collate "C"))
    )
    from private.schema_objects as o
$function$;

CREATE OR REPLACE FUNCTION private.setting_state (
  p_setting private.settings
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'revision', (p_setting).revision, 'value', private.digest_text((p_setting).value::text),
        'limits', pg_catalog.jsonb_build_array(
            (p_setting).kind, (p_setting).minimum, (p_setting).maximum, (p_setting).is_public, (p_setting).needs_proof, (p_setting).description
        )
    )
$function$;

CREATE OR REPLACE FUNCTION private.settings_count_revision()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    new.revision := 1 + greatest(old.revision, (
        select max(private.state_revision(l.payload)) from private.audit_log as l
        where l.action = 'setting.changed' and l.payload ->> 'key' = old.key
    ));
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.settings_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    -- Before a value is checked.
    if private.is_restoring_rows() then
        return new;
    end if;
    if (new.key, new.kind, new.minimum, new.maximum, new.needs_proof) is distinct from (old.key, old.kind, old.minimum, old.maximum, old.needs_proof) then
        perform private.raise_error(403, 'forbidden', 'Only the value of a setting can change.');
    end if;
    if new.key = 'demo' and new.value = 'true' and old.value = 'false' then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode cannot be switched back on.');
    end if;
    if new.key = 'demo.seeded' and new.value = 'false' and old.value = 'true' then
        perform private.raise_error(409, 'demo_is_over', 'Sample data was loaded here; that cannot be undone.');
    end if;
    perform private.check_setting(new.key, new.value);
    return new;
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
declare
    v_disordered integer[];
    v_unlike integer[];
begin
    if exists (select 1 from private.plan_discrepancies) then
        return '{}'::private.due_bonus[];
    end if;
    -- A package that only the position has is none: it is derived again first.
    v_unlike := array(
        select o.no
        from (
            select s.no, s.user_id, s.package_cents, s.paid_cents
            from private.positions as s
            where s.no in (select d.subject_no from pg_catalog.unnest(p_due) as d)
            union
            select c.no, c.user_id, c.package_cents, c.paid_cents
            from pg_catalog.unnest(p_due) as d
            inner join private.positions as c on d.subject_no = c.referrer_no and d.pair_number = c.pair_no
        ) as o
        inner join private.profiles as p on o.user_id = p.user_id
        where (o.package_cents, o.paid_cents) is distinct from (
            (p.package_value * 100)::integer, case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end
        )
            -- Nor is one that nobody paid for.
            or p.package_value <> private.due_package(p.user_id)
            or p.cash_in_amount <> (
                select coalesce(sum(d.amount), 0) from public.deposits as d
                where d.user_id = p.user_id and d.status = 'approved' and d.voided_at is null
            )
    );
    v_disordered := array(
        select o.no
        from (
            select
                w.subject_no,
                2 * max(w.pair_number) as referrals
            from pg_catalog.unnest(p_due) as w
            where w.bonus_type <> 'referral'
            group by w.subject_no
        ) as d
        inner join private.positions as o on d.subject_no = o.no
        where array(
            select c.user_id from private.positions as c
            where c.referrer_no = o.no and c.child_no <= d.referrals
            order by c.child_no
        ) is distinct from array(
            select p.user_id from private.profiles as p
            where p.referrer_id = (select s.id from private.profiles as s where s.user_id = o.user_id)
            order by p.created_at, p.id limit d.referrals
        )
    );
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where ((d).bonus_type = 'referral' or (d).subject_no <> all(v_disordered))
            and (d).subject_no <> all(v_unlike)
            and not exists (
                select from private.positions as c
                where c.no = any(v_unlike) and c.referrer_no = (d).subject_no and c.pair_no = (d).pair_number
            )
    );
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
    -- I49 An administrator is what the last entry of the audit log says.
    select 'I49', a.id::text, null, a.details
    from private.administrator_discrepancies as a
    union all
    -- I52 And so is a setting.
    select 'I52', s.key, null, s.details
    from private.setting_discrepancies as s;
end
$function$;

CREATE OR REPLACE FUNCTION private.state_differences (
  p_entry_id bigint,
  p_says     jsonb,
  p_is       jsonb
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'entry', p_entry_id,
        'says', pg_catalog.jsonb_object_agg(d.name, d.says) filter (where p_says is not null),
        'is', pg_catalog.jsonb_object_agg(d.name, d.is) filter (where p_is is not null)
    )
    from (
        select
            coalesce(s.key, i.key) as name,
            -- The beginning of a digest is enough to see that it is another.
            pg_catalog.regexp_replace(s.value #>> '{}', '\A([0-9a-f]{8})[0-9a-f]{56}\Z', '\1') as says,
            pg_catalog.regexp_replace(i.value #>> '{}', '\A([0-9a-f]{8})[0-9a-f]{56}\Z', '\1') as is
        from pg_catalog.jsonb_each(p_says) as s full join pg_catalog.jsonb_each(p_is) as i on s.key = i.key
        where s.value is distinct from i.value
    ) as d
$function$;

CREATE OR REPLACE FUNCTION private.state_entry (
  p_object_id uuid,
  p_revision  bigint,
  p_state     jsonb,
  p_changed   text[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.jsonb_build_object(
        'state', coalesce(private.last_state(p_object_id), '{}') || (
            select pg_catalog.jsonb_object_agg(e.key, e.value) from pg_catalog.jsonb_each(p_state) as e
            where p_changed is null or e.key = any(p_changed)
        ) || pg_catalog.jsonb_build_object('revision', p_revision)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.state_revision (
  p_payload jsonb
)
  RETURNS bigint
  LANGUAGE sql
  IMMUTABLE
  PARALLEL SAFE
  AS $function$
    select case
        when p_payload #>> '{state,revision}' ~ '\A[0-9]{1,18}\Z' then (p_payload #>> '{state,revision}')::bigint
    end
$function$;

CREATE OR REPLACE FUNCTION private.take_out_parts (
  p_table text,
  p_key   jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id uuid := (p_key ->> 'id')::uuid;
begin
    if p_table = 'public.deposits' then
        delete from private.deposit_rests as r where r.deposit_id = v_id;
        delete from private.deposit_receipts as r where r.deposit_id = v_id;
    end if;
    if p_table in ('public.deposits', 'public.withdrawals') then
        delete from private.request_texts as t where t.request_id = v_id;
        delete from private.transfer_keys as k where k.request_id = v_id;
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.time_ordered_id()
  RETURNS uuid
  LANGUAGE sql
  AS $function$
    select (
        -- The version stands between the milliseconds and their 4,096th parts.
        pg_catalog.overlay(
            pg_catalog.lpad(pg_catalog.to_hex((extract(epoch from pg_catalog.clock_timestamp()) * 4096000)::bigint), 15, '0'), '7', 13, 0
        )
        || pg_catalog.right(pg_catalog.gen_random_uuid()::text, 17)
    )::uuid
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
    effective_at  timestamp with time zone,
    id            uuid,
    item          jsonb,
    balance_after numeric
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
        effective_at, created_at, id, source, amount, kind, status, bonus_id, bonus_amount, source_user_id, subject_no, pair_number, rate, volume,
        decision_no, reference, wallet_address, admin_notes, decided_at, payout_reference, in_balance, received_amount,
        balance_after
    ) as materialized (
        (
            select
                t.created_at, t.created_at, t.id, 'bonus', t.amount::numeric, b.bonus_type || ' bonus', t.status::text, b.id, b.amount::numeric, b.source_user_id,
                b.subject_no, b.pair_number, b.rate, b.volume, t.decision_no, null::text, null::text, null::text, null::timestamptz, null::text,
                true, null::numeric, t.balance_after::numeric
            from public.transactions as t
            -- Looked up row by row, in the order of the journal.
            cross join lateral (select * from public.bonuses as r where r.id = t.reference_id offset 0) as b
            where
                t.user_id = p_user_id
                and t.transaction_type = 'bonus'
                and (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        union all
        (
            select
                coalesce(d.decided_at, d.created_at), d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null, null,
                null, null, null, null, d.decision_no, d.reference_number, null, d.admin_notes, d.decided_at, null,
                false, d.received_amount, null
            from public.deposits as d
            where
                d.user_id = p_user_id
                and (coalesce(d.decided_at, d.created_at), d.id) < (p_before_at, p_before_id)
                and coalesce(d.decided_at, d.created_at) >= p_from and coalesce(d.decided_at, d.created_at) < p_to
                and (p_type is null or p_type = 'deposit')
                and (p_status is null or p_status = d.status::text)
            order by coalesce(d.decided_at, d.created_at) desc, d.id desc
            limit p_limit
        )
        union all
        (
            select
                coalesce(w.decided_at, w.created_at), w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null, null,
                null, null, null, null, w.decision_no, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference,
                w.status = 'approved', null, null
            from public.withdrawals as w
            where
                w.user_id = p_user_id
                and (coalesce(w.decided_at, w.created_at), w.id) < (p_before_at, p_before_id)
                and coalesce(w.decided_at, w.created_at) >= p_from and coalesce(w.decided_at, w.created_at) < p_to
                and (p_type is null or p_type = 'withdrawal')
                and (p_status is null or p_status = w.status::text)
            order by coalesce(w.decided_at, w.created_at) desc, w.id desc
            limit p_limit
        )
        union all
        (
            select
                t.created_at, t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null, null,
                null, null, null, null, t.decision_no, null, null, null, null, null,
                t.transaction_type = 'withdrawal', null, t.balance_after
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
        g.effective_at,
        g.id,
        pg_catalog.jsonb_build_object(
            'id', case when g.source = 'bonus' and not o.is_first then g.id else coalesce(g.bonus_id, g.id) end,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'effective_at', g.effective_at,
            'source', case when g.source = 'bonus' and not o.is_first then 'transaction' else g.source end,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by n.child_no)
                from private.positions as n
                inner join private.profiles as c on n.user_id = c.user_id
                where n.referrer_no = g.subject_no and n.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'bonus_amount', private.money(g.bonus_amount),
            'reentry', case when g.bonus_id is not null then private.money(pg_catalog.round(g.amount * private.reentry_percent() / 100, 2)) end,
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'received_amount', private.money(g.received_amount),
            'rest', case when g.source = 'deposit' and g.status = 'pending' then private.open_rest(g.id, g.amount) end,
            'further_references', case when g.source = 'deposit' then private.further_references(g.id) end,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal'),
            'cancelled', g.status = 'rejected' and g.decision_no is null,
            'in_balance', g.in_balance
        ),
        g.balance_after
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    cross join lateral (
        select g.bonus_id is null or not exists (
            select from public.transactions as f
            -- A repair may have booked it from one member to another.
            where f.reference_id = g.bonus_id and f.user_id = p_user_id
                and (coalesce(f.decision_no, 0), f.id) < (coalesce(g.decision_no, 0), g.id)
        ) as is_first
    ) as o
    order by g.effective_at desc, g.id desc;
end
$function$;

CREATE OR REPLACE FUNCTION private.transactions_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if not private.is_restoring_rows() and (
        (new.id, new.user_id, new.amount, new.transaction_type, new.reference_id, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.transaction_type, old.reference_id, old.created_at)
        or (old.status <> 'pending' and (new.status, new.decision_no) is distinct from (old.status, old.decision_no))
        or (new.balance_after is distinct from old.balance_after and old.status <> 'pending' and not private.is_repairing())
    ) then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.unlike_rows()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v) order by v.rule, v.object)
        from (
            select m.rule, m.object, m.user_id from private.balance_violations(null) as m
            union all
            select b.rule, b.object, b.user_id from private.bonus_violations(null) as b
            union all
            select p.rule, p.object, p.user_id from private.place_violations(null) as p
        ) as v
        where v.rule = any(private.row_rules())
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.users_in (
  p_changes jsonb
)
  RETURNS uuid[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select array(
        select v.id::uuid
        from pg_catalog.jsonb_array_elements(p_changes) as d (value)
        cross join lateral (values (d.value #>> '{old,user_id}'), (d.value #>> '{new,user_id}')) as v (id)
        where v.id is not null
        group by v.id
        order by v.id
    )
$function$;

CREATE OR REPLACE FUNCTION private.users_sync_email()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
begin
    update private.profiles as p set email = pg_catalog.lower(new.email)
    where p.user_id = new.id and p.closed_at is null
    returning * into v_member;
    if v_member.id is not null then
        -- Sign-ups of the address are void now.
        delete from private.username_reservations as r where r.email = v_member.email;
        perform private.place_withdrawal_hold(new.id, 'email');
        perform private.audit(
            'member:' || new.id, 'member.email_changed', 'profile', v_member.id, private.member_entry(v_member.id, array['email', 'hold_until'])
        );
        perform private.notify_member(
            new.id, 'email_changed', 'Your email address was changed',
            pg_catalog.format('You sign in with %s now. Withdrawals are approved 24 hours from now at the earliest. If this was not you, contact support.', new.email),
            null, '/profile'
        );
    end if;
    return null;
exception when others then
    raise log 'e-mail of % not carried over: % %', new.id, sqlstate, sqlerrm;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.utc_text (
  p_time timestamp with time zone
)
  RETURNS text
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$function$;

CREATE OR REPLACE FUNCTION private.validate_reference (
  p_reference text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
    v_key text := case when pg_catalog.length(p_reference) <= 200 then (private.reference_keys(p_reference))[1] end;
begin
    if v_key is null or not private.is_readable(p_reference) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    perform private.require_plausible_reference(p_reference);
    return v_key;
end
$function$;

CREATE OR REPLACE FUNCTION private.verification_result (
  p_profile private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
    v_has_profile boolean := (p_profile).username is not null and (p_profile).email is not null;
    v_has_wallet boolean := (p_profile).trc20_wallet_address is not null;
    v_is_active boolean := (p_profile).account_status = 'active';
    v_missing numeric := private.missing_cash_in((p_profile).package_value, (p_profile).cash_in_amount);
    v_is_paid boolean := (p_profile).package_value > 0 and v_missing is null;
    v_step text := case
        when not v_has_profile then 'profile'
        when not v_has_wallet then 'wallet'
        when not v_is_paid then 'package'
        else 'complete'
    end;
begin
    return pg_catalog.jsonb_build_object(
        'hasProfile', v_has_profile,
        'hasWallet', v_has_wallet,
        'hasVerifiedAccount', v_step = 'complete',
        'canDeposit', v_has_profile and v_has_wallet and v_is_active,
        'canWithdraw', v_step = 'complete' and v_is_active,
        'cashInAmount', private.money((p_profile).cash_in_amount),
        'packageValue', private.money((p_profile).package_value),
        'sufficientCashIn', v_is_paid,
        'missingCashIn', private.money(v_missing),
        'verificationStep', v_step,
        'stepMessage', case
            when v_step = 'profile' then 'Complete your profile with username and email'
            when v_step = 'wallet' then 'Add your TRC-20 wallet address for withdrawals'
            when v_step = 'complete' then 'Account fully verified and ready'
            when (p_profile).package_value = 0 then 'Select a package and make your first deposit'
            else pg_catalog.format(
                'Complete your package deposit (%s/%s)',
                private.dollars((p_profile).cash_in_amount), private.dollars((p_profile).package_value)
            )
        end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_flags (
  p_withdrawal public.withdrawals,
  p_member     private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text, 'until', f.until))), '[]'
        )
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text, null::timestamptz as until
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    ),
                    null
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.id desc
                limit 1
            )
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.usernames), null
            from private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id) as s (usernames)
            where s.usernames is not null
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            ), (p_member).hold_until
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status), null
            where (p_member).account_status in ('suspended', 'disabled') and (p_member).closed_at is null
            union all
            select 'closed', 'This account is closed', null
            where (p_member).closed_at is not null
            union all
            select
                'other_requests',
                pg_catalog.format(
                    case count(*)
                        when 1 then '%s more withdrawal of this member waits, %s' else '%s more withdrawals of this member wait, %s in all'
                    end, count(*), private.dollars(sum(o.amount))
                ),
                null
            from public.withdrawals as o
            where o.user_id = (p_withdrawal).user_id and o.status = 'pending' and o.id <> (p_withdrawal).id
            having count(*) > 0
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if private.is_restoring_rows() and new.id = old.id then
        return new;
    end if;
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
declare
    v_balance numeric;
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    update private.totals as t set
        reserved_amount = t.reserved_amount - new.amount,
        withdrawn_amount = t.withdrawn_amount + case when new.status = 'approved' then new.amount else 0 end
    where t.user_id = new.user_id
    returning t.bonus_amount - t.withdrawn_amount into v_balance;
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no,
        balance_after = case when new.status = 'approved' then v_balance end
    where t.transaction_type = 'withdrawal' and t.reference_id = new.id;
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

CREATE OR REPLACE FUNCTION private.withdrawals_record_payout()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    perform private.register_transfer(new.id, new.payout_reference, true);
    perform private.increment_counter('withdrawals_paid_count', 1);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.wallet_address));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', 1);
    perform private.increment_counter('reserved', new.amount);
    perform private.audit(
        private.requester(), 'withdrawal.requested', 'withdrawal', new.id, private.withdrawal_request_facts(new), new.created_at
    );
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_void()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.is_repairing() then
        perform private.record_withdrawal_flow(new, -1);
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
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.wallet_address)
            is not distinct from (new.user_id, new.amount, new.wallet_address) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
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
    -- New rows have the time of the decision, changes a later one: in this order the balances go on in the journal.
    if v_missing then
        insert into public.bonuses (user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no)
        select u.user_id, s.user_id, d.bonus_type, d.cents * 0.01, p_at, d.pair_number, d.rate, d.volume_cents * 0.01, d.subject_no
        from pg_catalog.unnest(p_due) as d
        inner join private.positions as u on d.user_no = u.no
        inner join private.positions as s on d.source_no = s.no
        where d.bonus_id is null
        order by d.subject_no, d.bonus_type, d.pair_number;
    end if;
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
end
$function$;

CREATE OR REPLACE FUNCTION private.write_rows (
  p_changes private.row_change[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_change private.row_change;
    v_table regclass;
    v_columns text;
    v_key text;
    v_place tid;
    v_done jsonb := '[]'::jsonb;
begin
    -- Rows are taken out first: one may stand in the place of what is right.
    for v_change in
        select c.table_name, c.key, c.old, c.new from pg_catalog.unnest(p_changes) with ordinality as c (table_name, key, old, new, place)
        order by c.new is null desc, c.place
    loop
        continue when (v_change).old is not distinct from (v_change).new;
        v_table := (v_change).table_name;
        select pg_catalog.string_agg(pg_catalog.quote_ident(f.key), ', ') into v_columns
        from pg_catalog.jsonb_object_keys(private.changed_fields((v_change).new, coalesce((v_change).old, '{}'))) as f (key);
        select pg_catalog.string_agg(pg_catalog.quote_ident(f.key), ', ') into v_key
        from pg_catalog.jsonb_object_keys((v_change).key) as f (key);
        if (v_change).old is null then
            execute pg_catalog.format(
                'insert into %1$s (%2$s) select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1)', v_table, v_columns
            ) using (v_change).new;
        else
            execute pg_catalog.format(
                'select t.ctid from %1$s as t where (%2$s) = (select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1))', v_table, v_key
            ) into strict v_place using (v_change).key;
            if (v_change).new is null then
                perform private.take_out_parts(v_table::text, (v_change).key);
                execute pg_catalog.format('delete from %s as t where t.ctid = $1', v_table) using v_place;
            else
                execute pg_catalog.format(
                    'update %1$s as t set (%2$s) = (select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1)) where t.ctid = $2',
                    v_table, v_columns
                ) using (v_change).new, v_place;
            end if;
        end if;
        v_done := v_done || private.row_change_json(v_change);
    end loop;
    return v_done;
end
$function$;

CREATE OR REPLACE FUNCTION private.wrong_rows()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v) order by v.rule, v.object)
        from (
            select j.rule, j.object, j.user_id from private.journal_violations(null) as j
            union all
            select r.rule, r.object, r.user_id from private.request_violations(null) as r
            union all
            select a.rule, a.object, a.user_id from private.audit_discrepancies() as a
            union all
            select s.rule, s.object, s.user_id from private.standing_violations() as s
            union all
            select m.rule, m.object, m.user_id from private.member_state_violations(null) as m
        ) as v
        where v.rule = any(private.row_rules())
    );
end
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
        -- An event is over when it is understood; a state lasts until it is mended.
        ended_at = case when a.kind in ('repair', 'restored') or (a.kind, a.object) = ('deposit_address', 'changed') then pg_catalog.clock_timestamp() end
    where a.id = p_id;
    perform private.audit(
        'admin:' || v_admin.id, 'alarm.acknowledged', 'alarm', p_id,
        pg_catalog.jsonb_build_object('kind', v_alarm.kind, 'object', v_alarm.object, 'user_id', v_alarm.user_id, 'details', v_alarm.details, 'reason', v_reason)
    );
    return '{"success": true}'::jsonb;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$function$;

CREATE OR REPLACE FUNCTION public.add_deposit_reference (
  p_id        uuid,
  p_reference text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.lock_member(auth.uid());
    v_reference text := pg_catalog.btrim(p_reference, E' \t\r\n');
    v_deposit public.deposits;
    v_rest private.deposit_rests;
begin
    perform private.require_active_status(nullif(v_member.account_status, 'pending'));
    select * into v_deposit from public.deposits as d where d.id = p_id and d.user_id = auth.uid();
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit of yours.');
    end if;
    select * into v_rest from private.deposit_rests as r where r.deposit_id = p_id order by r.no desc limit 1;
    if v_rest.reference_number = v_reference then
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'rest', private.rest_json(v_rest, v_deposit.amount));
    end if;
    if v_deposit.status <> 'pending' then
        perform private.raise_error(
            409, 'already_decided',
            pg_catalog.format('Already %s %s.', v_deposit.status, private.relative_time(v_deposit.decided_at, private.clock()))
        );
    end if;
    if v_rest.no is null or v_rest.reference_number is not null then
        perform private.raise_error(
            409, 'rest_not_asked', case
                when v_rest.no is null then 'Nothing is asked for with this deposit.'
                else 'The reference of the rest was received. Wait for the review.'
            end
        );
    end if;
    perform private.validate_reference(v_reference);
    if exists (
        select 1 from private.due_transfer_keys(v_reference) as n inner join private.transfer_keys as k on n.key = k.key where k.request_id = p_id
    ) then
        perform private.raise_error(
            409, 'reference_used', 'This deposit has this reference already. Enter that of the transfer of the rest.'
        );
    end if;
    update private.deposit_rests as r set reference_number = v_reference, referenced_at = private.clock()
    where r.deposit_id = p_id and r.no = v_rest.no
    returning * into v_rest;
    perform private.register_transfer(p_id, v_reference, false);
    insert into private.request_texts (request_id, text) values (p_id, pg_catalog.lower(v_reference));
    perform private.audit(
        'member:' || auth.uid(), 'deposit.reference_added', 'deposit', p_id, private.rest_reference_facts(v_deposit, v_rest), v_rest.referenced_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'rest', private.rest_json(v_rest, v_deposit.amount));
end
$function$;

REVOKE ALL ON FUNCTION "public"."add_deposit_reference"(uuid, text) FROM PUBLIC, "anon", "service_role";

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
    if p_id is not null and private.cancel_requests(auth.uid(), p_id, 'Cancelled by the member', 'member:' || auth.uid()) > 0 then
        perform private.require_no_alarm(auth.uid(), 'request');
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

CREATE OR REPLACE FUNCTION public.change_setting (
  p_key   text,
  p_value jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before jsonb;
    v_setting private.settings;
begin
    if p_key in ('demo', 'demo.seeded', 'mail.ready', 'mail.server', 'site.url') then
        perform private.raise_error(403, 'forbidden', 'This changes through readiness only.');
    end if;
    perform pg_catalog.set_config('app.repair', 'rows', true);
    perform private.restore_limits(p_key, p_value);
    perform pg_catalog.set_config('app.repair', '', true);
    perform private.check_setting(p_key, p_value);
    if (select s.needs_proof from private.settings as s where s.key = p_key) then
        perform private.require_fresh_admin_proof('change ' || p_key);
    end if;
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set
        value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id, revision = s.revision + 1
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.notify_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back immediately.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
            '/admin/readiness'
        );
    end if;
    perform private.audit_setting('admin:' || v_admin.id, p_key, v_before);
    return pg_catalog.jsonb_build_object('success', true, 'setting', pg_catalog.jsonb_build_object('key', v_setting.key, 'value', v_setting.value))
        || private.audit_entries();
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
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
    v_changed text;
begin
    if private.are_one_person(v_correction.proposed_by, v_admin.id) then
        perform private.raise_error(403, 'two_people', private.two_people_text(v_correction, v_admin));
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_fresh_admin_proof('confirm a correction');
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    v_changed := private.change_since_proposal(v_correction);
    if v_changed is not null then
        perform private.raise_error(409, 'changed_since', v_changed);
    end if;
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
            when 'repair_rows' then 'Entries of your history are again what they were. Your balance does not change.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    perform private.mail_correction(v_correction, 'confirmed', v_admin);
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction, v_correction.confirmed_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.confirm_test_mail()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not exists (select 1 from private.outbox as o where o.template = 'test_mail' and o.recipient = v_admin.email and o.sent_at is not null) then
        perform private.raise_error(409, 'not_sent', 'No test email has been sent to you yet.');
    end if;
    update private.settings as s set value = 'true', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'mail.ready';
    perform private.audit_setting('admin:' || v_admin.id, 'mail.ready');
    return '{"success": true}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_deposit (
  p_deposit_id      uuid,
  p_action          text,
  p_reason          text    DEFAULT NULL::text,
  p_received_amount numeric DEFAULT NULL::numeric
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := case when p_action is distinct from 'ask_rest' then private.parse_action(p_action) end;
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_deposit public.deposits;
begin
    perform private.require_received_amount(p_received_amount);
    if p_action = 'ask_rest' then
        if p_reason is not null then
            perform private.raise_error(
                400, 'invalid_input', 'A reason belongs to a rejection. The member is told what arrived and what is missing.'
            );
        end if;
        return private.ask_rest(v_admin, p_deposit_id, p_received_amount);
    end if;
    if v_status = 'rejected' and p_received_amount is not null then
        perform private.raise_error(
            400, 'invalid_input', 'The amount that arrived belongs to an approval. Name both amounts in the reason of a rejection.'
        );
    end if;
    v_deposit := private.lock_deposit(p_deposit_id, v_admin);
    if v_deposit.status <> 'pending' then
        if (v_deposit.status, v_deposit.decided_by, v_deposit.received_amount) is distinct from (v_status, v_admin.id, p_received_amount) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
        end if;
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
    end if;
    perform private.require_no_alarm(v_deposit.user_id, 'deposit');
    if v_status = 'approved' then
        perform private.require_near_claim(v_deposit, p_received_amount);
    end if;
    v_deposit.decision_no := private.next_decision_no();
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set
        status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id, decision_no = v_deposit.decision_no,
        received_amount = p_received_amount
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.notify_decision(
        'deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason, nullif(v_deposit.received_amount, v_deposit.amount)
    );
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id, private.deposit_decision_facts(v_deposit), v_deposit.decided_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit))) || private.audit_entries();
end
$function$;

REVOKE ALL ON FUNCTION "public"."decide_deposit"(uuid, text, text, numeric) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.decide_withdrawal (
  p_withdrawal_id    uuid,
  p_action           text,
  p_reason           text    DEFAULT NULL::text,
  p_payout_reference text    DEFAULT NULL::text,
  p_shared_payout    boolean DEFAULT false,
  p_payout_reason    text    DEFAULT NULL::text
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
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_member, v_admin, v_paid, p_shared_payout, p_payout_reason);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id, 'withdrawal');
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
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_member, v_admin, v_paid, p_shared_payout, p_payout_reason);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$function$;

REVOKE ALL ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean, text) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.discard_correction (
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
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    if not private.restore_proposal(p_correction_id) then
        perform private.audit('admin:' || v_admin.id, 'correction.taken_out', 'correction', p_correction_id, private.correction_facts(v_correction));
        return '{"success": true}'::jsonb || private.audit_entries();
    end if;
    update private.corrections as c set discarded_by = v_admin.id, discarded_at = private.clock()
    where c.id = p_correction_id
    returning * into v_correction;
    return private.audit_correction('correction.discarded', v_admin.id, v_correction, v_correction.discarded_at);
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
        (
            select d.id, d.user_id, d.amount, d.created_at, d.created_at as waits_since from public.deposits as d
            where d.status = 'pending'
                and not exists (select 1 from private.deposit_rests as o where o.deposit_id = d.id and o.ended_at is null)
            order by d.created_at, d.id limit 1
        )
        union all
        (
            select d.id, d.user_id, d.amount, d.created_at, coalesce(o.referenced_at, o.asked_at)
            from private.deposit_rests as o inner join public.deposits as d on o.deposit_id = d.id
            where o.ended_at is null
            order by coalesce(o.referenced_at, o.asked_at) limit 1
        )
        order by waits_since, id
        limit 1
    ) as r;
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_withdrawal
    from (
        select w.id, w.user_id, w.amount, w.created_at from public.withdrawals as w
        where w.status = 'pending' order by w.created_at, w.id limit 1
    ) as r;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', r.id, 'type', r.type, 'user_email', p.email, 'username', p.username,
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status,
            'cancelled', r.status = 'rejected' and r.decided_by is null
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status, d.decided_by
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status, w.decided_by
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

CREATE OR REPLACE FUNCTION public.get_deposit_options()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
begin
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'package_value', private.money(v_member.package_value),
        'deposits_open', private.are_deposits_open(),
        'deposit_address', case when private.are_deposits_open() then private.setting_text('deposit.address') end,
        'deposit_address_sample', private.is_demo(),
        'choices', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'value', private.money(k.value),
                        'label', k.label,
                        'rate', private.plan_rate(k.pairing_percent),
                        'kind', case when v_member.package_value = 0 then 'first' else 'upgrade' end
                    ) order by k.value
                ), '[]'
            )
            from private.packages as k where k.value > v_member.package_value
        ),
        'other_amount_allowed', v_member.package_value > 0,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', d.id,
                        'amount', private.money(d.amount),
                        'reference_number', d.reference_number,
                        'receipt_url', d.receipt_url,
                        'created_at', d.created_at,
                        'rest', private.open_rest(d.id, d.amount)
                    ) order by d.created_at
                ), '[]'
            )
            from public.deposits as d where d.user_id = v_member.user_id and d.status = 'pending'
        ),
        'pending_limit', private.setting('deposit.pending_limit')
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
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.effective_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'source', r.source,
                        'id', r.id,
                        'amount', private.money(r.amount),
                        'created_at', r.created_at,
                        'rest', case when r.source = 'deposit' then private.open_rest(r.id, r.amount) end
                    ) order by r.created_at, r.id
                ), '[]'
            )
            from (
                select 'deposit' as source, d.id, d.amount, d.created_at
                from public.deposits as d where d.user_id = p.user_id and d.status = 'pending'
                union all
                select 'withdrawal', w.id, w.amount, w.created_at
                from public.withdrawals as w where w.user_id = p.user_id and w.status = 'pending'
            ) as r
        ),
        'unread_notifications', private.unread_notifications(p.user_id),
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

CREATE OR REPLACE FUNCTION public.get_platform()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'product_name', private.setting('product.name'),
        'demo', private.is_demo(),
        'support', pg_catalog.jsonb_build_object(
            'name', private.setting('support.name'), 'email', private.setting('support.email'), 'url', private.setting('support.url')
        ),
        'operator', pg_catalog.jsonb_build_object('name', private.setting('operator.name'), 'address', private.setting('operator.address')),
        'packages', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'value', private.money(k.value), 'label', k.label, 'rate', k.pairing_percent::text
                ) order by k.value
            ) from private.packages as k
        ),
        'rates', pg_catalog.jsonb_build_object(
            'referral', private.referral_percent()::text,
            'override', private.override_percent()::text,
            'reentry', private.reentry_percent()::text
        ),
        'limits', pg_catalog.jsonb_build_object(
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(10000000),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'deposits_open', private.are_deposits_open(),
        'explorer_url', private.setting('explorer.url'),
        'terms', private.legal_document('terms'),
        'risk', private.legal_document('risk')
    )
$function$;

CREATE OR REPLACE FUNCTION public.get_request_changes (
  p_noun text,
  p_ids  uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_admin();
    if p_noun is null or p_noun not in ('deposits', 'withdrawals') or pg_catalog.cardinality(p_ids) > 500 then
        perform private.raise_error(400, 'invalid_filter', 'Name deposits or withdrawals, and at most 500 of them.');
    end if;
    return pg_catalog.jsonb_build_object(
        'counts', private.request_counts(p_noun),
        'rests', (
            select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', d.id, 'rest', private.rest_json(r, d.amount))), '[]')
            from private.deposit_rests as r
            inner join public.deposits as d on r.deposit_id = d.id
            where p_noun = 'deposits' and r.deposit_id = any(p_ids) and r.ended_at is null
        ),
        'decided', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) || pg_catalog.jsonb_build_object('decided_by_name', coalesce(a.full_name, a.email))), '[]'
            )
            from (
                select d.id, d.status, d.admin_notes, d.decided_at, d.decided_by, d.voided_at, private.money(d.received_amount) as received_amount, null as payout_reference
                from public.deposits as d where p_noun = 'deposits' and d.id = any(p_ids) and d.status <> 'pending'
                union all
                select w.id, w.status, w.admin_notes, w.decided_at, w.decided_by, w.voided_at, null, w.payout_reference
                from public.withdrawals as w where p_noun = 'withdrawals' and w.id = any(p_ids) and w.status <> 'pending'
            ) as r
            left join private.admin_users as a on r.decided_by = a.id
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_transaction_history (
  p_type   text    DEFAULT NULL::text,
  p_status text    DEFAULT NULL::text,
  p_from   date    DEFAULT NULL::date,
  p_to     date    DEFAULT NULL::date,
  p_before text    DEFAULT NULL::text,
  p_limit  integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 25, 100);
    v_before record;
    v_items jsonb[];
    v_times timestamptz[];
    v_ids uuid[];
begin
    if p_type not in ('deposit', 'withdrawal', 'bonus', 'referral bonus', 'pairing bonus', 'override bonus', 'correction') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such type of transaction.');
    end if;
    if p_status not in ('pending', 'approved', 'rejected', 'completed', 'failed') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select * into v_before from private.decode_cursor(p_before);
    -- Read one row more to know whether there is a next page.
    select
        pg_catalog.array_agg(
            h.item || pg_catalog.jsonb_build_object(
                'balance_after', private.money(coalesce(h.balance_after, private.balance_at(v_user_id, h.effective_at, h.id)))
            ) order by h.effective_at desc, h.id desc
        ),
        pg_catalog.array_agg(h.effective_at order by h.effective_at desc, h.id desc),
        pg_catalog.array_agg(h.id order by h.effective_at desc, h.id desc)
    into v_items, v_times, v_ids
    from private.transaction_history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then private.encode_cursor(v_times[v_limit], v_ids[v_limit]) end
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.leave_demo()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_missing text;
begin
    perform private.lock_money();
    if not private.is_demo() then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode has ended already.');
    end if;
    perform private.lock_requests();
    select pg_catalog.string_agg(r.missing, ' ') into v_missing from private.readiness() as r where not r.ok;
    if v_missing is not null then
        perform private.raise_error(409, 'not_ready', v_missing);
    end if;
    update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'demo';
    perform private.audit_setting('admin:' || v_admin.id, 'demo');
    perform private.audit('admin:' || v_admin.id, 'demo.left', null, null);
    return '{"success": true}'::jsonb || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.propose_correction (
  p_kind      text,
  p_target_id uuid,
  p_value     numeric,
  p_reason    text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_user_id uuid;
    v_restores jsonb;
    v_correction private.corrections;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    if p_kind = 'set_package' and (
        p_value is null or not (p_value = 0 or exists (select 1 from private.packages as k where k.value = p_value))
    ) then
        perform private.raise_error(400, 'invalid_input', 'The package must be 0 or one of the package sizes.');
    end if;
    v_user_id := private.require_correctable_member(p_kind, p_target_id);
    if p_kind = 'repair_rows' then
        perform private.lock_money();
        v_restores := private.require_rows_to_restore(v_user_id);
    end if;
    begin
        insert into private.corrections (
            kind, target_id, user_id, value, reason, proposed_by, proposed_at, based_on_package, based_on_cash_in, restores
        )
        select
            p_kind, p_target_id, p.user_id, case when p_kind = 'set_package' then p_value end, v_reason, v_admin.id, private.clock(),
            case when p_kind in ('void_deposit', 'set_package') then p.package_value end,
            case when p_kind in ('void_deposit', 'set_package') then p.cash_in_amount end, v_restores
        from private.profiles as p where p.user_id = v_user_id
        returning * into strict v_correction;
    exception when unique_violation then
        perform private.raise_error(409, 'already_proposed', 'This correction is already waiting for its confirmation.');
    end;
    perform private.mail_correction(v_correction, 'proposed', v_admin);
    return private.audit_correction('correction.proposed', v_admin.id, v_correction, v_correction.proposed_at);
end
$function$;

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
    v_before jsonb;
    v_found jsonb;
    v_changes private.sum_change[];
    v_response jsonb;
begin
    if nullif(pg_catalog.btrim(p_reason), '') is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.lock_money();
    v_found := private.wrong_rows();
    if v_found is not null then
        perform private.raise_rows_wrong(v_found || coalesce(private.unlike_rows(), '[]'));
    end if;
    v_before := coalesce(private.unlike_rows(), '[]');
    perform pg_catalog.set_config('app.repair', 'on', true);
    v_changes := private.rebuild_sums();
    v_found := private.unlike_rows();
    -- Bonuses that fitted a package which nobody paid for follow it back.
    if v_found @? '$[*] ? (@.rule == "I11")' and not v_before @? '$[*] ? (@.rule == "I11")' then
        perform private.reconcile();
        v_changes := v_changes || private.rebuild_sums();
        v_found := private.unlike_rows();
    end if;
    v_response := private.changes_json(v_changes);
    if v_found is not null then
        perform private.raise_rows_wrong(v_found);
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform private.audit(
        'admin:' || v_admin.id, 'books.rebuilt', 'counters', null, pg_catalog.jsonb_build_object('reason', v_reason) || v_response
    );
    return v_response || '{"success": true}';
end
$function$;

CREATE OR REPLACE FUNCTION public.reset_two_step (
  p_admin_id uuid,
  p_reason   text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Turn your own two-step sign-in off with a code.');
    end if;
    perform private.require_fresh_admin_proof('reset two-step sign-in');
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.two_step_reset', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object('reason', v_reason) || private.administrator_entry(p_admin_id, array['two_step'])
    );
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was removed, as for a lost device.', v_caller.id);
    return '{"success": true}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.restore_member (
  p_profile_id uuid,
  p_reason     text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_member private.profiles;
    v_state jsonb;
    v_email text;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    perform private.require_fresh_admin_proof('restore what the audit log says of a member');
    v_member := private.lock_member((select p.user_id from private.profiles as p where p.id = p_profile_id));
    v_state := private.last_state(p_profile_id);
    if v_member.id is null or v_state is null then
        perform private.raise_error(404, 'not_found', 'The audit log says nothing of such a member.');
    end if;
    select e.email into v_email
    from (
        select v_member.email
        union all
        select pg_catalog.lower(u.email) from auth.users as u where u.id = v_member.user_id
    ) as e
    where private.digest_text(v_member.id || ' ' || e.email) is not distinct from v_state ->> 'email'
    limit 1;
    if v_email is null and v_state ->> 'email' is not null then
        perform private.raise_error(
            409, 'email_unknown', 'Neither the profile nor the account to sign in with has the email that the audit log says. Ask the member which one it was and change the account''s email to it first.'
        );
    end if;
    if exists (
        select from auth.users as u
        where u.id = v_member.user_id and v_state ->> 'closed_at' is null and pg_catalog.lower(u.email) is distinct from v_email
    ) then
        perform private.raise_error(
            409, 'email_unknown', 'The account to sign in with has another email than the audit log says. Ask the member which one is right and change the account''s email to it first.'
        );
    end if;
    update private.profiles as p set
        trc20_wallet_address = v_state ->> 'wallet',
        email = v_email,
        account_status = (v_state ->> 'status')::public.account_status,
        hold_until = (v_state ->> 'hold_until')::timestamptz,
        hold_reason = case when v_state ->> 'hold_until' is not null then coalesce(p.hold_reason, 'wallet') end,
        closed_at = (v_state ->> 'closed_at')::timestamptz,
        -- The count itself may differ, too.
        revision = greatest(p.revision, (v_state ->> 'revision')::bigint) + 1
    where p.id = p_profile_id;
    perform private.audit(
        'admin:' || v_admin.id, 'member.restored', 'profile', p_profile_id,
        pg_catalog.jsonb_build_object('reason', v_reason)
        || private.member_entry(p_profile_id, array['wallet', 'email', 'status', 'hold_until', 'closed_at'])
    );
    return '{"success": true}'::jsonb || private.audit_entries();
end
$function$;

REVOKE ALL ON FUNCTION "public"."restore_member"(uuid, text) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.start_factor_removal (
  p_profile_id uuid,
  p_reason     text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id and p.closed_at is null);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_user is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.require_fresh_admin_proof('remove a member''s two-step sign-in');
    perform private.end_sessions(v_user);
    perform private.place_withdrawal_hold(v_user, 'factor');
    perform private.audit(
        'admin:' || v_admin.id, 'member.factors_removed', 'profile', p_profile_id,
        pg_catalog.jsonb_build_object('reason', v_reason) || private.member_entry(p_profile_id, array['hold_until'])
    );
    return pg_catalog.jsonb_build_object('user_id', v_user);
end
$function$;

CREATE OR REPLACE FUNCTION public.update_administrator (
  p_admin_id  uuid,
  p_full_name text,
  p_role      text,
  p_is_active boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users;
    v_before private.admin_users;
    v_after private.admin_users;
begin
    -- Lock all accounts before reading the caller, who may have lost the role while waiting.
    perform 1 from private.admin_users as a order by a.id for no key update;
    v_caller := private.require_admin(array['super_admin']::public.admin_role[]);
    select * into v_before from private.admin_users as a where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if p_role is not null and p_role not in ('super_admin', 'finance_admin', 'support_admin') then
        perform private.raise_error(400, 'invalid_input', 'There is no such role.');
    end if;
    if p_admin_id = v_caller.id and (coalesce(p_role, 'super_admin') <> 'super_admin' or p_is_active is false) then
        perform private.raise_error(403, 'forbidden', 'You cannot change your own role or switch your own account off.');
    end if;
    perform private.require_fresh_admin_proof('change an administrator');
    update private.admin_users as a set
        full_name = coalesce(nullif(pg_catalog.btrim(p_full_name), ''), a.full_name),
        role = coalesce(p_role::public.admin_role, a.role),
        is_active = coalesce(p_is_active, a.is_active),
        updated_at = pg_catalog.clock_timestamp(),
        revision = a.revision + 1
    where a.id = p_admin_id
    returning a.* into v_after;
    if not v_after.is_active or v_after.role is distinct from v_before.role then
        delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.updated', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object(
            'role', v_after.role, 'role_before', v_before.role, 'is_active', v_after.is_active, 'is_active_before', v_before.is_active
        ) || private.administrator_entry(p_admin_id, array['role', 'is_active'])
    );
    perform private.mail_admin_change(
        p_admin_id,
        nullif(pg_catalog.concat_ws(
            ' ',
            case when v_after.role <> v_before.role then pg_catalog.format(
                'The role was changed from %s to %s.',
                pg_catalog.replace(v_before.role::text, '_', ' '), pg_catalog.replace(v_after.role::text, '_', ' ')
            ) end,
            case when v_after.is_active <> v_before.is_active then pg_catalog.format(
                'The account was %s.', case when v_after.is_active then 'activated' else 'deactivated' end
            ) end,
            case when v_after.full_name is distinct from v_before.full_name then 'The name was changed.' end
        ), ''),
        v_caller.id
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_after)) || private.audit_entries();
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$function$;

CREATE OR REPLACE FUNCTION public.update_member (
  p_profile_id     uuid,
  p_account_status text,
  p_admin_notes    text,
  p_reason         text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_before private.profiles;
    v_after private.profiles;
begin
    perform private.require_totp(v_admin);
    if v_user is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if p_account_status is not null and p_account_status not in ('active', 'pending', 'suspended', 'disabled') then
        perform private.raise_error(400, 'invalid_input', 'There is no such account status.');
    end if;
    if p_account_status in ('suspended', 'disabled') then
        perform private.end_sessions(v_user);
    end if;
    v_before := private.lock_member(v_user);
    if v_before.closed_at is not null then
        perform private.raise_error(409, 'account_closed', 'This account is closed.');
    end if;
    if p_account_status is distinct from v_before.account_status::text and p_account_status is not null then
        perform private.require_status_change(v_admin.role, v_before.account_status, p_account_status::public.account_status);
        if v_reason is null then
            perform private.raise_error(400, 'reason_required', 'Give a reason.');
        end if;
    end if;
    update private.profiles as p set
        account_status = coalesce(p_account_status::public.account_status, p.account_status),
        admin_notes = case when p_admin_notes is null then p.admin_notes else nullif(pg_catalog.btrim(p_admin_notes), '') end
    where p.id = p_profile_id
    returning p.* into v_after;
    if v_after.account_status is distinct from v_before.account_status then
        perform private.notify_member(
            v_user, 'account_' || v_after.account_status, pg_catalog.format('Your account is %s', v_after.account_status), v_reason, null, '/dashboard'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'member.updated', 'profile', p_profile_id,
        pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'status_before', nullif(v_before.account_status::text, v_after.account_status::text),
            'status_after', nullif(v_after.account_status::text, v_before.account_status::text),
            'notes_changed', nullif(v_after.admin_notes is distinct from v_before.admin_notes, false),
            'reason', v_reason
        )) || case
            when v_after.account_status <> v_before.account_status then private.member_entry(p_profile_id, array['status']) else '{}'
        end
    );
    return pg_catalog.jsonb_build_object(
        'success', true,
        'profile', pg_catalog.to_jsonb(v_after) - array['depth', 'jump', 'package_size', 'revision'] || pg_catalog.jsonb_build_object(
            'package_value', private.money(v_after.package_value), 'cash_in_amount', private.money(v_after.cash_in_amount)
        )
    );
end
$function$;

ALTER TABLE "private"."alarms"
  ADD CONSTRAINT "alarms_kind_check"
    CHECK
    ((kind = ANY (ARRAY['ledger_violation'::text, 'repair'::text, 'deposit_address'::text, 'audit_entry'::text, 'disk'::text, 'dead_job'::text, 'failed_mail'::text, 'backup'::text,
    'restored'::text, 'schema'::text])));

ALTER TABLE "private"."corrections"
  ADD CONSTRAINT "corrections_kind_check" CHECK ((kind = ANY (ARRAY['void_deposit'::text, 'void_withdrawal'::text, 'set_package'::text, 'repair_rows'::text])));

ALTER TABLE "private"."corrections"
  ADD CONSTRAINT "only_repairs_restore_rows" CHECK (((kind = 'repair_rows'::text) = (restores IS NOT NULL)));

ALTER TABLE "private"."deposit_rests"
  ADD CONSTRAINT "deposit_rests_asked_by_fkey" FOREIGN KEY (asked_by) REFERENCES private.admin_users(id) ON DELETE RESTRICT;

ALTER TABLE "private"."deposit_rests"
  ADD CONSTRAINT "deposit_rests_deposit_id_fkey" FOREIGN KEY (deposit_id) REFERENCES public.deposits(id) ON DELETE RESTRICT;

ALTER TABLE "private"."request_texts"
  ADD CONSTRAINT "request_texts_pkey" PRIMARY KEY (request_id, text);

ALTER TABLE "private"."settings"
  ADD CONSTRAINT "settings_kind_check" CHECK ((kind = ANY (ARRAY['text'::text, 'integer'::text, 'boolean'::text, 'list'::text, 'time'::text, 'amount'::text])));

ALTER TABLE "public"."deposits"
  ADD CONSTRAINT "only_approved_has_arrived" CHECK (((received_amount IS NULL) OR (status = 'approved'::public.request_status)));

ALTER TABLE "public"."deposits"
  ADD CONSTRAINT "what_arrived_is_near_the_claim"
    CHECK ((((received_amount)::numeric > (0)::numeric) AND (abs(((received_amount)::numeric - (amount)::numeric)) <= LEAST((10)::numeric, ((amount)::numeric / (10)::numeric)))));

CREATE VIEW "private"."confirmed_voids" AS  SELECT c.target_id,
    c.confirmed_at
   FROM private.corrections c
  WHERE ((c.kind = ANY (ARRAY['void_deposit'::text, 'void_withdrawal'::text])) AND (c.confirmed_by IS NOT NULL));

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
                     JOIN private.packages k ON ((((d.amount)::numeric = (k.value)::numeric) AND (d.kind <> 'cash_in'::text))))
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

CREATE VIEW "private"."due_audit_entries" AS  SELECT 'I43'::text AS rule,
    'deposit'::text AS object_type,
    d.id AS object_id,
    'deposit.requested'::text AS action,
    d.created_at AS at,
    ARRAY[('member:'::text || d.user_id), 'service'::text, 'system'::text] AS actors,
    NULL::text[] AS roles,
    d.user_id,
    private.deposit_request_facts(d.*) AS facts,
    ''::text AS rest_no
   FROM public.deposits d
UNION ALL
 SELECT 'I43'::text AS rule,
    'deposit'::text AS object_type,
    d.id AS object_id,
    'deposit.reference_added'::text AS action,
    r.referenced_at AS at,
    ARRAY[('member:'::text || d.user_id)] AS actors,
    NULL::text[] AS roles,
    d.user_id,
    private.rest_reference_facts(d.*, r.*) AS facts,
    (r.no)::text AS rest_no
   FROM (private.deposit_rests r
     JOIN public.deposits d ON ((r.deposit_id = d.id)))
  WHERE (r.reference_number IS NOT NULL)
UNION ALL
 SELECT 'I44'::text AS rule,
    'withdrawal'::text AS object_type,
    w.id AS object_id,
    'withdrawal.requested'::text AS action,
    w.created_at AS at,
    ARRAY[('member:'::text || w.user_id), 'service'::text, 'system'::text] AS actors,
    NULL::text[] AS roles,
    w.user_id,
    private.withdrawal_request_facts(w.*) AS facts,
    ''::text AS rest_no
   FROM public.withdrawals w
UNION ALL
 SELECT 'I45'::text AS rule,
    'deposit'::text AS object_type,
    d.id AS object_id,
    ('deposit.'::text ||
        CASE
            WHEN (d.decided_by IS NULL) THEN 'cancelled'::text
            ELSE (d.status)::text
        END) AS action,
    d.decided_at AS at,
    ARRAY[
        CASE
            WHEN (d.decided_by IS NOT NULL) THEN ('admin:'::text || d.decided_by)
            WHEN (d.admin_notes <> 'Account closed'::text) THEN ('member:'::text || d.user_id)
            ELSE ( SELECT private.closing_actor(p.id, p.user_id) AS closing_actor
               FROM private.profiles p
              WHERE (p.user_id = d.user_id))
        END] AS actors,
        CASE
            WHEN (d.decided_by IS NOT NULL) THEN ARRAY['super_admin'::text, 'finance_admin'::text]
            ELSE NULL::text[]
        END AS roles,
    d.user_id,
    private.deposit_decision_facts(d.*) AS facts,
    ''::text AS rest_no
   FROM public.deposits d
  WHERE (d.status <> 'pending'::public.request_status)
UNION ALL
 SELECT 'I45'::text AS rule,
    'deposit'::text AS object_type,
    d.id AS object_id,
    'deposit.rest_asked'::text AS action,
    r.asked_at AS at,
    ARRAY[('admin:'::text || r.asked_by)] AS actors,
    ARRAY['super_admin'::text, 'finance_admin'::text] AS roles,
    d.user_id,
    private.rest_facts(d.*, r.*) AS facts,
    (r.no)::text AS rest_no
   FROM (private.deposit_rests r
     JOIN public.deposits d ON ((r.deposit_id = d.id)))
UNION ALL
 SELECT 'I46'::text AS rule,
    'withdrawal'::text AS object_type,
    w.id AS object_id,
    ('withdrawal.'::text ||
        CASE
            WHEN (w.decided_by IS NULL) THEN 'cancelled'::text
            ELSE (w.status)::text
        END) AS action,
    w.decided_at AS at,
    ARRAY[
        CASE
            WHEN (w.decided_by IS NOT NULL) THEN ('admin:'::text || w.decided_by)
            WHEN (w.admin_notes <> 'Account closed'::text) THEN ('member:'::text || w.user_id)
            ELSE ( SELECT private.closing_actor(p.id, p.user_id) AS closing_actor
               FROM private.profiles p
              WHERE (p.user_id = w.user_id))
        END] AS actors,
        CASE
            WHEN (w.decided_by IS NOT NULL) THEN ARRAY['super_admin'::text, 'finance_admin'::text]
            ELSE NULL::text[]
        END AS roles,
    w.user_id,
    private.withdrawal_decision_facts(w.*) AS facts,
    ''::text AS rest_no
   FROM public.withdrawals w
  WHERE (w.status <> 'pending'::public.request_status)
UNION ALL
 SELECT 'I47'::text AS rule,
    'withdrawal'::text AS object_type,
    w.id AS object_id,
    'withdrawal.paid'::text AS action,
    w.payout_at AS at,
    NULL::text[] AS actors,
    ARRAY['super_admin'::text, 'finance_admin'::text] AS roles,
    w.user_id,
    private.payout_facts(w.*) AS facts,
    ''::text AS rest_no
   FROM public.withdrawals w
  WHERE (w.payout_reference IS NOT NULL)
UNION ALL
 SELECT 'I48'::text AS rule,
    'correction'::text AS object_type,
    c.id AS object_id,
    ('correction.'::text || v.what) AS action,
    v.at,
    ARRAY[('admin:'::text || v.decided_by)] AS actors,
    v.roles,
    c.user_id,
    (private.correction_facts(c.*) || (
        CASE
            WHEN (v.what = 'proposed'::text) THEN '{"decision_no": null}'::text
            ELSE '{}'::text
        END)::jsonb) AS facts,
    ''::text AS rest_no
   FROM (private.corrections c
     CROSS JOIN LATERAL ( VALUES ('proposed'::text,c.proposed_by,c.proposed_at,ARRAY['super_admin'::text]), ('confirmed'::text,c.confirmed_by,c.confirmed_at,ARRAY['super_admin'::text, 'finance_admin'::text]), ('discarded'::text,c.discarded_by,c.discarded_at,ARRAY['super_admin'::text, 'finance_admin'::text])) v(what, decided_by, at, roles))
  WHERE (v.decided_by IS NOT NULL);

CREATE VIEW "private"."due_request_rows" AS  SELECT 'deposit'::public.transaction_type AS transaction_type,
    d.id AS reference_id,
    d.user_id,
    (d.amount)::numeric AS amount,
    (
        CASE d.status
            WHEN 'approved'::public.request_status THEN 'completed'::text
            WHEN 'rejected'::public.request_status THEN 'failed'::text
            ELSE 'pending'::text
        END)::public.transaction_status AS status,
    d.created_at,
    d.decision_no
   FROM public.deposits d
UNION ALL
 SELECT 'withdrawal'::public.transaction_type AS transaction_type,
    w.id AS reference_id,
    w.user_id,
    (- (w.amount)::numeric) AS amount,
    (
        CASE w.status
            WHEN 'approved'::public.request_status THEN 'completed'::text
            WHEN 'rejected'::public.request_status THEN 'failed'::text
            ELSE 'pending'::text
        END)::public.transaction_status AS status,
    w.created_at,
    w.decision_no
   FROM public.withdrawals w
UNION ALL
 SELECT (
        CASE c.kind
            WHEN 'void_deposit'::text THEN 'deposit'::text
            ELSE 'withdrawal'::text
        END)::public.transaction_type AS transaction_type,
    c.id AS reference_id,
    c.user_id,
    COALESCE((- (d.amount)::numeric), (w.amount)::numeric) AS amount,
    'completed'::public.transaction_status AS status,
    c.confirmed_at AS created_at,
    c.decision_no
   FROM ((private.corrections c
     LEFT JOIN public.deposits d ON (((c.kind = 'void_deposit'::text) AND (c.target_id = d.id))))
     LEFT JOIN public.withdrawals w ON (((c.kind = 'void_withdrawal'::text) AND (c.target_id = w.id))))
  WHERE ((c.kind = ANY (ARRAY['void_deposit'::text, 'void_withdrawal'::text])) AND (c.confirmed_by IS NOT NULL));

CREATE VIEW "private"."earlier_entries" AS  SELECT LEAST(s.earlier_id, f.id) AS last_id,
    f.id AS schema_id
   FROM (private.audit_state s
     CROSS JOIN ( SELECT min(l.id) AS id
           FROM private.audit_log l
          WHERE ((l.action COLLATE "C") = 'schema.recorded'::text)) f);

CREATE VIEW "private"."known_administrators" AS  WITH RECURSIVE made AS (
         SELECT DISTINCT ON (l.object_id) l.object_id AS id,
            l.actor
           FROM private.audit_log l
          WHERE (((l.action COLLATE "C") = ANY (ARRAY['admin.created'::text, 'admin.recorded'::text, 'admin.recovered'::text])) AND ((l.payload -> 'state'::text) ? 'role'::text) AND (l.object_id IS NOT NULL))
          ORDER BY l.object_id, l.id
        ), known AS (
         SELECT m.id
           FROM made m
          WHERE (NOT starts_with(m.actor, 'admin:'::text))
        UNION
         SELECT m.id
           FROM (known k_1
             JOIN made m ON ((m.actor = ('admin:'::text || k_1.id))))
        )
 SELECT k.id
   FROM known k;

CREATE VIEW "private"."administrator_discrepancies" AS  SELECT i.id,
    private.state_differences(e.id, (e.state || (
        CASE
            WHEN e.is_allowed THEN '{}'::text
            ELSE '{"actor": "no super admin"}'::text
        END)::jsonb),
        CASE
            WHEN (a.id IS NOT NULL) THEN (private.administrator_state(a.*) || jsonb_build_object('revision', a.revision))
            ELSE NULL::jsonb
        END) AS details
   FROM ((( SELECT b.id
           FROM private.admin_users b
        UNION
         SELECT l.object_id
           FROM private.audit_log l
          WHERE (((l.action COLLATE "C") = 'admin.created'::text) AND (l.object_id IS NOT NULL))) i
     LEFT JOIN private.admin_users a ON ((i.id = a.id)))
     LEFT JOIN LATERAL ( SELECT l.id,
            (l.payload -> 'state'::text) AS state,
            ((NOT starts_with(l.actor, 'admin:'::text)) OR ((((l.payload ->> 'actor_role'::text) = 'super_admin'::text) OR (l.actor = ('admin:'::text || i.id))) AND (l.actor IN ( SELECT ('admin:'::text || k.id)
                   FROM private.known_administrators k)))) AS is_allowed
           FROM private.audit_log l
          WHERE ((l.object_id = i.id) AND (l.payload ? 'state'::text) AND (private.state_revision(l.payload) IS NOT NULL))
          ORDER BY (private.state_revision(l.payload)) DESC, l.id DESC
         LIMIT 1) e ON (true))
  WHERE ((a.id IS NULL) OR (e.is_allowed IS DISTINCT FROM true) OR (e.state IS DISTINCT FROM (private.administrator_state(a.*) || jsonb_build_object('revision', a.revision))));

CREATE VIEW "private"."member_discrepancies" AS  SELECT m.user_id,
    jsonb_build_object('cash_in_amount', private.money((m.cash_in_amount)::numeric), 'package_value', private.money((m.package_value)::numeric)) AS old,
    jsonb_build_object('cash_in_amount', private.money(m.due_cash_in), 'package_value', private.money(m.due_package)) AS new
   FROM ( SELECT p.user_id,
            p.cash_in_amount,
            p.package_value,
            COALESCE(d.cash_in, (0)::numeric) AS due_cash_in,
                CASE
                    WHEN (c.user_id IS NULL) THEN COALESCE(d.package, (0)::numeric)
                    ELSE private.due_package(p.user_id)
                END AS due_package
           FROM ((private.profiles p
             LEFT JOIN ( SELECT a.user_id,
                    sum((a.amount)::numeric) AS cash_in,
                    max((k.value)::numeric) AS package
                   FROM (public.deposits a
                     LEFT JOIN private.packages k ON ((((a.amount)::numeric = (k.value)::numeric) AND (a.kind <> 'cash_in'::text))))
                  WHERE ((a.status = 'approved'::public.request_status) AND (a.voided_at IS NULL))
                  GROUP BY a.user_id) d ON ((p.user_id = d.user_id)))
             LEFT JOIN ( SELECT DISTINCT s.user_id
                   FROM private.corrections s
                  WHERE ((s.kind = 'set_package'::text) AND (s.confirmed_by IS NOT NULL))) c ON ((p.user_id = c.user_id)))) m
  WHERE ((((m.cash_in_amount)::numeric IS DISTINCT FROM m.due_cash_in) OR ((m.package_value)::numeric IS DISTINCT FROM m.due_package)) AND (NOT (EXISTS ( SELECT 1
           FROM private.plan_discrepancies))));

CREATE VIEW "private"."money_audit_entries" AS  SELECT r.rule,
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_id,
    (l.payload ->> 'user_id'::text) AS user_text,
    (l.payload ->> 'actor_role'::text) AS actor_role,
    (l.id <= s.last_id) AS is_earlier,
    ((l.id <= s.last_id) AND (l.payload ? 'backfilled'::text)) AS is_backfilled,
        CASE
            WHEN (l.id <= s.last_id) THEN (l.payload - ARRAY['actor_role'::text, 'request_id'::text, 'backfilled'::text, 'receipt'::text, 'value'::text])
            ELSE (l.payload - ARRAY['actor_role'::text, 'request_id'::text, 'receipt'::text, 'payout_reason'::text, 'warnings'::text])
        END AS facts,
    COALESCE((l.payload ->> 'rest_no'::text), ''::text) AS rest_no,
    ((l.id <= s.schema_id) AND (NOT (l.payload ? 'kind'::text))) AS is_without_kind
   FROM ((private.audit_log l
     JOIN ( VALUES ('I43'::text,'deposit.requested'::text), ('I43'::text,'deposit.reference_added'::text), ('I44'::text,'withdrawal.requested'::text), ('I45'::text,'deposit.approved'::text), ('I45'::text,'deposit.rejected'::text), ('I45'::text,'deposit.cancelled'::text), ('I45'::text,'deposit.rest_asked'::text), ('I46'::text,'withdrawal.approved'::text), ('I46'::text,'withdrawal.rejected'::text), ('I46'::text,'withdrawal.cancelled'::text), ('I47'::text,'withdrawal.paid'::text), ('I48'::text,'correction.proposed'::text), ('I48'::text,'correction.confirmed'::text), ('I48'::text,'correction.discarded'::text)) r(rule, action) ON ((l.action = r.action)))
     CROSS JOIN private.earlier_entries s);

CREATE VIEW "private"."numbered_repairs" AS  SELECT (a.object)::bigint AS decision_no,
    a.raised_at AS at
   FROM private.alarms a
  WHERE ((a.kind = 'repair'::text) AND (a.object ~ '\A[0-9]{1,18}\Z'::text));

CREATE VIEW "private"."numbered_decisions" AS  SELECT d.decision_no,
    d.decided_at AS at
   FROM public.deposits d
  WHERE (d.decision_no IS NOT NULL)
UNION ALL
 SELECT w.decision_no,
    w.decided_at AS at
   FROM public.withdrawals w
  WHERE (w.decision_no IS NOT NULL)
UNION ALL
 SELECT c.decision_no,
    c.confirmed_at AS at
   FROM private.corrections c
  WHERE (c.decision_no IS NOT NULL)
UNION ALL
 SELECT r.decision_no,
    r.at
   FROM private.numbered_repairs r;

CREATE VIEW "private"."position_discrepancies" AS  SELECT q.no,
    q.user_id,
    jsonb_build_object('package_cents', q.package_cents, 'paid_cents', q.paid_cents, 'children', q.children, 'paid_order', q.paid_order) AS old,
    jsonb_build_object('package_cents', q.due_package, 'paid_cents', q.due_paid, 'children', q.due_children, 'paid_order', q.due_order) AS new
   FROM ( SELECT o.no,
            o.user_id,
            o.package_cents,
            o.paid_cents,
            o.children,
            o.paid_order,
            n.package_cents AS due_package,
            n.paid_cents AS due_paid,
            (COALESCE(c.children, (0)::bigint))::integer AS due_children,
                CASE
                    WHEN (n.paid_cents > 0) THEN COALESCE(f.decision_no, d.decision_no)
                    ELSE NULL::bigint
                END AS due_order
           FROM (((((private.positions o
             JOIN private.profiles p ON ((o.user_id = p.user_id)))
             CROSS JOIN LATERAL ( SELECT (((p.package_value)::numeric * (100)::numeric))::integer AS package_cents,
                        CASE
                            WHEN ((p.cash_in_amount)::numeric >= (p.package_value)::numeric) THEN (((p.package_value)::numeric * (100)::numeric))::integer
                            ELSE 0
                        END AS paid_cents) n)
             LEFT JOIN ( SELECT r.referrer_no,
                    count(*) AS children
                   FROM private.positions r
                  GROUP BY r.referrer_no) c ON ((o.no = c.referrer_no)))
             LEFT JOIN ( SELECT a.user_id,
                    min(a.decision_no) AS decision_no
                   FROM public.deposits a
                  WHERE (a.status = 'approved'::public.request_status)
                  GROUP BY a.user_id) d ON ((o.user_id = d.user_id)))
             LEFT JOIN private.corrected_fundings f ON ((o.user_id = f.user_id)))) q
  WHERE (q.package_cents, q.paid_cents, q.children, q.paid_order) is distinct from (q.due_package, q.due_paid, q.due_children, q.due_order);

CREATE VIEW "private"."running_balances" AS  SELECT t.id,
    t.user_id,
    t.amount,
    t.status,
    t.decision_no,
    t.created_at,
    t.balance_after,
        CASE
            WHEN (t.moved IS NOT NULL) THEN sum(t.moved) OVER (PARTITION BY t.user_id ORDER BY t.decision_no, t.id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            ELSE NULL::numeric
        END AS due_balance
   FROM ( SELECT j.id,
            j.user_id,
            j.amount,
            j.transaction_type,
            j.status,
            j.reference_id,
            j.created_at,
            j.decision_no,
            j.balance_after,
                CASE
                    WHEN ((j.status = 'completed'::public.transaction_status) AND (j.transaction_type <> 'deposit'::public.transaction_type)) THEN (j.amount)::numeric
                    ELSE NULL::numeric
                END AS moved
           FROM public.transactions j) t;

CREATE VIEW "private"."schema_discrepancies" AS  SELECT COALESCE(o.object, c.object) AS object,
        CASE
            WHEN (c.object IS NULL) THEN 'missing'::text
            WHEN (o.object IS NULL) THEN 'new'::text
            ELSE 'changed'::text
        END AS difference
   FROM (private.schema_objects o
     FULL JOIN private.current_schema_objects() c(object, digest) ON ((o.object = c.object)))
  WHERE ((o.digest IS DISTINCT FROM c.digest) AND ((o.object IS NOT NULL) OR (NOT ((c.object ~ '^((function|view|type)|(row-level security|rights|columns) of|(trigger|constraint|policy|rule|index) .+ on) public\.'::text) OR (c.object ~ '^policy .+ on storage\.'::text))) OR (EXISTS ( SELECT 1
           FROM private.schema_objects t
          WHERE (t.object = ANY (ARRAY[('row-level security of '::text || split_part(c.object, ' on '::text, 2)), ('view '::text || split_part(c.object, ' on '::text, 2))]))))))
UNION ALL
 SELECT 'record'::text AS object,
    'changed'::text AS difference
  WHERE (private.schema_record() IS DISTINCT FROM ( SELECT l.payload
           FROM private.audit_log l
          WHERE ((l.action COLLATE "C") = 'schema.recorded'::text)
          ORDER BY l.id DESC
         LIMIT 1));

CREATE VIEW "private"."setting_discrepancies" AS  SELECT COALESCE(s.key, e.key) AS key,
    private.state_differences(e.id, e.state,
        CASE
            WHEN (s.key IS NOT NULL) THEN private.setting_state(s.*)
            ELSE NULL::jsonb
        END) AS details
   FROM (private.settings s
     FULL JOIN ( SELECT DISTINCT ON ((l.payload ->> 'key'::text)) (l.payload ->> 'key'::text) AS key,
            l.id,
            (l.payload -> 'state'::text) AS state
           FROM private.audit_log l
          WHERE ((l.action = 'setting.changed'::text) AND (l.payload ? 'state'::text) AND (private.state_revision(l.payload) IS NOT NULL))
          ORDER BY (l.payload ->> 'key'::text), (private.state_revision(l.payload)) DESC, l.id DESC) e ON ((s.key = e.key)))
  WHERE ((s.key IS NULL) OR (e.state IS DISTINCT FROM private.setting_state(s.*)));

CREATE VIEW "private"."sound_entries" AS  SELECT l.object_id,
    l.action,
    l.at,
    l.actor,
    (l.payload - ARRAY['actor_role'::text, 'request_id'::text]) AS facts
   FROM (private.audit_log l
     CROSS JOIN private.earlier_entries s)
  WHERE ((l.id > s.last_id) AND (l.hash = private.entry_hash(l.*)));

CREATE VIEW "private"."recorded_requests" AS  SELECT e.object_id AS id,
    min(split_part(e.action, '.'::text, 1)) AS noun,
    (array_agg(e.facts) FILTER (WHERE (s.step = 1)))[1] AS request,
    min(e.at) FILTER (WHERE (s.step = 1)) AS requested_at,
    (array_agg(e.facts) FILTER (WHERE (s.step = 2)))[1] AS decision,
    min(split_part(e.action, '.'::text, 2)) FILTER (WHERE (s.step = 2)) AS verb,
        CASE min(split_part(e.action, '.'::text, 2)) FILTER (WHERE (s.step = 2))
            WHEN 'approved'::text THEN 'approved'::text
            WHEN 'rejected'::text THEN 'rejected'::text
            WHEN 'cancelled'::text THEN 'rejected'::text
            ELSE 'pending'::text
        END AS status,
    min(e.at) FILTER (WHERE (s.step = 2)) AS decided_at,
    min(substr(e.actor, 7)) FILTER (WHERE (s.step = 2)) AS decided_by,
    min((e.facts ->> 'payout_reference'::text)) FILTER (WHERE (s.step = 3)) AS payout_reference,
    min(e.at) FILTER (WHERE (s.step = 3)) AS paid_at
   FROM (private.sound_entries e
     JOIN ( VALUES ('deposit.requested'::text,1), ('withdrawal.requested'::text,1), ('correction.proposed'::text,1), ('deposit.approved'::text,2), ('deposit.rejected'::text,2), ('deposit.cancelled'::text,2), ('withdrawal.approved'::text,2), ('withdrawal.rejected'::text,2), ('withdrawal.cancelled'::text,2), ('correction.confirmed'::text,2), ('correction.discarded'::text,2), ('withdrawal.paid'::text,3)) s(action, step) ON ((e.action = s.action)))
  GROUP BY e.object_id
 HAVING ((count(*) FILTER (WHERE (s.step = 1)) = 1) AND (count(*) FILTER (WHERE (s.step = 2)) <= 1) AND (count(*) FILTER (WHERE (s.step = 3)) <= 1));

CREATE INDEX audit_log_1_object_id_id_idx1 ON private.audit_log_1 USING btree (object_id, id DESC)
  WHERE ((object_id IS NOT NULL) AND (payload ? 'state'::text));

CREATE INDEX audit_log_2_object_id_id_idx1 ON private.audit_log_2 USING btree (object_id, id DESC)
  WHERE ((object_id IS NOT NULL) AND (payload ? 'state'::text));

CREATE INDEX audit_log_state_idx ON ONLY private.audit_log USING btree (object_id, id DESC)
  WHERE ((object_id IS NOT NULL) AND (payload ? 'state'::text));

ALTER INDEX "private"."audit_log_state_idx" ATTACH PARTITION "private"."audit_log_1_object_id_id_idx1";

ALTER INDEX "private"."audit_log_state_idx" ATTACH PARTITION "private"."audit_log_2_object_id_id_idx1";

CREATE INDEX deposit_rests_asked_by_idx ON private.deposit_rests USING btree (asked_by);

CREATE UNIQUE INDEX deposit_rests_open_key ON private.deposit_rests USING btree (deposit_id)
  WHERE (ended_at IS NULL);

CREATE INDEX deposit_rests_waiting_idx ON private.deposit_rests USING btree (COALESCE(referenced_at, asked_at))
  WHERE (ended_at IS NULL);

CREATE INDEX deposits_effect_idx ON public.deposits USING btree (user_id, COALESCE(decided_at, created_at) DESC, id DESC);

CREATE INDEX withdrawals_effect_idx ON public.withdrawals USING btree (user_id, COALESCE(decided_at, created_at) DESC, id DESC);

CREATE TRIGGER _200_count_revision
  BEFORE UPDATE ON private.admin_users
  FOR EACH ROW
  WHEN
    (((old.email IS DISTINCT FROM new.email) OR (old.role IS DISTINCT FROM new.role) OR (old.is_active IS DISTINCT FROM new.is_active) OR (old.password_hash IS DISTINCT FROM
    new.password_hash) OR (old.totp_confirmed_at IS DISTINCT FROM new.totp_confirmed_at) OR ((new.totp_confirmed_at IS
    NOT NULL) AND (old.totp_secret IS DISTINCT FROM new.totp_secret)) OR (old.revision IS DISTINCT FROM new.revision)))
  EXECUTE FUNCTION private.count_revision();

CREATE TRIGGER _100_immutable
  BEFORE UPDATE ON private.deposit_rests
  FOR EACH ROW
  EXECUTE FUNCTION private.deposit_rests_immutable();

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR TRUNCATE ON private.deposit_rests
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

CREATE TRIGGER _200_count_revision
  BEFORE UPDATE ON private.profiles
  FOR EACH ROW
  WHEN
    (((old.trc20_wallet_address IS DISTINCT FROM new.trc20_wallet_address) OR (old.email IS DISTINCT FROM new.email) OR (old.account_status IS DISTINCT FROM new.account_status) OR
    (old.hold_until IS DISTINCT FROM new.hold_until) OR (old.closed_at IS DISTINCT FROM new.closed_at) OR (old.revision IS DISTINCT FROM new.revision)))
  EXECUTE FUNCTION private.count_revision();

CREATE TRIGGER _500_note_change
  AFTER INSERT OR UPDATE OF package_value, cash_in_amount, username, trc20_wallet_address, email, account_status, hold_until, closed_at ON private.profiles
  FOR EACH ROW
  EXECUTE FUNCTION private.profiles_note_change();

CREATE TRIGGER _200_count_revision
  BEFORE UPDATE ON private.settings
  FOR EACH ROW
  WHEN
    (((old.value IS DISTINCT FROM new.value) OR (old.kind IS DISTINCT FROM new.kind) OR (old.minimum IS DISTINCT FROM new.minimum) OR (old.maximum IS DISTINCT FROM new.maximum) OR
    (old.is_public IS DISTINCT FROM new.is_public) OR (old.needs_proof IS DISTINCT FROM new.needs_proof) OR (old.revision IS DISTINCT FROM new.revision)))
  EXECUTE FUNCTION private.settings_count_revision();

COMMENT ON COLUMN "private"."admin_users"."revision" IS 'Number of changes of email, role, activity, password or second step, whoever made them. The entries of the audit log say it.';

COMMENT ON COLUMN "private"."corrections"."restores" IS 'What a repair of rows changes: of each row the table, its id and what differs, before and after; whole where it is added or taken out.';

COMMENT ON COLUMN "private"."deposit_rests"."ended_at" IS 'When the deposit was decided, or the rest asked for anew; null while open.';

COMMENT ON COLUMN "private"."deposit_rests"."received_amount" IS 'What had arrived in all when the rest was asked for.';

COMMENT ON COLUMN "private"."profiles"."revision" IS 'Number of changes of wallet, email, status or hold, whoever made them. The entries of the audit log say it.';

COMMENT ON COLUMN "private"."settings"."revision" IS 'Number of changes, whoever made them. The entries of the audit log say it.';

COMMENT ON COLUMN "public"."deposits"."kind" IS 'Decided when it was requested: a package size that completes a package of which less was paid is cash_in, and changes no package.';

COMMENT ON COLUMN "public"."deposits"."received_amount" IS 'What arrived, where the approval said so. It changes nothing of what is credited: the amount counts.';

COMMENT ON COLUMN "public"."transactions"."balance_after" IS 'Bonuses less approved withdrawals after this row, in the order of decisions and within one of ids; null where the row does not change that.';

COMMENT ON FUNCTION "jobs"."check_schema"() IS 'Compares the schema with what the last migration left; raises or ends the alarm. Returns {}, or the objects that differ, 50 at most.';

COMMENT ON FUNCTION "jobs"."reconcile"() IS 'Runs a full reconciliation, of owners and sources too where a check of the ledger has found wrong ones; returns how many rows were repaired. Errors: rows_wrong, try_again.';

COMMENT ON FUNCTION "pre_request"."check_request"() IS 'Raises for what anonymous clients may not call (401 42501), ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required), tokens without audience (401 invalid_token), the planner''s counts (400 invalid_input) and, of PostgREST, a fourth request of a person while three are under way (429 too_many_requests), and while it waits in vain for a lock (503 try_again). A blocked member may still call rpc/get_my_account_status.';

COMMENT ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.profiles, private.admin_users, text, boolean, text) IS 'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too; p_reason: why, although there are warnings. Errors: invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, payout_warned, invalid_reason.';

COMMENT ON FUNCTION "private"."administrator_entry"(uuid, text[]) IS 'For the payload of an entry: the state of an administrator after a change of these parts (null: of a new one).';

COMMENT ON FUNCTION "private"."administrator_state"(private.admin_users) IS 'What the audit log must say of an administrator.';

COMMENT ON FUNCTION "private"."alarm_stops"(private.alarms) IS 'What an alarm lets nobody decide: member, what concerns the member''s money; administrator, what this one decides; setting, what it governs; everybody, all; null, nothing. Only violations of the ledger, and that this is a restored copy, stop decisions, until they are acknowledged.';

COMMENT ON FUNCTION "private"."apply_correction"(private.corrections) IS 'Applies a confirmed correction, under the locks. Errors: changed_since, rows_wrong.';

COMMENT ON FUNCTION "private"."are_deposits_open"() IS 'Whether members may send deposits: the operator takes them, and the deposit address is the one that the audit log says.';

COMMENT ON FUNCTION "private"."are_keys_wrong"(uuid, text, boolean) IS 'Whether the register has other keys of a deposit or a payout than its reference has, of a deposit also those of its rests.';

COMMENT ON FUNCTION "private"."ask_rest"(private.admin_users, uuid, numeric) IS 'Asks a member for what is missing of a pending deposit; p_received is what has arrived in all. Errors: received_amount_required, not_found, own_account, already_decided, rest_asked, ledger_alarm, nothing_missing, try_again.';

COMMENT ON FUNCTION "private"."audit_setting"(text, text, jsonb) IS 'Audits a setting as it is now, with the first 500 characters of its value, and the digest of all of it.';

COMMENT ON FUNCTION "private"."backfill_states"() IS 'Audits every setting, administrator and member of whom no entry says what it is. A migration that adds a setting calls it.';

COMMENT ON FUNCTION "private"."balance_at"(uuid, timestamp with time zone, uuid) IS 'A member''s balance after the last movement up to a time and, at that time, an id of the history.';

COMMENT ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) IS 'Those of these members (null: all) of whom something that is stored is not the sum of its rows. What corrections explain is among it.';

COMMENT ON FUNCTION "private"."balance_violations"(private.ledger_part) IS 'Rules about what these members (null: all) have: journal, stored sums, cash-in, package, funding. I02, I07 to I09, I13, I34, I35, I37, I42, I53.';

COMMENT ON FUNCTION "private"."bonuses_immutable"() IS 'Trigger: a bonus keeps its key and only increases, except within a correction or a repair, which also gives it back to whom it is due. Errors: append_only.';

COMMENT ON FUNCTION "private"."book_repairs"(uuid[], timestamp with time zone) IS 'Books for each member what the journal of these bonuses lacks, or has too much, under the number of the repair, with the counters; returns the changes.';

COMMENT ON FUNCTION "private"."correction_changes"(uuid[]) IS 'What the audit log says of these corrections, and what they are.';

COMMENT ON FUNCTION "private"."count_revision"() IS 'Trigger: counts a change of what the audit log must say of a member or an administrator.';

COMMENT ON FUNCTION "private"."current_schema_objects"() IS 'Functions, triggers, views, columns, constraints, unique indexes, types, policies, rules and rights of the product''s schemas, its roles, and what acts on all of a database, each with the digest of its definition.';

COMMENT ON FUNCTION "private"."deposit_decision_facts"(public.deposits) IS 'Payload of deposit.approved, deposit.rejected and deposit.cancelled; it has the amount that arrived where one was given.';

COMMENT ON FUNCTION "private"."deposit_items"(uuid[]) IS 'Deposits as items of the admin list. total_deposits is the approved and not voided deposits, which is the member''s cash-in. `refusal` says why a pending one cannot be approved, `rest` what was asked for. Money as text.';

COMMENT ON FUNCTION "private"."deposit_kind"(numeric, numeric, numeric) IS 'Kind of a deposit of this amount (USD) given the current package and cash-in: first, upgrade or cash_in. Errors: invalid_amount, package_required, downgrade.';

COMMENT ON FUNCTION "private"."deposit_request_facts"(public.deposits) IS 'Payload of deposit.requested, where the receipt is added.';

COMMENT ON FUNCTION "private"."deposit_rests_immutable"() IS 'Trigger: an asking never changes; it gets one reference while it is open, and ends once. Errors: append_only.';

COMMENT ON FUNCTION "private"."deposit_tolerance"(numeric) IS 'By how much what arrived may differ from a deposit of this amount that is approved.';

COMMENT ON FUNCTION "private"."deposits_record_decision"() IS 'Trigger: finalises the journal row of a deposit, ends its rest and updates counters when its status changes.';

COMMENT ON FUNCTION "private"."digest_text"(text) IS 'SHA-256 of a text, in hexadecimal digits; null of null.';

COMMENT ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) IS 'Expected bonuses with the ids of the stored rows, who earns them, whether the journal says what the rows say, and whether they are of and from whom the tree says.';

COMMENT ON FUNCTION "private"."further_references"(uuid) IS 'The references of the rests of a deposit, in the order in which they were asked for.';

COMMENT ON FUNCTION "private"."governing_settings"(text) IS 'The settings that decide where the money of a deposit or a withdrawal goes, or how it is looked at.';

COMMENT ON FUNCTION "private"."has_no_entry"(uuid) IS 'Whether no entry says that this was requested or proposed: the product never wrote such a row.';

COMMENT ON FUNCTION "private"."is_as_planned"(public.bonuses) IS 'Whether a bonus has the owner and the amount that tree and packages say; what has not is the reconciliation''s.';

COMMENT ON FUNCTION "private"."is_being_confirmed"(text) IS 'Whether a violation names the correction that this transaction confirms.';

COMMENT ON FUNCTION "private"."is_booked_back"(uuid, uuid) IS 'Whether a repair took this bonus back from the member, so that the journal rows sum to nothing.';

COMMENT ON FUNCTION "private"."is_booked_elsewhere_first"(uuid, uuid) IS 'Whether the first journal row of this bonus is of another member.';

COMMENT ON FUNCTION "private"."is_misplacement_known"() IS 'Whether a check of the ledger has found bonuses that may be of another member, or from another.';

COMMENT ON FUNCTION "private"."is_restoring_rows"() IS 'True while a correction of two people makes rows again what their sources say, so that they may be changed.';

COMMENT ON FUNCTION "private"."is_stopped_by"(text, uuid, text) IS 'Whether an alarm about this object, which names no member, concerns a decision about this member''s deposit, withdrawal or correction.';

COMMENT ON FUNCTION "private"."last_state"(uuid) IS 'The state that the audit log says of a member or an administrator: that of the highest revision.';

COMMENT ON FUNCTION "private"."lock_deposit"(uuid, private.admin_users) IS 'Takes the locks of a decision and returns the deposit. Errors: not_found, own_account, try_again.';

COMMENT ON FUNCTION "private"."member_entry"(uuid, text[]) IS 'For the payload of an entry: the state of a member after a change of these parts (null: of a new one, or of all).';

COMMENT ON FUNCTION "private"."member_state"(private.profiles) IS 'What the audit log must say of a member.';

COMMENT ON FUNCTION "private"."member_state_violations"(private.ledger_part) IS 'Rules about what these members (null: all) are and sent, compared with the audit log. I51, I54, and I20 of deposits that wait.';

COMMENT ON FUNCTION "private"."misplaced_bonuses"() IS 'Stored bonuses of another member, or from another, than the tree says, as they are due; without the ids of the rows. Empty when all match.';

COMMENT ON FUNCTION "private"."missing_cash_in"(numeric, numeric) IS 'The largest deposit that completes a package of which less was paid; null when nothing is missing.';

COMMENT ON FUNCTION "private"."money_as_text"(jsonb) IS 'A row of money as JSON, with its amounts as text.';

COMMENT ON FUNCTION "private"."notify_decision"(text, uuid, numeric, public.request_status, text, numeric) IS 'Notifies a member of a decision, with the reason of a rejection, or with what arrived where that was another amount.';

COMMENT ON FUNCTION "private"."open_rest"(uuid, numeric) IS 'The rest that a pending deposit of this amount waits for; null where none was asked for.';

COMMENT ON FUNCTION "private"."place_bonuses"(private.due_bonus[]) IS 'Gives stored bonuses to whom, and says from whom, they are due by the tree. Call with app.repair on.';

COMMENT ON FUNCTION "private"."profiles_note_change"() IS 'Trigger: notes a new member, and one with another package, cash-in, name, wallet, email, status, hold or end.';

COMMENT ON FUNCTION "private"."put_administrator"(text, text, public.admin_role, text) IS 'Creates an administrator without one, or gives an existing one this password. p_password_hash is Argon2id. Only on the machine, as owner.';

COMMENT ON FUNCTION "private"."put_back_administrator"(text, text) IS 'Makes an administrator again who is in the audit log alone, with the id, the role and the activity that it says. Errors: not_found.';

COMMENT ON FUNCTION "private"."raise_alarm"(text, text, uuid, jsonb) IS 'Opens an alarm, or updates the open one of this kind and object; true when it is new or has changed. Kinds: ledger_violation, repair, deposit_address, audit_entry, disk, dead_job, failed_mail, backup, restored, schema.';

COMMENT ON FUNCTION "private"."raise_rows_wrong"(jsonb) IS 'Raises what is violated: each rule in words, with what to do; details have the first twenty rows. Errors: rows_wrong.';

COMMENT ON FUNCTION "private"."rebuild_balances"(uuid[]) IS 'Derives the balance beside each journal row of these members (null: all) from the rows; returns of each member the first that was wrong, and how many were. Call with app.repair on.';

COMMENT ON FUNCTION "private"."rebuild_earning_days"(integer[]) IS 'Adds to the daily earnings of these members (null: of all) what the journal has and they lack; returns the changes. Call under the lock of the roll-up.';

COMMENT ON FUNCTION "private"."receipt_facts"(text, text) IS 'What the entry of a new deposit says of its receipt.';

COMMENT ON FUNCTION "private"."reconcile"(boolean) IS 'Compares all bonuses with tree and packages, p_owners: also whom they are paid to and from, and repairs differences, with an alarm and an audit row; returns how many. Leaves bonuses whose basis is damaged, as sound_discrepancies() says: the ledger checks report both. Changes nothing where rows would stay wrong. Errors: rows_wrong, try_again.';

COMMENT ON FUNCTION "private"."record_schema"() IS 'Records what the schema is made of, with the digest of it in the audit log. The last statement of each migration.';

COMMENT ON FUNCTION "private"."recover_administrator"(text, text, text, text) IS 'Gives an active administrator another password (p_hash, Argon2id) and, unless p_new_email is empty, another email; removes two-step sign-in and ends the sessions. Makes one again whom only the audit log has; one whom no entry made is audited as it stands. Only on the machine, as owner. Errors: reason_required, not_found, invalid_state, email_taken.';

COMMENT ON FUNCTION "private"."register_transfer"(uuid, text, boolean) IS 'Writes the keys of the reference of a deposit, of its rest or of a payout, as far as they are not there.';

COMMENT ON FUNCTION "private"."reject_change"() IS 'Trigger: raises append_only, so that rows are never deleted, truncated or changed; only a correction of rows takes out what the product never wrote, and nothing of the audit log.';

COMMENT ON FUNCTION "private"."remove_double_bonuses"(uuid) IS 'Takes out second rows of a member''s bonuses, with their journal rows; returns the changes.';

COMMENT ON FUNCTION "private"."repair_bonuses"(private.due_bonus[]) IS 'Writes the bonuses that are due to whom they are due, the journal rows that are missing and the sums that differ, raises an alarm and audits what it did. Call under the money lock. Errors: rows_wrong, try_again.';

COMMENT ON FUNCTION "private"."repair_items"(private.due_bonus[]) IS 'What a repair of these bonuses changes, for the alarm and the audit log: whose it is, old and new amounts as text, what the journal says where that is a third one, and who had it or was its source before where that changes. Call before writing; bonus_id is null where the row is missing.';

COMMENT ON FUNCTION "private"."request_changes"(uuid[]) IS 'What the audit log says of these deposits and withdrawals, and what they are.';

COMMENT ON FUNCTION "private"."request_json"(jsonb) IS 'A deposit or withdrawal as JSON, with its amounts as text.';

COMMENT ON FUNCTION "private"."requests_to_restore"(uuid) IS 'A member''s requests and corrections, and those that an alarm misses.';

COMMENT ON FUNCTION "private"."require_fresh_admin_proof"(text) IS 'Raises unless the administrator''s session of this request began less than ten minutes ago; p_for ends "Sign in again to"; also while a check finds the account changed past the product. Errors: ledger_alarm, reauthentication_needed.';

COMMENT ON FUNCTION "private"."require_near_claim"(public.deposits, numeric) IS 'Raises when too much or too little of a deposit arrived to approve it, or when its rest was asked for and no sum is given. Errors: received_amount_required, amount_differs.';

COMMENT ON FUNCTION "private"."require_no_alarm"(uuid, text) IS 'Before a decision about this member''s deposit, withdrawal or correction, under its locks: raises while an open, unacknowledged violation of the ledger names the member, the administrator who decides, a setting that governs it, or nobody, or this is a restored copy; before a repair only for the administrator or the copy. Errors: ledger_alarm.';

COMMENT ON FUNCTION "private"."require_payout_reason"(public.withdrawals, private.profiles, text) IS 'Raises when the member is blocked or on hold, or the withdrawal is flagged, and there is no reason; the details have the flags. Returns what withdrawal.paid says beside the row: reason and warnings. Call under the member''s lock. Errors: payout_warned, invalid_reason.';

COMMENT ON FUNCTION "private"."require_received_amount"(numeric) IS 'Raises for what cannot have arrived. Errors: invalid_amount.';

COMMENT ON FUNCTION "private"."require_repaired"(private.due_bonus[]) IS 'After a repair of these: ends the transaction where rows from which the sums were made are wrong, or one of these still is. Errors: rows_wrong.';

COMMENT ON FUNCTION "private"."require_rows_to_restore"(uuid) IS 'What a repair of this member''s rows would change. Errors: not_correctable, rows_wrong, try_again.';

COMMENT ON FUNCTION "private"."rest_changes"(uuid[]) IS 'What the audit log says of the rests of these deposits, and what they are.';

COMMENT ON FUNCTION "private"."rest_facts"(public.deposits, private.deposit_rests) IS 'Payload of deposit.rest_asked.';

COMMENT ON FUNCTION "private"."rest_json"(private.deposit_rests, numeric) IS 'The rest of a deposit of this amount, as its member sees it: what had arrived, what is missing, the reference of the rest. Null of none.';

COMMENT ON FUNCTION "private"."rest_reference_facts"(public.deposits, private.deposit_rests) IS 'Payload of deposit.reference_added.';

COMMENT ON FUNCTION "private"."restore_bonus_rows"(uuid) IS 'Makes the journal rows of a member''s bonuses what the bonuses say: rows of no decision are taken out, numbers and times are those of the decisions, and what is lacking then is booked. Bonuses with another owner or amount than tree and packages say are left. Returns the changes.';

COMMENT ON FUNCTION "private"."restore_limits"(text, jsonb) IS 'Gives a setting the limits that its last entry of the audit log says; one that is gone is made again, with this value. Call with app.repair set to rows.';

COMMENT ON FUNCTION "private"."restore_parts"(uuid[]) IS 'Makes receipts, keys of transfers and search texts of these requests what the requests say; returns the changed receipts and keys.';

COMMENT ON FUNCTION "private"."restore_proposal"(uuid) IS 'Makes a pending correction what its entry of the audit log says; false where it was taken out, because no entry says that it was proposed.';

COMMENT ON FUNCTION "private"."restore_request_rows"(uuid) IS 'Makes the journal rows of a member''s requests what the requests say, one for each; returns the changes.';

COMMENT ON FUNCTION "private"."restore_requests"(uuid) IS 'Makes the requests and corrections of a member, and of whom they were mixed up with, what their entries of the audit log say; returns the changes.';

COMMENT ON FUNCTION "private"."restore_rows"(uuid) IS 'Makes the rows of a member what their sources say and returns what was and what is; changes nothing where rows would stay wrong. Call under the money lock. Errors: rows_wrong, try_again.';

COMMENT ON FUNCTION "private"."rights_text"(aclitem[]) IS 'Who may do what, in an order that does not depend on when it was granted.';

COMMENT ON FUNCTION "private"."row_change_json"(private.row_change) IS 'What is said of a changed row: what differed, and the whole row where it is added or taken out.';

COMMENT ON FUNCTION "private"."row_rules"() IS 'Rules of the ledger checks about rows that sums are made of: while one of them is violated a sum of these rows would be wrong, too, and I02, which rows alone violate once the sums are derived. The others say that a stored sum differs, or nothing about figures.';

COMMENT ON FUNCTION "private"."rows_to_restore"(uuid) IS 'What private.restore_rows() would change. Changes nothing. Errors: not_correctable, rows_wrong, try_again.';

COMMENT ON FUNCTION "private"."schema_record"() IS 'Number and digest of the recorded objects.';

COMMENT ON FUNCTION "private"."setting_state"(private.settings) IS 'What the audit log must say of a setting.';

COMMENT ON FUNCTION "private"."settings_count_revision"() IS 'Trigger: counts a change of what the audit log must say of a setting.';

COMMENT ON FUNCTION "private"."sound_discrepancies"(private.due_bonus[]) IS 'Of these, what a repair may write: nothing with a damaged plan, no pair of a member whose direct referrals up to a pair of these are out of order, and nothing that follows from a position with another package than its member.';

COMMENT ON FUNCTION "private"."standing_violations"() IS 'Rules about what stays small: administrators, their sessions, the plan, settings. I25, I40, I49, I52.';

COMMENT ON FUNCTION "private"."state_differences"(bigint, jsonb, jsonb) IS 'The figures of an alarm: the last entry, and where it says something else than the row is; digests by their first eight digits.';

COMMENT ON FUNCTION "private"."state_entry"(uuid, bigint, jsonb, text[]) IS 'For the payload of an entry: the state of an object whose row was just changed in these parts (null: is new). Call under the lock of the row.';

COMMENT ON FUNCTION "private"."state_revision"(jsonb) IS 'The revision that an entry says of a state; null where it says none.';

COMMENT ON FUNCTION "private"."take_out_parts"(text, jsonb) IS 'Takes out what belongs to a request that is taken out.';

COMMENT ON FUNCTION "private"."time_ordered_id"() IS 'A new id that begins with the milliseconds since 1970 and their 4,096th parts, UUID version 7: rows of one transaction have the order in which they were written.';

COMMENT ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp with time zone, timestamp with time zone, timestamp
  with time zone, uuid, integer) IS 'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair, bonus_amount is what the bonus of the item is now, rest what a pending deposit waits for. effective_at is when it was decided or credited, or asked for while it waits; balance_after is what the journal row says, null of requests.';

COMMENT ON FUNCTION "private"."transactions_immutable"() IS 'Trigger: a journal row changes once, from pending to completed or failed; only a correction of rows makes it again what it was, and a repair its balance what the rows say. Errors: append_only.';

COMMENT ON FUNCTION "private"."unlike_rows"() IS 'What is wrong in bonuses and the tree, compared with the packages that are stored; null when nothing is. What only follows from a wrong package is over when that was derived again.';

COMMENT ON FUNCTION "private"."users_in"(jsonb) IS 'The members whose rows were or are these changed ones.';

COMMENT ON FUNCTION "private"."utc_text"(timestamp with time zone) IS 'A time in UTC with its microseconds, the same in every session; null of null.';

COMMENT ON FUNCTION "private"."validate_reference"(text) IS 'The first key of a reference that a member sends, without blanks around it. Errors: invalid_reference.';

COMMENT ON FUNCTION "private"."withdrawal_flags"(public.withdrawals, private.profiles) IS 'Flags of a withdrawal that is pending or unpaid: no TRC20 address, wallet changed within 7 days or shared with other members, on hold and until when, blocked or closed, others of the member that wait.';

COMMENT ON FUNCTION "private"."write_rows"(private.row_change[]) IS 'Adds rows, takes them out or sets back what differs; returns what was and what is. Call with app.repair set to rows.';

COMMENT ON FUNCTION "private"."wrong_rows"() IS 'What is wrong in the journal, requests, corrections and the plan, whatever is stored of them elsewhere; null when nothing is. Looks at everything, whatever alarms say.';

COMMENT ON FUNCTION "public"."acknowledge_alarm"(uuid, text) IS 'Super administrators: an alarm is understood. No reminder follows, and what it stops goes on, until it changes. Errors: forbidden, two_step_required, invalid_reason, not_found, already_decided, try_again.';

COMMENT ON FUNCTION "public"."add_deposit_reference"(uuid, text) IS 'A member, also a pending one, adds the reference of the rest of an own pending deposit, once for each time that it was asked for. Errors: account_disabled, account_suspended, not_found, already_decided, rest_not_asked, invalid_reference, reference_used.';

COMMENT ON FUNCTION "public"."change_setting"(text, jsonb) IS 'Sets one setting within its type and limits; notifies all administrators of a new deposit address. Super admin, who signs in again for one that needs_proof. Errors: forbidden, not_found, invalid_setting, reauthentication_needed, try_again.';

COMMENT ON FUNCTION "public"."confirm_correction"(uuid) IS 'Finance and super administrators, never one person with the proposer: applies a correction. Errors: forbidden, not_found, already_decided, ledger_alarm, two_people, own_account, reauthentication_needed, not_correctable, changed_since, rows_wrong, try_again.';

COMMENT ON FUNCTION "public"."decide_deposit"(uuid, text, text, numeric) IS 'Finance and super administrators: approves or rejects a pending deposit, once; approval credits cash-in, package and bonuses. An approval may say how much arrived (USD), which changes nothing of that; ask_rest asks the member for what is missing. Errors: forbidden, invalid_action, invalid_amount, invalid_input, invalid_reason, not_found, own_account, received_amount_required, amount_differs, rest_asked, nothing_missing, reference_used, already_decided, ledger_alarm, try_again.';

COMMENT ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean, text) IS 'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too; p_payout_reason says why it was paid although the member is blocked or on hold, or the withdrawal is flagged, and stands in the audit log. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, payout_warned, try_again.';

COMMENT ON FUNCTION "public"."discard_correction"(uuid) IS 'Finance and super administrators, also the proposer: discards a pending correction, as it was proposed; one that nobody proposed is taken out. Changes nothing else. Errors: forbidden, not_found, already_decided, ledger_alarm, own_account, try_again.';

COMMENT ON FUNCTION "public"."get_deposit_options"() IS 'What the caller may deposit: before the first package one of the packages, then larger ones at their full price, or any other amount; while cash-in is missing, any up to that. Errors: profile_not_found.';

COMMENT ON FUNCTION "public"."get_request_changes"(text, uuid[]) IS 'Administrators: how many deposits or withdrawals there are now, and which of these ids are decided, by whom, and what rest is asked for. Errors: forbidden, session_ended, invalid_filter.';

COMMENT ON FUNCTION "public"."get_transaction_history"(text, text, date, date, text, integer) IS 'The caller''s transactions by when they were credited or decided, or asked for while they wait (effective_at): newest first, filtered by type, status and days (UTC, inclusive), each with the balance after it. next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';

COMMENT ON FUNCTION "public"."propose_correction"(text, uuid, numeric, text) IS 'Super administrators: proposes to void a deposit or an unpaid withdrawal, to set a package, or to make the rows of a member''s money again what their sources say. Changes nothing until confirmed. Errors: forbidden, invalid_reason, invalid_input, not_correctable, rows_wrong, already_proposed, try_again.';

COMMENT ON FUNCTION "public"."rebuild_counters"(text) IS 'Super administrators: derives every stored sum and counter from the rows, with an audit row. Changes nothing while rows are wrong in themselves: a correction or the next comparison of the bonuses mends these first. Returns the first hundred changes, each with its kind, object, member and figures before and after, and their count; 0 when all agreed. Errors: forbidden, session_ended, two_step_required, invalid_reason, reason_required, rows_wrong, try_again.';

COMMENT ON FUNCTION "public"."restore_member"(uuid, text) IS 'Super admin, after somebody wrote past the product: sets a member''s wallet, email, status and hold to what the audit log says, and audits it. Errors: forbidden, two_step_required, invalid_reason, reauthentication_needed, not_found, email_unknown, try_again.';

COMMENT ON FUNCTION "public"."update_administrator"(uuid, text, text, boolean) IS 'Updates name, role and activity of an account; a changed role or a deactivation ends its sessions. Super admin, never on oneself. Errors: forbidden, session_ended, two_step_required, not_found, invalid_input, reauthentication_needed, try_again.';

COMMENT ON TABLE "private"."deposit_rests" IS 'What members were asked to send where less arrived than they had claimed, and the reference that each sent then: one for each asking.';

COMMENT ON TABLE "private"."request_texts" IS 'References of deposits and of their rests, and addresses of withdrawals, in lower case. Written once, never changed.';

COMMENT ON TABLE "private"."schema_objects" IS 'What the schema was made of when the last migration ended: each object with the digest of its definition.';

COMMENT ON TABLE "private"."settings" IS 'Operator settings. minimum and maximum bound an integer or an amount (dollars as text), or the length of a text or list.';

COMMENT ON TYPE "private"."row_change" IS 'A row of a table, with its key, as it is and as its sources say.';

COMMENT ON VIEW "private"."administrator_discrepancies" IS 'Administrators who are not what their last entry of the audit log says, or whom nobody may have made so; and entries without an administrator.';

COMMENT ON VIEW "private"."confirmed_voids" IS 'Requests that a correction voided, and since when.';

COMMENT ON VIEW "private"."corrected_fundings" IS 'Of members whose deposits or package were corrected: the last decision that made them funded, from deposits and corrections alone.';

COMMENT ON VIEW "private"."due_audit_entries" IS 'The entries that requests, decisions, payouts and corrections must have: what each says, when, who may have written it (null: anybody with one of the roles) and in which role, and of which rest of a deposit. rule is the ledger check that compares them.';

COMMENT ON VIEW "private"."due_request_rows" IS 'The journal row that each request has, and each correction that voids one.';

COMMENT ON VIEW "private"."earlier_entries" IS 'The last entry of the audit log that may say less than a row has, and the one of the first record of the schema: up to it deposits have no kind.';

COMMENT ON VIEW "private"."known_administrators" IS 'Administrators whom the server made, or a known administrator: those that an account made of which nothing says who made it are none.';

COMMENT ON VIEW "private"."member_discrepancies" IS 'Members whose cash-in or package is not what deposits and corrections say.';

COMMENT ON VIEW "private"."money_audit_entries" IS 'The entries that private.due_audit_entries asks for, and what they say beside role, request and receipt.';

COMMENT ON VIEW "private"."numbered_decisions" IS 'Decisions, corrections and repairs: their numbers and times.';

COMMENT ON VIEW "private"."numbered_repairs" IS 'Repairs of bonuses: their numbers and times.';

COMMENT ON VIEW "private"."position_discrepancies" IS 'Positions whose package, payment, number of direct referrals or place in the order of fundings is not what members, deposits and corrections say.';

COMMENT ON VIEW "private"."recorded_requests" IS 'What the audit log says of each request and correction: the request, the decision and the payout.';

COMMENT ON VIEW "private"."running_balances" IS 'Journal rows with the balance that is stored beside them, and the one that the rows before them make.';

COMMENT ON VIEW "private"."schema_discrepancies" IS 'Objects of the product''s schema that are not what the last migration left: changed, missing or new; and record where that record is not the one of the audit log.';

COMMENT ON VIEW "private"."setting_discrepancies" IS 'Settings that are not what their last entry of the audit log says, or are gone.';

COMMENT ON VIEW "private"."sound_entries" IS 'Entries of the audit log that are as they were written, and what they say beside role and request.';

REVOKE ALL ON FUNCTION "jobs"."check_schema"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."check_schema"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_schema"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_schema"() TO "worker";

REVOKE ALL ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.profiles, private.admin_users, text, boolean, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.profiles, private.admin_users, text, boolean, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.profiles, private.admin_users, text, boolean, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."administrator_entry"(uuid, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."administrator_entry"(uuid, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."administrator_entry"(uuid, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."administrator_state"(private.admin_users) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."administrator_state"(private.admin_users) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."administrator_state"(private.admin_users) TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_deposits_open"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_deposits_open"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_deposits_open"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."ask_rest"(private.admin_users, uuid, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."ask_rest"(private.admin_users, uuid, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."ask_rest"(private.admin_users, uuid, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_setting"(text, text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_setting"(text, text, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_setting"(text, text, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."backfill_states"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."backfill_states"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."backfill_states"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."balance_at"(uuid, timestamp WITH time zone, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_at"(uuid, timestamp WITH time zone, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_at"(uuid, timestamp WITH time zone, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_discrepancies"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."book_repairs"(uuid[], timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."book_repairs"(uuid[], timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."book_repairs"(uuid[], timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."correction_changes"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."correction_changes"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."correction_changes"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_revision"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_revision"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_revision"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."current_schema_objects"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."current_schema_objects"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."current_schema_objects"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."deposit_kind"(numeric, numeric, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."deposit_kind"(numeric, numeric, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deposit_kind"(numeric, numeric, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."deposit_rests_immutable"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."deposit_rests_immutable"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deposit_rests_immutable"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."deposit_tolerance"(numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."deposit_tolerance"(numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deposit_tolerance"(numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."digest_text"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."digest_text"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."digest_text"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."further_references"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."further_references"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."further_references"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."governing_settings"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."governing_settings"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."governing_settings"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."has_no_entry"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."has_no_entry"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."has_no_entry"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_as_planned"(public.bonuses) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_as_planned"(public.bonuses) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_as_planned"(public.bonuses) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_being_confirmed"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_being_confirmed"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_being_confirmed"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_booked_back"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_booked_back"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_booked_back"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_booked_elsewhere_first"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_booked_elsewhere_first"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_booked_elsewhere_first"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_misplacement_known"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_misplacement_known"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_misplacement_known"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_restoring_rows"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_restoring_rows"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_restoring_rows"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_stopped_by"(text, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_stopped_by"(text, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_stopped_by"(text, uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."last_state"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."last_state"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."last_state"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."lock_deposit"(uuid, private.admin_users) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."lock_deposit"(uuid, private.admin_users) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."lock_deposit"(uuid, private.admin_users) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_entry"(uuid, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_entry"(uuid, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_entry"(uuid, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_state"(private.profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_state"(private.profiles) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_state"(private.profiles) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_state_violations"(private.ledger_part) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_state_violations"(private.ledger_part) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_state_violations"(private.ledger_part) TO "postgres";

REVOKE ALL ON FUNCTION "private"."misplaced_bonuses"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."misplaced_bonuses"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."misplaced_bonuses"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."missing_cash_in"(numeric, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."missing_cash_in"(numeric, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."missing_cash_in"(numeric, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."money_as_text"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."money_as_text"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."money_as_text"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."notify_decision"(text, uuid, numeric, public.request_status, text, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."notify_decision"(text, uuid, numeric, public.request_status, text, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."notify_decision"(text, uuid, numeric, public.request_status, text, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_rest"(uuid, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."open_rest"(uuid, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_rest"(uuid, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."place_bonuses"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."place_bonuses"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."place_bonuses"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."put_administrator"(text, text, public.admin_role, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."put_administrator"(text, text, public.admin_role, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."put_administrator"(text, text, public.admin_role, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."put_back_administrator"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."put_back_administrator"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."put_back_administrator"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."raise_rows_wrong"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."raise_rows_wrong"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."raise_rows_wrong"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_balances"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_balances"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_balances"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rebuild_earning_days"(integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rebuild_earning_days"(integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rebuild_earning_days"(integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."receipt_facts"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."receipt_facts"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."receipt_facts"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reconcile"(boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."reconcile"(boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reconcile"(boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_schema"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."record_schema"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_schema"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."remove_double_bonuses"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."remove_double_bonuses"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."remove_double_bonuses"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."request_changes"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."request_changes"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."request_changes"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."requests_to_restore"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."requests_to_restore"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."requests_to_restore"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_near_claim"(public.deposits, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_near_claim"(public.deposits, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_near_claim"(public.deposits, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_no_alarm"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_no_alarm"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_no_alarm"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_payout_reason"(public.withdrawals, private.profiles, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_payout_reason"(public.withdrawals, private.profiles, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_payout_reason"(public.withdrawals, private.profiles, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_received_amount"(numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_received_amount"(numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_received_amount"(numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_repaired"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_repaired"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_repaired"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_rows_to_restore"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_rows_to_restore"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_rows_to_restore"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rest_changes"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rest_changes"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rest_changes"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rest_facts"(public.deposits, private.deposit_rests) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rest_facts"(public.deposits, private.deposit_rests) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rest_facts"(public.deposits, private.deposit_rests) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rest_json"(private.deposit_rests, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rest_json"(private.deposit_rests, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rest_json"(private.deposit_rests, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rest_reference_facts"(public.deposits, private.deposit_rests) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rest_reference_facts"(public.deposits, private.deposit_rests) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rest_reference_facts"(public.deposits, private.deposit_rests) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_bonus_rows"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_bonus_rows"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_bonus_rows"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_limits"(text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_limits"(text, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_limits"(text, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_parts"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_parts"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_parts"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_proposal"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_proposal"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_proposal"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_request_rows"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_request_rows"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_request_rows"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_requests"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_requests"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_requests"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."restore_rows"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."restore_rows"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."restore_rows"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."rights_text"(aclitem[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rights_text"(aclitem[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rights_text"(aclitem[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."row_change_json"(private.row_change) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."row_change_json"(private.row_change) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."row_change_json"(private.row_change) TO "postgres";

REVOKE ALL ON FUNCTION "private"."row_rules"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."row_rules"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."row_rules"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rows_to_restore"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rows_to_restore"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rows_to_restore"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."schema_record"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."schema_record"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."schema_record"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."setting_state"(private.settings) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."setting_state"(private.settings) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."setting_state"(private.settings) TO "postgres";

REVOKE ALL ON FUNCTION "private"."settings_count_revision"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."settings_count_revision"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."settings_count_revision"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."state_differences"(bigint, jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."state_differences"(bigint, jsonb, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."state_differences"(bigint, jsonb, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."state_entry"(uuid, bigint, jsonb, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."state_entry"(uuid, bigint, jsonb, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."state_entry"(uuid, bigint, jsonb, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."state_revision"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."state_revision"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."state_revision"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_out_parts"(text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_out_parts"(text, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_out_parts"(text, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer) FROM PUBLIC;

REVOKE ALL
  ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer)
  FROM "postgres";

GRANT EXECUTE
  ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer)
  TO "postgres";

REVOKE ALL ON FUNCTION "private"."unlike_rows"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."unlike_rows"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unlike_rows"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."users_in"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."users_in"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."users_in"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."utc_text"(timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."utc_text"(timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."utc_text"(timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."validate_reference"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."validate_reference"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."validate_reference"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."write_rows"(private.row_change[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."write_rows"(private.row_change[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."write_rows"(private.row_change[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."wrong_rows"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wrong_rows"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wrong_rows"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."add_deposit_reference"(uuid, text) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."add_deposit_reference"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."add_deposit_reference"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_deposit"(uuid, text, text, numeric) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."decide_deposit"(uuid, text, text, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_deposit"(uuid, text, text, numeric) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean, text) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."restore_member"(uuid, text) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."restore_member"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."restore_member"(uuid, text) TO "postgres";


-- By hand, as no diff writes rows: the setting, and what stands in the rows now, which is taken as it is.
INSERT INTO "private"."settings" ("key", "value", "kind", "minimum", "maximum", "is_public", "description", "needs_proof")
VALUES ('deposit.tolerance', '"5.00"', 'amount', 0, 10, FALSE, 'Dollars by which a deposit may differ from what arrived; a tenth of it at most', TRUE);

select private.backfill_states();

select pg_catalog.set_config('app.repair', 'on', true);

update public.transactions as t set balance_after = b.due_balance
from private.running_balances as b
where t.id = b.id and b.balance_after is distinct from b.due_balance;

select pg_catalog.set_config('app.repair', '', true);

select private.record_schema();
