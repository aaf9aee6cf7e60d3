-- A stolen token of a super administrator must not keep the others out: to end their sessions is an act on an account.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION public.end_admin_sessions (
  p_admin_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_ended integer;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id) then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if p_admin_id <> v_caller.id then
        perform private.require_fresh_admin_proof('end the sessions of another administrator');
    end if;
    delete from public.admin_sessions as s
    where s.admin_id = p_admin_id and s.session_token is distinct from private.uuid_claim(auth.jwt(), 'sid');
    get diagnostics v_ended = row_count;
    perform private.audit('admin:' || v_caller.id, 'admin.sessions_ended', 'admin_user', p_admin_id, pg_catalog.jsonb_build_object('sessions', v_ended));
    return pg_catalog.jsonb_build_object('success', true, 'sessions', v_ended);
end
$function$;

COMMENT ON FUNCTION public.end_admin_sessions(uuid) IS 'Ends an administrator''s sessions, of the caller''s own all but the present one; returns how many. Super admin. Errors: forbidden, session_ended, two_step_required, not_found, reauthentication_needed.';
