-- Operators see the state of the business in Prometheus, and alarms may also go to a webhook. jobs.read_gauges() has what
-- jobs.count_mail() said.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "jobs"."count_mail"();

CREATE TABLE "private"."alarm_webhooks" (
  "id"         uuid                     NOT NULL DEFAULT gen_random_uuid(),
  "body"       jsonb                    NOT NULL,
  "created_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  "tried_at"   timestamp with time zone,
  "sent_at"    timestamp with time zone,
  "failed_at"  timestamp with time zone,
  "last_error" text,
  CONSTRAINT "alarm_webhooks_body_check" CHECK ((jsonb_typeof(body) = 'object'::text)),
  CONSTRAINT "alarm_webhooks_pkey" PRIMARY KEY (id)
);

ALTER TABLE "private"."alarm_webhooks"
  ENABLE ROW LEVEL SECURITY;

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
    v_alarm_id uuid;
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
        where a.kind = 'deposit_address' and a.object = 'unexpected' and a.ended_at is null
        returning a.id into v_alarm_id;
        perform private.queue_webhook('The deposit address is not the expected one', array[v_alarm_id]);
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

CREATE OR REPLACE FUNCTION jobs.is_webhook_due()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    -- One that was tried is tried again by its job; the others wait for it.
    select exists (select 1 from private.alarm_webhooks as w where w.sent_at is null and w.failed_at is null)
        and not exists (select 1 from private.alarm_webhooks as w where w.sent_at is null and w.failed_at is null and w.tried_at is not null)
        and private.setting_text('alarm.webhook_url') is not null
$function$;

CREATE OR REPLACE FUNCTION jobs.mark_webhook (
  p_id       uuid,
  p_error    text,
  p_given_up boolean
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    update private.alarm_webhooks as w set
        tried_at = pg_catalog.clock_timestamp(),
        last_error = pg_catalog.left(p_error, 200),
        sent_at = case when p_error is null then pg_catalog.clock_timestamp() end,
        failed_at = case when p_error is not null and p_given_up then pg_catalog.clock_timestamp() end
    where w.id = p_id
$function$;

CREATE OR REPLACE FUNCTION jobs.next_webhook()
  RETURNS TABLE (
    id      uuid,
    url     text,
    is_demo boolean,
    body    jsonb
  )
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select w.id, private.setting_text('alarm.webhook_url'), private.is_demo(), w.body || pg_catalog.jsonb_build_object('id', w.id, 'at', w.created_at)
    from private.alarm_webhooks as w
    where w.sent_at is null and w.failed_at is null and private.setting_text('alarm.webhook_url') is not null
    order by w.created_at
    limit 1
$function$;

CREATE OR REPLACE FUNCTION jobs.purge()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_rows integer;
    v_all integer;
begin
    delete from private.rate_limits as r where r.window_start < v_now - interval '1 day';
    get diagnostics v_all = row_count;
    delete from private.sign_in_failures as f where f.at < v_now - interval '1 day';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.known_admin_addresses as k where k.seen_at < v_now - interval '90 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.receipt_uploads as u
    where not exists (
        select 1 from storage.objects as o
        where o.bucket_id = 'receipts' and o.name = u.name and (
            o.created_at > v_now - interval '1 day'
            or not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
        )
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.alarm_webhooks as w where w.created_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$function$;

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
    -- The time of the last backup comes here, once backups record it.
$function$;

CREATE OR REPLACE FUNCTION private.age_seconds (
  p_at timestamp with time zone
)
  RETURNS double precision
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    -- Nothing waits: its age is zero. A clock may step back.
    select coalesce(greatest(extract(epoch from pg_catalog.clock_timestamp() - p_at), 0), 0)::double precision
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
    from pg_catalog.unnest(array['ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail']) as k (kind)
    left join private.alarms as a on k.kind = a.kind and a.ended_at is null and a.acknowledged_at is null
    group by k.kind
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
    v_size bigint;
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
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be of type %s.', p_key, v_row.kind));
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind = 'integer' then (p_value #>> '{}')::bigint
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.is_trc20_address(p_value #>> '{}') then
        perform private.raise_error(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
    -- Shown as a link: nothing that could close an attribute or begin another scheme, and one place for the hash.
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
    select 'harborline_repaired_bonuses', '{}', r.repaired from private.reconcile_state as r
    union all
    select 'harborline_coverage_ratio', '{}', (c.figures ->> 'ratio')::double precision / 100
    from (select private.coverage() as figures) as c where c.figures ->> 'ratio' is not null
    union all
    select 'harborline_unlinked_audit_seconds', '{}', private.age_seconds((select min(u.at) from private.unlinked_entries as u))
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
    v_ids uuid[];
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
    select pg_catalog.string_agg(l.line, E'\n' order by l.place), pg_catalog.array_agg(l.id order by l.place) into v_body, v_ids
    from (
        select a.id, private.alarm_line(a) || case when a.mailed_at is not null then ' You were told before.' else '' end as line, row_number() over w as place
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
    perform private.queue_webhook(v_title, v_ids);
    update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
    where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    update private.alarm_mail_state as s set mailed_at = pg_catalog.clock_timestamp();
    return v_new;
end
$function$;

CREATE OR REPLACE FUNCTION private.queue_gauges()
  RETURNS TABLE (
    name   text,
    labels jsonb,
    value  double precision
  )
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return query
    select 'queue_depth', pg_catalog.jsonb_build_object('queue', 'mail', 'state', m.state), m.depth::double precision
    from (
        select 'todo' as state, (select count(*) from private.outbox as o where o.sent_at is null and o.failed_at is null) as depth
        union all
        select 'failed', (select count(*) from private.outbox as o where o.failed_at is not null)
    ) as m;
    return query
    select 'harborline_oldest_mail_seconds', '{}'::jsonb, private.age_seconds(min(o.created_at))
    from private.outbox as o where o.sent_at is null and o.failed_at is null;
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is true then
        return query
        select 'queue_depth', pg_catalog.jsonb_build_object('queue', 'jobs', 'state', s.state), count(j.id)::double precision
        from pg_catalog.unnest(array['todo', 'doing', 'failed']) as s (state)
        left join procrastinate.procrastinate_jobs as j on s.state = j.status::text
        group by s.state;
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.queue_webhook (
  p_title     text,
  p_alarm_ids uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if private.setting_text('alarm.webhook_url') is null then
        return;
    end if;
    insert into private.alarm_webhooks (body)
    select pg_catalog.jsonb_build_object(
        'title', p_title,
        'link', '/admin/alarms',
        'alarms', coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'id', a.id, 'kind', a.kind, 'object', a.object, 'since', a.raised_at, 'ended_at', a.ended_at,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(a), 'username', p.username,
            'urgent', coalesce((a.details ->> 'urgent')::boolean, false)
        ) order by i.place), '[]')
    )
    from pg_catalog.unnest(p_alarm_ids) with ordinality as i (id, place)
    inner join private.alarms as a on i.id = a.id
    cross join lateral private.alarm_texts(a) as t
    left join private.profiles as p on a.user_id = p.user_id;
end
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
        select 'deposit' as kind, count(*) as requests, min(d.created_at) as oldest from public.deposits as d where d.status = 'pending'
        union all
        select 'withdrawal', count(*), min(w.created_at) from public.withdrawals as w where w.status = 'pending'
    )

    select 'harborline_pending_requests', pg_catalog.jsonb_build_object('kind', p.kind), p.requests::double precision from pending as p
    union all
    select 'harborline_oldest_pending_seconds', pg_catalog.jsonb_build_object('kind', p.kind), private.age_seconds(p.oldest) from pending as p
$function$;

CREATE OR REPLACE FUNCTION private.settings_mail_deposit_address()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_alarm_id uuid;
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
    where a.kind = 'deposit_address' and a.object = 'changed' and a.ended_at is null
    returning a.id into v_alarm_id;
    perform private.queue_webhook('The deposit address was changed', array[v_alarm_id]);
    return null;
end
$function$;

CREATE INDEX alarm_webhooks_due_idx ON private.alarm_webhooks USING btree (created_at)
  WHERE ((sent_at IS NULL) AND (failed_at IS NULL));

COMMENT ON COLUMN "private"."alarm_webhooks"."failed_at" IS 'When it was given up; the job that tried is a dead one then, and an alarm.';

COMMENT ON COLUMN "private"."alarm_webhooks"."tried_at" IS 'When the worker last tried to send it; null: not yet.';

COMMENT ON FUNCTION "jobs"."is_webhook_due"() IS 'Whether a job is needed that sends webhook messages.';

COMMENT ON FUNCTION "jobs"."mark_webhook"(uuid, text, boolean) IS 'Records an attempt: sent without an error, else tried again by its job or given up.';

COMMENT ON FUNCTION "jobs"."next_webhook"() IS 'The oldest webhook message that is to be sent, and where to; nothing when there is none.';

COMMENT ON FUNCTION "jobs"."purge"() IS 'Deletes expired rate limits, failures older than a day, addresses that no administrator used for 90 days, uploads that no limit counts any more, webhook messages and e-mail sent more than 30 days ago; returns how many rows.';

COMMENT ON FUNCTION "jobs"."read_gauges"() IS 'Every figure that the database knows for Prometheus: name, labels, value. What cannot be read has no row.';

COMMENT ON FUNCTION "private"."age_seconds"(timestamp with time zone) IS 'Seconds since then; zero for null.';

COMMENT ON FUNCTION "private"."alarm_gauges"() IS 'Open alarms by kind, without those that are acknowledged.';

COMMENT ON FUNCTION "private"."ledger_gauges"() IS 'The last ledger check by rule and when it was, bonuses ever repaired, coverage, and the age of the oldest entry of the audit log outside its chain.';

COMMENT ON FUNCTION "private"."mail_alarms"() IS 'E-mails every active super and finance administrator all that is new and what lasts, and writes the webhook message, at most once an hour, and once a day while anything lasts; returns how many were new.';

COMMENT ON FUNCTION "private"."queue_gauges"() IS 'How many emails and jobs wait or were given up, and the age of the oldest email that waits.';

COMMENT ON FUNCTION "private"."queue_webhook"(text, uuid[]) IS 'Writes the webhook message about these alarms, in their order; nothing while no address is set.';

COMMENT ON FUNCTION "private"."request_gauges"() IS 'How many deposits and withdrawals wait for a decision, and the age of the oldest.';

COMMENT ON TABLE "private"."alarm_webhooks" IS 'Messages about alarms to the operator''s webhook. Written with the mails about them.';

REVOKE ALL ON FUNCTION "jobs"."is_webhook_due"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."is_webhook_due"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."is_webhook_due"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."is_webhook_due"() TO "worker";

REVOKE ALL ON FUNCTION "jobs"."mark_webhook"(uuid, text, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."mark_webhook"(uuid, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."mark_webhook"(uuid, text, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."mark_webhook"(uuid, text, boolean) TO "worker";

REVOKE ALL ON FUNCTION "jobs"."next_webhook"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."next_webhook"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."next_webhook"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."next_webhook"() TO "worker";

REVOKE ALL ON FUNCTION "jobs"."read_gauges"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."read_gauges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."read_gauges"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."read_gauges"() TO "worker";

REVOKE ALL ON FUNCTION "private"."age_seconds"(timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."age_seconds"(timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."age_seconds"(timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."alarm_gauges"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alarm_gauges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alarm_gauges"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."ledger_gauges"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."ledger_gauges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."ledger_gauges"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."queue_gauges"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."queue_gauges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."queue_gauges"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."queue_webhook"(text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."queue_webhook"(text, uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."queue_webhook"(text, uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."request_gauges"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."request_gauges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."request_gauges"() TO "postgres";

INSERT INTO private.settings (key, value, kind, minimum, maximum, is_public, description)
VALUES ('alarm.webhook_url', 'null', 'text', 1, 500, false, 'Where alarms are sent as JSON, besides the emails about them. https. Unset: nowhere');
