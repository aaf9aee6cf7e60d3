-- The errors of a sign-up have codes, as all others: a form need not read the sentence to know which field is meant.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."sign_up_error"(integer, text);

CREATE OR REPLACE FUNCTION hooks.before_user_created (
  event jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_data jsonb := event #> '{user,user_metadata}';
    v_email text := pg_catalog.lower(event #>> '{user,email}');
    v_username text := v_data ->> 'username';
    v_display_name text := pg_catalog.btrim(v_data ->> 'display_name');
    v_error text;
begin
    if coalesce(pg_catalog.btrim(v_data ->> 'referrer_id'), '') = '' then
        return private.sign_up_error('referral_code_required', 'Referral code is required for registration');
    end if;
    if (private.referrer_by_code(pg_catalog.btrim(v_data ->> 'referrer_id'))).id is null then
        return private.sign_up_error('invalid_referral_code', 'Invalid referral code');
    end if;
    if coalesce(v_email, '') = '' or coalesce(v_display_name, '') = '' then
        return private.sign_up_error('fields_required', 'Please fill in all required fields');
    end if;
    v_error := private.username_error(v_username);
    if v_error is not null then
        return private.sign_up_error('invalid_username', v_error);
    end if;
    if not private.is_display_name(v_display_name) then
        return private.sign_up_error('invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    if exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(v_username)) then
        return private.sign_up_error('username_taken', 'Username already exists. Please choose a different username.');
    end if;
    -- One statement arbitrates between concurrent sign-ups with the same username.
    insert into private.username_reservations as r (username, email, until)
    values (v_username, v_email, pg_catalog.clock_timestamp() + interval '24 hours')
    on conflict (pg_catalog.lower(username)) do update
        set username = excluded.username, email = excluded.email, until = excluded.until
        where r.until < pg_catalog.clock_timestamp() or r.email = excluded.email;
    if not found then
        return private.sign_up_error('username_taken', 'Username already exists. Please choose a different username.');
    end if;
    return '{}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION private.sign_up_error (
  p_code    text,
  p_message text
)
  RETURNS jsonb
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object('error', pg_catalog.jsonb_build_object('http_code', 400, 'code', p_code, 'message', p_message))
$function$;

COMMENT ON FUNCTION "private"."sign_up_error"(text, text) IS 'An error in the form of the hook: an exception would become a 500. functions/auth passes the code on; a real GoTrue does not know it.';

REVOKE ALL ON FUNCTION "private"."sign_up_error"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sign_up_error"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sign_up_error"(text, text) TO "postgres";
