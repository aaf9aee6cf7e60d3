-- Manage administrator accounts. Nobody may change the own role or deactivate the own account, so one active
-- super_admin always remains. functions/edge hashes passwords, so functions that take a hash are in schema edge;
-- p_caller is an id that functions/edge has verified.

create function private.administrator_item(p_admin private.admin_users) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'id', (p_admin).id, 'email', (p_admin).email, 'full_name', (p_admin).full_name, 'role', (p_admin).role,
        'is_active', (p_admin).is_active, 'two_step', (p_admin).totp_confirmed_at is not null, 'last_login', (p_admin).last_login,
        'created_at', (p_admin).created_at, 'updated_at', (p_admin).updated_at,
        'sessions', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'started_at', a.started_at, 'last_seen_at', a.last_seen_at, 'address', a.address, 'user_agent', a.user_agent,
                        'is_current', s.session_token is not distinct from private.uuid_claim(auth.jwt(), 'sid')
                    ) order by a.last_seen_at desc, s.session_token
                ), '[]'
            )
            from public.admin_sessions as s
            inner join private.admin_session_activity as a on a.session_token = s.session_token
            where s.admin_id = (p_admin).id and s.expires_at > pg_catalog.now()
        )
    )
$$;
comment on function private.administrator_item(private.admin_users) is
'An administrator account as JSON, with its open sessions, without hash and secret.';

create function public.list_administrators() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'administrators', (select pg_catalog.jsonb_agg(private.administrator_item(a) order by a.created_at) from private.admin_users as a)
    );
end
$$;
comment on function public.list_administrators() is 'All accounts. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.list_administrators() to platform_admin;

-- Read the caller under the lock: when two super administrators deactivate each other at the same time, the second
-- one waits and is then rejected, so that one remains.
create function public.update_administrator(p_admin_id uuid, p_full_name text, p_role text, p_is_active boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users;
    v_before private.admin_users;
    v_after private.admin_users;
begin
    -- Lock all accounts before reading the caller, who may have lost the role while waiting.
    perform 1 from private.admin_users as a order by a.id for no key update;
    v_caller := private.require_admin(array['super_admin']::public.admin_role[]);
    select * into v_before from private.admin_users as a where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if p_role is not null and p_role not in ('super_admin', 'finance_admin', 'support_admin') then
        perform private.raise_error(400, 'invalid_input', 'There is no such role.');
    end if;
    if p_admin_id = v_caller.id and (coalesce(p_role, 'super_admin') <> 'super_admin' or p_is_active is false) then
        perform private.raise_error(403, 'forbidden', 'You cannot change your own role or switch your own account off.');
    end if;
    perform private.require_fresh_admin_proof('change an administrator');
    update private.admin_users as a set
        full_name = coalesce(nullif(pg_catalog.btrim(p_full_name), ''), a.full_name),
        role = coalesce(p_role::public.admin_role, a.role),
        is_active = coalesce(p_is_active, a.is_active),
        updated_at = pg_catalog.clock_timestamp(),
        revision = a.revision + 1
    where a.id = p_admin_id
    returning a.* into v_after;
    if not v_after.is_active or v_after.role is distinct from v_before.role then
        delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.updated', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object(
            'role', v_after.role, 'role_before', v_before.role, 'is_active', v_after.is_active, 'is_active_before', v_before.is_active
        ) || private.administrator_entry(p_admin_id, array['role', 'is_active'])
    );
    perform private.mail_admin_change(
        p_admin_id,
        nullif(pg_catalog.concat_ws(
            ' ',
            case when v_after.role <> v_before.role then pg_catalog.format(
                'The role was changed from %s to %s.',
                pg_catalog.replace(v_before.role::text, '_', ' '), pg_catalog.replace(v_after.role::text, '_', ' ')
            ) end,
            case when v_after.is_active <> v_before.is_active then pg_catalog.format(
                'The account was %s.', case when v_after.is_active then 'activated' else 'deactivated' end
            ) end,
            case when v_after.full_name is distinct from v_before.full_name then 'The name was changed.' end
        ), ''),
        v_caller.id
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_after)) || private.audit_entries();
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function public.update_administrator(uuid, text, text, boolean) is
'Updates name, role and activity of an account; a changed role or a deactivation ends its sessions. Super admin, never on oneself. Errors: forbidden, session_ended, two_step_required, not_found, invalid_input, reauthentication_needed, try_again.';
grant execute on function public.update_administrator(uuid, text, text, boolean) to platform_admin;

create function public.reset_two_step(p_admin_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Turn your own two-step sign-in off with a code.');
    end if;
    perform private.require_fresh_admin_proof('reset two-step sign-in');
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.two_step_reset', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object('reason', v_reason) || private.administrator_entry(p_admin_id, array['two_step'])
    );
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was removed, as for a lost device.', v_caller.id);
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.reset_two_step(uuid, text) is
'Resets another administrator''s two-step sign-in after a lost device: deletes the secret and ends the sessions. Super admin. Errors: forbidden, not_found, reason_required, reauthentication_needed.';
grant execute on function public.reset_two_step(uuid, text) to platform_admin;

create function public.end_admin_sessions(p_admin_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
$$;
comment on function public.end_admin_sessions(uuid) is
'Ends an administrator''s sessions, of the caller''s own all but the present one; returns how many. Super admin. Errors: forbidden, session_ended, two_step_required, not_found, reauthentication_needed.';
grant execute on function public.end_admin_sessions(uuid) to platform_admin;

create function private.create_administrator(p_email text, p_full_name text, p_role public.admin_role, p_password_hash text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role, p_password_hash)
    returning id into v_id;
    perform private.audit(
        'system', 'admin.created', 'admin_user', v_id,
        pg_catalog.jsonb_build_object('role', p_role, 'is_active', true)
        || private.administrator_entry(v_id)
    );
    return v_id;
end
$$;
comment on function private.create_administrator(text, text, public.admin_role, text) is
'Creates an administrator without one: the first, and those of the sample data. p_password_hash is Argon2id.';

create function private.put_administrator(p_email text, p_full_name text, p_role public.admin_role, p_password_hash text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid;
begin
    update private.admin_users as a set password_hash = p_password_hash, updated_at = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_id;
    if v_id is null then
        return private.create_administrator(p_email, p_full_name, p_role, p_password_hash);
    end if;
    perform private.audit('system', 'admin.password_reset', 'admin_user', v_id, private.administrator_entry(v_id, array['password']));
    return v_id;
end
$$;
comment on function private.put_administrator(text, text, public.admin_role, text) is
'Creates an administrator without one, or gives an existing one this password. p_password_hash is Argon2id. Only on the machine, as owner.';

create function private.add_administrator(p_email text, p_full_name text, p_role public.admin_role, p_password_hash text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid;
begin
    if exists (select 1 from private.admin_users as a where a.email = pg_catalog.lower(p_email)) then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    v_id := private.create_administrator(p_email, p_full_name, p_role, p_password_hash);
    perform private.mail_admin_change(
        v_id, pg_catalog.format('The account was created, with the role %s.', pg_catalog.replace(p_role::text, '_', ' ')), null
    );
    return v_id;
end
$$;
comment on function private.add_administrator(text, text, public.admin_role, text) is
'Creates a further administrator whom no other one is joined with, and mails all. Only on the machine, as owner. p_password_hash is Argon2id. Errors: email_taken.';

create function private.put_back_administrator(p_email text, p_hash text) returns private.admin_users
language plpgsql volatile set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    insert into private.admin_users (id, email, role, is_active, password_hash, revision)
    select l.id, p_email, (l.state ->> 'role')::public.admin_role, (l.state ->> 'is_active')::boolean, p_hash, (l.state ->> 'revision')::bigint
    from (
        select d.id, private.last_state(d.id) as state
        from private.administrator_discrepancies as d
        where not exists (select from private.admin_users as a where a.id = d.id)
    ) as l
    where l.state ->> 'email' = p_email
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    return v_admin;
end
$$;
comment on function private.put_back_administrator(text, text) is
'Makes an administrator again who is in the audit log alone, with the id, the role and the activity that it says. Errors: not_found.';

-- On the machine itself, where nobody else can help: what the panel's two functions above and below do for another one.
-- An account that was deleted past the product is made again by what its entries say; one that no entry made gets its first.
create function private.recover_administrator(p_email text, p_new_email text, p_hash text, p_reason text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_admin private.admin_users;
    v_is_known boolean;
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_email text := pg_catalog.lower(coalesce(nullif(pg_catalog.btrim(p_new_email), ''), p_email));
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    select * into v_admin from private.admin_users as a where a.email = pg_catalog.lower(p_email);
    if not found then
        v_admin := private.put_back_administrator(pg_catalog.lower(p_email), p_hash);
    end if;
    v_is_known := coalesce(private.last_state(v_admin.id) operator(pg_catalog.?) 'role', false);
    if v_is_known and not v_admin.is_active then
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
        || private.administrator_entry(v_admin.id, case when v_is_known then array['email', 'password', 'two_step'] end)
    );
    perform private.mail_admin_change(
        v_admin.id,
        pg_catalog.concat_ws(
            ' ', 'The account was recovered: it has a new password, and two-step sign-in is off.',
            case when v_email <> v_admin.email then 'Its email was changed.' end
        ),
        null, v_admin.email
    );
    return v_admin.id;
end
$$;
comment on function private.recover_administrator(text, text, text, text) is
'Gives an active administrator another password (p_hash, Argon2id) and, unless p_new_email is empty, another email; removes two-step sign-in and ends the sessions. Makes one again whom only the audit log has; one whom no entry made is audited as it stands. Only on the machine, as owner. Errors: reason_required, not_found, invalid_state, email_taken.';

create function edge.create_administrator(p_caller uuid, p_email text, p_full_name text, p_role text, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    perform private.require_fresh_admin_proof('create an administrator');
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id,
        pg_catalog.jsonb_build_object('role', p_role, 'is_active', true)
        || private.administrator_entry(v_admin.id)
    );
    perform private.mail_admin_change(
        v_admin.id, pg_catalog.format('The account was created, with the role %s.', pg_catalog.replace(p_role, '_', ' ')), v_caller.id
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin)) || private.audit_entries();
end
$$;
comment on function edge.create_administrator(uuid, text, text, text, text) is
'Creates an administrator with a hashed password. Errors: forbidden, two_step_required, reauthentication_needed, email_taken.';
grant execute on function edge.create_administrator(uuid, text, text, text, text) to edge_functions;

create function edge.reset_admin_password(p_caller uuid, p_admin_id uuid, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Change your own password with the current one.');
    end if;
    perform private.require_fresh_admin_proof('reset a password');
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id returning a.* into v_admin;
    if v_admin.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.password_reset', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['password'])
    );
    perform private.mail_admin_change(p_admin_id, 'The password was reset.', v_caller.id);
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin));
end
$$;
comment on function edge.reset_admin_password(uuid, uuid, text) is
'Resets another administrator''s forgotten password: stores a new hash and ends all sessions. Errors: forbidden, two_step_required, reauthentication_needed, not_found.';
grant execute on function edge.reset_admin_password(uuid, uuid, text) to edge_functions;

-- Two accounts that one person made are one person: whoever created an account, or reset its password or second step,
-- gave it a role or switched it on, may have the password of it. That holds for 30 days, in both directions and
-- through other accounts. The audit log says who did it; what the bootstrap command did has no administrator as actor.
create function private.joined_administrators(p_admin_id uuid) returns setof uuid
language sql stable set search_path = '' as $$
    with recursive acts as materialized (
        select pg_catalog.substr(l.actor, 7)::uuid as by_id, l.object_id as admin_id
        from private.audit_log as l
        -- As in the index.
        where l.action collate "C" in ('admin.created', 'admin.password_reset', 'admin.two_step_reset', 'admin.updated')
            and pg_catalog.starts_with(l.actor, 'admin:') and l.at > pg_catalog.clock_timestamp() - interval '30 days'
            and (
                l.action <> 'admin.updated' or l.payload ->> 'role' is distinct from l.payload ->> 'role_before'
                -- Earlier entries do not say whether it was active before.
                or (l.payload ->> 'is_active' = 'true' and l.payload ->> 'is_active_before' is distinct from 'true')
            )
    ),
    links as (
        select a.by_id as one, a.admin_id as other from acts as a
        union
        select a.admin_id, a.by_id from acts as a
    ),
    joined as (
        select p_admin_id as id
        union
        select l.other from joined as j inner join links as l on j.id = l.one
    )
    select j.id from joined as j
$$;
comment on function private.joined_administrators(uuid) is
'The accounts that count as one person with this one, itself among them: joined in the last 30 days by creating, resetting, giving a role or switching on, also through others.';

create function private.are_one_person(p_one uuid, p_other uuid) returns boolean
language sql stable set search_path = '' as $$
    select p_other in (select private.joined_administrators(p_one))
$$;
comment on function private.are_one_person(uuid, uuid) is
'Whether two administrators'' accounts are the same or joined: then they do not both propose and confirm.';
