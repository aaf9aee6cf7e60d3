-- Of the ten connections of PostgREST a person holds three at once, and what a person only reads ends after 3 s: a handful of
-- long questions from one account kept everybody waiting.
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
    if session_user = 'authenticator' then
        perform private.take_place(v_claims ->> 'sub');
        perform private.limit_read();
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.limit_read()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if pg_catalog.current_setting('transaction_read_only') = 'on' then
        perform pg_catalog.set_config('statement_timeout', '3s', true);
        perform pg_catalog.set_config('lock_timeout', '2s', true);
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_key (
  p_name text
)
  RETURNS integer
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
    case p_name
        -- With a person and a number: one of the person's places at PostgREST, before anything else.
        when 'place' then return 53;
        -- A decision, a correction, a reconciliation, leaving demo mode: one at a time.
        when 'money' then return 42;
        -- One reconciliation of all bonuses at a time; whoever waited takes its result.
        when 'reconcile' then return 44;
        -- With the id of a new request: two members' requests of one id.
        when 'request' then return 51;
        -- With an owner: how many receipts a member has.
        when 'receipts_of_owner' then return 45;
        -- With a name: using a receipt in a deposit, or deleting it.
        when 'receipt' then return 48;
        -- The roll-up of team totals; a repair and a rebuild of counters keep it out.
        when 'networks' then return 46;
        -- The income disclosure is published by one.
        when 'income_disclosure' then return 47;
        -- A long ledger check runs once at a time; another one takes the last result.
        when 'ledger_check' then return 52;
        -- With an email address: one login attempt on an administrator's account at a time.
        when 'login_to_account' then return 49;
        -- With a client address: one login attempt of an administrator from it at a time.
        when 'login_from_address' then return 50;
        -- The end of the audit chain: one linker at a time.
        when 'audit_log' then return 43;
    end case;
end
$function$;

CREATE OR REPLACE FUNCTION private.raise_error (
  p_status  integer,
  p_code    text,
  p_message text,
  p_details text    DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform private.raise_error(p_status, p_code, p_message, p_details, '{}');
end
$function$;

CREATE OR REPLACE FUNCTION private.raise_error (
  p_status  integer,
  p_code    text,
  p_message text,
  p_details text,
  p_headers json
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    raise sqlstate 'PGRST' using
        message = pg_catalog.json_build_object('code', p_code, 'message', p_message, 'details', p_details, 'hint', null)::text,
        detail = pg_catalog.json_build_object('status', p_status, 'headers', p_headers)::text;
end
$function$;

CREATE OR REPLACE FUNCTION private.take_place (
  p_person text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_key constant integer := private.lock_key('place');
begin
    for v_try in 1..2 loop
        for v_place in 1..3 loop
            if pg_catalog.pg_try_advisory_xact_lock(v_key, pg_catalog.hashtext(p_person || v_place)) then
                return;
            end if;
        end loop;
        exit when v_try = 2;
        if private.wait_for_place(v_key, pg_catalog.hashtext(p_person || (1 + pg_catalog.pg_backend_pid() % 3))) then
            return;
        end if;
    end loop;
    perform private.raise_error(
        429, 'too_many_requests', 'Too many of your requests are under way. Try again in a moment.', null, '{"Retry-After": "1"}'
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.wait_for_place (
  p_key   integer,
  p_place integer
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  SET lock_timeout TO '100ms'
  AS $function$
begin
    perform pg_catalog.pg_advisory_xact_lock(p_key, p_place);
    return true;
exception when lock_not_available then
    return false;
end
$function$;

COMMENT ON FUNCTION "pre_request"."check_request"() IS 'Raises for what anonymous clients may not call (401 42501), ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required), tokens without audience (401 invalid_token), the planner''s counts (400 invalid_input) and, of PostgREST, a fourth request of a person while three are under way (429 too_many_requests). A blocked member may still call rpc/get_my_account_status.';

COMMENT ON FUNCTION "private"."limit_read"() IS 'Gives a transaction that only reads 3 s for each statement and 2 s for each lock.';

COMMENT ON FUNCTION "private"."raise_error"(integer, text, text, text, json) IS 'Aborts the transaction as the shorter one does, with headers of the response.';

COMMENT ON FUNCTION "private"."take_place"(text) IS 'Takes one of the three places that a person has among the connections of PostgREST. Errors: too_many_requests.';

COMMENT ON FUNCTION "private"."wait_for_place"(integer, integer) IS 'Waits for a place for a tenth of a second; whether it was taken.';

REVOKE ALL ON FUNCTION "private"."limit_read"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."limit_read"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."limit_read"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."raise_error"(integer, text, text, text, json) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."raise_error"(integer, text, text, text, json) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."raise_error"(integer, text, text, text, json) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_place"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_place"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_place"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."wait_for_place"(integer, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wait_for_place"(integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wait_for_place"(integer, integer) TO "postgres";
