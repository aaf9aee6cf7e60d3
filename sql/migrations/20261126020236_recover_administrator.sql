-- Who owns the database lets an administrator in again who lost the second factor or the email address.
SET local check_function_bodies = off;

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
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_email text := pg_catalog.lower(coalesce(nullif(pg_catalog.btrim(p_new_email), ''), p_email));
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    select * into v_admin from private.admin_users as a where a.email = pg_catalog.lower(p_email);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if not v_admin.is_active then
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
    );
    return v_admin.id;
end
$function$;

COMMENT ON FUNCTION "private"."recover_administrator"(text, text, text, text) IS 'Gives an active administrator another password (p_hash, Argon2id) and, unless p_new_email is empty, another email; removes two-step sign-in and ends the sessions. Only on the machine, as owner. Errors: reason_required, not_found, invalid_state, email_taken.';

REVOKE ALL ON FUNCTION "private"."recover_administrator"(text, text, text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."recover_administrator"(text, text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."recover_administrator"(text, text, text, text) TO "postgres";
