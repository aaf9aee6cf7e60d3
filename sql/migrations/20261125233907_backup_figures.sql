-- When backups were made and tried is a figure for Prometheus, what their alarms say reads better, and real money needs them.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION jobs.read_gauges()
  RETURNS TABLE (
    name   text,
    labels jsonb,
    value  double precision
  )
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select g.* from private.queue_gauges() as g
    union all
    select g.* from private.request_gauges() as g
    union all
    select g.* from private.ledger_gauges() as g
    union all
    select g.* from private.alarm_gauges() as g
    union all
    select g.* from private.backup_gauges() as g
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
    from pg_catalog.unnest(array['ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail', 'backup', 'restored']) as k (kind)
    left join private.alarms as a on k.kind = a.kind and a.ended_at is null and a.acknowledged_at is null
    group by k.kind
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
        ), 'Find out who changed the rows: the product never does.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back at once: members send their deposits there.'),
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
        ('restored', 'any', 'This is a copy that was restored from a backup. It sends no email and makes no decision.', 'Acknowledge this only when the original is gone and this copy takes over: compare the last withdrawals with the wallet first.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
end
$function$;

CREATE OR REPLACE FUNCTION private.backup_gauges()
  RETURNS TABLE (
    name   text,
    labels jsonb,
    value  double precision
  )
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select 'harborline_backup_timestamp_seconds', pg_catalog.jsonb_build_object('part', p.part), extract(epoch from p.at)
    from private.backup_state as s
    cross join lateral (values ('database', s.database_at), ('files', s.files_at), ('proof', s.proven_at)) as p (part, at)
    where p.at is not null
    union all
    select 'harborline_wal_archived_timestamp_seconds', '{}', extract(epoch from a.last_archived_time)
    from pg_catalog.pg_stat_archiver as a where a.last_archived_time is not null
$function$;

COMMENT ON FUNCTION "private"."backup_gauges"() IS 'When the database and the files were last backed up, when a backup was last tried, and when WAL last reached the archive.';

REVOKE ALL ON FUNCTION "private"."backup_gauges"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."backup_gauges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."backup_gauges"() TO "postgres";

CREATE OR REPLACE FUNCTION private.readiness()
  RETURNS TABLE (
    item    text,
    ok      boolean,
    missing text,
    keys    text[]
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select 'operator', private.setting_text('operator.name') is not null and private.setting_text('operator.address') is not null,
        'Set the operator''s legal name and postal address.', array['operator.name', 'operator.address']
    union all
    select 'support', coalesce(private.setting_text('support.email'), '') not in ('', 'support@example.com'), 'Set the address of support.',
        array['support.email']
    union all
    -- Unknown is not ready: the worker reports both within a minute.
    select 'https', coalesce(private.setting_text('site.url'), '') like 'https://_%',
        'Serve the site by HTTPS: name its domain in SITE_DOMAIN, or its https address in SITE_URL where a proxy has the certificate.', null
    union all
    select 'deposit_address',
        private.is_trc20_address(private.setting_text('deposit.address')) and private.setting_text('deposit.address') <> 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
        'Set your own deposit address; the present one is a sample.', array['deposit.address']
    union all
    select 'wallets', private.setting_text('wallet.strict')::boolean,
        'Set wallet.strict: a wallet address with a wrong letter is rejected then, and a payout cannot be lost to it.', array['wallet.strict']
    union all
    select 'terms', private.is_document(private.setting_text('terms.text'), 500, 50) and private.setting_text('terms.version') is not null,
        'Publish terms of use: at least 500 characters with 50 different words, and their version.', array['terms.text', 'terms.version']
    union all
    select 'risk', private.is_document(private.setting_text('risk.text'), 100, 15) and private.setting_text('risk.version') is not null,
        'Publish the risk notice: at least 100 characters with 15 different words, and its version.', array['risk.text', 'risk.version']
    union all
    select 'countries', pg_catalog.jsonb_array_length(private.setting('operator.countries')) > 0, 'List the countries whose residents may sign up.',
        array['operator.countries']
    union all
    select 'mail_server', coalesce(private.setting_text('mail.server'), 'catcher') <> 'catcher',
        'Emails go to the mail catcher of development. Name your mail server in SMTP_HOST.', null
    union all
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test email and confirm that it arrived.', array['mail.ready']
    union all
    select 'two_step',
        not exists (
            select 1 from private.admin_users as a where a.is_active and a.role <> 'support_admin' and a.totp_confirmed_at is null
        ),
        'Every finance and super administrator needs two-step sign-in.', null
    union all
    select 'backup', private.are_backups_made(), 'Switch backups on (BACKUP_REPOSITORY), wait for the first one and prove it: make restore-drill.', null
    union all
    select 'never_seeded', not private.setting_text('demo.seeded')::boolean, 'Sample data was loaded here. Start a new installation with DEMO=0.', null
    union all
    select 'no_money', not exists (select 1 from public.deposits) and not exists (select 1 from public.withdrawals),
        'There are deposits or withdrawals from demo mode. Start a new installation with DEMO=0.', null
$function$;
