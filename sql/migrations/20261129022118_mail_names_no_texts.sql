-- A mail about a sign-up names the referrer by username alone.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION hooks.mail_data (
  event jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_referrer private.profiles := private.referrer_by_code(pg_catalog.btrim(event #>> '{user,user_metadata,referrer_id}'));
begin
    -- Anybody can sign up a stranger's address: a mail to it holds no text that a member wrote, but usernames.
    return pg_catalog.jsonb_build_object('referrer_username', v_referrer.username);
end
$function$;

COMMENT ON FUNCTION "hooks"."mail_data"(jsonb) IS 'What a mail about a sign-up says beyond its metadata: the username of the referrer, null when there is none.';
