-- The worker asks for due e-mail instead of being notified: a notification takes a lock of the whole database at commit.
-- A worker of the release before finds new e-mail by its look every minute until it is restarted.
SET local check_function_bodies = off;

DROP TRIGGER "_900_notify" ON "private"."outbox";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."outbox_notify"();

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
    )
$function$;

CREATE OR REPLACE FUNCTION public.retry_mail (
  p_id bigint
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    update private.outbox as o set attempts = 0, failed_at = null, next_attempt_at = pg_catalog.clock_timestamp()
    where o.id = p_id and o.failed_at is not null;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no failed mail like this.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'mail.retried', null, null, pg_catalog.jsonb_build_object('id', p_id));
    return '{"success": true}'::jsonb;
end
$function$;

COMMENT ON FUNCTION "jobs"."is_mail_due"() IS 'Whether any e-mail is to be sent now.';

REVOKE ALL ON FUNCTION "jobs"."is_mail_due"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."is_mail_due"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."is_mail_due"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."is_mail_due"() TO "worker";
