-- What every decision runs is planned once a connection, and a claim is read once a request.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.audit_entries()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_build_object('audit_entries', coalesce(pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('id', pg_catalog.split_part(e.entry, ':', 1)::bigint, 'hash', pg_catalog.split_part(e.entry, ':', 2))
        ), '[]'))
        from pg_catalog.string_to_table(nullif(pg_catalog.current_setting('app.audit_entries', true), ''), ' ') as e (entry)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.is_live_admin_session (
  p_claims jsonb
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    -- Once, and not for each row and condition.
    v_session_token uuid := private.uuid_claim(p_claims, 'sid');
    v_admin_id uuid := private.uuid_claim(p_claims, 'sub');
begin
    return exists (
        select 1
        from public.admin_sessions as s
        inner join private.admin_users as u on u.id = s.admin_id and u.is_active
        inner join private.admin_session_activity as a on a.session_token = s.session_token
        where s.session_token = v_session_token and s.admin_id = v_admin_id
            and a.jti_hash = pg_catalog.sha256(pg_catalog.convert_to(p_claims ->> 'jti', 'UTF8'))
            and s.expires_at > v_now and a.started_at > v_now - interval '8 hours' and a.last_seen_at > v_now - interval '30 minutes'
    );
end
$function$;
