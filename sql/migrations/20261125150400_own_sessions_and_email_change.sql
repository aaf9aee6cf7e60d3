-- Members see and end their own sessions, and learn which link of a change of address is still to be opened.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION public.end_other_sessions()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
    v_ended integer;
begin
    delete from auth.sessions as s where s.user_id = v_member.user_id and s.id is distinct from v_current;
    get diagnostics v_ended = row_count;
    if v_ended > 0 then
        perform private.audit(
            'member:' || v_member.user_id, 'member.sessions_ended', 'profile', v_member.id, pg_catalog.jsonb_build_object('ended', v_ended)
        );
    end if;
    return pg_catalog.jsonb_build_object('ended', v_ended);
end
$function$;

REVOKE ALL ON FUNCTION "public"."end_other_sessions"() FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.end_session (
  p_session_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
begin
    delete from auth.sessions as s where s.id = p_session_id and s.user_id = v_member.user_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'This session has already ended.');
    end if;
    perform private.audit(
        'member:' || v_member.user_id, 'member.session_ended', 'profile', v_member.id, pg_catalog.jsonb_build_object('session', p_session_id)
    );
    return pg_catalog.jsonb_build_object('success', true);
end
$function$;

REVOKE ALL ON FUNCTION "public"."end_session"(uuid) FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.get_email_change()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_build_object(
            'old_email', u.email, 'new_email', u.email_change,
            'old_confirmed', u.email_change_confirm_status = 1 and u.email_change_token_current = '',
            'new_confirmed', u.email_change_confirm_status = 1 and u.email_change_token_new = ''
        )
        from auth.users as u where u.id = v_user_id and u.email_change <> ''
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_email_change"() FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.get_my_sessions()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'id', o.id, 'user_agent', o.user_agent, 'created_at', o.created_at, 'last_used_at', o.last_used_at, 'is_current', o.is_current
                ) order by o.is_current desc, o.last_used_at desc, o.id
            ), '[]'
        )
        from (
            select
                s.id, s.user_agent, s.created_at, s.id = v_current as is_current,
                -- Stored in UTC, without saying so.
                greatest(s.created_at, s.refreshed_at at time zone 'UTC') as last_used_at
            from auth.sessions as s
            where s.user_id = v_user_id and (s.not_after is null or s.not_after > pg_catalog.clock_timestamp())
            order by is_current desc, last_used_at desc, s.id
            limit 50
        ) as o
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_my_sessions"() FROM PUBLIC, "anon", "service_role";

COMMENT ON FUNCTION "public"."end_other_sessions"() IS 'Ends every session of the caller but the current one; returns how many.';

COMMENT ON FUNCTION "public"."end_session"(uuid) IS 'Ends one of the caller''s sessions. Errors: not_found.';

COMMENT ON FUNCTION "public"."get_email_change"() IS 'The caller''s pending change of e-mail address, and which of its two links was opened; null when there is none.';

COMMENT ON FUNCTION "public"."get_my_sessions"() IS 'The caller''s sessions, the current one first, then the 50 used last: device as the browser names itself, sign-in, last refresh.';

GRANT EXECUTE ON FUNCTION "public"."end_other_sessions"() TO "authenticated";

REVOKE ALL ON FUNCTION "public"."end_other_sessions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_other_sessions"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_session"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."end_session"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_session"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_email_change"() TO "authenticated";

REVOKE ALL ON FUNCTION "public"."get_email_change"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_email_change"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_my_sessions"() TO "authenticated";

REVOKE ALL ON FUNCTION "public"."get_my_sessions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_my_sessions"() TO "postgres";
