-- What administrators change about a member: notes and account status. Money, package and place in the tree are
-- not among it. Suspending and disabling end every sign-in first, because rows of schema auth are locked before
-- the member's row.

create function private.require_status_change(p_role public.admin_role, p_from public.account_status, p_to public.account_status) returns void
language plpgsql immutable set search_path = '' as $$
begin
    if p_role = 'super_admin' then
        return;
    end if;
    if 'disabled' in (p_from, p_to) then
        perform private.refuse(403, 'forbidden', 'Only a super admin can disable an account or lift a disable.');
    end if;
    if p_to not in ('active', 'suspended') then
        perform private.refuse(403, 'forbidden', 'Only a super admin can set this status.');
    end if;
end
$$;
comment on function private.require_status_change(public.admin_role, public.account_status, public.account_status) is
'Everybody may suspend and reactivate; disabling and its undoing are the super admin''s. Errors: forbidden.';

create function public.update_member(p_profile_id uuid, p_account_status text, p_admin_notes text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_before private.profiles;
    v_after private.profiles;
begin
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
'Notes and account status of a member. A change of status needs a reason, is told to the member, and ends the sign-ins when it blocks. Errors: forbidden, not_found, invalid_input, account_closed, reason_required.';

create function public.start_factor_removal(p_profile_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id and p.closed_at is null);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_user is null then
        perform private.refuse(404, 'not_found', 'There is no such member.');
    end if;
    if v_reason is null then
        perform private.refuse(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.end_sign_ins(v_user);
    perform private.hold(v_user, 'factor');
    perform private.audit(
        'admin:' || v_admin.id, 'member.factors_removed', 'profile', p_profile_id, pg_catalog.jsonb_build_object('reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('user_id', v_user);
end
$$;
comment on function public.start_factor_removal(uuid, text) is
'Super admin: ends a member''s sign-ins, holds withdrawals for a day and notes why, before the auth service removes the factors. Errors: forbidden, not_found, reason_required.';
grant execute on function public.update_member(uuid, text, text, text), public.start_factor_removal(uuid, text) to platform_admin;
