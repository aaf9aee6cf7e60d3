-- With real money, finance and super administrators act with the second step only. The doors of functions/edge ask by
-- id and the changes that every role may make ask for no role, so neither came by the check that stands beside the role:
-- who knew such an administrator's password alone opened MT5 passwords, made accounts and disabled members.
-- Signing in, reading and setting the second step up stay open without it.

create function private.require_two_step(p_admin private.admin_users) returns void
language plpgsql stable set search_path = '' as $$
begin
    if (p_admin).role <> 'support_admin' and (p_admin).totp_confirmed_at is null and not private.is_demo() then
        perform private.refuse(403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.');
    end if;
end
$$;
comment on function private.require_two_step(private.admin_users) is
'With real money, finance and super administrators need the second step. Errors: two_step_required.';

create or replace function private.require_admin(p_roles public.admin_role[] default null) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    if private.my_role() is distinct from 'platform_admin' then
        perform private.refuse(403, 'forbidden', 'Only administrators can do this.');
    end if;
    select * into v_admin from private.admin_users as a where a.id = auth.uid() and a.is_active;
    if not found then
        perform private.refuse(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    if p_roles is not null and v_admin.role <> all(p_roles) then
        perform private.refuse(403, 'forbidden', pg_catalog.format('A %s cannot do this.', pg_catalog.replace(v_admin.role::text, '_', ' ')));
    end if;
    if p_roles is not null then
        perform private.require_two_step(v_admin);
    end if;
    return v_admin;
end
$$;

create or replace function private.require_super(p_admin_id uuid) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is distinct from 'super_admin' then
        perform private.refuse(403, 'forbidden', 'Only a super admin can do this.');
    end if;
    perform private.require_two_step(v_admin);
    return v_admin;
end
$$;
comment on function private.require_super(uuid) is 'The super admin with this id. Errors: forbidden, two_step_required.';

create or replace function edge.sealed_mt5_password(p_admin_id uuid, p_subscription_id uuid) returns table (user_id uuid, key_id text, secret bytea)
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is null or v_admin.role not in ('super_admin', 'finance_admin') then
        perform private.refuse(403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.');
    end if;
    perform private.require_two_step(v_admin);
    return query
    select s.user_id, b.key_id, b.secret
    from public.bot_subscriptions as s
    inner join private.bot_secrets as b on b.subscription_id = s.id
    where s.id = p_subscription_id;
    if not found then
        perform private.refuse(404, 'not_found', 'This subscription keeps no password any more.');
    end if;
    perform private.audit('admin:' || p_admin_id, 'bot.password_revealed', 'bot_subscription', p_subscription_id);
end
$$;
comment on function edge.sealed_mt5_password(uuid, uuid) is
'The sealed password of one subscription, for an administrator who may see it; leaves an audit row. Errors: forbidden, two_step_required, not_found.';

comment on function edge.create_administrator(uuid, text, text, text, text) is
'A new account with a hashed password. Errors: forbidden, two_step_required, email_taken.';
comment on function edge.reset_admin_password(uuid, uuid, text) is
'Another administrator forgot the password: a new hash, all sessions end. Errors: forbidden, two_step_required, not_found.';

create or replace function public.update_member(p_profile_id uuid, p_account_status text, p_admin_notes text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_before private.profiles;
    v_after private.profiles;
begin
    perform private.require_two_step(v_admin);
    if v_user is null then
        perform private.refuse(404, 'not_found', 'There is no such member.');
    end if;
    if p_account_status is not null and p_account_status not in ('active', 'pending', 'suspended', 'disabled') then
        perform private.refuse(400, 'invalid_input', 'There is no such account status.');
    end if;
    if p_account_status in ('suspended', 'disabled') then
        perform private.end_sign_ins(v_user);
    end if;
    v_before := private.lock_member(v_user);
    if v_before.closed_at is not null then
        perform private.refuse(409, 'account_closed', 'This account is closed.');
    end if;
    if p_account_status is distinct from v_before.account_status::text and p_account_status is not null then
        perform private.require_status_change(v_admin.role, v_before.account_status, p_account_status::public.account_status);
        if v_reason is null then
            perform private.refuse(400, 'reason_required', 'Give a reason.');
        end if;
    end if;
    update private.profiles as p set
        account_status = coalesce(p_account_status::public.account_status, p.account_status),
        admin_notes = case when p_admin_notes is null then p.admin_notes else nullif(pg_catalog.btrim(p_admin_notes), '') end
    where p.id = p_profile_id
    returning p.* into v_after;
    if v_after.account_status is distinct from v_before.account_status then
        perform private.tell(
            v_user, 'account_' || v_after.account_status, pg_catalog.format('Your account is %s', v_after.account_status), v_reason, null, '/dashboard'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'member.updated', 'profile', p_profile_id,
        pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'status_before', nullif(v_before.account_status::text, v_after.account_status::text),
            'status_after', nullif(v_after.account_status::text, v_before.account_status::text),
            'notes_changed', nullif(v_after.admin_notes is distinct from v_before.admin_notes, false),
            'reason', v_reason
        ))
    );
    return pg_catalog.jsonb_build_object(
        'success', true,
        'profile', pg_catalog.to_jsonb(v_after) - array['depth', 'jump', 'package_size'] || pg_catalog.jsonb_build_object(
            'package_value', private.money(v_after.package_value), 'cash_in_amount', private.money(v_after.cash_in_amount)
        )
    );
end
$$;
comment on function public.update_member(uuid, text, text, text) is
'Notes and account status of a member. A change of status needs a reason, is told to the member, and ends the sign-ins when it blocks. Errors: forbidden, two_step_required, not_found, invalid_input, account_closed, reason_required.';

create or replace function public.update_subscription(p_subscription_id uuid, p_status text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_reason text := pg_catalog.btrim(p_reason);
    v_subscription public.bot_subscriptions;
begin
    perform private.require_two_step(v_admin);
    if coalesce(v_reason, '') = '' then
        perform private.refuse(400, 'reason_required', 'Give a reason.');
    end if;
    if p_status not in ('active', 'suspended') then
        perform private.refuse(400, 'invalid_input', 'A subscription can be made active or suspended.');
    end if;
    update public.bot_subscriptions as s set status = p_status::public.subscription_status, updated_at = private.clock()
    where s.id = p_subscription_id and s.status <> 'cancelled'
    returning s.* into v_subscription;
    if v_subscription.id is null then
        perform private.refuse(404, 'not_found', 'There is no running subscription like this.');
    end if;
    perform private.tell(
        v_subscription.user_id, 'bot_' || p_status,
        pg_catalog.format('%s is %s', v_subscription.bot_name, p_status), v_reason, null, '/bots'
    );
    perform private.audit(
        'admin:' || v_admin.id, 'bot.status_changed', 'bot_subscription', v_subscription.id,
        pg_catalog.jsonb_build_object('status', p_status, 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function public.update_subscription(uuid, text, text) is
'Any administrator suspends a running subscription or makes it active again, with a reason. Errors: forbidden, two_step_required, reason_required, invalid_input, not_found.';

create or replace function public.note_export(p_list text, p_filters jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    perform private.require_two_step(v_admin);
    if v_admin.role = 'support_admin' and p_list <> 'audit' then
        perform private.refuse(403, 'forbidden', 'A support admin can export the own actions only.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'list.exported', null, null, pg_catalog.jsonb_build_object('list', p_list, 'filters', p_filters));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.note_export(text, jsonb) is
'Asked before a list leaves as a file: who may, and a row of the trail. Errors: forbidden, two_step_required.';
