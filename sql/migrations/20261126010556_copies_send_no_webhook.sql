-- A restored copy sends no webhook message either, until it is acknowledged.
SET local check_function_bodies = off;

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
        and not private.is_copy()
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
    where
        w.sent_at is null and w.failed_at is null and private.setting_text('alarm.webhook_url') is not null
        -- Its job may have waited when the backup was made.
        and not private.is_copy()
    order by w.created_at
    limit 1
$function$;

COMMENT ON FUNCTION "jobs"."is_webhook_due"() IS 'Whether a job is needed that sends webhook messages: none by a restored copy.';
