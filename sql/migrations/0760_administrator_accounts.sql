-- Administrators' accounts, kept by super administrators. Nobody changes the own role or switches the own account
-- off, and one active super admin always remains. Password hashes come from functions/edge, so what takes one
-- lies in schema edge; the caller is an id that the function verified.

create function private.require_super(p_admin_id uuid) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is distinct from 'super_admin' then
        perform private.refuse(403, 'forbidden', 'Only a super admin can do this.');
    end if;
    return v_admin;
end
$$;
comment on function private.require_super(uuid) is 'The super admin with this id. Errors: forbidden.';

create function private.account_card(p_admin private.admin_users) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'id', (p_admin).id, 'email', (p_admin).email, 'full_name', (p_admin).full_name, 'role', (p_admin).role,
        'is_active', (p_admin).is_active, 'two_step', (p_admin).totp_confirmed_at is not null, 'last_login', (p_admin).last_login,
        'created_at', (p_admin).created_at, 'updated_at', (p_admin).updated_at,
        'sessions', (select count(*) from public.admin_sessions as s where s.admin_id = (p_admin).id and s.expires_at > pg_catalog.now())
    )
$$;
comment on function private.account_card(private.admin_users) is 'An account without hash and secret.';

create function public.list_administrators() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'administrators', (select pg_catalog.jsonb_agg(private.account_card(a) order by a.created_at) from private.admin_users as a)
    );
end
$$;
comment on function public.list_administrators() is 'All accounts. Super admin. Errors: forbidden, session_ended.';

create function public.update_administrator(p_admin_id uuid, p_full_name text, p_role text, p_is_active boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before private.admin_users;
    v_after private.admin_users;
begin
    -- All accounts are locked: two super admins who switch each other off at once would leave none.
    perform 1 from private.admin_users as a order by a.id for no key update;
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
'Name, role and activity of an account; another role or none ends its sessions. Super admin, never on oneself. Errors: forbidden, not_found, invalid_input.';

create function public.reset_two_step(p_admin_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_reason is null then
        perform private.refuse(400, 'reason_required', 'Give a reason.');
    end if;
    if p_admin_id = v_caller.id then
        perform private.refuse(403, 'forbidden', 'Turn your own two-step sign-in off with a code.');
    end if;
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit('admin:' || v_caller.id, 'admin.two_step_reset', 'admin_user', p_admin_id, pg_catalog.jsonb_build_object('reason', v_reason));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.reset_two_step(uuid, text) is
'Another administrator lost the device: removes the secret and ends the sessions. Super admin. Errors: forbidden, not_found, reason_required.';

create function edge.create_administrator(p_caller uuid, p_email text, p_full_name text, p_role text, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_super(p_caller);
    v_admin private.admin_users;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.refuse(409, 'email_taken', 'There is an administrator with this e-mail.');
    end if;
    perform private.audit('admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object('role', p_role));
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.account_card(v_admin));
end
$$;
comment on function edge.create_administrator(uuid, text, text, text, text) is 'A new account with a hashed password. Errors: forbidden, email_taken.';

create function edge.reset_admin_password(p_caller uuid, p_admin_id uuid, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_super(p_caller);
    v_admin private.admin_users;
begin
    if p_admin_id = v_caller.id then
        perform private.refuse(403, 'forbidden', 'Change your own password with the current one.');
    end if;
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id returning a.* into v_admin;
    if v_admin.id is null then
        perform private.refuse(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit('admin:' || v_caller.id, 'admin.password_reset', 'admin_user', p_admin_id);
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.account_card(v_admin));
end
$$;
comment on function edge.reset_admin_password(uuid, uuid, text) is 'Another administrator forgot the password: a new hash, all sessions end. Errors: forbidden, not_found.';

grant execute on function
edge.create_administrator(uuid, text, text, text, text), edge.reset_admin_password(uuid, uuid, text)
to edge_functions;
grant execute on function
public.list_administrators(), public.update_administrator(uuid, text, text, boolean), public.reset_two_step(uuid, text)
to platform_admin;
