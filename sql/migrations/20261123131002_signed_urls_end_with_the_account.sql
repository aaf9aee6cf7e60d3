-- Storage asks about the account when a member's signed URL is used.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION pre_request.check_account (
  p_user_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_status public.account_status;
begin
    select p.account_status into v_status from private.profiles as p where p.user_id = p_user_id;
    if v_status is null or v_status in ('suspended', 'disabled') then
        perform private.require_active_status(coalesce(v_status, 'disabled'));
    end if;
end
$function$;

COMMENT ON FUNCTION "pre_request"."check_account"(uuid) IS 'Asked by storage when a member''s signed URL is used: raises when the account is suspended, closed or deleted. Errors: account_suspended, account_disabled.';

REVOKE ALL ON FUNCTION "pre_request"."check_account"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "pre_request"."check_account"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "pre_request"."check_account"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "pre_request"."check_account"(uuid) TO "service_role";
