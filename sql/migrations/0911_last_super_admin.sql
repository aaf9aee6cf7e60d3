-- Two super admins who switch each other off at the same moment: the second waited for the first one's lock and went on
-- as what it had been before it waited, so that nobody was left who may administer. Who calls is read under the lock now.

create or replace function public.update_administrator(p_admin_id uuid, p_full_name text, p_role text, p_is_active boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users;
    v_before private.admin_users;
    v_after private.admin_users;
begin
    -- All accounts are locked before the caller is read: whoever waited here may be no super admin any more.
    perform 1 from private.admin_users as a order by a.id for no key update;
    v_caller := private.require_admin(array['super_admin']::public.admin_role[]);
    select * into v_before from private.admin_users as a where a.id = p_admin_id;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no such administrator.');
    end if;
    if p_role is not null and p_role not in ('super_admin', 'finance_admin', 'support_admin') then
        perform private.refuse(400, 'invalid_input', 'There is no such role.');
    end if;
    if p_admin_id = v_caller.id and (coalesce(p_role, 'super_admin') <> 'super_admin' or p_is_active is false) then
        perform private.refuse(403, 'forbidden', 'You cannot change your own role or switch your own account off.');
    end if;
    update private.admin_users as a set
        full_name = coalesce(nullif(pg_catalog.btrim(p_full_name), ''), a.full_name),
        role = coalesce(p_role::public.admin_role, a.role),
        is_active = coalesce(p_is_active, a.is_active),
        updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id
    returning a.* into v_after;
    if not v_after.is_active or v_after.role is distinct from v_before.role then
        delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.updated', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object('role', v_after.role, 'role_before', v_before.role, 'is_active', v_after.is_active)
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.account_card(v_after));
end
$$;
comment on function public.update_administrator(uuid, text, text, boolean) is
'Name, role and activity of an account; another role or none ends its sessions. Super admin, never on oneself. Errors: forbidden, session_ended, two_step_required, not_found, invalid_input.';
