-- An anonymous client is checked before its statement is planned, and has one second.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION pre_request.check_request()
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_role text := pg_catalog.current_setting('role', true);
    v_claims jsonb;
begin
    if v_role = 'service_role' then
        return;
    end if;
    perform private.require_exact_count();
    if v_role = 'anon' then
        perform private.check_anonymous_request(pg_catalog.current_setting('request.path', true));
        return;
    end if;
    v_claims := nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb;
    -- PostgREST accepts a token without an audience.
    if v_claims -> 'aud' is null or not (v_claims -> 'aud' ? 'authenticated') then
        perform private.raise_error(401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.');
    end if;
    if v_role = 'authenticated' then
        perform private.check_member_session(v_claims);
    elsif v_role = 'platform_admin' then
        perform private.check_administrator_session(v_claims);
    else
        perform private.raise_error(403, 'forbidden', 'You are not allowed to do this.');
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_anonymous_request (
  p_path text
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    if session_user = 'authenticator' and not exists (
        select from pg_catalog.pg_proc as p
        where p.pronamespace = 'public'::regnamespace and '/rpc/' || p.proname = p_path
            and pg_catalog.has_function_privilege('anon', p.oid, 'execute')
    ) then
        perform private.raise_error(401, '42501', 'permission denied for ' || coalesce(
            'function ' || pg_catalog.substring(p_path, '\A/rpc/(.*)\Z'), 'table ' || pg_catalog.ltrim(p_path, '/')
        ));
    end if;
end
$function$;

COMMENT ON FUNCTION "pre_request"."check_request"() IS 'Raises for what anonymous clients may not call (401 42501), ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required), tokens without audience (401 invalid_token) and the planner''s counts (400 invalid_input). A blocked member may still call rpc/get_my_account_status.';

COMMENT ON FUNCTION "private"."check_anonymous_request"(text) IS 'The pre-request check of anonymous clients: only functions that anon may execute. Errors: 42501.';

REVOKE ALL ON FUNCTION "private"."check_anonymous_request"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_anonymous_request"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_anonymous_request"(text) TO "postgres";

alter role anon set statement_timeout = '1s';
alter role anon set lock_timeout = '500ms';
notify pgrst, 'reload config';
