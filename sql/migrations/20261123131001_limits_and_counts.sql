-- get_sponsor returns one value that cannot fail after it was counted, and the planner's counts, which include the
-- rows of others, are rejected.

SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "public"."get_sponsor"(text);

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

CREATE OR REPLACE FUNCTION private.require_exact_count()
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    if nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'prefer' ~* 'count\s*=\s*"?(planned|estimated)' then
        perform private.raise_error(400, 'invalid_input', 'Rows are counted exactly here: ask for count=exact.');
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.wants_one_object()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select coalesce(
        nullif(pg_catalog.current_setting('request.headers', true), '')::pg_catalog.jsonb ->> 'accept' like 'application/vnd.pgrst.object%', false
    )
$function$;

CREATE OR REPLACE FUNCTION public.get_sponsor (
  p_referral_code text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member jsonb;
begin
    if not private.consume_rate_limit('sponsor', private.client_address(), 60, interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    select pg_catalog.jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name) into v_member
    from private.profiles as p
    where p.account_status <> 'disabled'
        and p.id = coalesce(
            (private.referrer_by_code(pg_catalog.btrim(p_referral_code))).id,
            (select q.id from private.profiles as q where pg_catalog.lower(q.username) = pg_catalog.lower(pg_catalog.btrim(p_referral_code)))
        );
    if not private.wants_one_object() then
        return case when v_member is null then '[]'::pg_catalog.jsonb else pg_catalog.jsonb_build_array(v_member) end;
    end if;
    if v_member is null then
        perform pg_catalog.set_config('response.status', '406', true);
        return '{"code": "PGRST116", "details": "The result contains 0 rows", "hint": null, "message": "JSON object requested, multiple (or no) rows returned"}'::pg_catalog.jsonb;
    end if;
    return v_member;
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_sponsor"(text) FROM PUBLIC, "service_role";

COMMENT ON FUNCTION "pre_request"."check_request"() IS 'Raises for ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required), tokens without audience (401 invalid_token) and the planner''s counts (400 invalid_input). A blocked member may still call rpc/get_my_account_status.';

COMMENT ON FUNCTION "private"."require_exact_count"() IS 'Raises when a person asks for the planner''s count. Errors: invalid_input.';

COMMENT ON FUNCTION "private"."wants_one_object"() IS 'Whether the request asks PostgREST for one object instead of an array.';

COMMENT ON FUNCTION "public"."get_sponsor"(text) IS 'The member with a referral code (profile id or exact username): an array of one row or none. Errors: too_many_requests.';

REVOKE ALL ON FUNCTION "private"."require_exact_count"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_exact_count"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_exact_count"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."wants_one_object"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wants_one_object"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wants_one_object"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_sponsor"(text) TO "anon", "authenticated", "platform_admin";

REVOKE ALL ON FUNCTION "public"."get_sponsor"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_sponsor"(text) TO "postgres";
