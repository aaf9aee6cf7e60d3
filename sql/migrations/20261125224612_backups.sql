-- Backups are reported to the database: an alarm when they are late, a condition of readiness. A copy that was restored
-- from one makes no decision and sends no email until that is acknowledged.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."alarms_stopping_idx";

ALTER TABLE "private"."alarms"
  -- squawk-ignore ban-drop-constraint
  DROP CONSTRAINT "alarms_kind_check";

CREATE TABLE "private"."backup_state" (
  "only_row"    boolean                  NOT NULL DEFAULT true,
  "since"       timestamp with time zone,
  "reported_at" timestamp with time zone,
  "database_at" timestamp with time zone,
  "files_at"    timestamp with time zone,
  "proven_at"   timestamp with time zone,
  CONSTRAINT "backup_state_only_row_check" CHECK (only_row),
  CONSTRAINT "backup_state_pkey" PRIMARY KEY (only_row)
);

INSERT INTO private.backup_state DEFAULT VALUES;

ALTER TABLE "private"."backup_state"
  ENABLE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION jobs.check_backups (
  p_report jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_state private.backup_state;
    v_on boolean := p_report is not null;
    v_archiver record;
begin
    perform from private.alarm_mail_state as s for no key update;
    update private.backup_state as s set
        since = case when v_on then coalesce(s.since, pg_catalog.clock_timestamp()) end,
        reported_at = (p_report ->> 'at')::timestamptz,
        database_at = (p_report ->> 'database_at')::timestamptz,
        files_at = (p_report ->> 'files_at')::timestamptz,
        proven_at = (p_report ->> 'proven_at')::timestamptz
    returning * into v_state;
    select * into v_archiver from pg_catalog.pg_stat_archiver;
    perform private.set_backup_alarm('off', not v_on and not private.is_demo(), null);
    perform private.set_backup_alarm(
        'database', v_on and not private.is_recent(coalesce(v_state.database_at, v_state.since), interval '36 hours'), v_state.database_at
    );
    perform private.set_backup_alarm(
        'files', v_on and not private.is_recent(coalesce(v_state.files_at, v_state.since), interval '15 minutes'), v_state.files_at
    );
    perform private.set_backup_alarm(
        'wal',
        v_on and v_archiver.last_failed_time > coalesce(v_archiver.last_archived_time, '-infinity')
        and not private.is_recent(coalesce(v_archiver.last_archived_time, v_archiver.stats_reset), interval '5 minutes'),
        coalesce(v_archiver.last_archived_time, v_archiver.stats_reset)
    );
    perform private.set_backup_alarm('proof', v_on and not private.is_recent(coalesce(v_state.proven_at, v_state.since), interval '40 days'), v_state.proven_at);
    perform private.announce_alarms();
    return p_report -> 'failures';
end
$function$;

CREATE OR REPLACE FUNCTION jobs.is_mail_due()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select exists (
        select 1 from private.outbox as o
        where o.sent_at is null and o.failed_at is null and o.next_attempt_at <= pg_catalog.clock_timestamp()
            and (o.leased_until is null or o.leased_until < pg_catalog.clock_timestamp())
    ) and not private.is_copy()
$function$;

CREATE OR REPLACE FUNCTION jobs.lease_mail (
  p_max integer
)
  RETURNS SETOF private.outbox
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    update private.outbox as o set attempts = o.attempts + 1, leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
    where o.id in (
        select c.id from private.outbox as c
        where c.sent_at is null and c.failed_at is null and c.next_attempt_at <= pg_catalog.clock_timestamp()
            and (c.leased_until is null or c.leased_until < pg_catalog.clock_timestamp())
            and not private.is_copy()
        order by c.next_attempt_at
        limit p_max
        for update skip locked
    )
    returning o.*
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
        when (p_alarm).user_id is null then 'everybody'
        else 'member'
    end
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
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One email' else v_details ->> 'emails' || ' emails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'See Readiness for the reasons, and send them again there.'),
        ('backup', 'off', 'No backups are made.', 'Switch them on: what happens meanwhile is lost with this machine.'),
        ('backup', 'database', pg_catalog.format('The last backup of the database is %s.', coalesce('of ' || (v_details ->> 'last') || ' UTC', 'still to be made')), 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'files', pg_catalog.format('Receipts and keys were last known to be in the backups %s.', coalesce('at ' || (v_details ->> 'last') || ' UTC', 'never')), 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'wal', pg_catalog.format('Changes of the database have not reached the backups since %s UTC.', v_details ->> 'last'), 'PostgreSQL''s log says why. The disk of the database fills up meanwhile.'),
        ('backup', 'proof', 'No backup was restored to try it for more than forty days.', 'Run: make restore-drill.'),
        ('restored', 'any', 'This is a copy that was restored from a backup. It sends no email and makes no decision.', 'Acknowledge this only when the original is gone and this copy takes over: compare the last withdrawals with the wallet first.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
end
$function$;

CREATE OR REPLACE FUNCTION private.are_backups_made()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select private.is_recent(s.reported_at, interval '10 minutes')
        and private.is_recent(s.database_at, interval '36 hours')
        and private.is_recent(s.files_at, interval '15 minutes')
        and private.is_recent(s.proven_at, interval '40 days')
    from private.backup_state as s
$function$;

CREATE OR REPLACE FUNCTION private.is_copy()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select exists (select 1 from private.alarms as a where a.kind = 'restored' and a.ended_at is null and a.acknowledged_at is null)
$function$;

CREATE OR REPLACE FUNCTION private.last_moment()
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select max(a.at) from private.audit_log as a
$function$;

CREATE OR REPLACE FUNCTION private.mark_restored()
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select private.raise_alarm('restored', 'copy', null, '{}')
$function$;

CREATE OR REPLACE FUNCTION private.readiness()
  RETURNS TABLE (
    item    text,
    ok      boolean,
    missing text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select 'operator', private.setting_text('operator.name') is not null and private.setting_text('operator.address') is not null,
        'Set the operator''s legal name and postal address.'
    union all
    select 'support', coalesce(private.setting_text('support.email'), '') not in ('', 'support@example.com'), 'Set the address of support.'
    union all
    select 'deposit_address',
        private.is_trc20_address(private.setting_text('deposit.address')) and private.setting_text('deposit.address') <> 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
        'Set your own deposit address; the present one is a sample.'
    union all
    select 'terms', private.setting_text('terms.text') is not null and private.setting_text('terms.version') is not null, 'Publish terms of use.'
    union all
    select 'risk', private.setting_text('risk.text') is not null and private.setting_text('risk.version') is not null, 'Publish the risk notice.'
    union all
    select 'countries', pg_catalog.jsonb_array_length(private.setting('operator.countries')) > 0, 'List the countries whose residents may sign up.'
    union all
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test email and confirm that it arrived.'
    union all
    select 'two_step',
        not exists (
            select 1 from private.admin_users as a where a.is_active and a.role <> 'support_admin' and a.totp_confirmed_at is null
        ),
        'Every finance and super administrator needs two-step sign-in.'
    union all
    select 'backup', private.are_backups_made(), 'Switch backups on (BACKUP_REPOSITORY), wait for the first one and prove it: make restore-drill.'
    union all
    select 'never_seeded', not private.setting_text('demo.seeded')::boolean, 'Sample data was loaded here. Start a new installation with DEMO=0.'
    union all
    select 'no_money', not exists (select 1 from public.deposits) and not exists (select 1 from public.withdrawals),
        'There are deposits or withdrawals from demo mode. Start a new installation with DEMO=0.'
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
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is null and (a.user_id = p_user_id or a.user_id is null)
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
            case when v_alarm.user_id is null then 'Nothing can be decided now: a check of the ledger fails.' else 'Nothing can be decided about this member''s money now: a check of the ledger fails.' end
            || ' %s See Alarms: find out why, then a super admin acknowledges it there.', (private.alarm_texts(v_alarm)).problem
        ), pg_catalog.jsonb_build_object('alarm', v_alarm.id, 'rule', pg_catalog.left(v_alarm.object, 3))::text
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.set_backup_alarm (
  p_object text,
  p_late   boolean,
  p_last   timestamp with time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if p_late then
        perform private.raise_alarm(
            'backup', p_object, null, pg_catalog.jsonb_build_object('last', pg_catalog.to_char(p_last at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
        );
    else
        perform private.end_alarm('backup', p_object);
    end if;
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
        -- What has happened is over when it is understood; a state lasts until it is mended.
        ended_at = case when a.kind in ('repair', 'restored') or (a.kind, a.object) = ('deposit_address', 'changed') then pg_catalog.clock_timestamp() end
    where a.id = p_id;
    perform private.audit(
        'admin:' || v_admin.id, 'alarm.acknowledged', 'alarm', p_id,
        pg_catalog.jsonb_build_object('kind', v_alarm.kind, 'object', v_alarm.object, 'user_id', v_alarm.user_id, 'details', v_alarm.details, 'reason', v_reason)
    );
    return '{"success": true}'::jsonb;
end
$function$;

ALTER TABLE "private"."alarms"
  -- squawk-ignore constraint-missing-not-valid
  ADD CONSTRAINT "alarms_kind_check"
    CHECK
    ((kind = ANY (ARRAY['ledger_violation'::text, 'repair'::text, 'deposit_address'::text, 'audit_entry'::text, 'disk'::text, 'dead_job'::text, 'failed_mail'::text, 'backup'::text,
    'restored'::text])));

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX alarms_stopping_idx ON private.alarms USING btree (user_id)
  WHERE ((kind = ANY (ARRAY['ledger_violation'::text, 'restored'::text])) AND (ended_at IS NULL) AND (acknowledged_at IS NULL));

COMMENT ON COLUMN "private"."backup_state"."files_at" IS 'When receipts and keys were last known to be in the backups.';

COMMENT ON COLUMN "private"."backup_state"."proven_at" IS 'When a backup was last restored and its ledger found in order.';

COMMENT ON COLUMN "private"."backup_state"."since" IS 'When the first report came.';

COMMENT ON FUNCTION "jobs"."check_backups"(jsonb) IS 'Stores what the schedule of the backups reports ({at, database_at, files_at, proven_at, failures}; null: backups are off), and raises or ends the alarms about it; returns the failures.';

COMMENT ON FUNCTION "jobs"."is_mail_due"() IS 'Whether any e-mail is to be sent now: none by a restored copy.';

COMMENT ON FUNCTION "private"."alarm_stops"(private.alarms) IS 'Whose money an alarm lets no decision be made about: member, everybody, or null for no one''s. Only violations of the ledger, and that this is a restored copy, stop decisions, until they are acknowledged.';

COMMENT ON FUNCTION "private"."are_backups_made"() IS 'Whether backups are made and one was tried: a condition for accepting real money.';

COMMENT ON FUNCTION "private"."is_copy"() IS 'Whether this is a restored copy that has not taken over.';

COMMENT ON FUNCTION "private"."last_moment"() IS 'When the last thing in this database was done: of a copy, how far back it goes.';

COMMENT ON FUNCTION "private"."mark_restored"() IS 'Marks this database as a restored copy: no decision and no email until that is acknowledged.';

COMMENT ON FUNCTION "private"."raise_alarm"(text, text, uuid, jsonb) IS 'Opens an alarm, or updates the open one of this kind and object; true when it is new or has changed. Kinds: ledger_violation, repair, deposit_address, audit_entry, disk, dead_job, failed_mail, backup, restored.';

COMMENT ON FUNCTION "private"."require_no_alarm"(uuid) IS 'Before a decision about this member''s money, under its locks: raises while an open, unacknowledged violation of the ledger names the member, or nobody, or this is a restored copy. Errors: ledger_alarm.';

COMMENT ON FUNCTION "private"."set_backup_alarm"(text, boolean, timestamp with time zone) IS 'Raises or ends the alarm of one part of the backups; p_last: how far it came.';

COMMENT ON TABLE "private"."backup_state" IS 'What was last reported of the backups; all null while they are off.';

REVOKE ALL ON FUNCTION "jobs"."check_backups"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."check_backups"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_backups"(jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_backups"(jsonb) TO "worker";

REVOKE ALL ON FUNCTION "private"."are_backups_made"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_backups_made"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_backups_made"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_copy"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_copy"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_copy"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."last_moment"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."last_moment"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."last_moment"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."mark_restored"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mark_restored"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mark_restored"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."set_backup_alarm"(text, boolean, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."set_backup_alarm"(text, boolean, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."set_backup_alarm"(text, boolean, timestamp WITH time zone) TO "postgres";
