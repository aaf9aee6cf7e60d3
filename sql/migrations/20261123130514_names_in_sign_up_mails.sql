-- Mails about sign-ups name the referrer, and a confirmed sign-up frees the names that the others of its address reserved:
-- each sign-up of an unconfirmed address stands by itself now.
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
    return pg_catalog.jsonb_build_object('referrer_display_name', v_referrer.display_name, 'referrer_username', v_referrer.username);
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
    -- Those of the address's other sign-ups too, which are void now.
    delete from private.username_reservations as r
    where pg_catalog.lower(r.username) = pg_catalog.lower(p_username) or r.email = pg_catalog.lower(p_email);
    return v_id;
end
$function$;

COMMENT ON FUNCTION "hooks"."mail_data"(jsonb) IS 'What a mail about a sign-up says beyond its metadata: the names of the referrer, null when there is none.';

REVOKE ALL ON FUNCTION "hooks"."mail_data"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "hooks"."mail_data"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "hooks"."mail_data"(jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "hooks"."mail_data"(jsonb) TO "supabase_auth_admin";
